"""Results of exact solves: recorded from any thread, returned as one solution."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from sketchlasso.exact.path import Solved
from sketchlasso.exact.target import Target
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.problem.full_problem import FullValues
from sketchlasso.solvers.settings import Progress, StopSolve
from sketchlasso.solvers.solution import Certified, Ledger, Status
from sketchlasso.types import FloatArray, IntArray, SparseRows

# What a problem that was never recorded holds.
NOTHING = Solved(np.empty(0, dtype=np.intp), np.empty(0), np.nan, np.nan)


def stack_solved(found: Sequence[Solved | None], n_features: int) -> SparseRows:
    """Coefficients (b, n) of solutions; zero where there is none."""
    pieces = [(one.support, one.values) for one in (one or NOTHING for one in found)]
    coef = stack_rows(pieces, n_features)
    coef.eliminate_zeros()
    coef.sort_indices()
    return coef


@dataclass(frozen=True, eq=False)
class ExactSolution(Certified):
    """Solutions of square-root LASSO problems on the full data, one row per instance."""

    coef: SparseRows  # (B, n), on the scale of X
    intercept: FloatArray  # (B,): zero without fit_intercept, NaN for problems that were left out
    primal: FloatArray  # (B,): objective at the coefficients, on the full data
    dual: FloatArray  # (B,): a proven lower bound on it
    null: FloatArray  # (B,): objective at w = 0
    status: IntArray  # (B,): values of Status
    n_iter: IntArray  # (B,): knots walked past, and rounds on working sets
    seconds: float


class ExactLedger(Ledger):
    """Problems of `shape` (row sets, responses, alphas) over n features, alpha fastest.

    Problems that are never recorded hold w = 0 and are INTERRUPTED. Progress is measured against
    `expected` where fewer than all problems are likely to be solved.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        n_features: int,
        tol: float,
        callback: Callable[[Progress], None] | None,
        expected: int | None = None,
    ) -> None:
        size = int(np.prod(shape))
        super().__init__(np.zeros(size), tol)
        self._shape, self._n_features, self._callback = shape, n_features, callback
        self._found: list[Solved | None] = [None] * size
        # Means of the response and of the columns, by row set and response, or row set alone.
        self._y_mean = np.zeros(shape[:2])
        self._means: dict[int, FloatArray] = {}
        self._begun = np.zeros(shape[:2], dtype=bool)
        self._done, self._worst = 0, 0.0
        self._expected = size if expected is None else expected
        self._lock = threading.Lock()
        self._stopped = False
        # The first exception of the callback.
        self.cause: BaseException | None = None

    def begin(self, row_set: int, response: int, target: Target) -> None:
        """Open the problems of a row set and a response; until solved they hold w = 0."""
        if self.begun(row_set, response):
            return
        first = self._place(row_set, response, 0)
        chain = slice(first, first + self._shape[2])
        self.null[chain] = target.null
        self._y_mean[row_set, response] = target.y_mean
        self._means[row_set] = target.training.means + target.training.columns.offsets
        self._begun[row_set, response] = True

    def begun(self, row_set: int, response: int) -> bool:
        """Whether the problems of a row set and a response were opened."""
        return bool(self._begun[row_set, response])

    def _place(self, row_set: int, response: int, number: int) -> int:
        """Place of a problem among all instances."""
        return (row_set * self._shape[1] + response) * self._shape[2] + number

    def stop(self) -> None:
        """Let every thread that records raise StopSolve."""
        self._stopped = True

    def record(self, row_set: int, response: int, number: int, solved: Solved) -> None:
        """Record the solution of one penalty; raises StopSolve after a request to stop.

        Certificates are settled all at once at the end, which is faster.
        """
        place = self._place(row_set, response, number)
        with self._lock:
            if self._stopped:
                raise StopSolve
            self._found[place] = solved
            self._done += 1
            if self._callback is None:
                return
            values = FullValues(solved.primal, solved.dual, float(self.null[place]))
            self._worst = max(self._worst, values.relative_gap)
            done = min(self._done, self._expected)
            try:
                self._callback(Progress(done, self._expected, round=0, worst_gap=self._worst))
            except BaseException as cause:
                # Stop all threads.
                self._stopped, self.cause = True, cause
                raise

    def _settle_all(self) -> None:
        """Settle the problems that were recorded; the others hold w = 0, whose bound is 0."""
        recorded = {i: one for i, one in enumerate(self._found) if one is not None}
        places, found = np.array(list(recorded), dtype=np.intp), list(recorded.values())
        primal, dual = np.array([(one.primal, one.dual) for one in found]).reshape(-1, 2).T
        self.offer(places, primal, dual)
        self.steps[places] = [one.steps for one in found]
        self.settle(places, np.array([int(one.ended) for one in found]))
        rest = self.status == Status.INTERRUPTED
        self.primal[rest], self.dual[rest] = self.null[rest], 0.0

    def fitted(self, row_set: int, models: Mapping[int, range], X: Any, rows: Any) -> FloatArray:
        """Values X w + b (r, b) on some rows of X of models, by the numbers of each response.

        Where few columns have a part in any of them, only those are multiplied.
        """
        responses, counts = list(models), [len(numbers) for numbers in models.values()]
        found = [
            self._found[self._place(row_set, response, number)] or NOTHING
            for response, numbers in models.items()
            for number in numbers
        ]
        support = np.concatenate([one.support for one in found])
        numbers = np.repeat(np.arange(len(found)), [len(one.support) for one in found])
        used = np.bincount(support, minlength=self._n_features) > 0
        used |= 2 * np.count_nonzero(used) > len(used)
        coef = np.zeros((np.count_nonzero(used), len(found)))
        coef[np.cumsum(used)[support] - 1, numbers] = np.concatenate([one.values for one in found])
        means = self._means[row_set]
        if used.all() or not isinstance(X, np.ndarray):
            part = X[rows] if used.all() else X[rows][:, used]
        else:
            part = X[np.ix_(rows, used)]
        intercept = np.repeat(self._y_mean[row_set, responses], counts) - means[used] @ coef
        return np.asarray(part @ coef + intercept)

    def leave_out(self, response: int, first: int) -> None:
        """Mark the problems of a response from a penalty on as not needed."""
        for row_set in range(self._shape[0]):
            start = self._place(row_set, response, 0)
            part = slice(start + first, start + self._shape[2])
            self.primal[part] = self.dual[part] = np.nan
            self.status[part] = Status.LEFT_OUT

    def solution(self, begun: float, count: int | None = None) -> ExactSolution:
        """Return the solution, begun at a time of ``perf_counter``.

        Only the first `count` penalties of each chain, where that is given.
        """
        self._settle_all()
        numbers = np.arange(len(self.status))
        if count is not None:
            numbers = numbers[numbers % self._shape[2] < count]
        coef = stack_solved([self._found[number] for number in numbers.tolist()], self._n_features)
        chain = numbers // self._shape[2]
        intercept = self._y_mean.ravel()[chain]
        edges = np.searchsorted(chain // self._shape[1], np.arange(self._shape[0] + 1))
        for row_set, means in self._means.items():
            own = slice(edges[row_set], edges[row_set + 1])
            intercept[own] -= coef[own] @ means
        intercept[self.status[numbers] == Status.LEFT_OUT] = np.nan
        return ExactSolution(
            coef=coef,
            intercept=intercept,
            primal=self.primal[numbers],
            dual=self.dual[numbers],
            null=self.null[numbers],
            status=self.status[numbers],
            n_iter=self.steps[numbers],
            seconds=perf_counter() - begun,
        )
