"""How far coefficients found on a sketch are from the optimum of the full problem.

The full problem, its dual and the feasible dual point that any coefficients lead to are described
in :mod:`sketchlasso.problem.full_problem`. Two products with X, one for the residual and one for
its correlations, prove a gap for any coefficients, for whole paths at once. Where that proves
little, a point that meets the constraints of the support with equality is tried as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
from sketchlasso.results.models import fitted_values
from sketchlasso.types import FloatArray, IntArray

# Relative gap that is not worth improving.
TIGHT = 1e-9
# Columns of the support that see less than this share of their penalty are not near the optimum.
NEAR = 0.5
# Operations that all factorisations together, and one in units of X's entries, may take.
WORK = 4e9
WORK_PER_ENTRY = 20
# Rounds in which columns that see too much of a point join its equations, and how many may join.
ROUNDS, MOST_JOINING = 3, 64
# Importance of constraints of columns outside the fit, as a share of the largest.
NOT_IN_FIT = 1e-6


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


def certify_with_bound(
    X: Any,
    y: ArrayLike,
    coef: Any,
    alpha: ArrayLike,
    *,
    terms: Terms,
    sample_weight: ArrayLike | None = None,
    bound: FloatArray | None = None,
) -> FullCertificate:
    """See :func:`certify`; `bound` (p,) are dual values that a solver of X itself has proved."""
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
    found = FullCertificate(primal, np.zeros(count) if bound is None else bound.copy(), null)
    if (found.dual == 0).any():
        sizes = column_lengths(view.X, view.weights)
        # Without any penalty every column has the factor zero.
        for zero in (False, True):
            members = np.flatnonzero(((alphas == 0) == zero) & (found.dual == 0))
            own = np.where(np.isinf(factor), factor, 0.0) if zero else factor
            if len(members):
                _Bounds(view, rows, residual, response, own, alphas, sizes, positive, found).find(
                    members
                )
    return found


@dataclass(frozen=True, eq=False)
class Attempt:
    """Constraints that a dual point of row `b` is to meet with equality."""

    b: int
    direction: FloatArray  # (m,): of the residual
    columns: IntArray  # (c,)
    values: FloatArray  # (c,): coefficients; tiny ones for columns of which the sign alone counts

    def with_free(self, free: IntArray, positive: bool) -> Attempt:
        """The attempt with all columns without a penalty, which see nothing of a point."""
        if positive:  # they may see something negative
            return self
        others = np.setdiff1d(free, self.columns)
        return replace(
            self,
            columns=np.concatenate([self.columns, others]),
            values=np.concatenate([self.values, np.zeros(len(others))]),
        )

    def points(self, columns: FloatArray, limit: FloatArray) -> list[FloatArray]:
        """Points (m,), from columns (m, c) and their penalties (c,)."""
        importance = np.abs(self.values) * lengths(columns)
        most = importance.max(initial=0.0) or 1.0
        importance = np.where(limit == 0, most, np.maximum(importance, NOT_IN_FIT * most))
        return tight_points(columns, importance, limit * np.sign(self.values), self.direction)


@dataclass(eq=False)
class _Bounds:
    """Finds lower bounds for some rows of coefficients, which are written into `found.dual`."""

    view: FullView
    rows: Any  # csr_array (p, n)
    residual: FloatArray  # (m, p), on scaled rows
    response: FloatArray  # (m, 1) or (m, p)
    factor: FloatArray  # (n,)
    alphas: FloatArray  # (p,)
    sizes: FloatArray  # (n,)
    positive: bool
    found: FullCertificate

    def find(self, members: IntArray) -> None:
        """Try the residuals of some rows, then one tight point where these prove little."""
        view, free = self.view, np.flatnonzero(self.factor == 0)
        if len(free) * len(self.residual) > MOST_SIGN_ENTRIES:
            return  # zero is a valid bound, and these are too many columns to clear
        self.free = Unpenalised.of(view.columns(free), self.positive) if len(free) else None
        directions = unit(self.residual[:, members])
        seen = self._prove(directions, members)
        gap = self.found.relative_gap[members]
        attempts = []
        for place in np.flatnonzero((gap > TIGHT) & (self.alphas[members] > 0)):
            b = members[place]
            part = slice(self.rows.indptr[b], self.rows.indptr[b + 1])
            stored, values = self.rows.indices[part].astype(np.intp), self.rows.data[part]
            limit = self.alphas[b] * self.factor[stored]
            chosen = values != 0
            if lengths(self.residual[:, [b]])[0] > SMALL_RESIDUAL * lengths(self._response(b))[0]:
                # Columns that see far less than their penalty are not near the optimum.
                near = np.sign(values) * seen[stored, place] >= NEAR * limit
                chosen &= np.where(limit > 0, near, self.positive)
            own = Attempt(b, directions[:, place], stored[chosen], values[chosen])
            attempts.append(own.with_free(free, self.positive))
        for _ in range(ROUNDS):
            attempts = [again for group in self._groups(attempts) for again in self._try(group)]

    def _try(self, group: list[Attempt]) -> list[Attempt]:
        """Try the points of some attempts; returns those worth another round."""
        union = np.unique(np.concatenate([attempt.columns for attempt in group]))
        held = self.view.columns(union)
        tried: list[tuple[Attempt, FloatArray]] = []
        for attempt in group:
            columns = held[:, np.searchsorted(union, attempt.columns)]
            limit = self.alphas[attempt.b] * self.factor[attempt.columns]
            with single_blas_thread():
                points = attempt.points(columns, limit)
            tried += [(attempt, point) for point in points]
        if not tried:
            return []
        owners = np.array([attempt.b for attempt, _ in tried], dtype=np.intp)
        seen = self._prove(np.column_stack([point for _, point in tried]), owners)
        first = {attempt.b: place for place, (attempt, _) in reversed(list(enumerate(tried)))}
        loose = [own for own in group if own.b in first and self.found.relative_gap[own.b] > TIGHT]
        joined = [self._joined(own, seen[:, first[own.b]]) for own in loose]
        return [own for own in joined if own is not None]

    def _joined(self, attempt: Attempt, seen: FloatArray) -> Attempt | None:
        """The attempt with the columns that see too much (n,) of its point, if there are a few."""
        limit = self.alphas[attempt.b] * self.factor
        size = seen if self.positive else np.abs(seen)
        violated = (limit > 0) & (size > limit * (1 + TIGHT))
        violated[attempt.columns] = False
        joining = np.flatnonzero(violated)
        if not 0 < len(joining) <= MOST_JOINING:
            return None
        return Attempt(
            attempt.b,
            attempt.direction,
            np.concatenate([attempt.columns, joining]),
            np.concatenate([attempt.values, np.copysign(np.finfo(float).tiny, seen[joining])]),
        )

    def _response(self, owners: Any) -> FloatArray:
        """The responses (m, d) of rows (d,) or of one row, or the one (m, 1) that all share."""
        if self.response.shape[1] == 1:
            return self.response
        return self.response[:, np.atleast_1d(owners)]

    def _prove(self, directions: FloatArray, owners: IntArray) -> FloatArray:
        """Try directions (m, d) for the rows `owners` (d,); returns what columns see of them."""
        proved, seen = lower_bounds(
            self.view,
            directions,
            self._response(owners),
            self.alphas[owners],
            self.factor,
            self.sizes,
            self.free,
            self.positive,
        )
        np.maximum.at(self.found.dual, owners, proved)
        return seen

    def _groups(self, attempts: list[Attempt]) -> Iterator[list[Attempt]]:
        """Attempts that are worth their work, in groups whose columns fit in memory."""
        m = len(self.residual)
        allowed = max(WORK / max(len(self.alphas), 1), WORK_PER_ENTRY * self.view.size)
        group: list[Attempt] = []
        union = np.empty(0, dtype=np.intp)
        for attempt in attempts:
            count = len(attempt.columns)
            if not count or count * m > MOST_SIGN_ENTRIES or 4.0 * m * count**2 > allowed:
                continue
            joined = np.union1d(union, attempt.columns)
            if len(joined) * m > MOST_SIGN_ENTRIES:
                yield group
                if isinstance(self.view.X, BlockMatrix):
                    return  # every group is a pass over the blocks
                group, joined = [], attempt.columns
            group.append(attempt)
            union = joined
        if group:
            yield group


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
