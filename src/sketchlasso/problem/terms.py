"""The terms of a problem: intercept, penalty factors and signs of the coefficients."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.types import BoolArray, FloatArray

__all__ = ["Terms"]


@dataclass(frozen=True, eq=False)
class Terms:
    """What a problem asks of its coefficients, apart from the size of the penalty.

    ::

        minimise over w, b   ||X w + b - y||_2 + alpha * sum_j f_j |w_j|

    Attributes
    ----------
    fit_intercept : bool
        Whether b is free; else it is 0.
    penalty_factor : array-like of shape (n,) or None
        f; 0 leaves a feature unpenalised, inf excludes it. None is 1 for every feature.
    positive : bool
        Whether coefficients must be >= 0.
    """

    fit_intercept: bool = True
    penalty_factor: ArrayLike | None = None
    positive: bool = False

    def factors(self, n: int) -> FloatArray:
        """The penalty factors (n,), checked."""
        if self.penalty_factor is None:
            return np.ones(n)
        try:
            factor = np.asarray(self.penalty_factor, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidInputError(
                Argument("penalty_factor", self.penalty_factor),
                " was given, but one number >= 0 per feature is accepted; pass an array of them, "
                "or None.",
            ) from None
        if factor.shape != (n,):
            raise InvalidInputError(
                f"penalty_factor has shape {factor.shape} but X has {n} features; pass one factor "
                f"per feature, ({n},)."
            )
        if np.isnan(factor).any() or (factor < 0).any():
            raise InvalidInputError(
                "penalty_factor holds NaN or a negative number, but factors from 0 (no penalty) "
                "to inf (excluded) are accepted; pass such."
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
