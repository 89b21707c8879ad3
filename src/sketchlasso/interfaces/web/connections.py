"""Connections: how long each may take and how many there may be; importing this needs `web`."""

from __future__ import annotations

import asyncio
import errno
import math
import sys
from typing import Any, ClassVar

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from sketchlasso.interfaces.web.gate import AGAIN, refusal
from sketchlasso.interfaces.web.limits import Limits

# Connections accepted in one turn of the event loop. asyncio would take the whole queue at once,
# and run out of descriptors before the first of them can be counted.
ACCEPTED_AT_ONCE = 8
# Descriptors left for files, and for connections accepted but not yet counted or not yet closed.
RESERVED = 64
LEAST_CONNECTIONS = 8
EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
FULL = refusal(
    503,
    "the server has too many connections; ask again in a moment.",
    {**AGAIN, "connection": "close"},
)
LATE = refusal(503, "the server is busy with other requests; ask again in a moment.", AGAIN)
# With at most this many requests under way, none is refused as late: a page, its files and queries.
FEW = 16


class Connection(H11Protocol):
    """One connection, with time limits that uvicorn does not have.

    A request must arrive completely within `limits.request_seconds` of the connection or of the
    previous answer, even if bytes keep arriving. An answer must be finished within
    `limits.seconds` more than that; after it, a client may read slowly but must keep reading.
    When there are more than `most` connections, the one that has waited longest for its request
    is closed; if none waits, the new one is answered with 503. A request that the event loop
    takes up later than `limits.late_seconds` while more than a few are under way is answered with
    503 before any work is done for it, because the loop is overloaded.
    """

    limits: ClassVar[Limits]
    most: ClassVar[int]
    # Connections without a complete request; the one that has waited longest comes first.
    waiting: ClassVar[dict[Connection, None]]
    # Connections whose request was let in and is not yet answered.
    working: ClassVar[set[Connection]]
    _timer: asyncio.TimerHandle | None = None
    _unsent: float = math.inf
    _arrived: float = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit, and make room if there are too many connections."""
        super().connection_made(transport)
        self._application, self.app = self.app, self._admit
        if len(self.connections) > self.most:
            longest = next(iter(self.waiting), None)
            if longest is None:
                self.app = FULL
            else:
                longest.give_up()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Change to the time limit of the answer once a request is complete."""
        before = self.cycle
        self._arrived = self.loop.time()
        super().handle_events()
        if self.cycle is not before:
            self.waiting.pop(self, None)
            self._limit(self.limits.seconds + self.limits.request_seconds)

    def on_response_complete(self) -> None:
        """Change to the time limit of the next request."""
        self._await_request()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP, unless an answer has been started."""
        if self.cycle is not None:
            # Drop the application's answer if it has not been sent yet.
            self.cycle.disconnected = True
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def give_up(self) -> None:
        """Close the connection without waiting for the client."""
        self.waiting.pop(self, None)
        self.transport.abort()

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        late = self.loop.time() - self._arrived > self.limits.late_seconds
        if late and len(self.working) >= FEW:
            await LATE(scope, receive, send)
            return
        self.working.add(self)
        try:
            await self._application(scope, receive, send)
        finally:
            self.working.discard(self)

    def _await_request(self) -> None:
        self.waiting.pop(self, None)
        self.waiting[self] = None
        self._limit(self.limits.request_seconds)

    def _limit(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._unsent = math.inf
        self._timer = self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if 0 < unsent < self._unsent:
            self._limit(self.limits.request_seconds)
            self._unsent = unsent
        else:
            self.give_up()


def connection_class(limits: Limits) -> type[Connection]:
    """Return the protocol class of one server, as `uvicorn.Config` takes it."""
    shared = {
        "limits": limits,
        "most": _most_connections(limits),
        "waiting": {},
        "working": set(),
    }
    return type("Connection", (Connection,), shared)


def report_exhaustion_once(loop: asyncio.AbstractEventLoop) -> None:
    """Print one line, not a traceback each time, when no connection can be accepted.

    asyncio tries again after a second, and clients wait in the listening queue meanwhile.
    """
    reported = False

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal reported
        error = context.get("exception")
        accepting = "accept()" in context["message"]
        if not (accepting and isinstance(error, OSError) and error.errno in EXHAUSTED):
            loop.default_exception_handler(context)
        elif not reported:
            reported = True
            print(
                f"warning: new connections have to wait ({error.strerror}); raise the limit on "
                "open files (ulimit -n) to serve more clients at once.",
                file=sys.stderr,
            )

    loop.set_exception_handler(handle)


def _most_connections(limits: Limits) -> int:
    """Return how many connections the limits and the system's file descriptors allow."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return limits.connections
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return limits.connections
    return min(limits.connections, max(LEAST_CONNECTIONS, soft - RESERVED))
