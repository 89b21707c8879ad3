"""The explorer of topics: the addresses of its API; importing this needs the extra `web`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query
from pydantic import StringConstraints

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, UnknownWordError
from sketchlasso.interfaces.web.application import (
    LONGEST_NAME,
    Body,
    application_of,
    described,
    finite,
)
from sketchlasso.interfaces.web.mapping import TopicMap

Word: TypeAlias = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_NAME)
]
Words: TypeAlias = Annotated[
    list[Word],
    Query(min_length=1, max_length=8, description="Several are asked for together."),
]


@dataclass(frozen=True)
class Options:
    """How an image is computed; a class, so that FastAPI reads its fields from a query."""

    n_words: Annotated[int, Query(ge=1, le=50, description="Words to name.")] = 10
    alpha: Annotated[
        str, Query(description="Penalty: a positive number, `auto`, or a multiple: `0.5*auto`.")
    ] = "auto"
    radius: Annotated[
        str,
        Query(
            description="Robust radius: a number, `auto`, `spectral`, `realised`, or a multiple."
        ),
    ] = "auto"
    positive: Annotated[bool | None, Query(description="Positive weights only.")] = None
    exclude: Annotated[
        list[Word] | None, Query(max_length=32, description="Words that may not be used.")
    ] = None


Asked: TypeAlias = Annotated[Options, Depends()]


def topic_explorer(
    imager: sl.topics.TopicImager, images: sl.topics.WordImages | None, hosts: Sequence[str]
) -> FastAPI:
    """Return the application that explores a fitted imager; without images it has no map."""
    if images is not None:
        images.check_words(imager.words_)
    router = APIRouter(prefix="/api")
    answers = Answers(imager)
    topic_map = None if images is None else TopicMap(imager, images, answers.frequency)

    @router.get("/about", summary="The model, and whether there is a map")
    def about() -> Body:
        corpus = imager.corpus_
        return {
            "version": sl.__version__,
            "source": corpus.name,
            "n_documents": corpus.shape[0],
            "n_words": len(answers.frequency),
            "rank": imager.rank,
            "has_texts": corpus.texts is not None,
            "has_phrases": " " in "".join(answers.frequency),
            "has_map": topic_map is not None,
            "limits": {"n_words": 50, "documents": 20},
        }

    @router.get("/words", summary="Words that begin with a prefix, the most frequent first")
    def words(
        prefix: Annotated[str, Query(max_length=LONGEST_NAME)] = "",
        count: Annotated[int, Query(ge=1, le=50)] = 10,
    ) -> Body:
        start = prefix.strip()
        found = imager.complete(start, count) or imager.complete(start.casefold(), count)
        listed = [{"word": word, "documents": answers.frequency[word]} for word in found]
        return {"prefix": start, "words": listed}

    def made() -> TopicMap:
        if topic_map is None:
            raise HTTPException(
                404,
                "there are no topics and no map, because the images of the whole vocabulary are "
                "missing; run 'sketchlasso topics all' on the model and serve it with --images.",
            )
        return topic_map

    @router.get("/topics", summary="Topics to begin with, the largest first")
    def topics() -> Body:
        return made().topics()

    @router.get("/topics/{number}", summary="One topic with all its words and documents")
    def topic(number: int) -> Body:
        return made().topic(number)

    @router.get("/map", summary="The graph of the whole vocabulary, with places and topics")
    def whole_map() -> Body:
        return made().map()

    _add_images(router, answers)

    return application_of(
        router,
        hosts,
        title="sketchlasso topic explorer",
        summary="Ask a corpus about a word: the word is regressed on all the others, and the "
        "sparse answer is its image.",
        home="index.html",
        start=partial(_start, answers, topic_map),
    )


def _start(answers: Answers, topic_map: TopicMap | None) -> None:
    # Compiled code runs once, so that the first visitor does not wait for it.
    answers.documents([max(answers.frequency, key=answers.frequency.__getitem__)], Options(), 1)
    if topic_map is not None:
        topic_map.start()


def _add_images(router: APIRouter, answers: Answers) -> None:
    @router.get("/image", summary="The image of a word, or of several together")
    def image(word: Words, asked: Asked) -> Body:
        return answers.shown(answers.image(word, asked))

    @router.get("/images", summary="The image of each word by itself")
    def images_of_each(word: Words, asked: Asked) -> Body:
        return answers.each(word, asked)

    @router.get("/documents", summary="The documents behind an image, best first")
    def documents(word: Words, asked: Asked, count: Annotated[int, Query(ge=1, le=20)] = 5) -> Body:
        return answers.documents(word, asked, count)

    @router.get("/compare", summary="The images of two words side by side")
    def compare(first: Words, second: Words, asked: Asked) -> Body:
        both = sl.topics.ComparedImages(answers.image(first, asked), answers.image(second, asked))
        sides = {"first": answers.shown(both.first), "second": answers.shown(both.second)}
        return sides | {"shared": list(both.shared), "overlap": both.overlap}


class Answers:
    """Answers of one fitted model; safe to use from several threads."""

    def __init__(self, imager: sl.topics.TopicImager) -> None:
        self._imager = imager
        counts = imager.document_frequency_.tolist()
        self.frequency = dict(zip(map(str, imager.words_), counts, strict=True))

    def image(self, words: Sequence[str], asked: Options) -> sl.topics.TopicImage:
        """Compute an image."""
        ask = partial(
            self._imager.image,
            list(dict.fromkeys(words)),
            min(asked.n_words, len(self.frequency) - len(words)),
            exclude=tuple(asked.exclude or ()),
            positive=asked.positive,
        )
        factor, of = _amount("radius", asked.radius, ("auto", "spectral", "realised"))
        radius: float | str | None = f"{factor!r}*{of}" if of else factor
        if of == "auto":
            radius = None if factor == 1.0 else factor * ask(judge=False).radius
        factor, of = _amount("alpha", asked.alpha, ("auto",))
        alpha: float | None = factor
        if of == "auto":
            alpha = None if factor == 1.0 else factor * ask(judge=False, radius=radius).alpha
        return ask(radius=radius, alpha=alpha)

    def each(self, words: Sequence[str], asked: Options) -> Body:
        """Compute the image of each word of the vocabulary; an error if there is none of them."""
        images, unknown = [], []
        for word in dict.fromkeys(words):
            exclude = [one for one in asked.exclude or () if one != word]
            try:
                image = self._imager.image(word, asked.n_words, exclude=exclude, judge=False)
                images.append(self.shown(image))
            except UnknownWordError as error:
                unknown.append(error)
        if not images:
            raise unknown[0]
        return {"images": images, "unknown": [described(error) for error in unknown]}

    def documents(self, words: Sequence[str], asked: Options, count: int) -> Body:
        """Compute an image and find the documents behind it."""
        image = self.image(words, asked)
        matches = [
            {
                "number": match.number,
                "title": match.title,
                "score": finite(match.score),
                "excerpt": excerpt(match.text, (*image.query, *image.words), 600),
            }
            for match in self._imager.documents(image, count)
        ]
        return {"image": self.shown(image), "documents": matches}

    def shown(self, image: sl.topics.TopicImage) -> Body:
        """Return an image for JSON."""
        body: dict[str, Any] = {
            name: finite(getattr(image, name))
            for name in ("alpha", "radius", "gap", "explained", "held_out", "seconds")
        }
        body |= {name: getattr(image, name) for name in ("n_nonzero", "quality", "advice")}
        words = [
            {"word": word, "weight": float(weight), "documents": self.frequency[word]}
            for word, weight in zip(image.words, image.weights, strict=True)
        ]
        lists = {"query": list(image.query), "excluded": list(image.excluded), "words": words}
        return body | lists


def _amount(name: str, text: str, units: Sequence[str]) -> tuple[float, str]:
    """Return a penalty or radius such as ``0.5``, ``auto`` or ``2*auto`` as a factor and a unit."""
    factor, _, of = text.strip().lower().rpartition("*")
    if of not in units:
        factor, of = (of or "none", "") if not factor else ("none", "")
    with suppress(ValueError):
        value = float(factor or 1.0)
        if 0 <= value < float("inf"):
            return value, of
    raise InvalidInputError(
        f"{name} must be a number, {' or '.join(units)}, or a multiple such as 0.5*auto, not "
        f"{text[:40]!r}."
    )


def excerpt(text: str | None, words: Sequence[str], length: int) -> str | None:
    """Return at most `length` characters of a text: those with most of the words (lower case).

    The beginning of a longer word counts too (a plural). White space is normalised, lines drawn
    with characters are removed, and cuts fall between words.
    """
    if text is None:
        return None
    # Documents may be books: an excerpt is looked for near the beginning.
    plain = " ".join(re.sub(r"(?<!\S)([-=~^_*#.])\1{2,}(?!\S)", " ", text[:50_000]).split())
    if len(plain) <= length:
        return plain
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, words)) or '(?!)'})"
    found = [(m.start(), m[0].casefold()) for m in re.finditer(pattern, plain, re.IGNORECASE)]

    def different(first: int) -> int:
        reach = found[first][0] + int(0.8 * length)
        return len({word for at, word in found[first : first + 200] if at < reach})

    best = max(range(len(found)), key=different, default=None)
    # Start some words before the first match, or at the beginning of the text if it is near.
    start = 0 if best is None else found[best][0] - length // 8
    start = 0 if start < length // 4 else min(start, len(plain) - length)
    # Two of the characters are for the ellipses.
    end = min(len(plain), start + length - 2)
    piece = plain[start:end]
    if start:
        piece = piece.partition(" ")[2] or piece
    if end < len(plain):
        piece = piece.rpartition(" ")[0] or piece
    return f"{'…' if start else ''}{piece}{'…' if end < len(plain) else ''}"
