"""The result of an exact solve."""

from __future__ import annotations

from dataclasses import dataclass

from sketchlasso.problem.full_problem import full_gap
from sketchlasso.solvers.solution import Certified
from sketchlasso.types import FloatArray, IntArray, SparseRows

__all__ = ["ExactSolution"]


@dataclass(frozen=True, eq=False)
class ExactSolution(Certified):
    """Solutions of square-root LASSO problems on the full data, one row per instance.

        minimise over w, b    || y - X w - b ||_W  +  alpha * sum_j f_j |w_j|

    Attributes
    ----------
    coef : csr_array of shape (B, n)
        On the scale of X.
    intercept : ndarray of shape (B,)
        Zero without fit_intercept.
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

    coef: SparseRows
    intercept: FloatArray
    primal: FloatArray
    dual: FloatArray
    null: FloatArray
    status: IntArray
    n_iter: IntArray
    seconds: float

    @property
    def relative_gap(self) -> FloatArray:
        """Gap / primal (B,), see :func:`~sketchlasso.problem.formulas.relative_gap`."""
        return full_gap(self.primal, self.dual, self.null)
