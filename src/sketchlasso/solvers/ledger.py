"""The ledger of a solve: it keeps the best certificates and decides what is solved."""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.working_set import count_removed
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import KeptRows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.formulas import relative_gap
from sketchlasso.problem.objective import null_value
from sketchlasso.solvers.algorithms.protocol import Iterates, Round
from sketchlasso.solvers.settings import Progress, Settings
from sketchlasso.solvers.solution import Screened, Solution, Status, Stopwatch, status_of
from sketchlasso.types import BoolArray, FloatArray, IntArray

# Rounds without a tenth of progress after which an instance counts as stalled.
STALL_ROUNDS = 15
# Gaps that the certificate's precision allows at best: another attempt would not lower them.
FINEST_GAP = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 0.0}


class Ledger:
    """The best certificate of every instance, and the status that follows from it.

    Solvers of all kinds propose points and offer the certificates of these; whether an instance is
    solved is decided here. The best primal and the best dual are kept apart: they may come from
    different points.

    `null` (B,) is the objective at w = 0, and `tol` the relative gap at which an instance is
    solved. The status (B,) is INTERRUPTED until a certificate is settled.
    """

    def __init__(self, null: FloatArray, tol: float) -> None:
        size = len(null)
        self.null, self.tol = null, tol
        self.primal, self.dual = np.full(size, np.inf), np.full(size, -np.inf)
        self.status = np.full(size, Status.INTERRUPTED, dtype=np.intp)
        self.steps = np.zeros(size, dtype=np.intp)

    def offer(
        self, numbers: IntArray, primal: FloatArray, dual: FloatArray
    ) -> tuple[BoolArray, BoolArray]:
        """Keep certificates (b,) of some instances where they improve on what is known.

        Returns where the primal and where the dual improved (b,). Values that are not finite never
        do.
        """
        finite = np.isfinite(primal) & np.isfinite(dual)
        better = finite & (primal < self.primal[numbers])
        tighter = finite & (dual > self.dual[numbers])
        self.primal[numbers[better]] = primal[better]
        self.dual[numbers[tighter]] = dual[tighter]
        return better, tighter

    def gap(self, numbers: IntArray) -> FloatArray:
        """Relative gaps (b,) of some instances; infinite where there is no certificate yet."""
        primal = self.primal[numbers]
        with np.errstate(invalid="ignore"):
            gap = relative_gap(primal, self.dual[numbers], self.null[numbers])
        return np.where(np.isinf(primal), np.inf, gap)

    def settle(self, numbers: IntArray, otherwise: IntArray | Status) -> BoolArray:
        """Set the status of some instances by their gaps; returns which are solved (b,).

        `otherwise` is the status of gaps far above the tolerance, see
        :func:`~sketchlasso.solvers.solution.status_of`.
        """
        gap = self.gap(numbers)
        self.status[numbers] = status_of(gap, self.tol, otherwise)
        return np.asarray(gap <= self.tol)


class BatchLedger(Ledger):
    """The ledger of a batch: coefficients, dual points, and what screening removed."""

    def __init__(self, batch: Batch, settings: Settings) -> None:
        super().__init__(null_value(batch), settings.tol)
        size = batch.n_instances
        self.batch, self.settings = batch, settings
        self.fewest_rounds = 0
        self.point = np.zeros((size, batch.rank))
        self.coef = KeptRows(size, batch.n_features)
        self.open = np.ones(size, dtype=bool)
        self.rounds = np.zeros(size, dtype=np.intp)
        self.since_progress = np.zeros(size, dtype=np.intp)
        self.counts = np.zeros((3, size), dtype=np.intp)

    def keep(
        self,
        numbers: IntArray,
        iterates: Iterates,
        primal: FloatArray,
        dual: FloatArray,
        point: FloatArray,
    ) -> None:
        """Keep proposals (b,) with their certificates, `point` (b, k) the feasible dual points."""
        better, tighter = self.offer(numbers, primal, dual)
        self.point[numbers[tighter]] = point[tighter]
        self.coef.put(numbers[better], iterates.coef, np.flatnonzero(better))
        self.steps[numbers] += iterates.steps

    def record(self, numbers: IntArray, view: Round) -> BoolArray:
        """Keep what a round of the driver improved; returns which instances are closed (b,)."""
        found, before = view.certificate, self.gap(numbers)
        self.keep(numbers, view.iterates, found.primal, found.dual, found.point)
        self.rounds[numbers] = view.number
        stuck = ~(self.gap(numbers) < 0.9 * before) & (view.number > 0)
        self.since_progress[numbers] = np.where(stuck, self.since_progress[numbers] + 1, 0)
        finite = np.isfinite(found.primal) & np.isfinite(found.dual)
        stalled = self.since_progress[numbers] >= STALL_ROUNDS
        ended = np.where(stalled, Status.STALLED, Status.ITERATION_LIMIT)
        solved = self.settle(numbers, np.where(finite, ended, Status.NON_FINITE))
        closed = (solved & (view.number >= self.fewest_rounds)) | ~finite | stalled
        self.open[numbers[closed]] = False
        last = view.number == self.settings.max_rounds
        for row in np.arange(len(numbers)) if last else np.flatnonzero(closed):
            self._count_screened(numbers[row], view, int(row))
        return closed

    def close_solved(self, numbers: IntArray) -> None:
        """Close those of some instances that are solved; the others stay open."""
        solved = self.settle(numbers, Status.ITERATION_LIMIT)
        self.open[numbers[solved]] = False

    def reopen_stalled(self) -> IntArray:
        """Instances that made no progress far from their tolerance, open again."""
        numbers = np.flatnonzero(~self.open & (self.status != Status.SOLVED))
        numbers = numbers[self.gap(numbers) > FINEST_GAP[self.batch.P.dtype]]
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
            view.reach[row],
            scale,
            view.distance[row] if np.isfinite(scale) else np.inf,
        )
        in_force = (rules.paper, rules.static, rules.gap_safe)
        self.counts[:, number] = np.where(in_force, counts, 0)

    def iterates(self, numbers: IntArray) -> Iterates:
        """Best points found for some instances, to start others from."""
        return Iterates(self.coef.take(numbers), self.point[numbers], self.steps[numbers])

    def report(self, number: int) -> None:
        """Call the callback of the settings after a round."""
        if self.settings.callback is not None:
            worst = self.gap(np.flatnonzero(self.open)).max(initial=0.0)
            solved, total = int((~self.open).sum()), len(self.open)
            self.settings.callback(Progress(solved, total, number, float(worst)))

    def interrupt(self) -> None:
        """Set the status of open instances; those never certified keep w = 0 and the bound 0."""
        self.status[self.open] = Status.INTERRUPTED
        untouched = np.flatnonzero(np.isinf(self.primal))
        self.primal[untouched] = self.null[untouched]
        self.dual[untouched] = 0.0

    def solution(
        self, solver: str, watch: Stopwatch, device: str = CPU, finished_on_cpu: int = 0
    ) -> Solution:
        """Return the solution."""
        return Solution(
            coef=self.coef.take(np.arange(self.batch.n_instances)),
            dual_point=self.point,
            primal=self.primal,
            dual=self.dual,
            null=self.null,
            status=self.status,
            rounds=self.rounds,
            steps=self.steps,
            screened=Screened(*self.counts),
            seconds=watch.seconds,
            solver=solver,
            device=device,
            finished_on_cpu=finished_on_cpu,
        )
