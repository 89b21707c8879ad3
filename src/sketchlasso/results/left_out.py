"""Models without each row in turn, on the full data, certified there.

Without row i the solution mostly keeps the support A and the signs that it has with all rows.
On such a face it is known in closed form. With Z the columns of A about their means,
e = f_A sign(w_A), H = (Z'Z)^-1 and c = m / (m - 1) (1 without an intercept), leaving out row z_i
changes Z'Z by -c z_i z_i', so that Sherman and Morrison give

    b_i = b - c H z_i (y_i - z_i'b) / (1 - c h_i)      least squares without the row
    q_i = H e + c H z_i (z_i'H e) / (1 - c h_i)        h_i = z_i'H z_i
    w_i = b_i - lambda_i q_i,   lambda_i = alpha sqrt(C_i / (1 - alpha^2 e'q_i))

with C_i the least-squares error (:func:`face_level`). What comes out is a proposal: each is
accepted by its duality gap over all columns, and the others are solved as problems of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from sketchlasso.data.transform import column_lengths
from sketchlasso.exact import solve_exact
from sketchlasso.instances import leave_one_out_rows
from sketchlasso.linalg.rows import replace_rows, rounding_of_sums
from sketchlasso.problem.formulas import relative_gap
from sketchlasso.problem.full_problem import CLEARED_SHARE, dual_bound, face_level, full_primal
from sketchlasso.problem.terms import Terms
from sketchlasso.results.models import LinearModels
from sketchlasso.solvers import Progress
from sketchlasso.types import BoolArray, FloatArray, IntArray

# Entries of the blocks that are worked on at a time.
AT_A_TIME = 2**22
# Columns whose correlation with the residual reaches this share of the penalty may enter.
NEAR = 0.6


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The problem without each row, and what is left out."""

    X: Any  # array or csr_array (m, n)
    y: FloatArray  # (m,)
    alpha: FloatArray  # (m,): penalty of the problem without each row
    # From row numbers (r,) to the penalty factors (r, n) of the problems without them.
    factor: Callable[[IntArray], FloatArray]
    same: bool  # whether all problems have the same penalty and the same factors
    fit_intercept: bool = True
    positive: bool = False


def left_out_models(
    problems: LeftOut,
    coef: FloatArray,
    tol: float,
    n_threads: int,
    callback: Callable[[Progress], None] | None = None,
) -> LinearModels:
    """Solve the problem without each row, to a relative gap of `tol` on the full data.

    `coef` (n,) is the solution with all rows; only speed depends on it. The callback is called
    after some of the rows. Returns m models, in the order of the rows.
    """
    work, m = _Work(problems, coef, tol, n_threads), len(problems.y)
    parts, intercepts, worst = [], [], 0.0
    step = max(1, AT_A_TIME // max(problems.X.shape))
    for first in range(0, m, step):
        rows = np.arange(first, min(first + step, m))
        found, intercept, gap = work.solve(rows)
        parts.append(found)
        intercepts.append(intercept)
        worst = max(worst, float(gap.max()))
        if callback is not None:
            callback(Progress(first + len(rows), m, round=0, worst_gap=worst))
    return LinearModels(sparse.vstack(parts, format="csr"), np.concatenate(intercepts))


class _Work:
    """What the problems share."""

    def __init__(self, problems: LeftOut, coef: FloatArray, tol: float, n_threads: int) -> None:
        self._problems, self._tol, self._n_threads = problems, tol, n_threads
        X = problems.X
        self._means = np.zeros(X.shape[1])
        if problems.fit_intercept:
            self._means = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        self._shift = float(problems.y.mean()) if problems.fit_intercept else 0.0
        self._y = problems.y - self._shift
        self._sizes = column_lengths(X, np.ones(X.shape[0]))
        self._near = self._columns_near(coef)
        self._face = _Face.of(problems, self._y, coef)

    def solve(self, rows: IntArray) -> tuple[Any, FloatArray, FloatArray]:
        """Coefficients (r, n), intercepts (r,) and gaps (r,) without each of some rows."""
        n = self._problems.X.shape[1]
        factor = self._problems.factor(rows)
        coef = sparse.csr_array((len(rows), n))
        if self._face is not None:
            coef = self._face.proposals(rows, self._problems.alpha[rows], factor)
        intercept, gap = self._judged(rows, coef, factor)
        for columns in (self._near, np.arange(n)):
            left = np.flatnonzero(~(gap <= self._tol))
            if len(left) == 0 or len(columns) == 0:
                continue
            own = self._solved(rows[left], columns, factor[left])
            coef = replace_rows(coef, left, own)
            intercept[left], gap[left] = self._judged(rows[left], own, factor[left])
        return coef, intercept + self._shift, gap

    def _columns_near(self, coef: FloatArray) -> IntArray:
        """Columns that may enter without some row, judged by the solution with all rows."""
        problems = self._problems
        residual = self._y - np.asarray(problems.X @ coef).ravel()
        if problems.fit_intercept:
            residual -= residual.mean()
        seen = np.abs(np.asarray(problems.X.T @ residual).ravel())
        factor = problems.factor(np.zeros(1, dtype=np.intp))[0]
        level = NEAR * float(problems.alpha.min()) * float(np.linalg.norm(residual))
        return np.flatnonzero((coef != 0) | (seen >= level * factor))

    def _solved(self, rows: IntArray, columns: IntArray, factor: FloatArray) -> Any:
        """Coefficients (r, n) of the problems on some columns, each without its row."""
        problems, n = self._problems, self._problems.X.shape[1]
        X = problems.X if len(columns) == n else problems.X[:, columns]
        groups = [rows] if problems.same else [rows[[i]] for i in range(len(rows))]
        parts = []
        for number, group in enumerate(groups):
            found = solve_exact(
                X,
                problems.y,
                problems.alpha[group[:1]],
                rows=leave_one_out_rows(len(problems.y), group),
                terms=Terms(problems.fit_intercept, factor[number, columns], problems.positive),
                tol=self._tol,
                n_threads=self._n_threads,
            )
            if len(columns) == n:
                found.warn_if_unsolved()
            parts.append(found.coef)
        own: Any = sparse.vstack(parts, format="csr")
        indices = columns[own.indices]
        return sparse.csr_array((own.data, indices, own.indptr), shape=(len(rows), n))

    def _judged(
        self, rows: IntArray, coef: Any, factor: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Intercepts (r,) of centred y, and full-data gaps (r,) of coefficients (r, n)."""
        problems, m = self._problems, len(self._y)
        fitted = coef @ problems.X.T
        residuals = self._y - _dense(fitted)
        here = np.arange(len(rows))
        intercept = np.zeros(len(rows))
        null = np.broadcast_to(self._y, residuals.shape).copy()
        null[here, rows] = 0.0
        if problems.fit_intercept:
            intercept = (residuals.sum(axis=1) - residuals[here, rows]) / (m - 1)
            residuals -= intercept[:, None]
            null -= null.sum(axis=1, keepdims=True) / (m - 1)
            null[here, rows] = 0.0
        residuals[here, rows] = 0.0
        seen = np.asarray(problems.X.T @ residuals.T).T
        seen -= np.multiply.outer(residuals.sum(axis=1), self._means)
        alpha, lengths = problems.alpha[rows], np.linalg.norm(residuals, axis=1)
        owner = np.repeat(here, np.diff(coef.indptr))
        shares = factor[owner, coef.indices] * np.abs(coef.data)
        l1 = np.bincount(owner, shares, minlength=len(rows)).astype(np.float64)
        inner, sizes = residuals @ self._y, self._sizes
        dual = dual_bound(
            seen.T,
            lengths,
            inner,
            alpha,
            factor.T,
            rounding_of_sums(m) * sizes,
            problems.positive,
        )
        # Columns without a penalty must see nothing of the residual but rounding.
        size = seen if problems.positive else np.abs(seen)
        allowed = CLEARED_SHARE * np.multiply.outer(lengths, sizes)
        dual[((factor == 0) & (size > allowed)).any(axis=1)] = 0.0
        gap = relative_gap(full_primal(lengths, alpha, l1), dual, np.linalg.norm(null, axis=1))
        return intercept, gap


def _dense(values: Any) -> FloatArray:
    """An array of a dense or sparse matrix."""
    entries = values if isinstance(values, np.ndarray) else values.toarray()
    return np.asarray(entries, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Face:
    """The active columns with all rows, and what the closed form needs of them."""

    support: IntArray
    signs: FloatArray
    Z: FloatArray  # (m, s), centred where the problems have an intercept
    HZ: FloatArray  # (m, s), rows H z_i
    H: FloatArray  # (s, s)
    b: FloatArray  # (s,)
    rest: FloatArray  # (m,), y - Z b
    share: float  # c
    n: int

    @classmethod
    def of(cls, problems: LeftOut, y: FloatArray, coef: FloatArray) -> _Face | None:
        """The face; None where it has no columns, dependent ones, or more than there are rows."""
        m, n = problems.X.shape
        support = np.flatnonzero(coef)
        if not 0 < len(support) < m - 1:
            return None
        columns = problems.X[:, support]
        Z = _dense(columns)
        Z = Z - Z.mean(axis=0) if problems.fit_intercept else Z
        try:
            root = linalg.cholesky(Z.T @ Z, lower=True)
        except linalg.LinAlgError:
            return None
        H = np.asarray(linalg.cho_solve((root, True), np.eye(len(support))))
        b = linalg.cho_solve((root, True), Z.T @ y)
        share = m / (m - 1) if problems.fit_intercept else 1.0
        signs = np.sign(coef[support])
        return cls(support, signs, Z, Z @ H, H, b, y - Z @ b, share, n)

    def proposals(self, rows: IntArray, alpha: FloatArray, factor: FloatArray) -> Any:
        """Coefficients (r, n) on the face without each row; zero where it has no solution."""
        c, z, Hz = self.share, self.Z[rows], self.HZ[rows]
        slopes = self.signs * factor[:, self.support]
        kept = 1.0 - c * np.einsum("ij,ij->i", z, Hz)
        with np.errstate(divide="ignore", invalid="ignore"):
            base = slopes @ self.H
            b = self.b - Hz * (c * self.rest[rows] / kept)[:, None]
            q = base + Hz * (c * np.einsum("ij,ij->i", z, base) / kept)[:, None]
            error = self.rest @ self.rest - c * self.rest[rows] ** 2 / kept
            level = face_level(alpha, error, np.einsum("ij,ij->i", slopes, q))
            w = b - level[:, None] * q
        fits: BoolArray = (kept > 0) & np.isfinite(w).all(axis=1)
        w[~fits] = 0.0
        # Coefficients that change their sign leave the face: zero, and the gap decides.
        w[w * self.signs < 0] = 0.0
        starts = len(self.support) * np.arange(len(rows) + 1)
        coef = sparse.csr_array(
            (w.ravel(), np.tile(self.support, len(rows)), starts), shape=(len(rows), self.n)
        )
        coef.eliminate_zeros()
        return coef
