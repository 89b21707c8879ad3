"""Results of exact solves: recorded from any thread, returned as one solution."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
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
        self._solved: list[Solved] = [NOTHING] * size
        # Means of the response and of the columns, by row set and response, or row set alone.
        self._y_mean = np.full(shape[:2], np.nan)
        self._means: dict[int, FloatArray] = {}
        self._done, self._worst = 0, 0.0
        self._expected = size if expected is None else expected
        self._lock, self._stopped = threading.Lock(), False
        # The first exception of the callback.
        self.cause: BaseException | None = None

    def begin(self, row_set: int, response: int, target: Target) -> None:
        """Open the problems of a row set and a response; until solved they hold w = 0."""
        if self.begun(row_set, response):
            return
        first = self._number(row_set, response, 0)
        self.null[first : first + self._shape[2]] = target.null
        self._means[row_set] = target.training.means + target.training.columns.offsets
        self._y_mean[row_set, response] = target.y_mean

    def begun(self, row_set: int, response: int) -> bool:
        """Whether the problems of a row set and a response were opened."""
        return bool(np.isfinite(self._y_mean[row_set, response]))

    def _number(self, row_set: int, response: int, alpha: int) -> int:
        """Number of a problem among all instances."""
        return (row_set * self._shape[1] + response) * self._shape[2] + alpha

    def stop(self) -> None:
        """Let every thread that records raise StopSolve."""
        self._stopped = True

    def record(self, row_set: int, response: int, alpha: int, solved: Solved) -> None:
        """Record the solution of one penalty; raises StopSolve after a request to stop."""
        number = self._number(row_set, response, alpha)
        with self._lock:
            if self._stopped:
                raise StopSolve
            self._solved[number] = solved
            self._done += 1
            if self._callback is None:
                return
            values = FullValues(solved.primal, solved.dual, float(self.null[number]))
            self._worst = max(self._worst, values.relative_gap)
            done = min(self._done, self._expected)
            try:
                self._callback(Progress(done, self._expected, round=0, worst_gap=self._worst))
            except BaseException as cause:
                self._stopped, self.cause = True, cause
                raise

    def fitted(self, row_set: int, models: Mapping[int, range], X: Any, rows: Any) -> FloatArray:
        """Values X w + b (r, b) on some rows of X of models, by the numbers of each response.

        Where few columns have a part in any of them, only those are multiplied.
        """
        responses, counts = list(models), [len(numbers) for numbers in models.values()]
        solved = [
            self._solved[self._number(row_set, response, alpha)]
            for response, numbers in models.items()
            for alpha in numbers
        ]
        coef: Any = stack_rows([one[:2] for one in solved], self._n_features)
        used = np.unique(coef.indices)
        means = self._means[row_set]
        intercept = np.repeat(self._y_mean[row_set, responses], counts) - coef @ means
        if 2 * len(used) > self._n_features:
            part, coef = X[rows], coef.toarray()
        else:
            part = X[np.ix_(rows, used)] if isinstance(X, np.ndarray) else X[rows][:, used]
            coef = coef[:, used].toarray()
        return np.asarray(part @ coef.T + intercept)

    def leave_out(self, response: int, first: int) -> None:
        """Mark the problems of a response from a penalty on as not needed."""
        for row_set in range(self._shape[0]):
            start = self._number(row_set, response, 0)
            part = slice(start + first, start + self._shape[2])
            self.primal[part] = self.dual[part] = np.nan
            self.status[part] = Status.LEFT_OUT

    def solution(self, begun: float, count: int | None = None) -> ExactSolution:
        """Return the solution, begun at a time of ``perf_counter``.

        Only the first `count` penalties of each path, where that is given.
        """
        recorded = np.flatnonzero([one is not NOTHING for one in self._solved])
        solved = [self._solved[number] for number in recorded]
        primal, dual = np.array([(one.primal, one.dual) for one in solved]).reshape(-1, 2).T
        self.offer(recorded, primal, dual)
        self.steps[recorded] = [one.steps for one in solved]
        self.settle(recorded, np.array([int(one.ended) for one in solved]))
        # The others hold w = 0, whose bound is 0.
        rest = self.status == Status.INTERRUPTED
        self.primal[rest], self.dual[rest] = self.null[rest], 0.0
        numbers = np.arange(len(self.status)).reshape(self._shape)[..., :count].ravel()
        coef: Any = stack_rows([self._solved[number][:2] for number in numbers], self._n_features)
        coef.eliminate_zeros()
        coef.sort_indices()
        path = numbers // self._shape[2]
        intercept = np.nan_to_num(self._y_mean).ravel()[path]
        edges = np.searchsorted(path // self._shape[1], np.arange(self._shape[0] + 1))
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
