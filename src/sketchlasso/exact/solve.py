"""Square-root LASSO problems on the full data: all paths, walked down the penalties together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from time import perf_counter
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.data import as_responses
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.exact.columns import Columns, DenseColumns, TrainingRows, as_columns
from sketchlasso.exact.gram import TotalGram, TrainingGram, whole_grams
from sketchlasso.exact.ledger import ExactLedger, ExactSolution
from sketchlasso.exact.path import FEW_ROWS, Chain, Solved
from sketchlasso.exact.target import Target
from sketchlasso.instances.rows import RowSets, all_rows
from sketchlasso.linalg.threads import map_items, single_blas_thread, thread_count
from sketchlasso.problem.terms import Terms
from sketchlasso.solvers.settings import Progress, StopSolve
from sketchlasso.types import FloatArray, IntArray

# A row set and a response, which have one path.
Key: TypeAlias = tuple[int, int]
Result = TypeVar("Result")
# Penalties and solutions at some lambdas.
Descended: TypeAlias = tuple[FloatArray, list[Solved]]
# Reading all of X so many times takes as long as a path without the Gram matrix of all columns.
PRODUCTS = 60
# Operations of that matrix in the time that reading an entry of X takes, and the times that each of
# its entries is read or written.
SPEED = 40
PASSES = 8
# Of a sparse X with this many columns or fewer it takes less time than calls of products with X.
FEW_SPARSE = 1500
# Bytes that the Gram matrices of all row sets may take together.
WHOLE_BYTES = 2**31
# Rounds per problem: each solves it on the working columns and checks all of X.
MAX_ROUNDS = 100
# With an intercept, and every feature penalised alike.
DEFAULT_TERMS = Terms()


def solve_exact(
    X: Any,
    y: ArrayLike,
    alphas: ArrayLike,
    *,
    radius: float = 0.0,
    rows: RowSets | None = None,
    terms: Terms = DEFAULT_TERMS,
    tol: float = 1e-4,
    max_rounds: int = MAX_ROUNDS,
    n_threads: int = -1,
    callback: Callable[[Progress], None] | None = None,
) -> ExactSolution:
    """Solve square-root LASSO problems on the data themselves, without any sketch.

    ::

        minimise over w, b    || y - X w - b ||_W  +  radius ||w||_2  +  alpha * sum_j f_j |w_j|

    X (m, n) is an array or a sparse matrix, which is never made dense beyond the working columns.
    Responses are (m,) or (m, t), penalties (a,) or (t, a), > 0 and in any order; `rows` are folds,
    deletions or weights. `tol` is the relative duality gap on the full data at which a problem
    counts as solved, within `max_rounds` rounds. As many paths as there are threads are solved side
    by side.

    Instances are ordered (row set, response, alpha), alpha fastest and as given. Those that fell
    short carry a status, never an exception. A callback that raises :class:`StopSolve` ends the
    solve, and the rest is marked INTERRUPTED. Ctrl-C raises KeyboardInterrupt.
    """
    if not (np.isfinite(tol) and tol > 0):
        raise unaccepted("tol", tol, "a positive number such as 1e-4")
    if max_rounds < 1:
        raise unaccepted("max_rounds", max_rounds, "at least 1")
    threads = thread_count(n_threads, "n_threads")
    begun = perf_counter()
    with single_blas_thread():
        descent = Descent(X, y, rows, terms, tol, threads, max_rounds, radius)
        grid = _checked_alphas(alphas, descent.Y.shape[1])
        shape, n = (len(descent.rows), *grid.shape), descent.columns.shape[1]
        ledger = ExactLedger(shape, n, tol, callback)
        order = np.argsort(-grid, axis=1, kind="stable")
        keys = [(row, response) for row in range(shape[0]) for response in range(shape[1])]
        penalties = [line[places] for line, places in zip(grid, order, strict=True)]
        try:
            descent.solve(keys, penalties, list(order), ledger, keep=False)
        except StopSolve:
            # The problems that were not reached get w = 0 and its objective.
            for key in keys:
                if not ledger.begun(*key):
                    ledger.begin(*key, descent.target(*key))
    return ledger.solution(begun)


def exact_alpha_max(
    X: Any,
    y: ArrayLike,
    *,
    radius: float = 0.0,
    rows: RowSets | None = None,
    terms: Terms = DEFAULT_TERMS,
) -> FloatArray:
    """Smallest penalty (t,) at which every penalised coefficient is zero.

    Unpenalised features are fitted first; r is their residual. Without a radius
    alpha_max = max_j |x_j'W r| / (f_j ||r||_W) (one-sided where w >= 0).

    Parameters are those of :func:`solve_exact`; of several row sets the largest counts.
    """
    columns, Y, rows = _checked_data(X, y, rows, terms)
    factor, radius = terms.factors(columns.shape[1]), _checked_radius(radius)
    largest = np.zeros(Y.shape[1])
    for training in TrainingRows.of(columns, rows, terms.fit_intercept):
        for response, own in enumerate(Y.T):
            target = Target(training, own, factor, terms.positive, radius)
            largest[response] = max(largest[response], target.alpha_max())
    return largest


class Descent:
    """The paths of row sets x responses, each at its own place.

    The parameters are those of :func:`solve_exact`. `shares_gram` says whether a row set has one
    Gram matrix of all columns, which its responses share.
    """

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        rows: RowSets | None,
        terms: Terms,
        tol: float,
        n_threads: int = 1,
        max_rounds: int = MAX_ROUNDS,
        radius: float = 0.0,
    ) -> None:
        self.columns, self.Y, self.rows = _checked_data(X, y, rows, terms)
        m, n = self.columns.shape
        self._factor, self._positive = terms.factors(n), bool(terms.positive)
        self._radius = _checked_radius(radius)
        self._tol, self._max_rounds, self._n_threads = tol, max_rounds, n_threads
        self._training = TrainingRows.of(self.columns, self.rows, terms.fit_intercept)
        dense = isinstance(self.columns, DenseColumns)
        size, sets, paths = self.columns.size, len(self.rows), len(self.rows) * self.Y.shape[1]
        # In the time that reading an entry of X takes.
        time = size * (n / SPEED if dense else size / m) + PASSES * sets * n * n
        fits = 8 * n * n * sets <= WHOLE_BYTES
        worth = time <= PRODUCTS * paths * size or (not dense and n <= FEW_SPARSE)
        self.shares_gram = fits and worth and self._radius == 0.0
        self._whole: list[FloatArray] = []
        # Where few columns of many come into play, row sets use different ones, and products of few
        # rows take less time than to read and write the matrix of all of them.
        total = paths > 1 and not (dense and m <= FEW_ROWS)
        self._total = TotalGram(self.columns) if total else None
        self._chains: dict[Key, Chain] = {}
        self._stop, self._lock = threading.Event(), threading.Lock()

    def target(self, row_set: int, response: int) -> Target:
        """One response on one row set."""
        training, y = self._training[row_set], self.Y[:, response]
        return Target(training, y, self._factor, self._positive, self._radius)

    def chain(self, row_set: int, response: int) -> Chain:
        """The path of a row set and a response, made on first use."""
        key = (row_set, response)
        if key not in self._chains:
            gram = self._gram(row_set)
            stopped = self._stop.is_set
            self._chains[key] = Chain(self.target(*key), gram, self._tol, self._max_rounds, stopped)
        return self._chains[key]

    def _gram(self, row_set: int) -> TrainingGram:
        training, own = self._training[row_set], self.rows[row_set]
        if self.shares_gram:
            with self._lock:
                if not self._whole:
                    self._whole = whole_grams(self._training, self._n_threads)
                    for one, gram in zip(self._training, self._whole, strict=True):
                        one.lengths = np.sqrt(np.diagonal(gram) + one.weight * one.means**2)
            return TrainingGram(training, whole=self._whole[row_set])
        if self._total is None or own.weights is not None or 2 * len(own.removed) >= len(self.Y):
            return TrainingGram(training)
        held_out = self.columns.rows(own.removed) if len(own.removed) else None
        return TrainingGram(training, self._total, held_out)

    def forget(self, row_set: int, response: int) -> None:
        """Free a path that is not needed again."""
        self._chains.pop((row_set, response), None)

    def solve(
        self,
        keys: Sequence[Key],
        alphas: Sequence[FloatArray],
        numbers: Sequence[IntArray],
        ledger: ExactLedger,
        keep: bool = True,
    ) -> None:
        """Solve the next penalties of some paths, and record the solutions in the ledger.

        Every response has decreasing penalties, smaller than those before, and their numbers in the
        ledger. `keep` says whether the paths go on later.
        """

        def work(key: Key) -> None:
            chain = self.chain(*key)
            ledger.begin(*key, chain.target)
            solutions = chain.advance(alphas[key[1]])
            for number, solved in zip(numbers[key[1]], solutions, strict=True):
                ledger.record(*key, int(number), solved)
            if not keep:
                self.forget(*key)

        try:
            self._map(work, keys, ledger.stop)
        except StopSolve:
            # Another thread may report the stop before the one that caused it.
            raise ledger.cause or StopSolve from None

    def descend(self, lambdas: Mapping[Key, FloatArray]) -> dict[Key, Descended]:
        """Descend some paths to their next lambdas."""
        keys = list(lambdas)
        results = self._map(lambda key: self.chain(*key).descend(lambdas[key]), keys)
        return dict(zip(keys, results, strict=True))

    def _map(
        self,
        work: Callable[[Key], Result],
        keys: Sequence[Key],
        stop: Callable[[], None] = lambda: None,
    ) -> list[Result]:
        """Results of `work` on the keys of some paths, computed on several threads."""
        if keys and self.shares_gram:
            self._gram(0)  # by all threads, before each of them walks a path

        def end() -> None:
            stop()
            self._stop.set()

        return map_items(work, keys, self._n_threads, end)


def _checked_data(
    X: Any, y: ArrayLike, rows: RowSets | None, terms: Terms
) -> tuple[Columns, FloatArray, RowSets]:
    """Columns of X (m, n), responses (m, t) and row sets; all rows where none are given."""
    columns = as_columns(X, terms.fit_intercept)
    m = columns.shape[0]
    rows = rows or all_rows(m)
    if rows.n_samples != m:
        raise InvalidInputError(f"the row sets are for {rows.n_samples} rows but X has {m}")
    return columns, as_responses(y, m), rows


def _checked_radius(radius: float) -> float:
    real = isinstance(radius, Real) and not isinstance(radius, bool | np.bool_)
    if not (real and np.isfinite(radius) and radius >= 0):
        raise unaccepted("radius", radius, "one finite number >= 0 without a sketch")
    return float(radius)


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
            f"penalties without a sketch must be finite and > 0, but one is {bad[0]:g}; use a "
            "larger one, or a sketch, which takes 0 as well."
        )
    return grid
