"""Parameters that estimators share: signatures, and the sentences that refuse bad values."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.base import LinearModel
from sketchlasso.linalg.device import check_device
from sketchlasso.solvers import Solver

__all__ = ["PenaltySearch", "SinglePenalty", "check_parameters", "check_values"]


class SinglePenalty(LinearModel):
    """Signature of the estimators with one penalty per target."""

    def __init__(
        self,
        alpha: float | ArrayLike | Literal["pivotal", "rigorous", "rigorous-robust"] = "pivotal",
        *,
        fit_intercept: bool = True,
        standardize: bool | Literal["auto"] = "auto",
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        rank: int = 50,
        sketch: Any = "auto",
        radius: Any = None,
        refine: Literal["exact"] | None = None,
        relaxed: bool = False,
        solver: Any = "newton",
        tol: float = 1e-8,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = False,
        device: str = "cpu",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.penalty_factor = penalty_factor
        self.positive = positive
        self.rank = rank
        self.sketch = sketch
        self.radius = radius
        self.refine = refine
        self.relaxed = relaxed
        self.solver = solver
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.device = device


class PenaltySearch(LinearModel):
    """Signature of the estimators that choose penalty and radius by cross-validation."""

    def __init__(
        self,
        *,
        alphas: int | ArrayLike = 100,
        alpha_min_ratio: float | None = None,
        cv: Any = None,
        scoring: str = "mse",
        selection: Literal["min", "1se"] = "min",
        fit_intercept: bool = True,
        standardize: bool | Literal["auto"] = "auto",
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        rank: int = 50,
        sketch: Any = "auto",
        radius: Any = None,
        refine: Literal["exact"] | None = None,
        relaxed: bool = False,
        solver: Any = "newton",
        tol: float = 1e-8,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Any = False,
        device: str = "cpu",
    ) -> None:
        self.alphas = alphas
        self.alpha_min_ratio = alpha_min_ratio
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.penalty_factor = penalty_factor
        self.positive = positive
        self.rank = rank
        self.sketch = sketch
        self.radius = radius
        self.refine = refine
        self.relaxed = relaxed
        self.solver = solver
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.device = device


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not _is_bool(value)


SOLVERS = get_args(Solver)
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "fit_intercept": (_is_bool, "True or False"),
    "standardize": (
        lambda value: _is_bool(value) or (isinstance(value, str) and value == "auto"),
        "True, False or 'auto'",
    ),
    "positive": (_is_bool, "True or False"),
    "relaxed": (_is_bool, "True or False"),
    "rank": (lambda value: _is_integer(value) and value >= 1, "an integer >= 1"),
    "refine": (lambda value: value is None or value == "exact", "None or 'exact'"),
    "solver": (
        lambda value: isinstance(value, str) and value in SOLVERS,
        "one of " + ", ".join(map(repr, SOLVERS)),
    ),
    "tol": (
        lambda value: isinstance(value, int | float | np.number) and bool(0 < value < np.inf),
        "a positive number such as 1e-6",
    ),
    "n_jobs": (
        lambda value: value is None or (_is_integer(value) and value != 0),
        "None or an integer other than 0",
    ),
    "verbose": (
        lambda value: _is_bool(value) or callable(value) or (_is_integer(value) and value >= 0),
        "True, False, an integer >= 0 or a callable",
    ),
    "n_alphas": (lambda value: _is_integer(value) and value >= 1, "an integer >= 1"),
    "alpha_min_ratio": (
        lambda value: (
            value is None or (isinstance(value, int | float | np.number) and bool(0 < value < 1))
        ),
        "None or a number strictly between 0 and 1",
    ),
    "selection": (lambda value: value in ("min", "1se"), "'min' or '1se'"),
}


def check_values(estimator: Any) -> None:
    """Refuse single parameters, by name, whose values are never right."""
    for name, (accepts, accepted) in _RULES.items():
        if not hasattr(estimator, name):
            continue
        value = getattr(estimator, name)
        if not accepts(value):
            raise InvalidInputError(
                f"{name}={value!r} was given, but {accepted} is accepted; pass such a value."
            )


def check_parameters(estimator: Any, n_features: int) -> None:
    """Refuse parameters that no data make right, in one sentence each."""
    check_values(estimator)
    check_device(estimator.device)
    if estimator.sketch is None and estimator.radius is not None:
        raise InvalidInputError(
            f"radius={estimator.radius!r} was given with sketch=None, but the full problem has no "
            "sketch error to guard against; leave the radius out, or sketch."
        )
    if estimator.penalty_factor is not None:
        _check_penalty_factor(estimator.penalty_factor, n_features)


def _check_penalty_factor(penalty_factor: Any, n: int) -> None:
    try:
        factor = np.asarray(penalty_factor, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"penalty_factor={penalty_factor!r} was given, but one number >= 0 per feature is "
            "accepted; pass an array of them, or None."
        ) from None
    if factor.shape != (n,):
        raise InvalidInputError(
            f"penalty_factor has shape {factor.shape} but X has {n} features; pass one factor per "
            f"feature, ({n},)."
        )
    if np.isnan(factor).any() or (factor < 0).any():
        raise InvalidInputError(
            "penalty_factor holds NaN or a negative number, but factors from 0 (no penalty) to "
            "inf (excluded) are accepted; pass such."
        )
