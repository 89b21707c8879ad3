"""Threads for the work of requests: how many run, how many wait, and how long each may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.interfaces.web.protection import refusal

BUSY = "the server is busy with other queries; ask again in a moment."
# The header that asks a client to try again after a second.
AGAIN = {"retry-after": "1"}

Result = TypeVar("Result")


class BusyError(Exception):
    """No worker was free in time."""


class SlowError(Exception):
    """The work began and took too long."""


class Gate:
    """Runs work in threads, so that the event loop keeps answering.

    A thread cannot be stopped: work that is given up keeps its place until it ends, and the bound
    on what runs at the same time holds.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="sketchlasso-web")
        self._lock = Lock()
        self._inside = 0

    @property
    def inside(self) -> int:
        """Number of pieces of work that run or wait."""
        return self._inside

    @property
    def is_full(self) -> bool:
        """Whether new work would be refused."""
        return self._inside >= self._limits.workers + self._limits.waiting

    async def run(self, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, or raise what it raises.

        Raises
        ------
        BusyError
            Too many wait already, or no worker was free within `limits.wait_seconds`.
        SlowError
            The work was not done in time.
        """
        limits = self._limits
        future = self._enter(work)
        answer = asyncio.wrap_future(future)
        patience = min(limits.wait_seconds, limits.seconds)
        done, _ = await asyncio.wait({answer}, timeout=patience)
        if not done:
            if future.cancel():
                raise BusyError
            done, _ = await asyncio.wait({answer}, timeout=limits.seconds - patience)
        if not done:
            # The work continues, but its result is dropped.
            answer.cancel()
            raise SlowError
        return answer.result()

    def close(self) -> None:
        """Accept no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _enter(self, work: Callable[[], Result]) -> Future[Result]:
        with self._lock:
            if self.is_full:
                raise BusyError
            self._inside += 1
        future = self._pool.submit(work)
        future.add_done_callback(self._leave)
        return future

    def _leave(self, future: Future[Result]) -> None:
        with self._lock:
            self._inside -= 1


class Door:
    """ASGI middleware: while the gate is full, refuse requests that would have to go through it.

    The gate refuses them as well, but only after FastAPI has read the request, which takes longer
    than the rest of a refusal. `paths` are the addresses whose answers need the gate.
    """

    def __init__(self, app: ASGIApp, gate: Gate, paths: Collection[str]) -> None:
        self._application = app
        self._gate = gate
        self._paths = frozenset(paths)
        self._busy = refusal(503, BUSY, AGAIN)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        busy = self._gate.is_full and scope.get("path") in self._paths
        answer = self._busy if busy else self._application
        await answer(scope, receive, send)
