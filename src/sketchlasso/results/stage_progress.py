"""Progress of a search in stages, whose sketches may be solved side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sketchlasso.solvers import Progress, Settings

__all__ = ["StageProgress"]


class StageProgress:
    """Progress of all stages as one count that never falls.

    Its total is the size of the whole grid; what was left out counts at the end.
    """

    def __init__(self, settings: Settings, total: int) -> None:
        self.callback, self.total = settings.callback, total
        self.lock = threading.Lock()
        self.done, self.round = 0, 0

    def part(self) -> Callable[[Progress], None] | None:
        """The callback for the solves of one sketch; None if nobody listens."""
        if self.callback is None:
            return None
        callback, before = self.callback, 0

        def report(progress: Progress) -> None:
            nonlocal before
            with self.lock:
                # A count that falls is that of the next solve.
                more = progress.solved - (before if progress.solved >= before else 0)
                before = progress.solved
                self.done, self.round = min(self.done + more, self.total), self.round + 1
                callback(Progress(self.done, self.total, self.round, progress.worst_gap))

        return report

    def end(self) -> None:
        """Report the end."""
        if self.callback is not None:
            self.callback(Progress(self.total, self.total, self.round, 0.0))
