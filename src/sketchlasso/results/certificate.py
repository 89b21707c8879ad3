"""How far coefficients found on a sketch are from the optimum of the full problem.

The full problem, its dual and the feasible dual point that any coefficients lead to are described
in :mod:`sketchlasso.problem.full_problem`. Two products with X, one for the residual and one for
its correlations, prove a gap for any coefficients, for whole paths at once. Where that proves
little, a point that meets the constraints of the support with equality is tried as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import BlockMatrix, as_blocks, as_entries, as_responses, as_rows
from sketchlasso.data.entries import canonical
from sketchlasso.data.transform import column_lengths, near_zero
from sketchlasso.data.validate import check_flags, check_size, refuse_unreal
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import check_weights
from sketchlasso.linalg.rows import centre, lengths
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.problem.dual import Bounds
from sketchlasso.problem.full_problem import (
    MOST_SIGN_ENTRIES,
    SMALL_RESIDUAL,
    FullView,
    Unpenalised,
    full_primal,
    lower_bounds,
    tight_points,
    unit,
)
from sketchlasso.problem.terms import Terms, check_nonnegative
from sketchlasso.types import FloatArray, IntArray

# Relative gap that is not worth improving.
TIGHT = 1e-9
# Columns of the support that see less than this share of their penalty are not near the optimum.
NEAR = 0.5
# Operations that the factorisations of all supports together may take.
WORK = 4e9


@dataclass(frozen=True, eq=False)
class FullCertificate(Bounds):
    """Bounds on how far coefficients are from the optimum of the problem without a sketch.

    Attributes
    ----------
    primal : ndarray of shape (p,)
        Full objective at the coefficients, with the best intercept for them.
    dual : ndarray of shape (p,)
        A lower bound: no coefficients have a smaller full objective.
    null : ndarray of shape (p,), optional
        Full objective at w = 0, the scale of what counts as zero.
    """

    primal: FloatArray
    dual: FloatArray
    null: FloatArray | None = None


def certify(
    X: Any,
    y: ArrayLike,
    coef: Any,
    alpha: ArrayLike,
    *,
    penalty_factor: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    positive: bool = False,
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
        Use the best intercept for the coefficients.
    positive : bool
        Whether the problem has the constraint w >= 0, which makes the bound tighter.

    Returns
    -------
    FullCertificate

    Raises
    ------
    InvalidInputError
        An argument (weights and penalties included) or the objective is not finite.
    """
    check_flags(fit_intercept=fit_intercept, positive=positive)
    terms = Terms(fit_intercept, penalty_factor, positive)
    X = as_blocks(X)
    as_entries(X)
    entries = as_rows(X)
    m, n = entries.shape
    target = as_responses(y, m, squared=True)
    if not isinstance(entries, BlockMatrix):
        check_size("X", entries)
    factor = terms.factors(n)
    rows = _coefficients(coef, factor, terms.positive)
    alphas = _penalties(alpha, rows.shape[0])
    if target.shape[1] not in (1, len(alphas)):
        raise InvalidInputError(
            f"y holds {target.shape[1]} responses but coef has {len(alphas)} rows; pass one "
            f"response or {len(alphas)}."
        )
    entries = near_zero(entries)[0] if terms.fit_intercept else entries
    weights = np.ones(m) if sample_weight is None else check_weights(sample_weight, m)
    # It scales rows by the roots of their weights, so the rest needs no weights.
    view = FullView(entries, weights, terms.fit_intercept)
    with np.errstate(all="ignore"):  # overflow is an error below, not a warning
        shifted = centre(target, weights)[0] if terms.fit_intercept else target
        residual = view.scale(shifted - BlockMatrix.of(entries) @ rows.T)
        costs = np.abs(rows.data) * np.where(rows.data == 0, 0.0, factor[rows.indices])
        owner = np.repeat(np.arange(len(alphas)), np.diff(rows.indptr))
        l1 = np.bincount(owner, weights=costs, minlength=len(alphas)).astype(np.float64)
        primal = full_primal(lengths(residual), alphas, l1)
    response = np.broadcast_to(view.scale(target), residual.shape)
    bad = np.flatnonzero(~np.isfinite(primal))
    if len(bad):
        raise InvalidInputError(
            f"the objective of row {bad[0]} of coef is not finite, so that nothing can be proved; "
            "scale X, y and the coefficients so that their products are finite."
        )
    found = FullCertificate(primal, np.zeros(len(alphas)), lengths(response))
    _raise_bounds(found, view, rows, residual, response, factor, alphas, terms.positive)
    return found


def _raise_bounds(
    found: FullCertificate,
    view: FullView,
    rows: Any,
    residual: FloatArray,
    response: FloatArray,
    factor: FloatArray,
    alphas: FloatArray,
    positive: bool,
) -> None:
    """Raise ``found.dual`` (p,) to what residuals (m, p) prove, and one tight point for each."""
    m, free = len(residual), np.flatnonzero(factor == 0)
    if len(free) * m > MOST_SIGN_ENTRIES:
        return  # zero is a valid bound, and these are too many columns to clear
    cleared = Unpenalised.of(view.columns(free), positive) if len(free) else None
    sizes = column_lengths(view.X, view.weights)

    def prove(directions: FloatArray, owners: IntArray) -> FloatArray:
        proved, seen = lower_bounds(
            view, directions, response[:, owners], alphas[owners], factor, sizes, cleared, positive
        )
        np.maximum.at(found.dual, owners, proved)
        return seen

    directions = unit(residual)
    seen = prove(directions, np.arange(len(alphas)))
    small = lengths(residual) <= SMALL_RESIDUAL * lengths(response)
    supports: dict[int, tuple[IntArray, FloatArray]] = {}
    for b in np.flatnonzero((found.relative_gap > TIGHT) & (alphas > 0)).tolist():
        part = slice(rows.indptr[b], rows.indptr[b + 1])
        stored, values = rows.indices[part].astype(np.intp), rows.data[part]
        used = values != 0
        if not small[b]:
            limit = alphas[b] * factor[stored]
            near = np.sign(values) * seen[stored, b] >= NEAR * limit
            used &= np.where(limit > 0, near, positive)
        columns, values = stored[used], values[used]
        if not positive:  # else unpenalised columns may see something negative
            others = np.setdiff1d(free, columns)
            columns = np.concatenate([columns, others])
            values = np.concatenate([values, np.zeros(len(others))])
        if len(columns) and 4.0 * m * len(columns) ** 2 <= WORK / len(alphas):
            supports[b] = columns, values
    points: list[FloatArray] = []
    owners: list[int] = []
    for b, columns in _columns_of(view, supports):
        chosen, values = supports[b]
        limit = alphas[b] * factor[chosen]
        importance = np.abs(values) * lengths(columns)
        # Columns without a penalty must not see anything, whatever their coefficients.
        importance = np.where(limit == 0, importance.max() or 1.0, importance)
        with single_blas_thread():
            new = tight_points(columns, importance, limit * np.sign(values), directions[:, b])
        points += new
        owners += [b] * len(new)
    if points:
        prove(np.column_stack(points), np.array(owners, dtype=np.intp))


def _columns_of(
    view: FullView, supports: dict[int, tuple[IntArray, FloatArray]]
) -> Iterator[tuple[int, FloatArray]]:
    """The columns (m, c) of supports; of blocks only where one pass can hold them all."""
    m = len(view.weights)
    union = np.unique([column for columns, _ in supports.values() for column in columns])
    held = view.columns(union) if 0 < len(union) * m <= MOST_SIGN_ENTRIES else None
    for b, (columns, _) in supports.items():
        if held is not None:
            yield b, held[:, np.searchsorted(union, columns)]
        elif not isinstance(view.X, BlockMatrix) and len(columns) * m <= MOST_SIGN_ENTRIES:
            yield b, view.columns(columns)


def _penalties(alpha: ArrayLike, count: int) -> FloatArray:
    alphas = check_nonnegative("alpha", alpha)
    if not np.isfinite(alphas).all() or alphas.shape not in ((1,), (count,)):
        raise InvalidInputError(
            f"alpha must be one finite number, or {count} of them as coef has {count} rows, not "
            f"{alpha!r}."
        )
    return np.broadcast_to(alphas, (count,))


def _coefficients(coef: Any, factor: FloatArray, positive: bool) -> Any:
    """Coefficients as a csr_array (p, n), for which the objective is finite."""
    n = len(factor)
    refuse_unreal("coef", coef)
    try:
        given: Any = coef if sparse.issparse(coef) else np.atleast_2d(np.asarray(coef))
        rows = canonical(sparse.csr_array(given, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"coef is no matrix of real numbers; pass ({n},) or (p, {n})."
        ) from None
    if rows.ndim != 2 or rows.shape[1] != n:
        raise InvalidInputError(f"coef has {rows.shape[-1]} columns but X has {n}; pass (p, {n}).")
    wrong = ~np.isfinite(rows.data) | ((rows.data != 0) & np.isinf(factor[rows.indices]))
    wrong |= (rows.data < 0) & positive
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise InvalidInputError(
            f"coef holds {rows.data[place]:g} for feature {rows.indices[place]}, but coefficients "
            "must be finite, >= 0 where positive=True, and 0 where penalty_factor is inf."
        )
    return rows
