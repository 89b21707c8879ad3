"""How far coefficients found on a sketch are from the optimum of the full problem.

The full problem, its dual and the feasible dual point that any coefficients lead to are described
in :mod:`sketchlasso.problem.full_problem`. Two products with X, one for the residual and one for
its correlations, prove a gap for any coefficients, for whole paths at once; a few more sharpen it
(:mod:`sketchlasso.results.dual_search`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import as_blocks, as_responses, as_rows, spread
from sketchlasso.data.indirect import OperatorStorage
from sketchlasso.data.storage import canonical
from sketchlasso.data.transform import near_zero
from sketchlasso.data.validate import as_storage, check_flags, refuse_unreal
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import check_weights
from sketchlasso.linalg.rows import centre, lengths
from sketchlasso.problem.dual import Bounds
from sketchlasso.problem.full_problem import FullView, full_primal
from sketchlasso.problem.terms import Terms, check_nonnegative
from sketchlasso.results.dual_search import Coefficients, best_dual
from sketchlasso.results.models import fitted_values
from sketchlasso.types import FloatArray


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
    return certify_with_bound(
        X,
        y,
        coef,
        alpha,
        terms=Terms(fit_intercept, penalty_factor, positive),
        sample_weight=sample_weight,
    )


@spread
def certify_with_bound(
    X: Any,
    y: ArrayLike,
    coef: Any,
    alpha: ArrayLike,
    *,
    terms: Terms,
    sample_weight: ArrayLike | None = None,
    bound: FloatArray | None = None,
    rounded: bool = False,
) -> FullCertificate:
    """See :func:`certify`; `bound` (p,) are dual values that a solver of X itself has proved.

    X may be `rounded`: its entries are known up to rounding only, as the solver assumes.
    """
    X = as_blocks(X)
    if isinstance(as_storage(X), OperatorStorage):
        raise InvalidInputError(
            "X is a LinearOperator, but the certificate needs its columns; pass an array, a "
            "sparse matrix or blocks."
        )
    entries = as_rows(X)
    m, n = entries.shape
    target = as_responses(y, m)
    factor = terms.factors(n)
    rows = _coefficients(coef, factor, terms.positive)
    alphas = _penalties(alpha, rows.shape[0])
    if target.shape[1] not in (1, len(alphas)):
        raise InvalidInputError(
            f"y holds {target.shape[1]} responses but coef has {len(alphas)} rows; pass one "
            f"response or {len(alphas)}."
        )
    _check_products(alphas, factor)
    entries = near_zero(entries)[0] if terms.fit_intercept else entries
    weights = np.ones(m) if sample_weight is None else check_weights(sample_weight, m)
    # It scales rows by the roots of their weights, so the rest needs no weights.
    view = FullView(entries, weights, terms.fit_intercept, rounded)
    # Overflow is an error in `_proof`, not a warning.
    with np.errstate(all="ignore"):
        return _proof(view, target, rows, factor, alphas, terms.positive, bound)


def _proof(
    view: FullView,
    target: FloatArray,
    rows: Any,
    factor: FloatArray,
    alphas: FloatArray,
    positive: bool,
    bound: FloatArray | None,
) -> FullCertificate:
    """The certificate of coefficients (p, n) for responses (m, 1) or (m, p)."""
    count = len(alphas)
    response = view.scale(target)
    shifted = centre(target, view.weights)[0] if view.fit_intercept else target
    residual = view.scale(shifted - fitted_values(view.X, rows))
    costs = np.abs(rows.data) * np.where(rows.data == 0, 0.0, factor[rows.indices])
    owner = np.repeat(np.arange(count), np.diff(rows.indptr))
    l1 = np.bincount(owner, weights=costs, minlength=count).astype(np.float64)
    primal = full_primal(lengths(residual), alphas, l1)
    null = np.broadcast_to(lengths(response), (count,)).copy()
    bad = np.flatnonzero(~(np.isfinite(primal) & np.isfinite(null)))
    if len(bad):
        raise InvalidInputError(
            f"the objective of row {bad[0]} of coef is not finite, so that nothing can be proved; "
            "scale X, y and the coefficients so that their products are finite."
        )
    start = Coefficients(rows, residual, response, primal, null)
    dual = best_dual(view, start, factor, alphas, positive, bound)
    return FullCertificate(primal=primal, dual=dual, null=null)


def _check_products(alphas: FloatArray, factor: FloatArray) -> None:
    """Refuse penalties (p,) that rounding makes zero with a penalty factor (n,)."""
    smallest = factor[factor > 0].min(initial=np.inf)
    given = alphas[alphas > 0]
    with np.errstate(over="ignore"):  # an infinite product is not zero
        lost = given[given * smallest == 0]
    if len(lost):
        raise InvalidInputError(
            f"alpha={float(lost[0])!r} times the penalty factor {smallest:g} is too small for a "
            "number, so that nothing can be proved; pass a larger penalty, or 0 as the factor."
        )


def _penalties(alpha: ArrayLike, count: int) -> FloatArray:
    alphas = check_nonnegative("alpha", alpha)
    if not np.isfinite(alphas).all():
        raise InvalidInputError("alpha must hold finite penalties, not inf.")
    if alphas.shape not in ((1,), (count,)):
        raise InvalidInputError(
            f"alpha has shape {alphas.shape} but coef has {count} rows; pass one number or "
            f"({count},)."
        )
    return np.broadcast_to(alphas, (count,))


def _coefficients(coef: Any, factor: FloatArray, positive: bool) -> Any:
    n = len(factor)
    refuse_unreal("coef", coef)
    try:
        given: Any = coef if sparse.issparse(coef) else np.atleast_2d(np.asarray(coef))
        rows = canonical(sparse.csr_array(given, dtype=np.float64))
    except (TypeError, ValueError) as problem:
        raise InvalidInputError(
            f"coef is no matrix of real numbers; pass ({n},) or (p, {n})"
        ) from problem
    if rows.ndim != 2 or rows.shape[1] != n:
        raise InvalidInputError(f"coef has {rows.shape[-1]} columns but X has {n}; pass (p, {n})")
    if not np.isfinite(rows.data).all():
        row, column, value = _first(rows, ~np.isfinite(rows.data))
        raise InvalidInputError(
            f"coef holds {value:g} in row {row}, column {column}, but only finite coefficients "
            "can be proved; pass those."
        )
    if positive and (rows.data < 0).any():
        raise InvalidInputError(
            f"coef contains {rows.data.min():g} but positive=True; pass coefficients >= 0"
        )
    excluded = np.isinf(factor[rows.indices]) & (rows.data != 0)
    if excluded.any():
        row, column, value = _first(rows, excluded)
        raise InvalidInputError(
            f"coef holds {value:g} in row {row}, column {column}, but penalty_factor is inf there, "
            "so that the objective is infinite; pass 0, or a finite factor."
        )
    return rows


def _first(rows: Any, where: Any) -> tuple[int, int, float]:
    """Row, column and value of the first stored number of a csr_array that is marked."""
    place = int(np.flatnonzero(where)[0])
    row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
    return row, int(rows.indices[place]), float(rows.data[place])
