"""How far coefficients found on a sketch are from the optimum of the full problem.

The full problem, its dual and how any coefficients point to a feasible dual point stand in
:mod:`sketchlasso.problem.full_problem`. Two products with X, one for the residual and one for
its correlations, prove a gap for any coefficients, for whole paths at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import as_responses, spread
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances.grid import check_nonnegative
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.problem.full_problem import (
    MOST_SIGN_ENTRIES,
    SMALL_RESIDUAL,
    full_dual,
    full_gap,
    full_primal,
    sign_directions,
    unpenalised_columns,
)
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
    null : ndarray of shape (p,), optional
        Full objective at w = 0, the scale of what counts as zero.
    """

    primal: FloatArray
    dual: FloatArray
    null: FloatArray | None = None

    @property
    def gap(self) -> FloatArray:
        """Primal - dual (p,), never negative."""
        return np.maximum(self.primal - self.dual, 0.0)

    @property
    def relative_gap(self) -> FloatArray:
        """Gap / primal (p,), see :func:`~sketchlasso.problem.full_problem.full_gap`."""
        null = np.zeros_like(self.primal) if self.null is None else self.null
        return full_gap(self.primal, self.dual, null)


@spread
def certify(
    X: Any,
    y: ArrayLike,
    coef: Any,
    alpha: ArrayLike,
    *,
    penalty_factor: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    nonnegative: bool = False,
) -> FullCertificate:
    """Primal value, feasible dual value and gap of the full square-root LASSO.

    ::

        minimise over w, b    || y - X w - b ||_W  +  alpha * sum_j f_j |w_j|

    Parameters
    ----------
    X : array, sparse matrix, BlockMatrix or dask array of shape (m, n)
    y : array-like of shape (m,) or (m, p)
        One response for all coefficients, or one for each row of them.
    coef : array or sparse matrix of shape (n,) or (p, n)
        Coefficients on the scale of X, one row for each alpha.
    alpha : float or array-like of shape (p,)
    penalty_factor : array-like of shape (n,), optional
    sample_weight : array-like of shape (m,), optional
    fit_intercept : bool
        The intercept is taken as the best one for the coefficients.
    nonnegative : bool
        Whether the problem asks for w >= 0; the bound is higher then.

    Returns
    -------
    FullCertificate
    """
    entries = rows_of(X)
    m, n = entries.shape
    target = as_responses(y, m)
    rows = _coefficients(coef, n, nonnegative)
    count = rows.shape[0]
    alphas = np.broadcast_to(check_nonnegative("alpha", alpha), (count,))
    factor = _or_ones("penalty_factor", penalty_factor, n)
    weights = _or_ones("sample_weight", sample_weight, m)
    if target.shape[1] not in (1, count) or factor.shape != (n,) or weights.shape != (m,):
        raise InvalidInputError(
            f"y, penalty_factor, sample_weight of shapes {target.shape}, {factor.shape}, "
            f"{weights.shape} do not fit X of shape {(m, n)} and {count} rows of coefficients; "
            f"pass one response or {count}, ({n},) and ({m},)"
        )
    # Rows scaled by the roots of their weights: what is left is free of weights.
    view = _Scaled(entries, np.sqrt(weights), fit_intercept)
    response = view.scale(target)
    residual = view.scale(target - fitted_values(entries, rows))
    costs = np.abs(rows.data) * np.where(rows.data == 0, 0.0, factor[rows.indices])
    owner = np.repeat(np.arange(count), np.diff(rows.indptr))
    l1 = np.bincount(owner, weights=costs, minlength=count).astype(np.float64)
    length = np.linalg.norm(residual, axis=0)
    return FullCertificate(
        primal=full_primal(length, alphas, l1),
        dual=_dual(view, response, residual, rows, factor, alphas, nonnegative),
        null=np.broadcast_to(np.linalg.norm(response, axis=0), (count,)).copy(),
    )


def _or_ones(name: str, values: ArrayLike | None, size: int) -> FloatArray:
    return np.ones(size) if values is None else check_nonnegative(name, values)


def _coefficients(coef: Any, n: int, nonnegative: bool) -> Any:
    given: Any = coef if sparse.issparse(coef) else np.atleast_2d(np.asarray(coef))
    rows = sparse.csr_array(given)
    if rows.shape[1] != n:
        raise InvalidInputError(f"coef has {rows.shape[1]} columns but X has {n}; pass (p, {n})")
    if nonnegative and (rows.data < 0).any():
        raise InvalidInputError(
            f"coef contains {rows.data.min():g} but nonnegative=True; pass coefficients >= 0"
        )
    return rows


@dataclass(frozen=True, eq=False)
class _Scaled:
    """X and responses with rows scaled by `root` (m,), centred where there is an intercept."""

    X: Any
    root: FloatArray
    fit_intercept: bool

    def scale(self, values: FloatArray) -> FloatArray:
        """Values (m, p) on the rows, less their weighted mean, scaled."""
        if self.fit_intercept:
            weights = self.root**2
            values = values - weights @ values / weights.sum()
        return self.root[:, None] * values

    def columns(self, chosen: Any) -> FloatArray:
        """The chosen columns (m, c), centred and scaled."""
        part = self.X[:, chosen]
        return self.scale(np.asarray(part if isinstance(part, np.ndarray) else part.toarray()))

    def correlate(self, directions: FloatArray) -> FloatArray:
        """What the columns see (n, p) of centred directions (m, p) on scaled rows."""
        return np.asarray(self.X.T @ (self.root[:, None] * directions))

    def centre(self, directions: FloatArray) -> FloatArray:
        """Directions on scaled rows less what an intercept sees of them."""
        if not self.fit_intercept:
            return directions
        return directions - np.outer(self.root, self.root @ directions / (self.root @ self.root))


def _dual(
    view: _Scaled,
    response: FloatArray,
    residual: FloatArray,
    rows: Any,
    factor: FloatArray,
    alphas: FloatArray,
    nonnegative: bool,
) -> FloatArray:
    """Dual values (p,): along the residuals (m, p), and along the signs where those are small."""
    free = np.flatnonzero(factor == 0)
    unpenalised = unpenalised_columns(view.columns(free), nonnegative) if len(free) else None

    def along(directions: FloatArray, chosen: Any) -> FloatArray:
        directions = view.centre(directions)
        if unpenalised is not None:
            directions = unpenalised.clear(directions)
        return full_dual(
            view.correlate(directions),
            np.linalg.norm(directions, axis=0),
            np.sum((response if response.shape[1] == 1 else response[:, chosen]) * directions, 0),
            factor,
            alphas[chosen],
            nonnegative,
        )

    everyone = np.arange(len(alphas))
    dual = along(residual, everyone)
    small = np.linalg.norm(residual, axis=0) <= SMALL_RESIDUAL * np.linalg.norm(response, axis=0)
    support = np.diff(rows.indptr)
    solvable = (support > 0) & (support * len(residual) <= MOST_SIGN_ENTRIES)
    for b in np.flatnonzero(small & solvable):
        used = rows.indices[rows.indptr[b] : rows.indptr[b + 1]]
        signs = alphas[b] * factor[used] * np.sign(rows.data[rows.indptr[b] : rows.indptr[b + 1]])
        with single_blas_thread():
            directions = sign_directions(view.columns(used), signs, residual[:, b])
        dual[b] = max(dual[b], *along(directions, everyone[[b, b]]))
    return dual
