"""The explorer of topics and the addresses of its API; importing this needs the extra `web`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response

import sketchlasso as sl
from sketchlasso.interfaces.web import payloads
from sketchlasso.interfaces.web.answers import Answers
from sketchlasso.interfaces.web.application import application_of
from sketchlasso.interfaces.web.gate import Gate
from sketchlasso.interfaces.web.limits import ImageQuery, Limits, read_amount, read_word, read_words
from sketchlasso.interfaces.web.mapping import MapDesk

# Addresses whose answers are solved for, and so need a worker.
SOLVED = ("/api/image", "/api/images", "/api/documents", "/api/compare")

# Refusals in the documentation of the API.
BUSY: dict[int | str, dict[str, Any]] = {
    503: {
        "model": payloads.Problem,
        "description": "Too many requests at once; ask again in a moment.",
    },
    504: {"model": payloads.Problem, "description": "The query took too long."},
}
REFUSED = {422: {"model": payloads.Problem, "description": "The request cannot be used."}, **BUSY}
ASKED = {
    404: {"model": payloads.UnknownWord, "description": "A word is not in the vocabulary."},
    **REFUSED,
}
NO_IMAGES = {404: {"model": payloads.Problem, "description": "image_all was not run."}, **BUSY}


def topic_explorer(
    imager: sl.topics.TopicImager,
    images: sl.topics.WordImages | None,
    limits: Limits,
    hosts: Sequence[str],
) -> FastAPI:
    """Return the application that explores a fitted imager; without images it has no map."""
    answers = Answers(imager, images, limits)
    # Completions are quick and have their own worker, so that they do not wait for solves.
    gate, quick = Gate(limits), Gate(replace(limits, workers=1))
    desk = MapDesk(imager, images, answers.frequency, limits)
    router = APIRouter(prefix="/api")
    _add_facts(router, answers, desk)
    _add_words(router, answers, quick, limits)
    _add_images(router, answers, gate, limits)

    def start() -> None:
        answers.warm()
        desk.start()

    return application_of(
        router,
        hosts,
        title="sketchlasso topic explorer",
        summary="Ask a corpus about a word: the word is regressed on all the others, and the "
        "sparse answer is its image.",
        home="index.html",
        start=start,
        gate=gate,
        gated=SOLVED,
        others=(quick, desk),
    )


def _add_facts(router: APIRouter, answers: Answers, desk: MapDesk) -> None:
    about_model = answers.about()

    @router.get("/about", summary="The model and the limits of the server")
    async def about() -> payloads.About:
        return about_model

    @router.get("/topics", summary="Topics to begin with", responses=NO_IMAGES)
    async def topics() -> payloads.Topics:
        return await desk.topics()

    @router.get(
        "/map",
        summary="The graph of the whole vocabulary, with places and communities",
        response_model=payloads.Map,
        responses=NO_IMAGES,
    )
    async def whole_map(request: Request) -> Response:
        page = await desk.map()
        return await page.response(request)


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
