"""An explorer as an application: its routes and pages, with its refusals and middleware.

Importing this needs the extra `web`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

import sketchlasso as sl
from sketchlasso.errors import SketchlassoError, UnknownWordError
from sketchlasso.interfaces.web.gate import Door, Gate, Protection, RefusedError, refusal
from sketchlasso.interfaces.web.limits import shown
from sketchlasso.interfaces.web.mapping import MapDesk
from sketchlasso.interfaces.web.payloads import Health, Page, UnknownWord

NOWHERE = "there is nothing at this address; see /docs for those that exist."
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Markup that several pages share: defined in parts.html, and inserted by name.
PART = re.compile(r"<!-- part: (\w+) -->")
# Addresses that differ from the names of files; all others are under /static/.
ADDRESSES = {"docs.html": "/docs", "favicon.svg": "/favicon.ico"}
# First pages; a server has one of them.
HOMES = ("index.html", "network.html")


def application_of(
    router: APIRouter,
    hosts: Sequence[str],
    *,
    title: str,
    summary: str,
    home: str,
    start: Callable[[], object],
    gate: Gate,
    gated: Sequence[str],
    others: Sequence[Gate | MapDesk] = (),
) -> FastAPI:
    """Return the application of an explorer: its API, to which /health is added, and its pages.

    It is served under the names `hosts`, and `home` (one of HOMES) is the file of its first page.
    `start` is called before the first request. The addresses `gated` are refused while the gate is
    full. The `others` are closed after the last request, like the gate.
    """

    @router.get("/health", summary="Whether the server answers")
    async def health() -> Health:
        return Health(status="ok", inside=gate.inside)

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        # Not through the gate: compiling may take longer than any query is allowed to.
        await asyncio.to_thread(start)
        yield
        for part in (gate, *others):
            part.close()

    application = FastAPI(
        title=title,
        description=f"{summary} Everything is read with GET; every refusal is a status and one "
        "sentence.",
        version=sl.__version__,
        # FastAPI's pages come from a CDN; ours is at /docs.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    application.include_router(router)
    for address, page in read_pages(home).items():
        application.add_api_route(address, page.response, include_in_schema=False)
    for kind in (RefusedError, SketchlassoError, RequestValidationError, HTTPException, Exception):
        application.add_exception_handler(kind, _refuse)
    application.add_middleware(Door, gate=gate, paths=gated)
    application.add_middleware(Protection, hosts=hosts)
    return application


def read_pages(home: str = "index.html") -> dict[str, Page]:
    """Return the page at each address; requests look up this table and never name a file."""
    addresses = {**ADDRESSES, home: "/"}
    pages = {}
    folder = files("sketchlasso.interfaces.web")
    _, *split = PART.split(folder.joinpath("parts.html").read_text(encoding="utf-8"))
    parts = dict(zip(split[::2], split[1::2], strict=True))
    for file in folder.joinpath("static").iterdir():
        name = file.name
        kind = KINDS.get(name[name.rfind(".") :])
        if kind is not None and (name == home or name not in HOMES):
            text = PART.sub(lambda found: parts[found[1]].strip(), file.read_text(encoding="utf-8"))
            pages[addresses.get(name, f"/static/{name}")] = Page.of(text, kind)
    return pages


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    """Answer an error with a status and one sentence."""
    if isinstance(error, RefusedError):
        again = {} if error.again is None else {"retry-after": str(error.again)}
        return refusal(error.status, error.message, again)
    if isinstance(error, UnknownWordError):
        return JSONResponse(UnknownWord.of(error).model_dump(), 404)
    if isinstance(error, SketchlassoError):
        return refusal(422, str(error))
    if isinstance(error, RequestValidationError):
        return refusal(422, _malformed(error.errors()[0]))
    if isinstance(error, HTTPException):
        unknown = error.status_code == 404
        message = NOWHERE if unknown else f"{str(error.detail).lower()}; see /docs."
        return refusal(error.status_code, message)
    return refusal(500, "the server failed at this query; see its log.")


def _malformed(first: dict[str, Any]) -> str:
    """Return the first error of a request that FastAPI refuses, as one sentence."""
    name = first["loc"][-1]
    if first["type"] == "missing":
        return f"{name} is missing, but it is needed; see /docs."
    reason = str(first["msg"]).removeprefix("Input ").split(", unable", 1)[0].lower()
    return f"{name}={shown(str(first['input']))} was given, but it {reason}; see /docs."
