"""Wall time of a solve, with the time spent compiling kernels counted separately."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType

from numba.core import event

__all__ = ["Stopwatch"]


class Stopwatch:
    """Measures a block: `seconds` without compilation, and `compile_seconds`."""

    def __enter__(self) -> Stopwatch:
        self.compile_seconds = 0.0
        self._stack = ExitStack()
        self._stack.enter_context(event.install_timer("numba:compile", self._compiled))
        self._start = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        total = time.perf_counter() - self._start
        self._stack.close()
        self.seconds = max(total - self.compile_seconds, 0.0)

    def _compiled(self, seconds: float) -> None:
        self.compile_seconds = seconds
