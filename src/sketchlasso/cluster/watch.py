"""Cancel work whose cluster has lost all its workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from types import TracebackType
from typing import Any

__all__ = ["WorkerWatch"]

# Seconds between two checks of the workers, at most.
INTERVAL = 1.0


class WorkerWatch:
    """Cancels work once its cluster has had no worker for some time; used with ``with``.

    Parameters
    ----------
    client : distributed.Client
    futures : collection of distributed.Future
        The work; looked at only when it is cancelled.
    seconds : float
        Time without any worker after which the work is cancelled.

    Attributes
    ----------
    deserted : bool
        Whether it was.
    """

    def __init__(self, client: Any, futures: Collection[Any], seconds: float) -> None:
        self._client, self._futures, self._seconds = client, futures, seconds
        self._task: Any = None
        self.deserted = False

    def __enter__(self) -> WorkerWatch:
        """Start to watch, on the client's event loop."""
        if self._futures and self._client.status == "running":
            self._task = asyncio.run_coroutine_threadsafe(
                self._look(), self._client.loop.asyncio_loop
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        seen = time.monotonic()
        while time.monotonic() - seen < self._seconds:
            await asyncio.sleep(min(INTERVAL, self._seconds / 4))
            try:
                if await self._client.ncores():
                    seen = time.monotonic()
            except OSError:
                # The scheduler does not answer; waiting for the work raises that error too.
                seen = time.monotonic()
        self.deserted = True
        await self._client.cancel(list(self._futures))
