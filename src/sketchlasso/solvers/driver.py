"""The loop of a solve: ask for iterates, certify them, close what is solved, report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sketchlasso.errors import Argument, DeviceWarning, InvalidInputError
from sketchlasso.linalg.device import CPU, Device, open_device
from sketchlasso.linalg.rows import scale_rows
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import TILE, certify_batch, correlate
from sketchlasso.problem.optimality import null_model
from sketchlasso.problem.screening import (
    RowNorms,
    dual_reach,
    gap_safe_distance,
    row_norms,
    static_margin,
)
from sketchlasso.solvers.algorithms import Solver, make_algorithm
from sketchlasso.solvers.algorithms.homotopy import can_walk, walk_chains
from sketchlasso.solvers.algorithms.protocol import Algorithm, Iterates, Round
from sketchlasso.solvers.device import solve_on_device, suits
from sketchlasso.solvers.ledger import BatchLedger
from sketchlasso.solvers.polish import polished
from sketchlasso.solvers.settings import Endings, Settings, StopSolve
from sketchlasso.solvers.solution import Solution, Stopwatch
from sketchlasso.solvers.workers import join_solutions, map_parts, parts_for_workers
from sketchlasso.types import BoolArray, FloatArray, IntArray, RealArray
from sketchlasso.warn import warn_user

__all__ = ["Level", "between", "chain_levels", "chunks_of", "solve", "solve_or_raise"]

# Newton's method is about as fast as a walk along the whole path for chains shorter than this.
SHORTEST_WALK = 4
# Stride of the first level.
COARSEST = 32


class _Run:
    """What stays the same during one solve; `buffer` holds the correlations of a chunk."""

    def __init__(self, algorithm: Algorithm, ledger: BatchLedger) -> None:
        self.algorithm, self.ledger = algorithm, ledger
        self.batch, self.settings = ledger.batch, ledger.settings
        rows = min(_chunk_size(self.batch, self.settings), self.batch.n_instances) + TILE
        self.buffer: RealArray = np.empty((rows, self.batch.n_features), dtype=self.batch.P.dtype)
        screens = self.settings.screening.any
        self.norms: RowNorms | None = row_norms(self.batch) if screens else None


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
        The algorithm that proposes iterates; the driver computes the certificate in any case.
        Instances that stall are tried again from another start, then with "barrier".
    settings : Settings, optional
    warm : Iterates, optional
        Starting points for all instances; any point is allowed.
    chain : ndarray of shape (B,), optional
        Instances with the same number differ in alpha only. They are solved coarse to
        fine, each started between its neighbours (:attr:`ProblemSet.chain` has the numbers).

    Returns
    -------
    Solution
        Instances that fell short get a status; no exception is raised. Ctrl-C returns what
        is solved, the rest marked INTERRUPTED. Inside a :func:`cluster` with workers a batch of
        more than two instances for each is solved there, whole chains at a time.
    """
    return solve_or_raise(batch, solver, settings, warm, chain, (KeyboardInterrupt, StopSolve))


def solve_or_raise(
    batch: Batch,
    solver: Solver = "newton",
    settings: Settings | None = None,
    warm: Iterates | None = None,
    chain: IntArray | None = None,
    endings: Endings = (StopSolve,),
) -> Solution:
    """Solve as :func:`solve` does, but let Ctrl-C raise KeyboardInterrupt.

    The exceptions in `endings` end the solve with what it has found so far.
    """
    settings = settings or Settings()
    make_algorithm(solver)
    if warm is not None and warm.coef.shape != (batch.n_instances, batch.n_features):
        raise InvalidInputError(
            f"warm.coef has shape {warm.coef.shape}; the batch needs "
            f"({batch.n_instances}, {batch.n_features})"
        )
    if chain is not None and np.shape(chain) != (batch.n_instances,):
        raise InvalidInputError(
            f"chain has shape {np.shape(chain)} but the batch has {batch.n_instances} instances; "
            "give one chain number per instance"
        )
    if warm is not None and batch.positive:
        warm = replace(warm, coef=warm.coef.maximum(0.0))
    # Only this process uses the device: workers of one machine would compete for it.
    parts = parts_for_workers(batch, chain) if settings.device == CPU else None
    if parts is None:
        return _solve_here(batch, settings, solver, warm, chain, endings)

    def given(part: IntArray) -> tuple[Any, ...]:
        start = None if warm is None else warm.take(part)
        return solver, start, None if chain is None else chain[part], endings

    with Stopwatch() as watch:
        found = map_parts(_solve_here, parts, batch, settings, given, endings)
    solutions = [
        _unreached(batch.take(part), settings, solver, watch) if one is None else one
        for part, one in zip(parts, found, strict=True)
    ]
    return join_solutions(solutions, parts, watch.seconds)


def _unreached(batch: Batch, settings: Settings, solver: Solver, watch: Stopwatch) -> Solution:
    """The solution of a part that no worker has begun."""
    ledger = BatchLedger(batch, settings)
    ledger.interrupt()
    return ledger.solution(solver, watch)


def _solve_here(
    batch: Batch,
    settings: Settings,
    solver: Solver,
    warm: Iterates | None,
    chain: IntArray | None,
    endings: Endings,
) -> Solution:
    """Solve a batch in this process: on a device first where one is asked for."""
    algorithm = make_algorithm(solver)
    ledger = BatchLedger(batch, settings)
    device = _device_for(batch, solver, settings)
    label, finished_on_cpu = CPU, 0
    with Stopwatch() as watch:
        try:
            if device is not None:
                label = device.label
                solve_on_device(batch, device, ledger, warm)
                # A failed solve is a poor start: the CPU starts from scratch.
                warm, finished_on_cpu = None, int(ledger.open.sum())
            if ledger.open.any():
                with single_blas_thread():
                    _solve_open(_Run(algorithm, ledger), solver, warm, chain)
        except endings:
            ledger.interrupt()
    return polished(batch, ledger.solution(solver, watch, label, finished_on_cpu), settings.tol)


def _device_for(batch: Batch, solver: Solver, settings: Settings) -> Device | None:
    """The device that the settings ask for; None where the CPU does the work."""
    if settings.device == CPU:
        return None
    if solver != "newton":
        raise InvalidInputError(
            Argument("solver", solver),
            " cannot be combined with ",
            Argument("device", settings.device),
            ", because devices solve by 'newton' only; leave out one of the two.",
        )
    device = open_device(settings.device, settings.device_memory)
    if device is not None and not suits(batch):
        warn_user(
            DeviceWarning(
                "devices do not solve squared losses or problems with unpenalised features "
                f"({device.label!r} was requested), so the CPU solves them."
            )
        )
        return None
    return device


def _solve_open(run: _Run, solver: Solver, warm: Iterates | None, chain: IntArray | None) -> None:
    """Solve the open instances on the CPU."""
    walked = _walk_paths(run, chain, solver)
    left = np.flatnonzero(run.ledger.open & ~walked)
    levels = [Level(left)]
    if chain is not None:
        levels = chain_levels(np.asarray(chain), run.batch.alpha, left)
    for level in levels:
        start = _starting_points(run.batch, level, warm, run.ledger)
        # A start between neighbours has the non-zeros of both: the solver removes them in a round.
        _solve_some(run, level.instances, start, fewest_rounds=0 if level.left is None else 1)
    _try_otherwise(run, walked)


def _walk_paths(run: _Run, chain: IntArray | None, solver: Solver) -> BoolArray:
    """Solve by their whole path the instances for which that is best; returns which (B,).

    These have no radius and belong to a long chain, or may interpolate (s = 0), where Newton's
    method is slow.
    """
    batch = run.batch
    if solver != "newton":
        return np.zeros(batch.n_instances, dtype=bool)
    chain = np.arange(batch.n_instances) if chain is None else np.asarray(chain)
    _, number = np.unique(chain, return_inverse=True)
    length = np.bincount(number, weights=run.ledger.open)
    walked = can_walk(batch) & ((length[number] >= SHORTEST_WALK) | (batch.s == 0))
    walked &= run.ledger.open
    _walk(run, np.flatnonzero(walked), chain)
    return walked


def _walk(run: _Run, instances: IntArray, chain: IntArray) -> None:
    """Certify what a walk along the paths proposes, and let the algorithm finish the rest."""
    for part in _whole_chains(run, instances, chain):
        proposals, found = walk_chains(run.batch.take(part), chain[part], run.settings.n_threads)
        _solve_some(run, part[found], proposals.take(np.flatnonzero(found)))
        _solve_some(run, part[~found], None)


def _whole_chains(run: _Run, instances: IntArray, chain: IntArray) -> list[IntArray]:
    """Instances in parts of about a chunk each, no chain cut in two."""
    ordered = instances[np.argsort(chain[instances], kind="stable")]
    starts = np.flatnonzero(np.diff(chain[ordered], prepend=-1))
    part_of = starts // _chunk_size(run.batch, run.settings)
    cuts = starts[1:][np.diff(part_of) > 0]
    return [part for part in np.split(ordered, cuts) if len(part)]


def _try_otherwise(run: _Run, walked: BoolArray) -> None:
    """Retry stalled instances from another start, then with another solver."""
    batch, ledger = run.batch, run.ledger
    stuck = ledger.reopen_stalled()
    paths = stuck[(can_walk(batch) & ~walked)[stuck]]
    _walk(run, paths, np.arange(batch.n_instances))
    _solve_some(run, np.setdiff1d(stuck, paths), None)
    run.algorithm = make_algorithm("barrier")
    _solve_some(run, ledger.reopen_stalled(), None)


def _solve_some(
    run: _Run, instances: IntArray, start: Iterates | None, fewest_rounds: int = 0
) -> None:
    """Solve instances from given starting points, or cold, chunk by chunk."""
    run.ledger.fewest_rounds = fewest_rounds
    for chunk in chunks_of(run.batch, run.settings, len(instances)):
        _solve_chunk(run, instances[chunk], None if start is None else start.take(chunk))


def _chunk_size(batch: Batch, settings: Settings) -> int:
    """Instances whose correlations fit the memory budget."""
    return max(1, settings.memory_budget // (3 * batch.n_features * 8))


def chunks_of(batch: Batch, settings: Settings, count: int) -> list[IntArray]:
    """Numbers below `count`, cut so that the correlations of a chunk fit the memory budget."""
    size = _chunk_size(batch, settings)
    return [np.arange(i, min(i + size, count)) for i in range(0, count, size)]


def _starting_points(
    batch: Batch, level: Level, warm: Iterates | None, ledger: BatchLedger
) -> Iterates | None:
    """Points between solved neighbours, or the caller's; None for the null model."""
    if level.left is None or level.right is None:
        return None if warm is None else warm.take(level.instances)
    here, left, right = (
        np.log(np.maximum(batch.alpha[rows], 1e-300))
        for rows in (level.instances, level.left, level.right)
    )
    apart = np.where(left == right, 1.0, left - right)
    share = np.clip((left - here) / apart, 0.0, 1.0)
    return between(ledger.iterates(level.left), ledger.iterates(level.right), share)


def _solve_chunk(run: _Run, chunk: IntArray, start: Iterates | None) -> None:
    """Rounds of certify and propose until every instance of the chunk is closed."""
    settings, ledger = run.settings, run.ledger
    part, open_ = run.batch.take(chunk), np.arange(len(chunk))
    iterates = _null_start(part) if start is None else start
    run.algorithm.start(part, settings)
    for number in range(settings.max_rounds + 1):
        correlation = correlate(part, iterates.dual, run.buffer, settings.n_threads)
        certificate = certify_batch(
            part, iterates.coef, iterates.dual, correlation, settings.n_threads
        )
        distance = gap_safe_distance(part, certificate.gap)
        if not settings.screening.gap_safe:
            distance = np.full_like(distance, np.inf)
        norms = None if run.norms is None else run.norms.take(chunk[open_])
        margin = static_margin(part, settings.screening.paper, settings.screening.static)
        view = Round(
            batch=part,
            instances=open_,
            iterates=iterates,
            correlation=correlation,
            certificate=certificate,
            norms=norms,
            reach=dual_reach(part),
            margin=margin,
            distance=distance,
            number=number,
        )
        closed = ledger.record(chunk[open_], view)
        ledger.report(number)
        keep = np.flatnonzero(~closed)
        if keep.size == 0 or number == settings.max_rounds:
            return
        part, open_ = part.take(keep), open_[keep]
        iterates = run.algorithm.advance(view, keep)


def _null_start(batch: Batch) -> Iterates:
    """The null model, with the dual point that would prove it optimal."""
    null = null_model(batch)
    return Iterates(null.coef, null.dual, np.zeros(batch.n_instances, dtype=np.intp))


@dataclass(frozen=True, eq=False)
class Level:
    """Instances to solve together, and the solved neighbours they start from."""

    instances: IntArray  # (b,)
    # Neighbours (b,) of larger and of smaller alpha, equal at the end of a chain; None on the
    # coarsest level.
    left: IntArray | None = None
    right: IntArray | None = None


def chain_levels(chain: IntArray, alpha: FloatArray, instances: IntArray) -> list[Level]:
    """Levels of some instances (b,) from coarse to fine; those with one number in `chain` (B,)
    form a chain by alpha (B,).

    Every 32nd instance of a chain is solved first, then the midpoints, again and again. A midpoint
    starts between its two solved neighbours: the dual point of a path is nearly smooth in
    log(alpha), so it is nearly solved already. Whole levels go through the solver at once, which a
    walk along the path would not allow.
    """
    order = instances[np.lexsort((-alpha[instances], chain[instances]))]
    starts = np.flatnonzero(np.r_[True, np.diff(chain[order]) != 0])
    lengths = np.diff(np.r_[starts, len(order)])
    place = np.arange(len(order)) - np.repeat(starts, lengths)
    last = np.repeat(starts + lengths - 1, lengths)
    levels = [Level(order[place % COARSEST == 0])]
    stride = COARSEST
    while stride > 1:
        half = stride // 2
        here = np.flatnonzero(place % stride == half)
        if here.size:
            beyond = here + half
            right = np.where(beyond <= last[here], beyond, here - half)
            levels.append(Level(order[here], order[here - half], order[right]))
        stride = half
    return levels


def between(left: Iterates, right: Iterates, share: FloatArray) -> Iterates:
    """Iterates at `share` (b,) of the way from left to right; their indices are sorted."""
    coef = scale_rows(left.coef, 1.0 - share) + scale_rows(right.coef, share)
    dual = (1.0 - share)[:, None] * left.dual + share[:, None] * right.dual
    return Iterates(coef, dual, np.zeros(len(share), dtype=np.intp))
