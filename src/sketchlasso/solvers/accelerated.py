"""A solve on a device, with what it could not certify finished on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sketchlasso.errors import DeviceWarning
from sketchlasso.linalg.device import Device
from sketchlasso.linalg.rows import replace_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.objective import null_value
from sketchlasso.solvers.algorithms.protocol import Iterates
from sketchlasso.solvers.clock import Stopwatch
from sketchlasso.solvers.device import DeviceRun, solve_on_device
from sketchlasso.solvers.settings import Endings, Progress, Settings
from sketchlasso.solvers.solution import Screened, Solution
from sketchlasso.solvers.status import Status
from sketchlasso.types import IntArray
from sketchlasso.warn import warn_user

__all__ = ["solve_accelerated"]

# Solves some instances on the CPU, from scratch: a failed solve is a poor start.
Finish = Callable[[IntArray], Solution]


def solve_accelerated(
    batch: Batch,
    device: Device,
    settings: Settings,
    warm: Iterates | None,
    finish: Finish,
    endings: Endings,
) -> Solution | None:
    """Solve on a device; None where the device's method does not support the problems.

    Instances that the device leaves above the tolerance are finished on the CPU, and counted.
    The exceptions in `endings` end the solve with what it has found so far.
    """
    total = batch.n_instances

    def report(done: int) -> None:
        if settings.callback is not None:
            settings.callback(Progress(done, total, 0, np.nan))

    with Stopwatch() as watch:
        run = solve_on_device(batch, device, settings.tol, warm, report, endings)
        if run is None:
            warn_user(
                "devices do not solve squared losses or problems with unpenalised features "
                f"({device.label!r} was requested), so the CPU solves them.",
                DeviceWarning,
            )
            return None
        left = np.flatnonzero(~run.solved)
        rest = finish(left) if left.size and not run.interrupted else None
    return _solution(batch, run, left, rest, watch, device)


def _solution(
    batch: Batch,
    run: DeviceRun,
    left: IntArray,
    rest: Solution | None,
    watch: Stopwatch,
    device: Device,
) -> Solution:
    """One solution of both parts."""
    zeros = np.zeros(batch.n_instances, dtype=np.intp)
    unsolved = Status.INTERRUPTED if run.interrupted else Status.ITERATION_LIMIT
    status = np.where(run.solved, Status.SOLVED, unsolved).astype(np.intp)
    coef = run.coef
    if rest is not None:
        for name in ("dual_point", "primal", "dual"):
            getattr(run, name)[left] = getattr(rest, name)
        run.rounds[left] += rest.rounds
        run.steps[left] += rest.steps
        status[left] = rest.status
        coef = replace_rows(run.coef, left, rest.coef)
    return Solution(
        coef=coef,
        dual_point=run.dual_point,
        primal=run.primal,
        dual=run.dual,
        null=null_value(batch),
        status=status,
        rounds=run.rounds,
        steps=run.steps,
        # Rows are chosen by a product of all of them: nothing is screened.
        screened=Screened(zeros, zeros, zeros),
        seconds=watch.seconds,
        compile_seconds=watch.compile_seconds,
        solver="newton",
        device=device.label,
        finished_on_cpu=0 if rest is None else len(left),
    )
