"""How far coefficients found on a sketch are from the optimum of the full problem.

The full problem is the square-root LASSO on the data themselves,

    minimise over w, b    || y - X w - b ||_W  +  alpha * sum_j f_j |w_j|

and its dual is  maximise y'W t  subject to  ||t||_W <= 1,  |x_j'W t| <= alpha f_j,  1'W t = 0.
Any residual r = y - X w - b, cleared of what unpenalised columns explain, points to a feasible
t = a r: two products with X, one for r and one for X'W r, prove a gap for any w. Where w
interpolates, r is zero and points nowhere: the bound still holds there but is loose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.instances.build import check_response
from sketchlasso.instances.grid import check_nonnegative
from sketchlasso.problem.objective import relative_gap
from sketchlasso.results.models import fitted_values, rows_of
from sketchlasso.types import FloatArray

__all__ = ["FullCertificate", "certify"]


@dataclass(frozen=True, eq=False)
class FullCertificate:
    """Proof of how good coefficients are for the problem without any sketch.

    Attributes
    ----------
    primal : ndarray of shape (p,)
        Full objective at the coefficients, with the best intercept for them.
    dual : ndarray of shape (p,)
        No coefficients whatever have a smaller full objective.
    """

    primal: FloatArray
    dual: FloatArray

    @property
    def gap(self) -> FloatArray:
        """Primal - dual (p,), never negative."""
        return np.maximum(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> FloatArray:
        """Gap / primal (p,); zero where the objective is zero."""
        return relative_gap(self.primal, self.dual, np.zeros_like(self.primal))


def certify(
    X: Any,
    y: ArrayLike,
    coef: Any,
    alpha: ArrayLike,
    *,
    penalty_factor: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
) -> FullCertificate:
    """Primal value, feasible dual value and gap of the full square-root LASSO.

    Parameters
    ----------
    X : array or sparse matrix of shape (m, n)
    y : array-like of shape (m,)
    coef : array or sparse matrix of shape (n,) or (p, n)
        Coefficients on the scale of X, one row for each alpha.
    alpha : float or array-like of shape (p,)
    penalty_factor : array-like of shape (n,), optional
    sample_weight : array-like of shape (m,), optional
    fit_intercept : bool
        The intercept is taken as the best one for the coefficients.

    Returns
    -------
    FullCertificate
    """
    entries = rows_of(X)
    m, n = entries.shape
    target = check_response(y, m)
    rows = _coefficients(coef, n)
    alphas = np.broadcast_to(check_nonnegative("alpha", alpha), (rows.shape[0],))
    factor = _or_ones("penalty_factor", penalty_factor, n)
    weights = _or_ones("sample_weight", sample_weight, m)
    if target.shape[1] != 1 or factor.shape != (n,) or weights.shape != (m,):
        raise InvalidInputError(
            f"y, penalty_factor, sample_weight of shapes {target.shape}, {factor.shape}, "
            f"{weights.shape} do not fit X of shape {(m, n)}; pass one response, ({n},) and ({m},)"
        )
    residual = target - fitted_values(entries, rows)
    if fit_intercept:
        residual = residual - weights @ residual / weights.sum()
    length = np.sqrt(weights @ residual**2)
    costs = np.abs(rows.data) * np.where(rows.data == 0, 0.0, factor[rows.indices])
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    l1 = np.bincount(owner, weights=costs, minlength=rows.shape[0])
    return FullCertificate(
        primal=length + alphas * l1,
        dual=_dual(entries, target[:, 0], residual, weights, factor, alphas, fit_intercept),
    )


def _or_ones(name: str, values: ArrayLike | None, size: int) -> FloatArray:
    return np.ones(size) if values is None else check_nonnegative(name, values)


def _coefficients(coef: Any, n: int) -> Any:
    given: Any = coef if sparse.issparse(coef) else np.atleast_2d(np.asarray(coef))
    rows = sparse.csr_array(given)
    if rows.shape[1] != n:
        raise InvalidInputError(f"coef has {rows.shape[1]} columns but X has {n}; pass (p, {n})")
    return rows


def _dual(
    X: Any,
    y: FloatArray,
    residual: FloatArray,
    weights: FloatArray,
    factor: FloatArray,
    alphas: FloatArray,
    fit_intercept: bool,
) -> FloatArray:
    """Dual values (p,) at the best scaling of the residuals (m, p)."""
    cleared = _clear_unpenalised(X, residual, weights, factor, fit_intercept)
    length = np.sqrt(weights @ cleared**2)
    seen = np.abs(np.asarray(X.T @ (weights[:, None] * cleared)))
    penalised = (factor > 0) & np.isfinite(factor)
    # The largest a with a ||r|| <= 1 and a |x_j'W r| <= alpha f_j for every penalised column.
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = np.max(seen[penalised] / factor[penalised, None], axis=0, initial=0.0)
        limit = np.minimum(1.0 / length, np.where(worst > 0, alphas / worst, np.inf))
    scale = np.where(np.isfinite(limit), limit, 0.0)
    return np.maximum(scale * ((weights * y) @ cleared), 0.0)


def _clear_unpenalised(
    X: Any, residual: FloatArray, weights: FloatArray, factor: FloatArray, fit_intercept: bool
) -> FloatArray:
    """Project the span of the unpenalised columns (and of 1) out of the residuals, twice."""
    free = np.flatnonzero(factor == 0)
    if free.size == 0:
        return residual
    columns = np.asarray(X[:, free] if isinstance(X, np.ndarray) else X[:, free].toarray())
    if fit_intercept:
        columns = np.column_stack([columns, np.ones(len(columns))])
    root = np.sqrt(weights)[:, None]
    basis, values, _ = np.linalg.svd(root * columns, full_matrices=False)
    basis = basis[:, values > 1e-12 * values.max(initial=0.0)]
    lifted = root * residual
    for _ in range(2):
        lifted = lifted - basis @ (basis.T @ lifted)
    return np.divide(lifted, root, out=np.zeros_like(lifted), where=root > 0)
