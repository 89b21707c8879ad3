"""What an exact solve returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.problem.full_problem import full_gap
from sketchlasso.solve.status import Status, ending_message, warn_of_ending
from sketchlasso.types import BoolArray, FloatArray, IntArray

__all__ = ["ExactSolution"]


@dataclass(frozen=True, eq=False)
class ExactSolution:
    """Solutions of square-root LASSO problems on the full data, one row an instance.

        minimise over w, b    || y - X w - b ||_W  +  alpha * sum_j f_j |w_j|

    Attributes
    ----------
    coef : csr_array of shape (B, n)
        On the scale of X.
    intercept : ndarray of shape (B,)
        Zero where none was asked for.
    primal, dual : ndarray of shape (B,)
        Objective at the coefficients, and a proven lower bound on it, both on the full data.
    null : ndarray of shape (B,)
        Objective at w = 0.
    status : ndarray of shape (B,)
        Values of :class:`Status`.
    n_iter : ndarray of shape (B,)
        Sweeps of coordinate descent and Newton steps spent.
    seconds : float
        Wall time, compilation left out.
    """

    coef: sparse.csr_array[Any, tuple[int, int]]
    intercept: FloatArray
    primal: FloatArray
    dual: FloatArray
    null: FloatArray
    status: IntArray
    n_iter: IntArray
    seconds: float

    @property
    def gap(self) -> FloatArray:
        """Primal - dual (B,), never negative."""
        return np.maximum(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> FloatArray:
        """Gap / primal (B,), see :func:`~sketchlasso.problem.full_problem.full_gap`."""
        return full_gap(self.primal, self.dual, self.null)

    @property
    def n_nonzero(self) -> IntArray:
        """Non-zero coefficients (B,) of each instance."""
        return np.diff(self.coef.indptr).astype(np.intp)

    @property
    def solved(self) -> BoolArray:
        """Whether each instance reached the tolerance (B,)."""
        return np.asarray(self.status == Status.SOLVED)

    def warn_if_unsolved(self) -> None:
        """Issue an :class:`InaccurateWarning` with the gaps where an instance fell short."""
        warn_of_ending(self.status, self.relative_gap)

    def message(self) -> str:
        """One line on how the instances ended, with a remedy where something fell short."""
        return ending_message(self.status, self.relative_gap)
