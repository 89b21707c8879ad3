"""Reading what users pass to plots: paths, estimators, names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

import sketchlasso as sl
from sketchlasso.errors import Argument, InvalidInputError, unaccepted
from sketchlasso.interfaces import Model, class_signs
from sketchlasso.types import FloatArray, is_whole

ALPHAS = 100  # as in sqrt_lasso_path


@dataclass(frozen=True, eq=False)
class Line:
    """The models of one response and one radius along penalties (a,): coef (a, n), intercept (a,).

    `instances` (a,) are their numbers in the path.
    """

    alphas: FloatArray
    coef: Any
    intercept: FloatArray
    instances: NDArray[np.intp]


def check_index(name: str, value: int, count: int) -> int:
    """Return a place in a list of `count`, counted from the end if negative."""
    if not is_whole(value) or not -count <= value < count:
        raise unaccepted(name, value, f"an integer from 0 to {count - 1}")
    return int(value) % count


def check_top(top: int) -> int:
    """Return how many features to show or name."""
    if not is_whole(top) or top < 0:
        raise unaccepted("top", top, "an integer >= 0")
    return int(top)


def not_accepted(thing: object, accepted: str, remedy: str) -> InvalidInputError:
    """Return the error for a thing that cannot be drawn."""
    return InvalidInputError(
        f"{accepted} can be drawn, not a {type(thing).__name__}; pass {remedy}."
    )


def line_of(path: Any, response: int = 0, radius: int = 0) -> Line:
    """Take the models of one response and radius from a path."""
    if not isinstance(path, sl.Path):
        raise not_accepted(path, "a Path", "what sqrt_lasso_path returns")
    responses, radii, count = path.alphas.shape
    response = check_index("response", response, responses)
    radius = check_index("radius", radius, radii)
    first = (response * radii + radius) * count
    instances = np.arange(first, first + count)
    return Line(
        alphas=path.alphas[response, radius],
        coef=path.models.coef[instances],
        intercept=path.models.intercept[instances],
        instances=instances,
    )


def is_fitted_model(thing: object) -> TypeGuard[Model]:
    """Return whether a thing is an estimator with coefficients."""
    return hasattr(thing, "get_params") and hasattr(thing, "coef_")


def feature_labels(
    names: Sequence[str] | None, n: int, default: Sequence[str] | None = None
) -> Sequence[str]:
    """Return the names of n features: those given, else the default ones, else x0, x1, ..."""
    if names is None:
        return [f"x{j}" for j in range(n)] if default is None else default
    if isinstance(names, str) or len(names) != n:
        raise InvalidInputError(
            f"feature_names holds {1 if isinstance(names, str) else len(names)} names, but the "
            f"models have {n} features; pass one name per feature."
        )
    return [str(name) for name in names]


def line_of_estimator(estimator: Model, X: Any, y: Any, response: int) -> tuple[Line, float]:
    """Solve for all penalties as a fitted estimator would, on its sketch, at the radius it used.

    X (m, n) and y (m,) or (m, t) are those of the fit, which had no sample weights; `response` is
    a target or class. Returns the models, and the penalty that the estimator used.
    """
    from sklearn.preprocessing import StandardScaler

    used = np.atleast_1d(estimator.alpha_)
    response = check_index("response", response, len(used))
    values = np.asarray(y)
    if hasattr(estimator, "classes_"):
        values = class_signs(values, estimator.classes_)
    target = values.reshape(len(values), -1)[:, response].astype(np.float64)
    sketch = getattr(estimator, "sketch_", None)
    if response and sketch is not None and sketch.response_rank:
        raise InvalidInputError(
            Argument("response", response),
            " was given, but the estimator keeps the sketch of response 0 only, and each has its "
            "own; pass a Path from sqrt_lasso_path.",
        )
    rows: Any = X if hasattr(X, "tocsr") else np.asarray(X)
    scaler = StandardScaler(with_mean=False).fit(rows) if estimator.standardized_ else None
    grid = getattr(estimator, "alphas_", None)
    found = sl.sqrt_lasso_path(
        rows if scaler is None else scaler.transform(rows),
        target,
        sketch,
        alphas=ALPHAS if grid is None else np.atleast_2d(grid)[response],
        radius=None if sketch is None else float(np.atleast_1d(estimator.radius_)[response]),
        fit_intercept=estimator.fit_intercept,
        penalty_factor=_factors(estimator, response, scaler),
        positive=estimator.positive,
        solver=estimator.solver,
        settings=sl.Settings(tol=estimator.tol),
    )
    line = line_of(found)
    if scaler is not None:
        line.coef.data /= scaler.scale_[line.coef.indices]
    return line, float(used[response])


def _factors(estimator: Model, response: int, scaler: Any) -> Any:
    """Return penalty factors of one response, with the loadings of rigorous penalties."""
    if not hasattr(estimator, "loadings_"):
        return estimator.penalty_factor
    loadings = np.atleast_2d(estimator.loadings_)[response]
    loadings = loadings if scaler is None else loadings / scaler.scale_
    given = estimator.penalty_factor
    return loadings if given is None else loadings * np.asarray(given, dtype=np.float64)
