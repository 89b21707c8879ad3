"""Square-root LASSO problems on the full data, solved to a full-data gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import as_responses
from sketchlasso.errors import InvalidInputError
from sketchlasso.exact.columns import Columns, as_columns
from sketchlasso.exact.gram_cache import TotalGram, TrainingGram
from sketchlasso.exact.ledger import ExactLedger
from sketchlasso.exact.point import Target
from sketchlasso.exact.solution import ExactSolution
from sketchlasso.exact.training import TrainingRows
from sketchlasso.exact.walk import Walk
from sketchlasso.instances.grid import check_nonnegative
from sketchlasso.instances.rows import RowSet, RowSets, all_rows
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.solve.clock import Stopwatch
from sketchlasso.solve.settings import Progress, StopSolve
from sketchlasso.types import FloatArray

__all__ = ["exact_alpha_max", "solve_exact"]

# With so few columns all of them are worked with from the start.
FEW_COLUMNS = 1000


@dataclass(frozen=True, eq=False)
class _Problems:
    """What the user asked for, checked: instances are rows x responses x alphas."""

    columns: Columns
    Y: FloatArray
    alphas: FloatArray
    rows: RowSets
    factor: FloatArray
    fit_intercept: bool
    nonnegative: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.rows), self.alphas.shape[0], self.alphas.shape[1]


def solve_exact(
    X: Any,
    y: ArrayLike,
    alphas: ArrayLike,
    *,
    rows: RowSets | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    nonnegative: bool = False,
    tol: float = 1e-4,
    start: sparse.csr_array[Any, tuple[int, int]] | None = None,
    max_rounds: int = 100,
    callback: Callable[[Progress], None] | None = None,
) -> ExactSolution:
    """Solve square-root LASSO problems on the data themselves, without any sketch.

    ::

        minimise over w, b    || y - X w - b ||_W  +  alpha * sum_j f_j |w_j|

    Parameters
    ----------
    X : array or sparse matrix of shape (m, n)
        A sparse X is never made dense beyond the columns at work.
    y : array-like of shape (m,) or (m, t)
    alphas : array-like of shape (a,) or (t, a)
        Penalties > 0 in any order; solved from the largest down.
    rows : RowSets, optional
        Folds, deletions, weights; all rows by default.
    fit_intercept : bool
    penalty_factor : array-like of shape (n,), optional
        f; 0 leaves a feature unpenalised, inf excludes it.
    nonnegative : bool
        Whether coefficients must be >= 0.
    tol : float
        Relative duality gap on the full data at which a problem counts as solved.
    start : csr_array of shape (B, n), optional
        Coefficients to start from, such as the sketched solution; any are allowed.
    max_rounds : int
        Rounds per problem: each solves it on the columns at work and looks at all of X.
    callback : callable, optional
        Called with a :class:`Progress` after each problem; raising :class:`StopSolve` in it
        stops cleanly.

    Returns
    -------
    ExactSolution
        Instances ordered (row set, response, alpha), alpha fastest and as given. Those that
        fell short carry a status, never an exception; where the callback stopped the solve,
        the rest is marked INTERRUPTED. Ctrl-C raises KeyboardInterrupt.
    """
    problems = _checked(X, y, alphas, rows, fit_intercept, penalty_factor, nonnegative)
    if not (np.isfinite(tol) and tol > 0):
        raise InvalidInputError(f"tol={tol} must be a positive number such as 1e-4")
    if max_rounds < 1:
        raise InvalidInputError(f"max_rounds={max_rounds} must be at least 1")
    first = _checked_start(start, int(np.prod(problems.shape)), problems.columns.shape[1])
    ledger = ExactLedger(problems.shape, problems.columns.shape[1], callback)
    with Stopwatch() as watch, single_blas_thread():
        try:
            _solve_all(problems, tol, max_rounds, first, ledger)
        except StopSolve:
            _begin_the_rest(problems, ledger)
    return ledger.solution(watch)


def exact_alpha_max(
    X: Any,
    y: ArrayLike,
    *,
    rows: RowSets | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    nonnegative: bool = False,
) -> FloatArray:
    """Smallest penalty (t,) at which every penalised coefficient is zero.

    Unpenalised features are fitted first; r is what they leave of y. Then
    alpha_max = max_j |x_j'W r| / (f_j ||r||_W) (one-sided where w >= 0).

    Parameters
    ----------
    X : array or sparse matrix of shape (m, n)
    y : array-like of shape (m,) or (m, t)
    rows : RowSets, optional
        The largest over the row sets is returned; all rows by default.
    fit_intercept : bool
    penalty_factor : array-like of shape (n,), optional
    nonnegative : bool

    Returns
    -------
    ndarray of shape (t,)
    """
    problems = _checked(X, y, [1.0], rows, fit_intercept, penalty_factor, nonnegative)
    largest = np.zeros(problems.shape[1])
    for row_set in problems.rows:
        training = TrainingRows(problems.columns, row_set, fit_intercept)
        for response in range(problems.shape[1]):
            target = _target(problems, training, response)
            largest[response] = max(largest[response], target.alpha_max())
    return largest


def _checked(
    X: Any,
    y: ArrayLike,
    alphas: ArrayLike,
    rows: RowSets | None,
    fit_intercept: bool,
    penalty_factor: ArrayLike | None,
    nonnegative: bool,
) -> _Problems:
    columns = as_columns(X, fit_intercept)
    m, n = columns.shape
    Y = as_responses(y, m)
    rows = rows or all_rows(m)
    if rows.n_samples != m:
        raise InvalidInputError(f"the row sets are for {rows.n_samples} rows but X has {m}")
    grid = np.asarray(alphas, dtype=np.float64)
    grid = np.broadcast_to(grid, (Y.shape[1], *grid.shape)) if grid.ndim == 1 else grid
    if grid.ndim != 2 or grid.size == 0 or grid.shape[0] != Y.shape[1]:
        raise InvalidInputError(
            f"alphas has shape {np.shape(alphas)}; pass (a,) or ({Y.shape[1]}, a), a >= 1"
        )
    bad = grid[~(np.isfinite(grid) & (grid > 0))]
    if bad.size:
        raise InvalidInputError(
            f"alphas contains {bad[0]:g}, but problems on X itself take finite penalties > 0; give "
            "such, or a sketch, which takes 0 as well."
        )
    factor = np.ones(n)
    if penalty_factor is not None:
        factor = check_nonnegative("penalty_factor", penalty_factor)
    if factor.shape != (n,):
        raise InvalidInputError(f"penalty_factor has shape {factor.shape}; pass ({n},)")
    return _Problems(columns, Y, grid, rows, factor, fit_intercept, bool(nonnegative))


def _checked_start(start: Any, size: int, n: int) -> Any:
    if start is None:
        return None
    rows = sparse.csr_array(start, dtype=np.float64)
    if rows.shape != (size, n):
        raise InvalidInputError(f"start has shape {rows.shape}; pass ({size}, {n})")
    if not np.isfinite(rows.data).all():
        raise InvalidInputError("start contains NaN or infinity; pass finite coefficients")
    return rows


def _target(problems: _Problems, training: TrainingRows, response: int) -> Target:
    return Target(training, problems.Y[:, response], problems.factor, problems.nonnegative)


def _solve_all(
    problems: _Problems, tol: float, max_rounds: int, start: Any, ledger: ExactLedger
) -> None:
    """Row set by row set, response by response; what is found goes to the ledger."""
    m = problems.columns.shape[0]
    chains = problems.shape[0] * problems.shape[1]
    total = TotalGram(problems.columns) if chains > 1 else None
    for number, row_set in enumerate(problems.rows):
        training = TrainingRows(problems.columns, row_set, problems.fit_intercept)
        held_out = _held_out(problems.columns, row_set) if total is not None else None
        downdate = total is not None and row_set.weights is None
        downdate = downdate and 2 * len(row_set.removed) < m
        for response in range(problems.shape[1]):
            target = _target(problems, training, response)
            ledger.begin(number, response, target)
            gram = TrainingGram(training, total if downdate else None, held_out)
            walk = Walk(target, gram, tol, max_rounds)
            _walk_down(problems, walk, start, ledger, response)


def _begin_the_rest(problems: _Problems, ledger: ExactLedger) -> None:
    """Give the problems that never had their turn w = 0 and its objective."""
    for number, row_set in enumerate(problems.rows):
        for response in range(problems.shape[1]):
            if not ledger.begun(number, response):
                training = TrainingRows(problems.columns, row_set, problems.fit_intercept)
                ledger.begin(number, response, _target(problems, training, response))


def _held_out(columns: Columns, row_set: RowSet) -> Columns | None:
    return columns.rows(row_set.removed) if len(row_set.removed) else None


def _walk_down(
    problems: _Problems, walk: Walk, start: Any, ledger: ExactLedger, response: int
) -> None:
    alphas = problems.alphas[response]
    if problems.columns.shape[1] <= FEW_COLUMNS:
        walk.gram.include(np.flatnonzero(np.isfinite(problems.factor)))
    for number in np.argsort(-alphas, kind="stable"):
        if start is not None:
            row = ledger.instance(int(number))
            part = slice(start.indptr[row], start.indptr[row + 1])
            walk.offer(start.indices[part].astype(np.intp), start.data[part], alphas[number])
        ledger.record(int(number), walk.solve(float(alphas[number])))
