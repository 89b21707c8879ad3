"""The parameters of the linear estimators: signatures, checks, and a record of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sketchlasso.errors import DeviceWarning, InvalidInputError, unaccepted
from sketchlasso.estimators.callbacks import Watcher, both, progress_callback, round_reporter
from sketchlasso.linalg.device import CPU, check_device
from sketchlasso.linalg.threads import thread_count
from sketchlasso.problem.terms import Terms
from sketchlasso.results.path import Grid
from sketchlasso.results.radius import RadiusLike, given_radius
from sketchlasso.results.scores import Metric
from sketchlasso.sketches import Sketch, SketchMethod
from sketchlasso.solvers import Settings, Solver
from sketchlasso.types import FloatArray, IntArray
from sketchlasso.warn import warn_user

# Products with factors in single precision cannot prove a smaller gap.
SINGLE_PRECISION_TOL = 1e-6
# Scores on held-out rows do not change beyond this gap; the fit that is kept is made to `tol`.
SEARCH_TOL = 1e-4
# One radius or several to search from; None for the default.
Radii: TypeAlias = "RadiusLike | Sequence[RadiusLike] | None"
METHODS = get_args(SketchMethod)
SOLVERS = get_args(Solver)


@dataclass(frozen=True, eq=False, kw_only=True)
class Specification:
    """The checked parameters that all estimators have, under the names of :class:`SqrtLasso`.

    `fit_intercept`, `penalty_factor` and `positive` are the terms. `report` is called with a
    :class:`Progress`, for `verbose` and for scikit-learn's callbacks.
    """

    terms: Terms
    standardize: bool | Literal["auto"]
    rank: int
    sketch: Sketch | SketchMethod | Literal["auto"] | None
    radius: Radii
    relaxed: bool
    solver: Solver
    tol: float
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    device: str
    report: Watcher | None

    @classmethod
    def of(cls, estimator: BaseEstimator, n_features: int) -> Self:
        """Check the parameters of an estimator for X of `n_features` columns, and record them."""
        given = parameters_of(estimator)
        check_values(given)
        check_device(given["device"])
        if given["sketch"] is None:
            given_radius(given["radius"])
        _check_sketch(given["sketch"])
        terms = Terms(
            bool(given.pop("fit_intercept")),
            given.pop("penalty_factor"),
            bool(given.pop("positive")),
        )
        terms.factors(n_features)
        report = both(progress_callback(given.pop("verbose")), round_reporter(estimator))
        return cls(terms=terms, report=report, **given)

    @property
    def ready(self) -> Sketch | None:
        """The sketch, where one was given and not the name of a method."""
        return self.sketch if isinstance(self.sketch, Sketch) else None

    def check_for_blocks(self) -> None:
        """Refuse parameters that need single columns of X."""
        if self.sketch is None:
            raise InvalidInputError(
                "sketch=None was given, but it solves the full problem, which needs X in memory, "
                "and X is in blocks; leave it out, or pass an array or a sparse matrix."
            )

    def settings(self, sketch: Sketch | None, *, searching: bool = False) -> Settings:
        """Tolerance, threads and progress for fits on a sketch or without one.

        Where fits are made only to compare their scores (`searching`), a loose gap is enough.
        """
        if sketch is None and self.device not in (CPU, "auto"):
            warn_user(
                DeviceWarning(
                    f"device={self.device!r} is not used: these data are solved without a sketch, "
                    "on the CPU; choose a sketch, or leave the device out."
                )
            )
        single = sketch is not None and sketch.dtype == np.float32
        return Settings(
            tol=max(
                float(self.tol),
                SINGLE_PRECISION_TOL if single else 0.0,
                SEARCH_TOL if searching else 0.0,
            ),
            n_threads=thread_count(self.n_jobs),
            callback=self.report,
            device=CPU if sketch is None else self.device,
        )


def parameters_of(estimator: BaseEstimator) -> dict[str, Any]:
    """The parameters of one of the package's estimators, by name.

    A subclass may offer fewer, or others, as arguments: its `get_params` then lacks some of these.
    """
    kind: Any = type(estimator)
    return {part.name: getattr(estimator, part.name) for part in fields(kind)}


@dataclass(frozen=True, eq=False, kw_only=True)
class SingleSpecification(Specification):
    """One penalty per target."""

    alpha: float | ArrayLike | str


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchSpecification(Specification):
    """Penalty and radius by cross-validation."""

    alphas: int | ArrayLike
    alpha_min_ratio: float | None
    cv: Any
    scoring: Metric
    selection: Literal["min", "1se"]

    @property
    def spaces_alphas(self) -> bool:
        """Whether `alphas` is a number of penalties to space automatically."""
        return Grid(self.alphas).count is not None


@dataclass(eq=False, repr=False, kw_only=True)
class Parameters:
    """The parameters that all linear estimators have, see :class:`SqrtLasso`.

    Estimators are dataclasses, which store the arguments of `__init__` under their own names, as
    scikit-learn asks. Parameters of the last base come first. Every estimator is decorated, so
    that messages about a wrong argument name it.
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
class SinglePenalty:
    """The parameter of the estimators with one penalty per target."""

    alpha: float | ArrayLike | Literal["pivotal", "rigorous", "rigorous-robust"] = "pivotal"

    def _specification(self, n_features: int) -> SingleSpecification:
        """The parameters, checked, for X of `n_features` columns."""
        return SingleSpecification.of(self, n_features)


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
class PenaltySearch(Searched):
    """Parameters of the estimators that choose penalty and radius by cross-validation."""

    alphas: int | ArrayLike = 100
    alpha_min_ratio: float | None = None
    cv: Any = None
    scoring: str = "mse"
    selection: Literal["min", "1se"] = "min"

    def _specification(self, n_features: int) -> SearchSpecification:
        """The parameters, checked, for X of `n_features` columns."""
        return SearchSpecification.of(self, n_features)


def _check_sketch(sketch: object) -> None:
    names = ("auto", *METHODS)
    named = isinstance(sketch, str) and sketch in names
    if named or sketch is None or isinstance(sketch, Sketch):
        return
    raise InvalidInputError(f"sketch must be {', '.join(names)}, a Sketch or None, not {sketch!r}.")


def _is_bool(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not _is_bool(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number)


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "fit_intercept": (_is_bool, "True or False"),
    "standardize": (
        lambda value: _is_bool(value) or (isinstance(value, str) and value == "auto"),
        "True, False or 'auto'",
    ),
    "positive": (_is_bool, "True or False"),
    "relaxed": (_is_bool, "True or False"),
    "rank": (lambda value: _is_integer(value) and value >= 1, "an integer >= 1"),
    "solver": (
        lambda value: isinstance(value, str) and value in SOLVERS,
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
    "alpha": (lambda value: not _is_bool(value), "a number or a name such as 'pivotal'"),
    "alphas": (lambda value: not _is_bool(value), "a number of penalties or a list of them"),
    "alpha_min_ratio": (
        lambda value: value is None or (_is_number(value) and bool(0 < value < 1)),
        "a number strictly between 0 and 1",
    ),
    "selection": (
        lambda value: isinstance(value, str) and value in ("min", "1se"),
        "'min' or '1se'",
    ),
}


def check_values(given: Mapping[str, Any]) -> None:
    """Reject invalid values of single parameters, by name."""
    thread_count(given["n_jobs"])
    for name, (accepts, accepted) in _RULES.items():
        if name in given and not accepts(given[name]):
            raise unaccepted(name, given[name], accepted)
