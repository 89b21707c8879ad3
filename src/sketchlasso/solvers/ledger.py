"""Best points found so far for every instance, and their status."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.kernels.working_set import count_removed
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.objective import null_value, relative_gap
from sketchlasso.problem.screening import dual_reach
from sketchlasso.solvers.algorithms.protocol import Iterates, Round
from sketchlasso.solvers.clock import Stopwatch
from sketchlasso.solvers.settings import Progress, Settings
from sketchlasso.solvers.solution import Screened, Solution
from sketchlasso.solvers.status import Status
from sketchlasso.types import BoolArray, FloatArray, IntArray

__all__ = ["STALL_ROUNDS", "Ledger"]

# Rounds without a tenth of progress after which an instance counts as stalled.
STALL_ROUNDS = 15
ALMOST = 100.0
# Gaps that the certificate's precision allows at best: another attempt would not lower them.
FINEST_GAP = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 0.0}


class Ledger:
    """Keeps the best primal and the best dual apart: they may come from different rounds."""

    def __init__(self, batch: Batch, settings: Settings) -> None:
        size = batch.n_instances
        self.batch, self.settings = batch, settings
        self.fewest_rounds = 0
        self.null = null_value(batch)
        self.primal = np.full(size, np.inf)
        self.dual = np.full(size, -np.inf)
        self.point = np.zeros((size, batch.rank))
        self.coef: list[tuple[IntArray, FloatArray]] = [
            (np.empty(0, dtype=np.intp), np.empty(0)) for _ in range(size)
        ]
        self.status = np.full(size, Status.ITERATION_LIMIT, dtype=np.intp)
        self.open = np.ones(size, dtype=bool)
        self.rounds = np.zeros(size, dtype=np.intp)
        self.steps = np.zeros(size, dtype=np.intp)
        self.since_progress = np.zeros(size, dtype=np.intp)
        self.counts = np.zeros((3, size), dtype=np.intp)

    def record(self, numbers: IntArray, view: Round) -> BoolArray:
        """Keep what improved, decide which instances are finished; returns the closed mask."""
        found = view.certificate
        before = self._relative_gap(numbers)
        finite = np.isfinite(found.primal) & np.isfinite(found.dual)
        better = finite & (found.primal < self.primal[numbers])
        tighter = finite & (found.dual > self.dual[numbers])
        self.primal[numbers[better]] = found.primal[better]
        self.dual[numbers[tighter]] = found.dual[tighter]
        self.point[numbers[tighter]] = found.point[tighter]
        for row in np.flatnonzero(better):
            coef = view.iterates.coef
            part = slice(coef.indptr[row], coef.indptr[row + 1])
            self.coef[numbers[row]] = (
                coef.indices[part].astype(np.intp),
                coef.data[part].copy(),
            )
        self.rounds[numbers] = view.number
        self.steps[numbers] += view.iterates.steps
        gap = self._relative_gap(numbers)
        stuck = ~(gap < 0.9 * before) if view.number else np.zeros(len(numbers), dtype=bool)
        self.since_progress[numbers] = np.where(stuck, self.since_progress[numbers] + 1, 0)
        return self._close(numbers, view, gap, finite)

    def _close(self, numbers: IntArray, view: Round, gap: FloatArray, finite: Any) -> BoolArray:
        tol = self.settings.tol
        almost = np.where(gap <= ALMOST * tol, Status.INACCURATE, Status.STALLED)
        limit = np.where(gap <= ALMOST * tol, Status.INACCURATE, Status.ITERATION_LIMIT)
        solved, stalled = gap <= tol, self.since_progress[numbers] >= STALL_ROUNDS
        self.status[numbers] = np.select(
            [solved, ~finite, stalled], [Status.SOLVED, Status.NON_FINITE, almost], limit
        )
        closed = (solved & (view.number >= self.fewest_rounds)) | ~finite | stalled
        self.open[numbers[closed]] = False
        last = view.number == self.settings.max_rounds
        for row in np.arange(len(numbers)) if last else np.flatnonzero(closed):
            self._count_screened(numbers[row], view, int(row))
        return closed

    def reopen_stalled(self) -> IntArray:
        """Instances that made no progress far from their tolerance, open again."""
        short = ~self.open & (self.status != Status.SOLVED)
        numbers = np.flatnonzero(short)
        reachable = self._relative_gap(numbers) > FINEST_GAP[self.batch.P.dtype]
        numbers = numbers[reachable]
        self.open[numbers] = True
        self.since_progress[numbers] = 0
        return numbers

    def _count_screened(self, number: int, view: Round, row: int) -> None:
        if view.norms is None:
            return
        rules, batch = self.settings.screening, view.batch
        scale = view.certificate.scale[row]
        counts = count_removed(
            view.correlation[row],
            batch.factor_row(row),
            batch.alpha[row],
            batch.radius[row],
            view.norms.norms[view.norms.row_of[row]],
            view.norms.scale[row],
            dual_reach(batch)[row],
            scale,
            view.distance[row] if np.isfinite(scale) else np.inf,
        )
        in_force = (rules.paper, rules.static, rules.gap_safe)
        self.counts[:, number] = np.where(in_force, counts, 0)

    def _relative_gap(self, numbers: IntArray) -> FloatArray:
        primal, dual = self.primal[numbers], self.dual[numbers]
        gap = np.full(len(numbers), np.inf)
        seen = np.isfinite(primal)
        gap[seen] = relative_gap(primal[seen], dual[seen], self.null[numbers[seen]])
        return gap

    def iterates(self, numbers: IntArray) -> Iterates:
        """Best points found for some instances, to start others from."""
        coef = stack_rows([self.coef[number] for number in numbers], self.batch.n_features)
        return Iterates(coef, self.point[numbers], self.steps[numbers])

    def progress(self, number: int) -> Progress:
        """The report for the callback."""
        worst = self._relative_gap(np.flatnonzero(self.open))
        return Progress(
            solved=int((~self.open).sum()),
            total=len(self.open),
            round=number,
            worst_gap=float(worst.max(initial=0.0)),
        )

    def interrupt(self) -> None:
        """Set the status of open instances; those never certified keep w = 0 and the bound 0."""
        self.status[self.open] = Status.INTERRUPTED
        untouched = np.flatnonzero(np.isinf(self.primal))
        self.primal[untouched] = self.null[untouched]
        self.dual[untouched] = 0.0

    def solution(self, solver: str, watch: Stopwatch) -> Solution:
        """Return the solution."""
        return Solution(
            coef=stack_rows(self.coef, self.batch.n_features),
            dual_point=self.point,
            primal=self.primal,
            dual=self.dual,
            null=self.null,
            status=self.status,
            rounds=self.rounds,
            steps=self.steps,
            screened=Screened(*self.counts),
            seconds=watch.seconds,
            compile_seconds=watch.compile_seconds,
            solver=solver,
        )
