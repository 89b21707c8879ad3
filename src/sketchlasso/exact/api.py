"""Square-root LASSO problems on the full data, solved to a full-data gap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import as_responses
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.exact.columns import TrainingRows, as_columns
from sketchlasso.exact.descent import Descent, Problems, Start
from sketchlasso.exact.ledger import ExactLedger, ExactSolution
from sketchlasso.instances.rows import RowSets, all_rows
from sketchlasso.linalg.threads import single_blas_thread, thread_count
from sketchlasso.problem.terms import Terms
from sketchlasso.solvers.settings import Progress, StopSolve
from sketchlasso.solvers.solution import Stopwatch
from sketchlasso.types import FloatArray, IntArray, SparseRows

__all__ = ["checked_problems", "exact_alpha_max", "solve_exact"]

# With an intercept, and every feature penalised alike.
DEFAULT_TERMS = Terms()


def solve_exact(
    X: Any,
    y: ArrayLike,
    alphas: ArrayLike,
    *,
    rows: RowSets | None = None,
    terms: Terms = DEFAULT_TERMS,
    tol: float = 1e-4,
    start: SparseRows | None = None,
    max_rounds: int = 100,
    n_threads: int = -1,
    callback: Callable[[Progress], None] | None = None,
) -> ExactSolution:
    """Solve square-root LASSO problems on the data themselves, without any sketch.

    ::

        minimise over w, b    || y - X w - b ||_W  +  alpha * sum_j f_j |w_j|

    Parameters
    ----------
    X : array or sparse matrix of shape (m, n)
        A sparse X is never made dense beyond the working columns.
    y : array-like of shape (m,) or (m, t)
    alphas : array-like of shape (a,) or (t, a)
        Penalties > 0 in any order; solved from the largest down.
    rows : RowSets, optional
        Folds, deletions, weights; all rows by default.
    terms : Terms
        Intercept, penalty factors f and signs.
    tol : float
        Relative duality gap on the full data at which a problem counts as solved.
    start : csr_array of shape (B, n), optional
        Coefficients to start from, such as the sketched solution; any are allowed.
    max_rounds : int
        Rounds per problem: each solves it on the working columns and checks all of X.
    n_threads : int
        Chains of penalties that are solved side by side; -1 for one per core.
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
    problems = checked_problems(X, y, rows, terms)
    grid = _checked_alphas(alphas, problems.Y.shape[1])
    if not (np.isfinite(tol) and tol > 0):
        raise InvalidInputError(Argument("tol", tol), " must be a positive number such as 1e-4")
    if max_rounds < 1:
        raise InvalidInputError(Argument("max_rounds", max_rounds), " must be at least 1")
    shape = (len(problems.rows), *grid.shape)
    first = _checked_start(start, int(np.prod(shape)), problems.columns.shape[1])
    ledger = ExactLedger(shape, problems.columns.shape[1], tol, callback)
    order = np.argsort(-grid, axis=1, kind="stable")
    with Stopwatch() as watch, single_blas_thread():
        descent = Descent(
            problems, tol, max_rounds, thread_count(n_threads, "n_threads"), knots=start is None
        )
        keys = [(row, response) for row in range(shape[0]) for response in range(shape[1])]
        try:
            descent.solve(
                keys,
                [grid[r, order[r]] for r in range(len(grid))],
                list(order),
                ledger,
                None if first is None else _starts(first, shape),
                keep=False,
            )
        except StopSolve:
            _begin_the_rest(problems, ledger)
    return ledger.solution(watch)


def exact_alpha_max(
    X: Any,
    y: ArrayLike,
    *,
    rows: RowSets | None = None,
    terms: Terms = DEFAULT_TERMS,
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
    terms : Terms

    Returns
    -------
    ndarray of shape (t,)
    """
    problems = checked_problems(X, y, rows, terms)
    largest = np.zeros(problems.Y.shape[1])
    for row_set in problems.rows:
        training = TrainingRows(problems.columns, row_set, terms.fit_intercept)
        for response in range(len(largest)):
            target = problems.target(training, response)
            largest[response] = max(largest[response], target.alpha_max())
    return largest


def checked_problems(X: Any, y: ArrayLike, rows: RowSets | None, terms: Terms) -> Problems:
    """Check what :func:`solve_exact` takes, apart from the penalties."""
    columns = as_columns(X, terms.fit_intercept)
    m, n = columns.shape
    Y = as_responses(y, m)
    rows = rows or all_rows(m)
    if rows.n_samples != m:
        raise InvalidInputError(f"the row sets are for {rows.n_samples} rows but X has {m}")
    factor = terms.factors(n)
    return Problems(columns, Y, rows, factor, terms.fit_intercept, bool(terms.positive))


def _checked_alphas(alphas: ArrayLike, t: int) -> FloatArray:
    """Penalties (t, a) of every response."""
    grid = np.asarray(alphas, dtype=np.float64)
    grid = np.broadcast_to(grid, (t, *grid.shape)) if grid.ndim == 1 else grid
    if grid.ndim != 2 or grid.size == 0 or grid.shape[0] != t:
        raise InvalidInputError(
            f"alphas has shape {np.shape(alphas)}; pass (a,) or ({t}, a), a >= 1"
        )
    bad = grid[~(np.isfinite(grid) & (grid > 0))]
    if bad.size:
        raise InvalidInputError(
            f"alphas contains {bad[0]:g}, but problems on X itself take finite penalties > 0; give "
            "those, or a sketch, which takes 0 as well."
        )
    return grid


def _checked_start(start: Any, size: int, n: int) -> Any:
    if start is None:
        return None
    rows = sparse.csr_array(start, dtype=np.float64)
    if rows.shape != (size, n):
        raise InvalidInputError(f"start has shape {rows.shape}; pass ({size}, {n})")
    if not np.isfinite(rows.data).all():
        raise InvalidInputError("start contains NaN or infinity; pass finite coefficients")
    return rows


def _starts(start: Any, shape: tuple[int, int, int]) -> Start:
    """Rows of the coefficients to start from, by row set, response and number."""

    def of(row_set: int, response: int, number: int) -> tuple[IntArray, FloatArray]:
        row = (row_set * shape[1] + response) * shape[2] + number
        part = slice(start.indptr[row], start.indptr[row + 1])
        return start.indices[part].astype(np.intp), start.data[part]

    return of


def _begin_the_rest(problems: Problems, ledger: ExactLedger) -> None:
    """Give the problems that were not reached w = 0 and its objective."""
    for number, row_set in enumerate(problems.rows):
        for response in range(problems.Y.shape[1]):
            if not ledger.begun(number, response):
                training = TrainingRows(problems.columns, row_set, problems.fit_intercept)
                ledger.begin(number, response, problems.target(training, response))
