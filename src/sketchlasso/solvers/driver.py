"""The loop of a solve: ask for iterates, certify them, close what is solved, report."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from sketchlasso.errors import DeviceWarning, InvalidInputError, unaccepted
from sketchlasso.linalg.device import CPU, Device, open_device
from sketchlasso.linalg.rows import scale_rows
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import (
    TILE,
    certify_batch,
    correlate,
    null_model,
)
from sketchlasso.solvers.conic import import_clarabel, solve_conic
from sketchlasso.solvers.device import solve_on_device, suits
from sketchlasso.solvers.newton import Newton, Round
from sketchlasso.solvers.settings import Endings, Settings, StopSolve
from sketchlasso.solvers.solution import BatchLedger, Iterates, Solution, Status
from sketchlasso.solvers.workers import join_solutions, map_parts, parts_for_workers
from sketchlasso.types import FloatArray, IntArray, RealArray
from sketchlasso.warn import warn_user

Solver: TypeAlias = Literal["newton", "conic"]


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
    solver : {"newton", "conic"}
        The algorithm that proposes iterates: the package's Newton method, or Clarabel, a generic
        conic solver (extra ``conic``). The driver computes the certificate in any case.
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
    if solver not in get_args(Solver):
        raise unaccepted("solver", solver, "'newton' or 'conic'")
    if solver == "conic":
        import_clarabel()  # a missing package is reported before anything is solved
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

    def arguments(part: IntArray) -> tuple[Any, ...]:
        start = None if warm is None else warm.take(part)
        return solver, start, None if chain is None else chain[part], endings

    begun = perf_counter()
    solutions = map_parts(_solve_here, parts, batch, settings, arguments, endings)
    for number, part in enumerate(parts):
        if solutions[number] is None:  # no worker has begun this part
            ledger = BatchLedger(batch.take(part), settings)
            ledger.interrupt()
            solutions[number] = ledger.solution(solver, begun)
    return join_solutions(solutions, parts, perf_counter() - begun)


def _solve_here(
    batch: Batch,
    settings: Settings,
    solver: Solver,
    warm: Iterates | None,
    chain: IntArray | None,
    endings: Endings,
) -> Solution:
    """Solve a batch in this process: on a device first where one is asked for."""
    if (batch.radius == 0).any() or (batch.penalty_factor == 0).any():
        # There a single correlation decides what is feasible: it needs all digits.
        batch = replace(batch, P=batch.P.astype(np.float64, copy=False))
    ledger = BatchLedger(batch, settings)
    device = _device_for(batch, solver, settings)
    label, finished_on_cpu, begun = CPU, 0, perf_counter()
    try:
        if device is not None:
            label = device.label
            solve_on_device(batch, device, ledger, warm)
            # A failed solve is a poor start: the CPU starts from scratch.
            warm, finished_on_cpu = None, int(ledger.open.sum())
        with single_blas_thread():
            if solver == "conic":
                _solve_by_conic(ledger)
            elif ledger.open.any():
                _solve_by_newton(ledger, warm, chain)
    except endings:
        ledger.interrupt()
    return ledger.solution(solver, begun, label, finished_on_cpu)


def _device_for(batch: Batch, solver: Solver, settings: Settings) -> Device | None:
    """The device that the settings ask for; None where the CPU does the work."""
    if settings.device == CPU:
        return None
    if solver != "newton":
        raise InvalidInputError(
            f"solver={solver!r} cannot be combined with device={settings.device!r}, because "
            "devices solve by 'newton' only; leave out one of the two."
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


def _solve_by_conic(ledger: BatchLedger) -> None:
    """Solve one instance after another; what Clarabel leaves unsolved counts as stalled."""
    for number in np.arange(ledger.batch.n_instances)[:, None]:
        one = ledger.batch.take(number)
        iterates = solve_conic(one)
        proof = certify_batch(one, iterates.coef, iterates.dual)
        ledger.keep(number, iterates, proof.primal, proof.dual, proof.point)
        ledger.settle(number, Status.STALLED)
        ledger.open[number] = False
        ledger.report(1)


def _solve_by_newton(ledger: BatchLedger, warm: Iterates | None, chain: IntArray | None) -> None:
    """Solve the open instances, chains coarse to fine."""
    batch, settings = ledger.batch, ledger.settings
    rows = min(_chunk_size(batch, settings), batch.n_instances) + TILE
    buffer: RealArray = np.empty((rows, batch.n_features), dtype=batch.P.dtype)
    open_ = np.flatnonzero(ledger.open)
    levels: list[tuple[IntArray, ...]] = [(open_,)]
    if chain is not None:
        levels = chain_levels(np.asarray(chain), batch.alpha, open_)
    for instances, *neighbours in levels:
        start = None if warm is None else warm.take(instances)
        if neighbours:
            start = _between_neighbours(ledger, instances, *neighbours)
        # A start between neighbours has the non-zeros of both: the solver removes them in a round.
        fewest_rounds = 1 if neighbours else 0
        for chunk in chunks_of(batch, settings, len(instances)):
            numbers = instances[chunk]
            part = batch.take(numbers)
            if start is None:
                null = null_model(part)
                iterates = Iterates(null.coef, null.dual, np.zeros(len(numbers), dtype=np.intp))
            else:
                iterates = start.take(chunk)
            newton = Newton(part, settings)
            _solve_chunk(ledger, part, numbers, iterates, newton, buffer, fewest_rounds)


def _solve_chunk(
    ledger: BatchLedger,
    part: Batch,
    numbers: IntArray,
    iterates: Iterates,
    newton: Newton,
    buffer: RealArray,
    fewest_rounds: int,
) -> None:
    """Rounds of certify and propose until every instance of the chunk is closed."""
    settings = ledger.settings
    open_ = np.arange(len(numbers))
    for number in range(settings.max_rounds + 1):
        correlation = correlate(part, iterates.dual, buffer, settings.n_threads)
        certificate = certify_batch(
            part, iterates.coef, iterates.dual, correlation, settings.n_threads
        )
        solved, ended = ledger.record(numbers[open_], iterates, certificate, number)
        closed = (solved & (number >= fewest_rounds)) | ended
        ledger.open[numbers[open_[closed]]] = False
        ledger.report(number)
        left = np.flatnonzero(~closed)
        if left.size == 0 or number == settings.max_rounds:
            return
        view = Round(part, open_, iterates, correlation, certificate, number)
        iterates = newton.advance(view, left)
        part, open_ = part.take(left), open_[left]


def _chunk_size(batch: Batch, settings: Settings) -> int:
    """Instances whose correlations fit the memory budget."""
    return max(1, settings.memory_budget // (3 * batch.n_features * 8))


def chunks_of(batch: Batch, settings: Settings, count: int) -> list[IntArray]:
    """Numbers below `count`, cut so that the correlations of a chunk fit the memory budget."""
    size = _chunk_size(batch, settings)
    return [np.arange(i, min(i + size, count)) for i in range(0, count, size)]


def chain_levels(chain: IntArray, alpha: FloatArray, instances: IntArray) -> list[Any]:
    """Order the instances of chains (B,) coarse to fine.

    Every level has instances (b,), and on all levels but the first their solved neighbours of
    larger and of smaller alpha (b,), equal at the end of a chain.
    """
    order = instances[np.lexsort((-alpha[instances], chain[instances]))]
    starts = np.flatnonzero(np.r_[True, np.diff(chain[order]) != 0])
    lengths = np.diff(np.r_[starts, len(order)])
    place = np.arange(len(order)) - np.repeat(starts, lengths)
    last = np.repeat(starts + lengths - 1, lengths)
    stride = 32  # every so many penalties of a chain are solved first
    levels: list[Any] = [(order[place % stride == 0],)]
    while stride > 1:
        half = stride // 2
        here = np.flatnonzero(place % stride == half)
        if here.size:
            beyond = here + half
            right = np.where(beyond <= last[here], beyond, here - half)
            levels.append((order[here], order[here - half], order[right]))
        stride = half
    return levels


def _between_neighbours(
    ledger: BatchLedger, instances: IntArray, left: IntArray, right: IntArray
) -> Iterates:
    """Starting points between solved neighbours, at their share of the way in log(alpha)."""
    here, above, below = (
        np.log(np.maximum(ledger.batch.alpha[rows], 1e-300)) for rows in (instances, left, right)
    )
    share = np.clip((above - here) / np.where(above == below, 1.0, above - below), 0.0, 1.0)
    return between(ledger.iterates(left), ledger.iterates(right), share)


def between(left: Iterates, right: Iterates, share: FloatArray) -> Iterates:
    """Iterates at `share` (b,) of the way from left to right; their indices are sorted."""
    coef = scale_rows(left.coef, 1.0 - share) + scale_rows(right.coef, share)
    dual = (1.0 - share)[:, None] * left.dual + share[:, None] * right.dual
    return Iterates(coef, dual, np.zeros(len(share), dtype=np.intp))
