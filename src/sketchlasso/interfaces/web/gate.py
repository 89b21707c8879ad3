"""What every request passes through: checks, headers of answers, and threads for its work.

Importing this needs the extra `web`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from ipaddress import ip_address
from threading import Lock
from typing import Any, TypeVar

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sketchlasso.interfaces.web.limits import Limits

METHODS = "GET, HEAD, OPTIONS"
# Bytes of an address and of all headers; every valid request is far shorter.
LONGEST = 32 * 1024
HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[^\[\]:@/]+))(?::[0-9]{1,5})?")
HEADERS = {
    "content-security-policy": (
        # The page draws a picture that it saves as PNG from a blob.
        "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # Another model may be served at the same address later.
    "cache-control": "no-store",
}
ENCODED = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
BUSY = "the server is busy with other queries; ask again in a moment."
# The header that asks a client to try again after a second.
AGAIN = {"retry-after": "1"}

Result = TypeVar("Result")


class Protection:
    """ASGI middleware: checks and headers that all addresses share.

    The server may be called by the names `hosts` ("*" for any) and by the address that a
    connection came to. Otherwise the page of another site could point its own name at
    this machine and read the answers (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._application = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        answer: ASGIApp = self._application
        refused = self._refused(scope)
        if refused is not None:
            status, message = refused
            # After status 400 it is uncertain where the body ends and the next request begins.
            closing = {"connection": "close"} if status == 400 else {}
            answer = refusal(status, message, {"allow": METHODS, **closing})
        elif scope["method"] == "OPTIONS":
            answer = Response(status_code=204, headers={"allow": METHODS})
        # HEAD is answered like GET; the body is left out on the way back.
        await answer({**scope, "method": "GET"}, receive, _protected(send, scope["method"]))

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and message of a request that is refused."""
        if len(scope["path"]) + len(scope["query_string"]) > LONGEST:
            return 414, f"the address is longer than {LONGEST} bytes; ask for less."
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST:
            return 431, f"the headers are longer than {LONGEST} bytes; send fewer."
        if not self._is_called_right(scope):
            return 400, (
                "the server was called by an unknown host name; use the address it printed, "
                "or start it with --allowed-host and the name."
            )
        names = [name for name, _ in scope["headers"]]
        if b"transfer-encoding" in names and b"content-length" in names:
            return 400, (
                "the request has both Transfer-Encoding and Content-Length, but only one can "
                "be right; send neither, as no body is read."
            )
        if scope["method"] not in METHODS.split(", "):
            return 405, (
                f"the method was not one of {METHODS}, and nothing can be changed here; use GET."
            )
        return None

    def _is_called_right(self, scope: Scope) -> bool:
        if "*" in self._hosts:
            return True
        called = [value for name, value in scope["headers"] if name == b"host"]
        if len(called) != 1:
            return False
        host = _without_port(called[0].decode("latin-1"))
        return host in self._hosts or _is_address(host, scope.get("server"))


def _is_address(host: str, server: Any) -> bool:
    """Return whether a host is the address of this machine that the connection came to."""
    try:
        called, own = ip_address(host), ip_address(server[0])
    except (TypeError, ValueError):  # a name, or no connection of this machine's
        return False
    # A socket for both versions shows the addresses of version 4 within version 6.
    return called in (own, getattr(own, "ipv4_mapped", None))


def _without_port(host: str) -> str:
    """Return the name in ``name``, ``name:port``, ``[::1]`` or ``[::1]:port``; else nothing."""
    found = HOST.fullmatch(host)
    return "" if found is None else (found["six"] or found["name"]).lower()


def _protected(send: Send, method: str) -> Send:
    async def forward(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            added = [(name, value) for name, value in ENCODED if name not in given]
            message = {**message, "headers": [*message["headers"], *added]}
        elif method == "HEAD" and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return forward


def refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an answer with a status and one sentence, and the headers of all answers."""
    return JSONResponse({"message": message}, status, {**HEADERS, **(headers or {})})


class RefusedError(Exception):
    """A request that is answered with a status and one sentence."""

    status: int
    message: str
    again: int | None = None  # seconds after which the client should try again, if at all


class BusyError(RefusedError):
    """No worker was free in time."""

    status, message, again = 503, BUSY, 1


class SlowError(RefusedError):
    """The work began and took too long."""

    status, message = 504, "the query took too long; ask for fewer words or a larger penalty."


class Gate:
    """Runs work in threads, so that the event loop stays responsive.

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

        Raises BusyError if too many wait already or no worker was free within
        `limits.wait_seconds`, and SlowError if the work was not done in time.
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
