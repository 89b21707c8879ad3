"""Results of the problems as they come in; those that never do hold w = 0, INTERRUPTED."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sketchlasso.exact.point import Target
from sketchlasso.exact.solution import ExactSolution
from sketchlasso.exact.walk import Found
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.problem.full_problem import full_gap
from sketchlasso.solve.clock import Stopwatch
from sketchlasso.solve.settings import Progress
from sketchlasso.solve.status import Status
from sketchlasso.types import FloatArray, IntArray

__all__ = ["ExactLedger"]


class ExactLedger:
    """Problems of `shape` (row sets, responses, alphas) over n features, alpha fastest."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        n_features: int,
        callback: Callable[[Progress], None] | None,
    ) -> None:
        size = int(np.prod(shape))
        self._shape, self._n_features, self._callback = shape, n_features, callback
        self._coef: list[tuple[IntArray, FloatArray]] = [
            (np.empty(0, dtype=np.intp), np.empty(0)) for _ in range(size)
        ]
        self._intercept = np.zeros(size)
        self._primal, self._dual, self._null = np.zeros((3, size))
        self._status = np.full(size, Status.INTERRUPTED, dtype=np.intp)
        self._steps = np.zeros(size, dtype=np.intp)
        self._done = 0
        self._chain = -1
        self._target: Target | None = None

    def begin(self, row_set: int, response: int, target: Target) -> None:
        """Turn to the problems of a row set and a response; until solved they hold w = 0."""
        self._chain = row_set * self._shape[1] + response
        self._target = target
        chain = slice(self.instance(0), self.instance(self._shape[2]))
        self._primal[chain] = self._null[chain] = target.null
        self._intercept[chain] = target.y_mean

    def begun(self, row_set: int, response: int) -> bool:
        """Whether the problems of a row set and a response have had their turn."""
        return row_set * self._shape[1] + response <= self._chain

    def instance(self, number: int) -> int:
        """Place of the present chain's penalty among all instances."""
        return self._chain * self._shape[2] + number

    def record(self, number: int, found: Found) -> None:
        """Enter the answer to one penalty of the present chain."""
        assert self._target is not None
        row, point = self.instance(number), found.point
        order = np.argsort(point.support)
        self._coef[row] = (point.support[order], point.values[order])
        means = self._target.training.means
        self._intercept[row] = self._target.y_mean - float(means[point.support] @ point.values)
        self._primal[row], self._dual[row] = found.values.primal, found.values.dual
        self._status[row], self._steps[row] = found.status, found.steps
        self._done += 1
        if self._callback is not None:
            self._callback(self._progress())

    def _progress(self) -> Progress:
        seen = self._status != Status.INTERRUPTED
        gaps = full_gap(self._primal[seen], self._dual[seen], self._null[seen])
        return Progress(
            solved=self._done,
            total=len(self._status),
            round=0,
            worst_gap=float(gaps.max(initial=0.0)),
        )

    def solution(self, watch: Stopwatch) -> ExactSolution:
        """Everything, frozen."""
        return ExactSolution(
            coef=stack_rows(self._coef, self._n_features),
            intercept=self._intercept,
            primal=self._primal,
            dual=self._dual,
            null=self._null,
            status=self._status,
            n_iter=self._steps,
            seconds=watch.seconds,
        )
