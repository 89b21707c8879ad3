"""The only loop: ask for iterates, certify them, close what is solved, report."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.errors import InvalidInputError
from sketchlasso.kernels.working_set import count_removed
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import TILE, certify, correlate
from sketchlasso.problem.objective import null_value, relative_gap
from sketchlasso.problem.penalty_max import null_model
from sketchlasso.problem.screening import RowNorms, dual_reach, gap_safe_distance, row_norms
from sketchlasso.solve.algorithms import Solver, make_algorithm
from sketchlasso.solve.algorithms.protocol import Algorithm, Iterates, Round
from sketchlasso.solve.chains import Level, between, chain_levels
from sketchlasso.solve.clock import Stopwatch
from sketchlasso.solve.settings import Progress, Settings
from sketchlasso.solve.solution import Screened, Solution
from sketchlasso.solve.status import Status
from sketchlasso.types import FloatArray, IntArray, RealArray

__all__ = ["solve"]

# Rounds without a tenth of progress after which an instance counts as stalled.
STALL_ROUNDS = 15
ALMOST = 100.0


def solve(
    batch: Batch,
    solver: Solver = "newton",
    settings: Settings | None = None,
    warm: Iterates | None = None,
    chain: IntArray | None = None,
) -> Solution:
    """Solve every instance of a batch to a relative duality gap of ``settings.tol``.

    Parameters
    ----------
    batch : Batch
        Problems over one shared factor P.
    solver : {"newton", "barrier", "first_order", "conic"}
        Who proposes iterates; the certificate is computed here in any case.
    settings : Settings, optional
    warm : Iterates, optional
        Starting points for all instances; any point is allowed.
    chain : ndarray of shape (B,), optional
        Instances with the same number differ in alpha only. They are solved coarse to
        fine, each started between its neighbours (:attr:`ProblemSet.chain` has the numbers).

    Returns
    -------
    Solution
        Instances that fell short carry a status, never an exception. Ctrl-C returns what
        is solved, the rest marked INTERRUPTED.
    """
    settings = settings or Settings()
    algorithm = make_algorithm(solver)
    if warm is not None and warm.coef.shape != (batch.n_instances, batch.n_features):
        raise InvalidInputError(
            f"warm.coef has shape {warm.coef.shape}; the batch needs "
            f"({batch.n_instances}, {batch.n_features})"
        )
    ledger = _Ledger(batch, settings)
    with Stopwatch() as watch:
        norms = row_norms(batch) if settings.screening.any else None
        levels = (
            [Level(np.arange(batch.n_instances))]
            if chain is None
            else chain_levels(np.asarray(chain), batch.alpha)
        )
        most = max(len(level.instances) for level in levels)
        chunk_rows = len(_chunks(batch, settings, most)[0]) + TILE
        buffer = np.empty((chunk_rows, batch.n_features), dtype=batch.P.dtype)
        try:
            for level in levels:
                start = _starting_points(batch, level, warm, ledger)
                ledger.fewest_rounds = 0 if level.left is None else 1
                for chunk in _chunks(batch, settings, len(level.instances)):
                    _solve_chunk(
                        batch,
                        level.instances[chunk],
                        None if start is None else start.take(chunk),
                        algorithm,
                        settings,
                        norms,
                        buffer,
                        ledger,
                    )
        except KeyboardInterrupt:
            ledger.interrupt()
    return ledger.solution(solver, watch)


def _chunks(batch: Batch, settings: Settings, count: int) -> list[IntArray]:
    """Numbers below `count`, cut so that the correlations of a chunk fit the memory budget."""
    per_instance = 3 * batch.n_features * 8
    size = max(1, settings.memory_budget // per_instance)
    return [np.arange(i, min(i + size, count)) for i in range(0, count, size)]


def _starting_points(
    batch: Batch, level: Level, warm: Iterates | None, ledger: _Ledger
) -> Iterates | None:
    """Between solved neighbours, or the caller's warm start, or nothing (the null model)."""
    if level.left is None or level.right is None:
        return None if warm is None else warm.take(level.instances)
    here, left, right = (
        np.log(np.maximum(batch.alpha[rows], 1e-300))
        for rows in (level.instances, level.left, level.right)
    )
    apart = np.where(left == right, 1.0, left - right)
    share = np.clip((left - here) / apart, 0.0, 1.0)
    return between(ledger.iterates(level.left), ledger.iterates(level.right), share)


def _solve_chunk(
    batch: Batch,
    chunk: IntArray,
    start: Iterates | None,
    algorithm: Algorithm,
    settings: Settings,
    norms: RowNorms | None,
    buffer: RealArray,
    ledger: _Ledger,
) -> None:
    """Rounds of certify and propose until every instance of the chunk is closed."""
    whole = batch.take(chunk)
    iterates = _null_start(whole) if start is None else start
    algorithm.start(whole, settings)
    part, open_ = whole, np.arange(len(chunk))
    for number in range(settings.max_rounds + 1):
        correlation = correlate(part, iterates.dual, buffer)
        certificate = certify(part, iterates.coef, iterates.dual, correlation, settings.n_threads)
        distance = gap_safe_distance(part, certificate.gap)
        if not settings.screening.gap_safe:
            distance = np.full_like(distance, np.inf)
        here = None if norms is None else norms.take(chunk[open_])
        view = Round(part, open_, iterates, correlation, certificate, here, distance, number)
        closed = ledger.record(chunk[open_], view)
        if settings.callback is not None:
            settings.callback(ledger.progress(number))
        keep = np.flatnonzero(~closed)
        if keep.size == 0 or number == settings.max_rounds:
            return
        view = view.take(keep)
        part, open_ = view.batch, view.instances
        iterates = algorithm.advance(view)


def _null_start(batch: Batch) -> Iterates:
    """The null model, with the dual point that would prove it optimal."""
    null = null_model(batch)
    return Iterates(null.coef, null.dual, np.zeros(batch.n_instances, dtype=np.intp))


class _Ledger:
    """Best primal and dual found so far for every instance, and how each ended."""

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

    def record(self, numbers: IntArray, view: Round) -> Any:
        """Take over what improved, decide who is finished; returns the closed mask."""
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

    def _close(self, numbers: IntArray, view: Round, gap: FloatArray, finite: Any) -> Any:
        tol = self.settings.tol
        almost = np.where(gap <= ALMOST * tol, Status.INACCURATE, Status.STALLED)
        limit = np.where(gap <= ALMOST * tol, Status.INACCURATE, Status.ITERATION_LIMIT)
        solved, stalled = gap <= tol, self.since_progress[numbers] >= STALL_ROUNDS
        self.status[numbers] = np.select(
            [solved, ~finite, stalled], [Status.SOLVED, Status.NON_FINITE, almost], limit
        )
        # A start between neighbours has the non-zeros of both: let the solver tidy it first.
        closed = (solved & (view.number >= self.fewest_rounds)) | ~finite | stalled
        self.open[numbers[closed]] = False
        last = view.number == self.settings.max_rounds
        for row in np.arange(len(numbers)) if last else np.flatnonzero(closed):
            self._count_screened(numbers[row], view, int(row))
        return closed

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
        """What the callback is told."""
        worst = self._relative_gap(np.flatnonzero(self.open))
        return Progress(
            solved=int((~self.open).sum()),
            total=len(self.open),
            round=number,
            worst_gap=float(worst.max(initial=0.0)),
        )

    def interrupt(self) -> None:
        """Mark what is open; instances never looked at keep w = 0 and the trivial bound 0."""
        self.status[self.open] = Status.INTERRUPTED
        untouched = np.flatnonzero(np.isinf(self.primal))
        self.primal[untouched] = self.null[untouched]
        self.dual[untouched] = 0.0

    def solution(self, solver: str, watch: Stopwatch) -> Solution:
        """Everything, frozen."""
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
