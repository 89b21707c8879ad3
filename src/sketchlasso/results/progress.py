"""Progress of solves that run side by side, as one count."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from sketchlasso.solvers import Progress, StopSolve


class SharedProgress:
    """Progress of all parts as one count that never falls, and a way to end them all.

    The callback gets the common :class:`Progress`, from one thread at a time. `total` is what the
    parts count together; what is left out counts at the end. By default each of `parts` parts is
    taken to be as large as the largest that has reported.
    """

    def __init__(
        self,
        callback: Callable[[Progress], None] | None,
        total: int | None = None,
        parts: int = 1,
    ) -> None:
        self.callback, self.parts = callback, parts
        self.total, self.fixed = total or 0, total is not None
        self.lock = threading.Lock()
        self.done, self.round = 0, 0
        self.stopped = False

    def part(self) -> Callable[[Progress], None]:
        """The callback for one part, whose solves may follow one another."""
        before = 0

        def report(progress: Progress) -> None:
            nonlocal before
            if self.stopped:  # StopSolve would end the solve, and its solutions would be scored
                raise KeyboardInterrupt
            if self.callback is None:
                return
            with self.lock:
                if not self.fixed:
                    self.total = max(self.total, self.parts * progress.total)
                # A count that falls is that of the next solve.
                more = progress.solved - (before if progress.solved >= before else 0)
                before = progress.solved
                self.done, self.round = min(self.done + more, self.total), self.round + 1
                self.callback(Progress(self.done, self.total, self.round, progress.worst_gap))

        return report

    def stop(self) -> None:
        """Interrupt all parts at their next report: their results are no longer needed."""
        self.stopped = True

    def end(self) -> None:
        """Report the end, when there is nothing left to stop."""
        if self.callback is not None:
            with contextlib.suppress(StopSolve):
                self.callback(Progress(self.total, self.total, self.round, 0.0))
