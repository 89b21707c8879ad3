"""An explorer as an application: its routes, with refusals and protection around them.

Importing this needs the extra `web`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

import sketchlasso as sl
from sketchlasso.errors import SketchlassoError, UnknownWordError
from sketchlasso.interfaces.web.gate import BUSY, BusyError, Door, Gate, SlowError
from sketchlasso.interfaces.web.mapping import MapDesk, NoMapError, NotYetError
from sketchlasso.interfaces.web.pages import page_routes
from sketchlasso.interfaces.web.protection import Protection, refusal
from sketchlasso.interfaces.web.queries import shown

# Status, sentence and, where the client should try again, after how many seconds.
PLAIN: dict[type[Exception], tuple[int, str, int | None]] = {
    BusyError: (503, BUSY, 1),
    SlowError: (504, "the query took too long; ask for fewer words or a larger penalty.", None),
    NotYetError: (503, "topics and map are being made; ask again in a moment.", 2),
    NoMapError: (
        404,
        "there are no topics and no map, because the images of the whole vocabulary are missing; "
        "run 'sketchlasso topics all' on the model and serve it again.",
        None,
    ),
}
NOWHERE = "there is nothing at this address; see /docs for those that exist."


@dataclass(frozen=True)
class Explorer:
    """What an application shows.

    Attributes
    ----------
    title, summary : str
        For /docs.
    home : str
        The file of the first page.
    router : APIRouter
        Everything under /api.
    start : callable
        What to do before the first request.
    gate : Gate
    gated : sequence of str
        The addresses that are refused while the gate is full.
    others : sequence of Gate or MapDesk
        What else to close after the last request.
    """

    title: str
    summary: str
    home: str
    router: APIRouter
    start: Callable[[], object]
    gate: Gate
    gated: Sequence[str]
    others: Sequence[Gate | MapDesk] = ()


def application_of(explorer: Explorer, hosts: Sequence[str]) -> FastAPI:
    """Return the application that serves an explorer under the names `hosts`."""

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        # Not through the gate: compiling may take longer than any query is allowed to.
        await asyncio.to_thread(explorer.start)
        yield
        for part in (explorer.gate, *explorer.others):
            part.close()

    application = FastAPI(
        title=explorer.title,
        description=f"{explorer.summary} Everything is read with GET; every refusal is a status "
        "and one sentence.",
        version=sl.__version__,
        # Their pages come from a CDN; ours is at /docs.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    application.include_router(explorer.router)
    application.include_router(page_routes(explorer.home))
    for kind in PLAIN:
        application.add_exception_handler(kind, _plain)
    application.add_exception_handler(UnknownWordError, _unknown)
    application.add_exception_handler(SketchlassoError, _refused)
    application.add_exception_handler(RequestValidationError, _malformed)
    application.add_exception_handler(HTTPException, _http)
    application.add_exception_handler(Exception, _broken)
    application.add_middleware(Door, gate=explorer.gate, paths=explorer.gated)
    application.add_middleware(Protection, hosts=hosts)
    return application


async def _plain(request: Request, error: Exception) -> JSONResponse:
    status, message, again = PLAIN[type(error)]
    return refusal(status, message, None if again is None else {"retry-after": str(again)})


async def _unknown(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, UnknownWordError)
    content = {
        "message": str(error),
        "word": error.word,
        "suggestions": list(error.suggestions),
        "stop_word": error.stop_word,
    }
    return JSONResponse(content, 404)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    return refusal(422, str(error))


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = str(first["loc"][-1])
    if first["type"] == "missing":
        message = f"{name} is missing, but it is needed; see /docs."
    else:
        reason = str(first["msg"]).removeprefix("Input ").split(", unable", 1)[0].lower()
        message = f"{name}={shown(str(first['input']))} was given, but it {reason}; see /docs."
    return refusal(422, message)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    message = NOWHERE if error.status_code == 404 else f"{str(error.detail).lower()}; see /docs."
    return refusal(error.status_code, message)


async def _broken(request: Request, error: Exception) -> JSONResponse:
    return refusal(500, "the server failed at this query; its log says more.")
