"""Around every request: whose name it calls us by, its method, and the headers of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

__all__ = ["LOOPBACK", "Protection"]

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
METHODS = "GET, HEAD, OPTIONS"
# Bytes of an address and of all headers; every question that is allowed is far shorter.
LONGEST = 32 * 1024
HOST = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[^\[\]:@/]+))(?::[0-9]{1,5})?")
HEADERS = {
    "content-security-policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # Another model may be served at the same address tomorrow.
    "cache-control": "no-store",
}


class Protection:
    """ASGI middleware: everything that holds for all addresses alike.

    Parameters
    ----------
    application : ASGI application
    hosts : iterable of str
        Names by which the server may be called; "*" for any. A page of another site could
        otherwise point a name of its own at this machine and read the answers (DNS rebinding).
    """

    def __init__(self, application: Application, hosts: Iterable[str] = LOOPBACK) -> None:
        self._application = application
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        method = scope["method"]
        refused = self._refused(scope)
        if refused is not None:
            await _answer(_protected(send, method), *refused)
        elif method == "OPTIONS":
            await _answer(_protected(send, method), 204, None)
        else:
            # Whatever answers GET answers HEAD; the body is left out on the way back.
            inner = {**scope, "method": "GET"}
            await self._application(inner, receive, _protected(send, method))

    def _refused(self, scope: Message) -> tuple[int, str] | None:
        """Return the status and sentence of what goes no further."""
        if len(scope["path"]) + len(scope["query_string"]) > LONGEST:
            return 414, f"the address is longer than {LONGEST} bytes; ask for less."
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST:
            return 431, f"the headers are longer than {LONGEST} bytes; send fewer."
        if not self._is_called_right(scope):
            return 400, (
                "the server was called by a name that is not its own; use the address it printed."
            )
        if scope["method"] not in METHODS.split(", "):
            return 405, (
                f"the method was not one of {METHODS}, and nothing can be changed here; use GET."
            )
        return None

    def _is_called_right(self, scope: Message) -> bool:
        if "*" in self._hosts:
            return True
        called = [value for name, value in scope["headers"] if name == b"host"]
        return len(called) == 1 and _without_port(called[0].decode("latin-1")) in self._hosts


def _without_port(host: str) -> str:
    """Return the name in ``name``, ``name:port``, ``[::1]`` or ``[::1]:port``; else nothing."""
    found = HOST.fullmatch(host)
    return "" if found is None else (found["six"] or found["name"]).lower()


def _protected(send: Send, method: str) -> Send:
    async def forward(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            added = [
                (name.encode(), value.encode())
                for name, value in HEADERS.items()
                if name.encode() not in given
            ]
            message = {**message, "headers": [*message["headers"], *added]}
        elif method == "HEAD" and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return forward


async def _answer(send: Send, status: int, text: str | None) -> None:
    body = b"" if text is None else json.dumps({"message": text}).encode()
    headers = [(b"allow", METHODS.encode()), (b"content-length", str(len(body)).encode())]
    if body:
        headers.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
