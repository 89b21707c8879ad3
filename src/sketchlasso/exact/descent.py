"""Square-root LASSO problems on the full data: all chains, walked down the penalties together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import as_responses
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.exact.chain import Chain, Solved
from sketchlasso.exact.columns import Columns, DenseColumns, TrainingRows, as_columns
from sketchlasso.exact.knots import TotalGram, TrainingGram
from sketchlasso.exact.ledger import ExactLedger, ExactSolution
from sketchlasso.exact.point import Target
from sketchlasso.instances.rows import RowSet, RowSets, all_rows
from sketchlasso.linalg.threads import map_items, single_blas_thread, thread_count
from sketchlasso.problem.terms import Terms
from sketchlasso.solvers.settings import Progress, StopSolve
from sketchlasso.solvers.solution import Stopwatch
from sketchlasso.types import FloatArray, IntArray, SparseRows

# A row set and a response, which have one chain.
Key: TypeAlias = tuple[int, int]
Found = TypeVar("Found")
# Support and values to start from, of a row set, a response and a number in the ledger.
Start: TypeAlias = Callable[[int, int, int], tuple[IntArray, FloatArray]]
# Penalties and solutions at some lambdas.
Descended: TypeAlias = tuple[FloatArray, list[Solved]]
# Up to this many columns one Gram matrix of all of them serves all responses.
WHOLE_COLUMNS = 1500
# Rows of dense data up to which the Gram matrix of a row set is summed from its own rows.
FEW_ROWS = 500
# Rounds per problem: each solves it on the working columns and checks all of X.
MAX_ROUNDS = 100
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
    max_rounds: int = MAX_ROUNDS,
    n_threads: int = -1,
    callback: Callable[[Progress], None] | None = None,
) -> ExactSolution:
    """Solve square-root LASSO problems on the data themselves, without any sketch.

    ::

        minimise over w, b    || y - X w - b ||_W  +  alpha * sum_j f_j |w_j|

    X (m, n) is an array or a sparse matrix, which is never made dense beyond the working columns.
    Responses are (m,) or (m, t), penalties (a,) or (t, a), > 0 and in any order; `rows` are folds,
    deletions or weights. `tol` is the relative duality gap on the full data at which a problem
    counts as solved, within `max_rounds` rounds. `start` (B, n) are coefficients to start from,
    such as the sketched solution; any are allowed. As many chains of penalties as there are
    threads are solved side by side.

    Instances are ordered (row set, response, alpha), alpha fastest and as given. Those that fell
    short carry a status, never an exception. A callback that raises :class:`StopSolve` ends the
    solve, and the rest is marked INTERRUPTED. Ctrl-C raises KeyboardInterrupt.
    """
    if not (np.isfinite(tol) and tol > 0):
        raise unaccepted("tol", tol, "a positive number such as 1e-4")
    if max_rounds < 1:
        raise unaccepted("max_rounds", max_rounds, "at least 1")
    threads = thread_count(n_threads, "n_threads")
    with Stopwatch() as watch, single_blas_thread():
        descent = Descent(X, y, rows, terms, tol, threads, max_rounds, knots=start is None)
        grid = _checked_alphas(alphas, descent.Y.shape[1])
        shape, n = (len(descent.rows), *grid.shape), descent.columns.shape[1]
        first = None if start is None else _starts(start, shape, n)
        ledger = ExactLedger(shape, n, tol, callback)
        order = np.argsort(-grid, axis=1, kind="stable")
        keys = [(row, response) for row in range(shape[0]) for response in range(shape[1])]
        penalties = [line[places] for line, places in zip(grid, order, strict=True)]
        try:
            descent.solve(keys, penalties, list(order), ledger, first, keep=False)
        except StopSolve:
            # The problems that were not reached get w = 0 and its objective.
            for key in keys:
                if not ledger.begun(*key):
                    ledger.begin(*key, descent.target(*key))
    return ledger.solution(watch)


def exact_alpha_max(
    X: Any,
    y: ArrayLike,
    *,
    rows: RowSets | None = None,
    terms: Terms = DEFAULT_TERMS,
) -> FloatArray:
    """Smallest penalty (t,) at which every penalised coefficient is zero.

    Unpenalised features are fitted first; r is their residual. Then
    alpha_max = max_j |x_j'W r| / (f_j ||r||_W) (one-sided where w >= 0).

    Parameters are those of :func:`solve_exact`; of several row sets the largest counts.
    """
    columns, Y, rows = _checked_data(X, y, rows, terms)
    factor = terms.factors(columns.shape[1])
    largest = np.zeros(Y.shape[1])
    for row_set in rows:
        training = TrainingRows(columns, row_set, terms.fit_intercept)
        for response, own in enumerate(Y.T):
            target = Target(training, own, factor, terms.positive)
            largest[response] = max(largest[response], target.alpha_max())
    return largest


class _RowSet:
    """Rows of a row set, and the Gram matrix of `shared` columns; None where chains have theirs."""

    def __init__(
        self,
        training: TrainingRows,
        row_set: RowSet,
        shared: IntArray | None,
        total: TotalGram | None,
    ) -> None:
        columns, m = training.columns, training.columns.shape[0]
        self.training, self._shared = training, shared
        downdate = total is not None and row_set.weights is None
        downdate = downdate and 2 * len(row_set.removed) < m
        self._total = total if downdate else None
        held_out = downdate and len(row_set.removed) > 0
        self._held_out = columns.rows(row_set.removed) if held_out else None

    @cached_property
    def shared_gram(self) -> TrainingGram | None:
        """The Gram matrix that the chains share; made before several threads need it."""
        if self._shared is None:
            return None
        gram = TrainingGram(self.training, self._total, self._held_out)
        gram.include(self._shared)
        return gram

    def gram(self) -> TrainingGram:
        """The Gram matrix of all columns, or a new one that grows."""
        return self.shared_gram or TrainingGram(self.training, self._total, self._held_out)


class Descent:
    """The chains of row sets x responses, each at its own place on its path.

    The parameters are those of :func:`solve_exact`; with `knots` they walk along the
    knots of the paths where possible.
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
        knots: bool = True,
    ) -> None:
        self.columns, self.Y, self.rows = _checked_data(X, y, rows, terms)
        self._factor, self._positive = terms.factors(self.columns.shape[1]), bool(terms.positive)
        self._tol, self._max_rounds, self._n_threads = tol, max_rounds, n_threads
        self._knots = knots
        chains = len(self.rows) * self.Y.shape[1]
        total = TotalGram(self.columns) if chains > 1 and self._shares_total else None
        shared = np.flatnonzero(np.isfinite(self._factor)) if self.shares_gram else None
        self._rows = [
            _RowSet(TrainingRows(self.columns, own, terms.fit_intercept), own, shared, total)
            for own in self.rows
        ]
        self._chains: dict[Key, Chain] = {}

    @property
    def shares_gram(self) -> bool:
        """Whether the responses of a row set share one Gram matrix of all columns.

        A single one that starts near its solution needs few columns.
        """
        serves = self._knots or self.Y.shape[1] > 1
        return serves and self.columns.shape[1] <= WHOLE_COLUMNS

    @property
    def _shares_total(self) -> bool:
        """Whether Gram matrices of row sets are those of all rows less the rows held out.

        Where few columns of many come into play, row sets use different ones, and products of few
        rows take less time than to read and write the matrix of all of them.
        """
        few = self.columns.shape[0] <= FEW_ROWS and isinstance(self.columns, DenseColumns)
        return self.shares_gram or not few

    def target(self, row_set: int, response: int) -> Target:
        """One response on one row set."""
        training = self._rows[row_set].training
        return Target(training, self.Y[:, response], self._factor, self._positive)

    def chain(self, row_set: int, response: int) -> Chain:
        """The chain of a row set and a response, made on first use."""
        key = (row_set, response)
        if key not in self._chains:
            shared = self._rows[row_set]
            self._chains[key] = Chain(
                self.target(*key),
                shared.gram(),
                self._tol,
                self._max_rounds,
                self.shares_gram,
                self._knots,
            )
        return self._chains[key]

    def forget(self, row_set: int, response: int) -> None:
        """Free a chain that is not needed again."""
        self._chains.pop((row_set, response), None)

    def solve(
        self,
        keys: Sequence[Key],
        alphas: Sequence[FloatArray],
        numbers: Sequence[IntArray],
        ledger: ExactLedger,
        start: Start | None = None,
        keep: bool = True,
        others: Mapping[Key, FloatArray] | None = None,
    ) -> dict[Key, Descended]:
        """Solve the next penalties of some chains, and record the solutions in the ledger.

        Every response has decreasing penalties, smaller than those before, and their numbers in the
        ledger. With coefficients to `start` from, chains are solved penalty by penalty. `keep` says
        whether they go on later.

        Other chains descend to their next lambdas at the same time; returns the results of these.
        """
        others = others or {}

        def work(key: Key) -> Descended | None:
            chain = self.chain(*key)
            if key in others:
                return chain.descend(others[key])
            ledger.begin(*key, chain.target)
            places, penalties = numbers[key[1]], alphas[key[1]]
            if start is None:
                for place, solved in zip(places, chain.advance(penalties), strict=True):
                    ledger.record(*key, int(place), solved)
            else:
                for place, alpha in zip(places, penalties, strict=True):
                    solved = chain.solve(float(alpha), start(*key, int(place)))
                    ledger.record(*key, int(place), solved)
            if not keep:
                self.forget(*key)
            return None

        try:
            found = self._map(work, [*others, *keys], ledger.stop)
        except StopSolve:
            # Another thread may report the stop before the one that caused it.
            raise ledger.cause or StopSolve from None
        return {key: one for key, one in found.items() if one is not None}

    def descend(self, lambdas: Mapping[Key, FloatArray]) -> dict[Key, Descended]:
        """Descend some chains to their next lambdas."""
        return self._map(lambda key: self.chain(*key).descend(lambdas[key]), list(lambdas))

    def _map(
        self, work: Callable[[Key], Found], keys: list[Key], stop: Callable[[], None] = lambda: None
    ) -> dict[Key, Found]:
        """Results of `work` on the keys of some chains, computed on several threads."""
        for number in sorted({row_set for row_set, _ in keys}):
            _ = self._rows[number].shared_gram
        return dict(zip(keys, map_items(work, keys, self._n_threads, stop), strict=True))


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


def _starts(start: Any, shape: tuple[int, int, int], n: int) -> Start:
    """Coefficients to start from, checked, by row set, response and number."""
    rows = sparse.csr_array(start, dtype=np.float64)
    size = int(np.prod(shape))
    if rows.shape != (size, n):
        raise InvalidInputError(f"start has shape {rows.shape}; pass ({size}, {n})")
    if not np.isfinite(rows.data).all():
        raise InvalidInputError("start contains NaN or infinity; pass finite coefficients")

    def of(row_set: int, response: int, number: int) -> tuple[IntArray, FloatArray]:
        row = (row_set * shape[1] + response) * shape[2] + number
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        return rows.indices[part].astype(np.intp), rows.data[part]

    return of
