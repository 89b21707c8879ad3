"""Addresses of the API and of the page; importing this needs the extra `web`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Depends, Query, Request, Response

from sketchlasso.interfaces.web import payloads
from sketchlasso.interfaces.web.answers import Answers
from sketchlasso.interfaces.web.gate import Gate
from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.interfaces.web.mapping import EncodedMap, MapDesk
from sketchlasso.interfaces.web.pages import Page, read_pages
from sketchlasso.interfaces.web.queries import ImageQuery, read_amount, read_word, read_words

__all__ = ["REFUSED", "SOLVED", "api_routes", "map_response", "page_routes"]

# Addresses whose answers are solved for, and so need a worker.
SOLVED = ("/api/image", "/api/images", "/api/documents", "/api/compare")

BUSY: dict[int | str, dict[str, Any]] = {
    503: {"model": payloads.Problem, "description": "Too many ask at once; come again."},
    504: {"model": payloads.Problem, "description": "The query took too long."},
}
REFUSED: dict[int | str, dict[str, Any]] = {
    422: {"model": payloads.Problem, "description": "The request cannot be used."},
    **BUSY,
}
ASKED: dict[int | str, dict[str, Any]] = {
    404: {"model": payloads.UnknownWord, "description": "A word is not in the vocabulary."},
    **REFUSED,
}


def api_routes(
    answers: Answers, desk: MapDesk, gate: Gate, quick: Gate, limits: Limits
) -> APIRouter:
    """Return everything under /api; what is typed goes through a gate of its own, `quick`."""
    router = APIRouter(prefix="/api")
    _add_facts(router, answers, desk, gate)
    _add_words(router, answers, quick, limits)
    _add_images(router, answers, gate, limits)
    return router


def _add_facts(router: APIRouter, answers: Answers, desk: MapDesk, gate: Gate) -> None:
    about_model = answers.about()

    @router.get("/about", summary="The model and the limits of the server")
    async def about() -> payloads.About:
        return about_model

    @router.get("/health", summary="Whether the server answers")
    async def health() -> payloads.Health:
        return payloads.Health(status="ok", inside=gate.inside)

    @router.get(
        "/topics",
        summary="Topics to begin with",
        responses={
            404: {"model": payloads.Problem, "description": "image_all was not run."},
            **BUSY,
        },
    )
    async def topics() -> payloads.Topics:
        return await desk.topics()

    @router.get(
        "/map",
        summary="The graph of the whole vocabulary, with places and communities",
        response_model=payloads.Map,
        responses={
            404: {"model": payloads.Problem, "description": "image_all was not run."},
            **BUSY,
        },
    )
    async def whole_map(request: Request) -> Response:
        return map_response(await desk.map(), request)


def map_response(found: EncodedMap, request: Request) -> Response:
    """Return a map as the request takes it, or nothing where it has it already."""
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"etag": found.tag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if zipped:
        headers["content-encoding"] = "gzip"
    content = found.zipped if zipped else found.plain
    return Response(content, media_type="application/json", headers=headers)


def _add_words(router: APIRouter, answers: Answers, gate: Gate, limits: Limits) -> None:
    @router.get("/words", summary="Words that begin with a prefix", responses=REFUSED)
    async def words(
        prefix: str = Query("", description="Empty for the most frequent words of all."),
        count: int = Query(10, ge=1, le=limits.completions),
    ) -> payloads.Words:
        beginning = read_word("prefix", prefix, limits, empty=True)
        return await gate.run(lambda: answers.words(beginning, count))


def _add_images(router: APIRouter, answers: Answers, gate: Gate, limits: Limits) -> None:
    options = _image_options(limits)

    def query(name: str, words: list[str], asked: ImageQuery) -> ImageQuery:
        return replace(asked, words=read_words(name, words, limits, limits.words))

    @router.get("/images", summary="The image of each word by itself", responses=ASKED)
    async def images(
        word: list[str] = Query(description=f"At most {limits.words}."),
        n_words: int = Query(3, ge=1, le=limits.n_words),
    ) -> payloads.Images:
        each = read_words("word", word, limits, limits.words)
        return await gate.run(lambda: answers.images(each, n_words))

    @router.get("/image", summary="The image of a word", responses=ASKED)
    async def image(
        word: list[str] = Query(description="Several are asked for together."),
        asked: ImageQuery = Depends(options),
    ) -> payloads.Image:
        wanted = query("word", word, asked)
        return await gate.run(lambda: answers.image(wanted))

    @router.get("/documents", summary="The documents behind an image", responses=ASKED)
    async def documents(
        word: list[str] = Query(description="Several are asked for together."),
        count: int = Query(5, ge=1, le=limits.documents),
        asked: ImageQuery = Depends(options),
    ) -> payloads.Documents:
        wanted = query("word", word, asked)
        return await gate.run(lambda: answers.documents(wanted, count))

    @router.get("/compare", summary="The images of two words side by side", responses=ASKED)
    async def compare(
        first: list[str] = Query(),
        second: list[str] = Query(),
        asked: ImageQuery = Depends(options),
    ) -> payloads.ComparedImages:
        one, other = query("first", first, asked), query("second", second, asked)
        return await gate.run(lambda: answers.compare(one, other))


def _image_options(limits: Limits) -> Callable[..., Awaitable[ImageQuery]]:
    """Return the parameters that all images share, as FastAPI reads them."""

    async def options(
        n_words: int = Query(10, ge=1, le=limits.n_words, description="Words to name."),
        alpha: str | None = Query(
            None,
            description="Penalty: a positive number, `auto` (leaves n_words words), or a multiple "
            "of that such as `0.5*auto`.",
        ),
        radius: str | None = Query(
            None,
            description="Robust radius: a number, `auto`, `spectral`, `realised`, or a multiple "
            "of one such as `2*auto`.",
        ),
        positive: bool | None = Query(None, description="Positive weights only."),
        exclude: list[str] = Query([], description="Words that may not be used."),
    ) -> ImageQuery:
        return ImageQuery(
            words=(),
            n_words=n_words,
            alpha=read_amount("alpha", alpha, ("auto",)),
            radius=read_amount("radius", radius, ("auto", "spectral", "realised"), zero=True),
            positive=positive,
            exclude=read_words("exclude", exclude, limits, limits.excluded),
        )

    return options


def page_routes(home: str = "index.html") -> APIRouter:
    """Return the page and its files; `home` is the file of the first page."""
    router = APIRouter(include_in_schema=False)
    for address, page in read_pages(home).items():
        router.add_api_route(address, _sender(page), methods=["GET"])
    return router


def _sender(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def send(request: Request) -> Response:
        # Kept, but asked about each time: a new version of the page shows at once.
        headers = {"etag": page.tag, "cache-control": "no-cache"}
        if page.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(page.content, media_type=page.kind, headers=headers)

    return send
