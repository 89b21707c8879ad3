"""What a solve returns, how its instances ended, and how long it took."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from time import perf_counter
from typing import Any

import numpy as np

from sketchlasso.errors import InaccurateWarning
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import Bounds, Certificate
from sketchlasso.problem.formulas import null_value, relative_gap
from sketchlasso.solvers.settings import Progress, Settings
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows
from sketchlasso.warn import warn_user

# Rounds without a tenth of progress after which an instance counts as stalled.
STALL_ROUNDS = 15


class Status(IntEnum):
    """How one instance ended; :meth:`Solution.message` says what to change."""

    SOLVED = 0
    INACCURATE = 1
    ITERATION_LIMIT = 2
    STALLED = 3
    NON_FINITE = 4
    INTERRUPTED = 5
    LEFT_OUT = 6


# How instances that are not solved ended, and what helps.
_SHORTFALLS = {
    Status.INACCURATE: (
        "just missed the tolerance",
        "The gap no longer shrinks; loosen tol, or scale the columns to comparable size.",
    ),
    Status.ITERATION_LIMIT: (
        "reached the iteration limit",
        "Loosen tol, solve along a path of decreasing penalties, or raise max_rounds.",
    ),
    Status.STALLED: (
        "stalled",
        "Standardise columns of very different size, leave out unpenalised columns that nearly "
        "depend on others, loosen tol (to 1e-4 for float32 data), or try solver='conic'.",
    ),
    Status.NON_FINITE: (
        "failed",
        "The data are scaled beyond what floating point can hold; rescale X and y.",
    ),
    Status.INTERRUPTED: ("were interrupted", "The coefficients are the best until then."),
    Status.LEFT_OUT: (
        "were left out",
        "The search for a penalty was decided before; give the penalties yourself to have them "
        "all solved.",
    ),
}


def status_of(gap: FloatArray, tol: float, otherwise: IntArray | Status) -> IntArray:
    """Status (B,) of instances by their certified relative gaps (B,).

    This is the only code that calls an instance solved. `otherwise`, (B,) or one for all, says why
    the search ended; it is the status of a gap far above the tolerance.
    """
    status = np.full(len(gap), otherwise, dtype=np.intp)
    # Nearly there: inaccurate, not stalled.
    status[gap <= 100.0 * tol] = int(Status.INACCURATE)
    status[gap <= tol] = int(Status.SOLVED)
    return status


def _shortfalls(status: IntArray, relative_gap: FloatArray) -> str:
    """Describe the instances (B,) that fell short, with a remedy for each kind."""
    sentences = []
    for kind, (ended, remedy) in _SHORTFALLS.items():
        of_kind = status == kind
        if of_kind.any():
            sentences.append(
                f"{np.sum(of_kind)} of {len(status)} instances {ended} "
                f"(worst relative gap {relative_gap[of_kind].max():.1e}). {remedy}"
            )
    return " ".join(sentences)


def warn_of_ending(status: IntArray, relative_gap: FloatArray) -> None:
    """Issue an :class:`InaccurateWarning` with the gaps where an instance fell short."""
    tried = status != Status.LEFT_OUT
    status, relative_gap = status[tried], relative_gap[tried]
    if (status != Status.SOLVED).any():
        warn_user(InaccurateWarning(_shortfalls(status, relative_gap)))


@dataclass(frozen=True, eq=False)
class Iterates:
    """Proposed solutions of some instances.

    Attributes
    ----------
    coef : csr_array of shape (b, n)
    dual : ndarray of shape (b, k)
        Dual candidates; need not be feasible.
    steps : ndarray of shape (b,)
        Inner iterations spent on this proposal.
    """

    coef: SparseRows
    dual: FloatArray
    steps: IntArray

    def take(self, rows: IntArray) -> Iterates:
        """The iterates of some of the instances; these themselves where it is all of them."""
        if np.array_equal(rows, np.arange(len(self.steps))):
            return self
        return Iterates(self.coef[rows], self.dual[rows], self.steps[rows])


class Certified(Bounds):
    """Base of solutions with a certificate, one row per instance."""

    coef: SparseRows
    status: IntArray

    @property
    def n_nonzero(self) -> IntArray:
        """Non-zero coefficients (B,) of each instance."""
        return np.diff(self.coef.indptr).astype(np.intp)

    @property
    def solved(self) -> BoolArray:
        """Whether each instance reached the tolerance (B,)."""
        return np.asarray(self.status == Status.SOLVED)

    def warn_if_unsolved(self) -> None:
        """Issue an :class:`InaccurateWarning` with the gaps where an instance fell short."""
        warn_of_ending(self.status, self.relative_gap)

    def message(self) -> str:
        """One line on how the instances ended, with a remedy where something fell short."""
        gap = self.relative_gap
        if self.solved.all():
            return f"all {len(gap)} instances solved, worst relative gap {gap.max():.1e}"
        return _shortfalls(self.status, gap)


@dataclass(frozen=True, eq=False)
class Solution(Certified):
    """Solutions of a batch, one row per instance.

    Attributes
    ----------
    coef : csr_array of shape (B, n)
    dual_point : ndarray of shape (B, k)
        Feasible dual point that proves the gap.
    primal, dual : ndarray of shape (B,)
        Objective at the coefficients, and the proven lower bound on it.
    null : ndarray of shape (B,)
        Objective at w = 0.
    status : ndarray of shape (B,)
        Values of :class:`Status`.
    rounds, steps : ndarray of shape (B,)
        Rounds of the driver and inner iterations spent.
    seconds : float
        Wall time of the solve. The first call on a machine also compiles.
    solver : str
    device : str
        Where it was solved.
    finished_on_cpu : int
        Instances that the device could not certify and the CPU finished.
    """

    coef: SparseRows
    dual_point: FloatArray
    primal: FloatArray
    dual: FloatArray
    null: FloatArray
    status: IntArray
    rounds: IntArray
    steps: IntArray
    seconds: float
    solver: str
    device: str = CPU
    finished_on_cpu: int = 0


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
    """The ledger of a batch: its coefficients and dual points, and which instances are open."""

    def __init__(self, batch: Batch, settings: Settings) -> None:
        super().__init__(null_value(batch), settings.tol)
        size = batch.n_instances
        self.batch, self.settings = batch, settings
        self.point = np.zeros((size, batch.rank))
        # Features and values of the non-zero coefficients of every instance.
        self.pieces = [(np.empty(0, dtype=np.intp), np.empty(0))] * size
        self.open = np.ones(size, dtype=bool)
        self.rounds = np.zeros(size, dtype=np.intp)
        self.since_progress = np.zeros(size, dtype=np.intp)

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
        coef: Any = iterates.coef
        for row in np.flatnonzero(better):
            part = slice(coef.indptr[row], coef.indptr[row + 1])
            self.pieces[numbers[row]] = coef.indices[part].copy(), coef.data[part].copy()
        self.steps[numbers] += iterates.steps

    def record(
        self, numbers: IntArray, iterates: Iterates, certificate: Certificate, number: int
    ) -> tuple[BoolArray, BoolArray]:
        """Keep what a round improved; returns which instances are solved and which must end (b,).

        An instance ends without being solved where its values are not finite, or where it has made
        no progress for STALL_ROUNDS rounds.
        """
        primal, dual = certificate.primal, certificate.dual
        before = self.gap(numbers)
        self.keep(numbers, iterates, primal, dual, certificate.point)
        self.rounds[numbers] = number
        stuck = ~(self.gap(numbers) < 0.9 * before) & (number > 0)
        self.since_progress[numbers] = np.where(stuck, self.since_progress[numbers] + 1, 0)
        finite = np.isfinite(primal) & np.isfinite(dual)
        stalled = self.since_progress[numbers] >= STALL_ROUNDS
        ended = np.where(stalled, Status.STALLED, Status.ITERATION_LIMIT)
        solved = self.settle(numbers, np.where(finite, ended, Status.NON_FINITE))
        return solved, ~finite | stalled

    def iterates(self, numbers: IntArray) -> Iterates:
        """Best points found for some instances, to start others from."""
        return Iterates(self._coef(numbers), self.point[numbers], self.steps[numbers])

    def _coef(self, numbers: IntArray) -> SparseRows:
        return stack_rows([self.pieces[number] for number in numbers], self.batch.n_features)

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
        self, solver: str, start: float, device: str = CPU, finished_on_cpu: int = 0
    ) -> Solution:
        """Return the solution, begun at `start` of ``perf_counter``."""
        return Solution(
            coef=self._coef(np.arange(self.batch.n_instances)),
            dual_point=self.point,
            primal=self.primal,
            dual=self.dual,
            null=self.null,
            status=self.status,
            rounds=self.rounds,
            steps=self.steps,
            seconds=perf_counter() - start,
            solver=solver,
            device=device,
            finished_on_cpu=finished_on_cpu,
        )
