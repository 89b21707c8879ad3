"""Every way not to answer: a status and one sentence; importing this needs the extra `web`."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from sketchlasso.errors import SketchlassoError, UnknownWordError
from sketchlasso.interfaces.web.door import BUSY
from sketchlasso.interfaces.web.gate import BusyError, SlowError
from sketchlasso.interfaces.web.mapping import NoMapError, NotYetError
from sketchlasso.interfaces.web.protection import HEADERS
from sketchlasso.interfaces.web.queries import shown

__all__ = ["add_problems"]

# Status and sentence of what needs no more explanation, and after how many seconds to come again.
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


def add_problems(application: FastAPI) -> None:
    """Answer every error with its status and a sentence."""
    for kind in PLAIN:
        application.add_exception_handler(kind, _plain)
    application.add_exception_handler(UnknownWordError, _unknown)
    application.add_exception_handler(SketchlassoError, _refused)
    application.add_exception_handler(RequestValidationError, _malformed)
    application.add_exception_handler(HTTPException, _http)
    application.add_exception_handler(Exception, _broken)


async def _plain(request: Request, error: Exception) -> JSONResponse:
    status, message, again = PLAIN[type(error)]
    headers = None if again is None else {"retry-after": str(again)}
    return JSONResponse({"message": message}, status, headers)


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
    return JSONResponse({"message": str(error)}, 422)


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = str(first["loc"][-1])
    if first["type"] == "missing":
        message = f"{name} is missing, but it is needed; see /docs."
    else:
        reason = str(first["msg"]).removeprefix("Input ").split(", unable", 1)[0].lower()
        message = f"{name}={shown(str(first['input']))} was given, but it {reason}; see /docs."
    return JSONResponse({"message": message}, 422)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    message = NOWHERE if error.status_code == 404 else f"{str(error.detail).lower()}; see /docs."
    return JSONResponse({"message": message}, error.status_code)


async def _broken(request: Request, error: Exception) -> JSONResponse:
    # Sent from outside of the protection, which therefore cannot add its headers.
    message = "the server failed at this query; its log says more."
    return JSONResponse({"message": message}, 500, HEADERS)
