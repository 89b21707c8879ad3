"""Settings of the solvers, and the progress that they report."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sketchlasso.errors import unaccepted
from sketchlasso.linalg.device import CPU, check_device
from sketchlasso.linalg.threads import thread_count

# Exceptions that end a solve with what it has found so far.
Endings: TypeAlias = tuple[type[BaseException], ...]


class StopSolve(Exception):
    """Raised by a callback to end the solve with what it has found so far."""


@dataclass(frozen=True)
class Progress:
    """What the driver reports to the callback after each round."""

    solved: int
    total: int
    round: int
    worst_gap: float


class SharedProgress:
    """Progress of all parts as one count that never falls, and a way to end them all.

    The callback gets the common :class:`Progress`, from one thread at a time. `total` is what the
    parts count together; by default each of `parts` parts is as large as the largest that has
    reported. What is left out counts at the end.
    """

    def __init__(
        self,
        callback: Callable[[Progress], None] | None,
        total: int | None = None,
        parts: int = 1,
    ) -> None:
        self._callback, self._parts, self._fixed = callback, parts, total is not None
        self._total, self._done, self._round = total or 0, 0, 0
        self._stopped, self._lock = False, threading.Lock()

    def part(self) -> Callable[[Progress], None]:
        """The callback for one part, whose solves may follow one another."""
        before = 0

        def report(progress: Progress) -> None:
            nonlocal before
            if self._stopped:  # StopSolve would end the solve, and its solutions would be scored
                raise KeyboardInterrupt
            if self._callback is None:
                return
            with self._lock:
                if not self._fixed:
                    self._total = max(self._total, self._parts * progress.total)
                # A count that falls is that of the next solve.
                more = progress.solved - (before if progress.solved >= before else 0)
                before, self._round = progress.solved, self._round + 1
                self._done = min(self._done + more, self._total)
                self._callback(Progress(self._done, self._total, self._round, progress.worst_gap))

        return report

    def stop(self) -> None:
        """Interrupt all parts at their next report: their results are no longer needed."""
        self._stopped = True

    def end(self) -> None:
        """Report the end, when there is nothing left to stop."""
        if self._callback is not None:
            with contextlib.suppress(StopSolve):
                self._callback(Progress(self._total, self._total, self._round, 0.0))


@dataclass(frozen=True)
class Settings:
    """Settings of a solve.

    Attributes
    ----------
    tol : float
        Relative duality gap at which an instance counts as solved.
    max_rounds : int
        Rounds of the driver; in each the solver proposes an iterate for every open instance.
    memory_budget : int
        Bytes that the correlations of one chunk of instances may take.
    n_threads : int
        Threads over instances; -1 for all cores. Resolved when the settings are made.
    callback : callable or None
        Called with a :class:`Progress` after each round. What :func:`solve` has found so far
        is returned where it raises KeyboardInterrupt, as after Ctrl-C.
    device : {"cpu", "cuda", "cuda:1", ..., "auto", "torch"}
        Where to solve: the CPU's own compiled code, or PyTorch (extra ``gpu``) on a GPU; "torch"
        is the GPU's code on PyTorch's CPU device. A device works in single precision, certifies
        in double, and leaves what it cannot certify to the CPU. Without a GPU the CPU does the
        work, with a warning.
    device_memory : int or None
        Bytes that may be used on the device; seven tenths of what is free there by default.
    """

    tol: float = 1e-6
    max_rounds: int = 200
    memory_budget: int = 96 * 2**20
    n_threads: int = -1
    callback: Callable[[Progress], None] | None = None
    device: str = CPU
    device_memory: int | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tol) and self.tol > 0):
            raise unaccepted("tol", self.tol, "a positive number such as 1e-6")
        for name in ("max_rounds", "memory_budget"):
            value = getattr(self, name)
            if value < 1:
                raise unaccepted(name, value, "at least 1")
        object.__setattr__(self, "n_threads", thread_count(self.n_threads, "n_threads"))
        check_device(self.device)
        if self.device_memory is not None and self.device_memory < 1:
            raise unaccepted("device_memory", self.device_memory, "at least 1 byte")
