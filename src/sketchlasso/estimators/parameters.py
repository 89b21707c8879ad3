"""The parameters of the linear estimators: signatures, checks, and what a fit makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sketchlasso.errors import unaccepted
from sketchlasso.estimators.base import Watcher
from sketchlasso.linalg.device import CPU, check_device
from sketchlasso.linalg.threads import thread_count
from sketchlasso.problem.terms import Terms
from sketchlasso.results.radius import RadiusLike, given_radius
from sketchlasso.results.scores import Metric
from sketchlasso.sketches import Sketch, SketchMethod
from sketchlasso.solvers import Settings, Solver
from sketchlasso.types import FloatArray, IntArray

# Products with factors in single precision cannot prove a smaller gap.
SINGLE_PRECISION_TOL = 1e-6
# Scores on held-out rows do not change beyond this gap; the fit that is kept is made to `tol`.
SEARCH_TOL = 1e-4
# One radius or several to search from; None for the default.
Radii: TypeAlias = "RadiusLike | Sequence[RadiusLike] | None"
METHODS = ("auto", *get_args(SketchMethod))
SOLVERS = get_args(Solver)


@dataclass(eq=False, repr=False, kw_only=True)
class Parameters:
    """The parameters that all linear estimators have, see :class:`SqrtLasso`.

    Estimators are dataclasses, which store the arguments of `__init__` under their own names, as
    scikit-learn asks. Every estimator is decorated, so that messages about a wrong argument name
    it.
    """

    fit_intercept: bool = True
    standardize: bool | Literal["auto"] = "auto"
    penalty_factor: ArrayLike | None = None
    positive: bool = False
    rank: int = 50
    sketch: Sketch | SketchMethod | Literal["auto"] | None = "auto"
    radius: Radii = None
    relaxed: bool = False
    solver: Solver = "newton"
    tol: float = 1e-8
    n_jobs: int | None = -1
    random_state: int | np.random.RandomState | None = None
    verbose: bool | int | Watcher = False
    device: str = "cpu"


@dataclass(eq=False, repr=False)
class _Penalty:
    alpha: float | ArrayLike | Literal["pivotal", "rigorous", "rigorous-robust"] = "pivotal"


@dataclass(eq=False, repr=False)
class SinglePenalty(Parameters, _Penalty):
    """Parameters of the estimators with one penalty per target, which come first."""


@dataclass(eq=False, repr=False, kw_only=True)
class _Penalties:
    alphas: int | ArrayLike = 100
    alpha_min_ratio: float | None = None
    cv: Any = None
    scoring: Metric = "mse"
    selection: Literal["min", "1se"] = "min"


class Searched:
    """Attributes of a search for penalty and radius."""

    alpha_min_: Any
    alpha_1se_: Any
    alphas_: FloatArray
    mse_path_: FloatArray
    score_path_: FloatArray
    n_nonzero_path_: IntArray
    fold_share_: FloatArray


@dataclass(eq=False, repr=False, kw_only=True)
class PenaltySearch(Parameters, _Penalties, Searched):
    """Parameters of the estimators that choose penalty and radius by cross-validation."""


def parameters_of(estimator: BaseEstimator) -> dict[str, Any]:
    """The parameters of one of the package's estimators, by name.

    A subclass may offer fewer, or others, as arguments: its `get_params` then lacks some of these.
    """
    kind: Any = type(estimator)
    return {part.name: getattr(estimator, part.name) for part in fields(kind)}


def check_parameters(model: Parameters, n_features: int) -> None:
    """Reject what no data of `n_features` columns make right."""
    check_values(parameters_of(model))
    check_device(model.device)
    if model.sketch is None:
        given_radius(model.radius)
    terms_of(model).factors(n_features)


def terms_of(model: Parameters) -> Terms:
    """Intercept, penalty factors and signs."""
    return Terms(bool(model.fit_intercept), model.penalty_factor, bool(model.positive))


def ready_sketch(model: Parameters) -> Sketch | None:
    """The sketch, where one was given and not the name of a method."""
    return model.sketch if isinstance(model.sketch, Sketch) else None


def settings_of(
    model: Parameters, sketch: Sketch | None, report: Watcher | None, *, searching: bool = False
) -> Settings:
    """Tolerance, threads and progress for fits on a sketch or without one.

    Where fits are made only to compare their scores (`searching`), a loose gap is enough.
    """
    single = sketch is not None and sketch.dtype == np.float32
    least = max(SINGLE_PRECISION_TOL if single else 0.0, SEARCH_TOL if searching else 0.0)
    return Settings(
        tol=max(float(model.tol), least),
        n_threads=thread_count(model.n_jobs),
        callback=report,
        device=CPU if sketch is None else model.device,
    )


def _is_bool(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not _is_bool(value)


def _named(value: object, names: Sequence[str]) -> bool:
    return isinstance(value, str) and value in names


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number)


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "fit_intercept": (_is_bool, "True or False"),
    "standardize": (
        lambda value: _is_bool(value) or _named(value, ("auto",)),
        "True, False or 'auto'",
    ),
    "positive": (_is_bool, "True or False"),
    "relaxed": (_is_bool, "True or False"),
    "rank": (lambda value: _is_integer(value) and value >= 1, "an integer >= 1"),
    "solver": (
        lambda value: _named(value, SOLVERS),
        "one of " + ", ".join(map(repr, SOLVERS)),
    ),
    "tol": (
        lambda value: _is_number(value) and bool(0 < value < np.inf),
        "a positive number such as 1e-6",
    ),
    "verbose": (
        lambda value: _is_bool(value) or callable(value) or (_is_integer(value) and value >= 0),
        "True, False, an integer >= 0 or a callable",
    ),
    "sketch": (
        lambda value: value is None or isinstance(value, Sketch) or _named(value, METHODS),
        ", ".join(METHODS) + ", a Sketch or None",
    ),
    "alpha": (lambda value: not _is_bool(value), "a number or a name such as 'pivotal'"),
    "alphas": (lambda value: not _is_bool(value), "a number of penalties or a list of them"),
    "alpha_min_ratio": (
        lambda value: value is None or (_is_number(value) and bool(0 < value < 1)),
        "a number strictly between 0 and 1",
    ),
    "selection": (
        lambda value: _named(value, ("min", "1se")),
        "'min' or '1se'",
    ),
}


def check_values(given: Mapping[str, Any]) -> None:
    """Reject invalid values of single parameters, by name."""
    thread_count(given["n_jobs"])
    for name, (accepts, accepted) in _RULES.items():
        if name in given and not accepts(given[name]):
            raise unaccepted(name, given[name], accepted)
