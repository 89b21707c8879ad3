"""Progress of solves that run side by side, as one count."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from sketchlasso.solvers import Progress, StopSolve


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
