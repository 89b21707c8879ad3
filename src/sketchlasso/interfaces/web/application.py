"""What the explorers share: pages, headers, and refusals; importing this needs the extra `web`."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, TypeAlias

import anyio
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware

import sketchlasso as sl
from sketchlasso.errors import SketchlassoError, UnknownWordError

# The body of an answer, as JSON has it.
Body: TypeAlias = dict[str, Any]
STATIC = files("sketchlasso.interfaces.web").joinpath("static")
LONGEST_NAME = 200  # characters of a word or node in a request
HEADERS = {
    "content-security-policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    # Another model may be served at the same address later.
    "cache-control": "no-cache",
}


def application_of(
    router: APIRouter,
    hosts: Sequence[str],
    *,
    title: str,
    summary: str,
    home: str,
    start: Callable[[], object],
) -> FastAPI:
    """Return the application of an explorer: its API, its pages, its headers and refusals.

    `home` is the file of the first page. `start` runs before the first request. Only requests to
    the names `hosts`, or to the address that the connection came to, are answered: the page of
    another site could otherwise point its own name at this machine and read the answers.
    """

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        # More threads than cores slow down every query.
        anyio.to_thread.current_default_thread_limiter().total_tokens = 4
        await anyio.to_thread.run_sync(start)
        yield

    # FastAPI's pages about the API load their code from another site; /openapi.json stays.
    application = FastAPI(
        title=title,
        description=f"{summary} Everything is read with GET; every refusal is one sentence.",
        version=sl.__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    application.include_router(router)

    @application.get("/", include_in_schema=False)
    def first_page() -> Response:
        return FileResponse(str(STATIC.joinpath(home)))

    @application.get("/favicon.ico", include_in_schema=False)
    def icon() -> Response:
        return FileResponse(str(STATIC.joinpath("favicon.svg")))

    application.mount("/static", StaticFiles(directory=str(STATIC)))
    application.add_middleware(GZipMiddleware, minimum_size=10_000)
    allowed = {host.lower().strip("[]") for host in hosts}

    @application.middleware("http")
    async def protect(
        request: Request, answer: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        try:
            name = request.url.hostname
        except ValueError:  # not a name at all
            name = None
        server = request.scope.get("server") or ("",)
        if name and ("*" in allowed or name in allowed or name == server[0]):
            response = await answer(request)
        else:
            response = refusal(
                400,
                "the server was called by an unknown host name; use the address it printed, or "
                "start it with --allowed-host and the name.",
            )
        response.headers.update(HEADERS)
        return response

    for kind in (SketchlassoError, RequestValidationError, HTTPException):
        application.add_exception_handler(kind, _refuse)
    return application


def refusal(status: int, message: str) -> JSONResponse:
    """Return a refusal: a status and one sentence."""
    return JSONResponse({"message": message}, status)


async def _refuse(request: Request, error: Exception) -> Response:
    """Answer an error with a status and one sentence, or a page where a browser shows it."""
    if isinstance(error, UnknownWordError):
        return JSONResponse(described(error), 404)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        name = next(part for part in reversed(first["loc"]) if isinstance(part, str))
        if first["type"] == "missing":
            return refusal(422, f"{name} is missing; give it as in ?{name}=...")
        reason = str(first["msg"]).removeprefix("Input ").lower()
        return refusal(422, f"{name} {reason}, but {str(first['input'])[:40]!r} was given.")
    if isinstance(error, HTTPException):
        if error.status_code == 404 and "text/html" in request.headers.get("accept", ""):
            return FileResponse(str(STATIC.joinpath("404.html")), 404)
        detail = str(error.detail)
        if detail == "Not Found":
            detail = "there is nothing at this address; /openapi.json lists those that exist."
        return refusal(error.status_code, detail)
    return refusal(422, str(error))


def described(error: UnknownWordError) -> Body:
    """Describe a word that the vocabulary does not have."""
    return {
        "message": str(error),
        "word": error.word,
        "suggestions": list(error.suggestions),
        "stop_word": error.stop_word,
    }


def finite(value: float) -> float | None:
    """Return a number for JSON, which has none that are not finite."""
    return float(value) if math.isfinite(value) else None
