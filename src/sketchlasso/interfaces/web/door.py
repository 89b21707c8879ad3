"""Refusals that cost almost nothing: 503, before a request is read or routed."""

from __future__ import annotations

import json
from collections.abc import Collection

from sketchlasso.interfaces.web.gate import Gate
from sketchlasso.interfaces.web.protection import HEADERS, Application, Message, Receive, Send

__all__ = ["BUSY", "Door", "refuse"]

BUSY = "the server is busy with other queries; ask again in a moment."


class Door:
    """ASGI middleware: while the gate is full, refuse what would have to go through it.

    The gate refuses it as well, but only after FastAPI has read the request, which takes longer
    than everything else about a refusal.

    Parameters
    ----------
    application : ASGI application
    gate : Gate
    paths : collection of str
        Addresses whose answers need the gate.
    """

    def __init__(self, application: Application, gate: Gate, paths: Collection[str]) -> None:
        self._application = application
        self._gate = gate
        self._paths = frozenset(paths)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if self._gate.is_full and scope.get("path") in self._paths:
            await refuse(send, BUSY)
        else:
            await self._application(scope, receive, send)


async def refuse(send: Send, message: str, *more: tuple[str, str]) -> None:
    """Answer with 503, a sentence, and when to come again."""
    body = json.dumps({"message": message}).encode()
    own = (("content-type", "application/json"), ("content-length", str(len(body))))
    headers = (*HEADERS.items(), *own, ("retry-after", "1"), *more)
    pairs = [(name.encode(), value.encode()) for name, value in headers]
    await send({"type": "http.response.start", "status": 503, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
