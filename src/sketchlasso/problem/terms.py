"""The terms of a problem (intercept, penalty factors, signs), and grids of penalties."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Terms:
    """What a problem asks of its coefficients, apart from the size of the penalty.

    ::

        minimise over w, b   ||X w + b - y||_2 + alpha * sum_j f_j |w_j|
    """

    fit_intercept: bool = True  # whether b is free; else it is 0
    # f (n,): 0 leaves a feature unpenalised, inf excludes it. None is 1 for every feature.
    penalty_factor: ArrayLike | None = None
    positive: bool = False  # whether coefficients must be >= 0

    def factors(self, n: int) -> FloatArray:
        """The penalty factors (n,), checked."""
        if self.penalty_factor is None:
            return np.ones(n)
        try:
            factor = np.asarray(self.penalty_factor, dtype=np.float64)
        except (TypeError, ValueError):
            raise unaccepted(
                "penalty_factor",
                self.penalty_factor,
                "one number >= 0 per feature",
                "pass an array of them, or None",
            ) from None
        if factor.shape != (n,):
            raise InvalidInputError(
                f"penalty_factor has shape {factor.shape} but X has {n} features; pass one factor "
                f"per feature, ({n},)."
            )
        if np.isnan(factor).any() or (factor < 0).any():
            raise InvalidInputError(
                "penalty_factor must hold numbers from 0 (no penalty) to inf (excluded), not NaN "
                "or negative ones."
            )
        return factor

    def penalised(self, n: int) -> BoolArray:
        """Which features (n,) have a penalty and are not excluded."""
        factor = self.factors(n)
        return (factor > 0) & np.isfinite(factor)

    def scaled(self, scales: FloatArray | None) -> Terms:
        """The terms with each factor multiplied by an entry of `scales` (n,), if there are any.

        alpha f_j |w_j| with w_j = scale_j v_j is alpha (f_j scale_j) |v_j|.
        """
        if scales is None:
            return self
        return replace(self, penalty_factor=scales * self.factors(len(scales)))


def check_alphas(alphas: ArrayLike) -> FloatArray:
    """Given penalties (a,), sorted from the largest down."""
    if isinstance(alphas, bool | np.bool_):
        raise unaccepted("alphas", alphas, "a number of penalties or a list of them")
    try:
        values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    except (TypeError, ValueError):
        raise unaccepted("alphas", alphas, "a number of penalties or a list of them") from None
    if values.ndim != 1 or values.size == 0:
        raise InvalidInputError(f"alphas has shape {values.shape}; give a list of penalties")
    if not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInputError(
            "alphas must hold finite numbers > 0 (or 0, on a sketch), not NaN, infinity or a "
            "negative number."
        )
    return np.sort(values)[::-1]


def check_nonnegative(name: str, values: ArrayLike) -> FloatArray:
    """Numbers >= 0 (inf allowed), as an array of at least one dimension."""
    try:
        array = np.atleast_1d(np.asarray(values))
    except ValueError:
        raise unaccepted(name, values, "numbers >= 0, in rows of equal length") from None
    if array.dtype.kind not in "biuf":
        raise unaccepted(name, values, "numbers >= 0")
    array = array.astype(np.float64)
    if np.isnan(array).any() or (array < 0).any():
        raise InvalidInputError(
            f"{name} contains NaN or a negative value; every value must be >= 0"
        )
    return array


def default_ratio(shape: tuple[int, int]) -> float:
    """Smallest over largest automatic penalty for X of a shape (m, n), as in glmnet."""
    m, n = shape
    return 1e-2 if m < n else 1e-3


def alpha_grid(largest: FloatArray, count: int, ratio: ArrayLike) -> FloatArray:
    """Log-spaced grids (., count) from each largest penalty (.,) down to `ratio` times it."""
    if count < 1:
        raise unaccepted("alphas", count, "at least 1, or a list of penalties")
    ratios = np.asarray(ratio, dtype=np.float64)
    if not ((ratios > 0) & (ratios < 1)).all():
        raise unaccepted("alpha_min_ratio", ratio, "strictly between 0 and 1")
    steps = ratios[..., None] ** np.linspace(0.0, 1.0, count)
    return np.maximum(largest, 1e-300)[..., None] * steps


def spread_factors(features: IntArray) -> FloatArray:
    """Multiples (p,) of penalty factors, a little above one and different for every feature.

    With them no two features reach their thresholds together: ties and duplicated rows would
    leave a walk along a path no unique way on. The spread of 1e-11 costs that much of the gap.
    """
    # Multiples of the golden ratio, modulo 1, are spread evenly.
    return np.asarray(1.0 + 1e-11 * np.mod(0.6180339887498949 * features, 1.0))
