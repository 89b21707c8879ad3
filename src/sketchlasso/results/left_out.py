"""Models without each row in turn, on the full data, certified there.

Without row i the solution mostly keeps the support A and the signs that it has with all rows.
On such a face it is known in closed form. With Z the columns of A about their means,
e = f_A sign(w_A), H = (Z'Z)^-1 and c = m / (m - 1) (1 without an intercept), leaving out row z_i
changes Z'Z by -c z_i z_i', so that Sherman and Morrison give

    b_i = b - c H z_i (y_i - z_i'b) / (1 - c h_i)      least squares without the row
    q_i = H e + c H z_i (z_i'H e) / (1 - c h_i)        h_i = z_i'H z_i
    w_i = b_i - lambda_i q_i,   lambda_i = alpha sqrt(C_i / (1 - alpha^2 e'q_i))

with C_i the least-squares error (:func:`face_level`). What comes out is a proposal: its residual,
which is zero at row i, is a direction of the dual over all rows, and proves the gap of the problem
without the row. What is not solved so is solved as a problem of its own, at first on the columns
near their threshold.
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
from sketchlasso.linalg.rows import replace_rows
from sketchlasso.problem.full_problem import (
    FullView,
    Unpenalised,
    face_level,
    full_primal,
    lower_bounds,
)
from sketchlasso.problem.terms import Terms
from sketchlasso.results.path import LinearModels
from sketchlasso.solvers import Progress, Status
from sketchlasso.solvers.solution import Ledger, warn_of_ending
from sketchlasso.types import FloatArray, IntArray

# Gap of problems without a row: that of the solution with all rows is about (1 / m)^2 there.
FINE = 1e-9

Proposals = Callable[[IntArray, FloatArray], Any]


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
    m, n = problems.X.shape
    shift = float(problems.y.mean()) if problems.fit_intercept else 0.0
    y = problems.y - shift
    squares = y @ y - _row_share(problems) * y**2
    ledger = Ledger(np.sqrt(np.maximum(squares, 0.0)), tol)
    certify, propose = _Certifier(problems, y), _proposals(problems, y, coef)
    near = _near_threshold(problems, y, coef)
    parts, intercepts = [], np.empty(m)
    step = max(1, 2**22 // max(m, n))  # residuals of 32 MB
    for first in range(0, m, step):
        rows = np.arange(first, min(first + step, m))
        factor = problems.factor(rows)
        models: Any = propose(rows, factor)
        intercept, primal, dual = certify(rows, models, factor)
        intercepts[rows] = shift + intercept
        ledger.offer(rows, primal, dual)
        for columns in (near, np.arange(n)):
            left = np.flatnonzero(~(ledger.gap(rows) <= tol))
            if len(left) == 0 or len(columns) == 0:
                continue
            numbers = rows[left]
            solved, bound = _solved(problems, numbers, columns, factor[left], tol, n_threads)
            models = replace_rows(models, left, solved)
            intercept, primal, dual = certify(numbers, solved, factor[left])
            intercepts[numbers] = shift + intercept
            ledger.primal[numbers] = np.inf  # that of other coefficients
            ledger.offer(numbers, primal, dual if len(columns) < n else np.maximum(dual, bound))
        parts.append(models)
        if callback is not None:
            done = np.arange(rows[-1] + 1)
            worst = float(ledger.gap(done).max())
            callback(Progress(len(done), m, round=0, worst_gap=worst))
    ledger.settle(np.arange(m), Status.ITERATION_LIMIT)
    warn_of_ending(ledger.status, ledger.gap(np.arange(m)))
    return LinearModels(sparse.vstack(parts, format="csr"), intercepts)


def _row_share(problems: LeftOut) -> float:
    """c: by how much more than its square a row counts, as it moves the means."""
    m = len(problems.y)
    return m / (m - 1) if problems.fit_intercept else 1.0


def _near_threshold(problems: LeftOut, y: FloatArray, coef: FloatArray) -> IntArray:
    """Columns that may enter without some row, by the solution with all rows."""
    residual = y - np.asarray(problems.X @ coef).ravel()
    if problems.fit_intercept:
        residual -= residual.mean()
    factor = problems.factor(np.zeros(1, dtype=np.intp))[0]
    seen = np.abs(np.asarray(problems.X.T @ residual).ravel())
    # 0.6 of the threshold: a lower share adds columns, a higher one repeats solves on all of them.
    level = 0.6 * float(problems.alpha.min()) * float(np.linalg.norm(residual))
    return np.flatnonzero((coef != 0) | (seen >= level * factor))


def _solved(
    problems: LeftOut,
    rows: IntArray,
    columns: IntArray,
    factor: FloatArray,
    tol: float,
    n_threads: int,
) -> tuple[Any, FloatArray]:
    """Coefficients (r, n) of the problems on some columns, each without its row, and bounds (r,).

    The bounds are those of the problems on these columns.
    """
    X: Any = problems.X if len(columns) == problems.X.shape[1] else problems.X[:, columns]
    groups = [rows] if problems.same else [rows[[i]] for i in range(len(rows))]
    parts = [
        solve_exact(
            X,
            problems.y,
            problems.alpha[group[:1]],
            rows=leave_one_out_rows(len(problems.y), group),
            terms=Terms(problems.fit_intercept, factor[number, columns], problems.positive),
            tol=tol,
            n_threads=n_threads,
        )
        for number, group in enumerate(groups)
    ]
    coef: Any = sparse.vstack([part.coef for part in parts], format="csr")
    entries = coef.data, columns[coef.indices], coef.indptr
    found = sparse.csr_array(entries, shape=(len(rows), problems.X.shape[1]))
    return found, np.concatenate([part.dual for part in parts])


class _Certifier:
    """Intercepts, objectives and proved lower bounds of the problems without some rows."""

    def __init__(self, problems: LeftOut, y: FloatArray) -> None:
        self._problems, self._y, m = problems, y, len(y)
        # Residuals without a row are centred already.
        self._view = FullView(problems.X, np.ones(m), fit_intercept=False)
        self._sizes = column_lengths(problems.X, np.ones(m))
        columns = np.flatnonzero(problems.factor(np.zeros(1, dtype=np.intp))[0] == 0)
        self._free: Unpenalised | None = None
        if len(columns):
            centred = FullView(problems.X, np.ones(m), problems.fit_intercept)
            self._free = Unpenalised.of(centred.columns(columns), problems.positive)

    def __call__(
        self, rows: IntArray, coef: Any, factor: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Intercepts (r,) of centred y, objectives (r,) and bounds (r,) of coefficients (r, n)."""
        problems, here = self._problems, np.arange(len(rows))
        residual = self._y[:, None] - _dense(problems.X @ coef.T)
        residual[rows, here] = 0.0
        intercept = np.zeros(len(rows))
        if problems.fit_intercept:
            intercept = residual.sum(axis=0) / (len(self._y) - 1)
            residual -= intercept
            residual[rows, here] = 0.0
        owner = np.repeat(here, np.diff(coef.indptr))
        costs = factor[owner, coef.indices] * np.abs(coef.data)
        l1 = np.bincount(owner, costs, minlength=len(rows)).astype(np.float64)
        alpha = problems.alpha[rows]
        primal = full_primal(np.linalg.norm(residual, axis=0), alpha, l1)
        dual, _ = lower_bounds(
            self._view,
            self._cleared(residual, rows),
            self._y[:, None],
            alpha,
            factor.T,
            self._sizes,
            self._free,
            problems.positive,
        )
        return intercept, primal, dual

    def _cleared(self, directions: FloatArray, rows: IntArray) -> FloatArray:
        """Directions (m, r) less what unpenalised columns see of them, still zero at their rows.

        With B a basis of these columns, the part of a row's indicator outside of it is taken off.
        """
        if self._free is None:
            return directions
        basis, here = self._free.basis, np.arange(len(rows))
        directions = directions - basis @ (basis.T @ directions)
        outside = -basis @ basis[rows].T
        if self._problems.fit_intercept:
            outside -= 1.0 / len(basis)
        outside[rows, here] += 1.0
        room = outside[rows, here]
        known = room > 1e-10  # else the columns fit the row whatever the response is
        share = np.where(known, directions[rows, here] / np.where(known, room, 1.0), 0.0)
        return np.asarray((directions - outside * share) * known)


def _dense(values: Any) -> FloatArray:
    """An array of a dense or sparse matrix."""
    entries = values if isinstance(values, np.ndarray) else values.toarray()
    return np.asarray(entries, dtype=np.float64)


def _proposals(problems: LeftOut, y: FloatArray, coef: FloatArray) -> Proposals:
    """A function that proposes coefficients (r, n) on the face of `coef`, without each of rows.

    Zero where the columns of the face depend on each other, or are as many as there are rows.
    """
    m, n = problems.X.shape
    support, c = np.flatnonzero(coef), _row_share(problems)

    def nothing(rows: IntArray, factor: FloatArray) -> Any:
        return sparse.csr_array((len(rows), n))

    if not 0 < len(support) < m - 1:
        return nothing
    Z = _dense(problems.X[:, support])
    Z = Z - Z.mean(axis=0) if problems.fit_intercept else Z
    try:
        root = linalg.cholesky(Z.T @ Z, lower=True)
    except linalg.LinAlgError:
        return nothing
    H = np.asarray(linalg.cho_solve((root, True), np.eye(len(support))))
    HZ, b, signs = Z @ H, linalg.cho_solve((root, True), Z.T @ y), np.sign(coef[support])
    rest = y - Z @ b

    def propose(rows: IntArray, factor: FloatArray) -> Any:
        z, Hz, slopes = Z[rows], HZ[rows], signs * factor[:, support]
        left = 1.0 - c * np.einsum("ij,ij->i", z, Hz)
        with np.errstate(divide="ignore", invalid="ignore"):
            base = slopes @ H
            least_squares = b - Hz * (c * rest[rows] / left)[:, None]
            q = base + Hz * (c * np.einsum("ij,ij->i", z, base) / left)[:, None]
            error = rest @ rest - c * rest[rows] ** 2 / left
            steepness = np.einsum("ij,ij->i", slopes, q)
            level = face_level(problems.alpha[rows], error, steepness)
            w = least_squares - level[:, None] * q
        w[~((left > 0) & np.isfinite(w).all(axis=1))] = 0.0
        # Coefficients that change their sign leave the face: zero, and the gap decides.
        w[w * signs < 0] = 0.0
        starts = len(support) * np.arange(len(rows) + 1)
        entries = w.ravel(), np.tile(support, len(rows)), starts
        models: Any = sparse.csr_array(entries, shape=(len(rows), n))
        models.eliminate_zeros()
        return models

    return propose
