"""The explorer of topics: the addresses of its API; importing this needs the extra `web`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query
from pydantic import StringConstraints

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, UnknownWordError
from sketchlasso.interfaces.web.application import Body, application_of, described, finite
from sketchlasso.interfaces.web.mapping import TopicMap

# What a request may ask for.
MOST_WORDS, MOST_EXCLUDED, MOST_SHOWN, MOST_DOCUMENTS, MOST_COMPLETIONS = 8, 32, 50, 20, 50
LONGEST_WORD = 200
EXCERPT = 600  # characters
# Documents may be books: an excerpt is looked for in this many characters.
SEARCHED = 50_000
# Lines drawn with characters, as below headings of plain text.
RULE = re.compile(r"(?<!\S)([-=~^_*#.])\1{2,}(?!\S)")
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
# A penalty or radius: 0.5, auto, 2*auto, 0.1*spectral.
AMOUNT = re.compile(r"(?P<factor>[0-9.]+(?:e[-+]?[0-9]+)?)?\*?(?P<of>auto|spectral|realised)?")

Word: TypeAlias = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_WORD)
]
Words: TypeAlias = Annotated[
    list[Word],
    Query(min_length=1, max_length=MOST_WORDS, description="Several are asked for together."),
]


@dataclass(frozen=True)
class Options:
    """How an image is computed; a class, so that FastAPI reads its fields from a query."""

    n_words: Annotated[int, Query(ge=1, le=MOST_SHOWN, description="Words to name.")] = 10
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
        list[Word] | None,
        Query(max_length=MOST_EXCLUDED, description="Words that may not be used."),
    ] = None


Asked: TypeAlias = Annotated[Options, Depends()]


def topic_explorer(
    imager: sl.topics.TopicImager, images: sl.topics.WordImages | None, hosts: Sequence[str]
) -> FastAPI:
    """Return the application that explores a fitted imager; without images it has no map."""
    if images is not None:
        images.check_words(imager.words_)
    answers = Answers(imager)
    topic_map = None if images is None else TopicMap(imager, images, answers.frequency)
    router = APIRouter(prefix="/api")
    _add_facts(router, answers, topic_map)
    _add_images(router, answers)

    def start() -> None:
        answers.warm()
        if topic_map is not None:
            topic_map.start()

    return application_of(
        router,
        hosts,
        title="sketchlasso topic explorer",
        summary="Ask a corpus about a word: the word is regressed on all the others, and the "
        "sparse answer is its image.",
        home="index.html",
        start=start,
    )


def _add_facts(router: APIRouter, answers: Answers, topic_map: TopicMap | None) -> None:
    @router.get("/about", summary="The model, and whether there is a map")
    def about() -> Body:
        return answers.about() | {"has_map": topic_map is not None}

    @router.get("/words", summary="Words that begin with a prefix, the most frequent first")
    def words(
        prefix: Annotated[str, Query(max_length=LONGEST_WORD)] = "",
        count: Annotated[int, Query(ge=1, le=MOST_COMPLETIONS)] = 10,
    ) -> Body:
        return answers.words(prefix.strip(), count)

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


def _add_images(router: APIRouter, answers: Answers) -> None:
    @router.get("/image", summary="The image of a word, or of several together")
    def image(word: Words, asked: Asked) -> Body:
        return answers.shown(answers.image(word, asked))

    @router.get("/images", summary="The image of each word by itself")
    def images(word: Words, asked: Asked) -> Body:
        return answers.each(word, asked)

    @router.get("/documents", summary="The documents behind an image, best first")
    def documents(
        word: Words, asked: Asked, count: Annotated[int, Query(ge=1, le=MOST_DOCUMENTS)] = 5
    ) -> Body:
        return answers.documents(word, asked, count)

    @router.get("/compare", summary="The images of two words side by side")
    def compare(first: Words, second: Words, asked: Asked) -> Body:
        return answers.compare(first, second, asked)


class Answers:
    """Answers of one fitted model; safe to use from several threads."""

    def __init__(self, imager: sl.topics.TopicImager) -> None:
        self._imager = imager
        self.frequency = {
            str(word): int(count)
            for word, count in zip(imager.words_, imager.document_frequency_, strict=True)
        }

    def warm(self) -> None:
        """Run compiled code once, so that the first visitor does not wait for it."""
        word = max(self.frequency, key=self.frequency.__getitem__)
        self.documents([word], Options(), 1)

    def about(self) -> Body:
        """Describe the model."""
        corpus = self._imager.corpus_
        return {
            "version": sl.__version__,
            "source": corpus.name,
            "n_documents": corpus.shape[0],
            "n_words": len(self.frequency),
            "rank": self._imager.rank,
            "has_texts": corpus.texts is not None,
            "has_phrases": any(" " in word for word in self.frequency),
            "limits": {"n_words": MOST_SHOWN, "documents": MOST_DOCUMENTS},
        }

    def words(self, prefix: str, count: int) -> Body:
        """Complete a prefix."""
        complete = self._imager.complete
        words = complete(prefix, count) or complete(prefix.casefold(), count)
        return {
            "prefix": prefix,
            "words": [{"word": word, "documents": self.frequency[word]} for word in words],
        }

    def image(self, words: Sequence[str], asked: Options) -> sl.topics.TopicImage:
        """Compute an image."""
        ask = partial(
            self._imager.image,
            list(dict.fromkeys(words)),
            min(asked.n_words, len(self.frequency) - len(words)),
            exclude=tuple(asked.exclude or ()),
            positive=asked.positive,
        )
        quick = partial(ask, judge=False)
        factor, of = _amount("radius", asked.radius, ("auto", "spectral", "realised"))
        radius: float | str | None = f"{factor!r}*{of}" if of else factor
        if of == "auto":
            radius = None if factor == 1.0 else factor * quick().radius
        factor, of = _amount("alpha", asked.alpha, ("auto",))
        alpha: float | None = factor
        if of == "auto":
            alpha = None if factor == 1.0 else factor * quick(radius=radius).alpha
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
                "excerpt": excerpt(match.text, (*image.query, *image.words), EXCERPT),
            }
            for match in self._imager.documents(image, count)
        ]
        return {"image": self.shown(image), "documents": matches}

    def compare(self, first: Sequence[str], second: Sequence[str], asked: Options) -> Body:
        """Compute two images and what they share."""
        compared = sl.topics.ComparedImages(self.image(first, asked), self.image(second, asked))
        return {
            "first": self.shown(compared.first),
            "second": self.shown(compared.second),
            "shared": list(compared.shared),
            "overlap": compared.overlap,
        }

    def shown(self, image: sl.topics.TopicImage) -> Body:
        """Return an image for JSON."""
        same = {name: finite(getattr(image, name)) for name in NUMBERS}
        return same | {
            "query": list(image.query),
            "words": [
                {"word": word, "weight": float(weight), "documents": self.frequency[word]}
                for word, weight in zip(image.words, image.weights, strict=True)
            ],
            "n_nonzero": image.n_nonzero,
            "quality": image.quality,
            "advice": image.advice,
            "excluded": list(image.excluded),
        }


NUMBERS = ("alpha", "radius", "gap", "explained", "held_out", "seconds")


def _amount(name: str, text: str, units: Sequence[str]) -> tuple[float, str]:
    """Return a penalty or radius such as ``0.5``, ``auto`` or ``2*auto`` as a factor and a unit."""
    read = AMOUNT.fullmatch(text.strip().lower())
    if read and text.strip() and (read["of"] or units[0]) in units:
        with suppress(ValueError):
            return float(read["factor"] or 1.0), read["of"] or ""
    raise InvalidInputError(
        f"{name} must be a number, {' or '.join(units)}, or a multiple such as 0.5*auto, not "
        f"{text[:40]!r}."
    )


def excerpt(text: str | None, words: Sequence[str], length: int) -> str | None:
    """Return at most `length` characters of a text: those with most of the words (lower case).

    The beginning of a longer word counts too (a plural). White space is normalised, rules are
    removed, and cuts fall between words.
    """
    if text is None:
        return None
    plain = " ".join(RULE.sub(" ", text[:SEARCHED]).split())
    if len(plain) <= length:
        return plain
    start = _best_start(plain, words, length)
    # Two of the characters are for the ellipses.
    end = min(len(plain), start + length - 2)
    piece = plain[start:end]
    if start:
        piece = piece.partition(" ")[2] or piece
    if end < len(plain):
        piece = piece.rpartition(" ")[0] or piece
    return f"{ELLIPSIS if start else ''}{piece}{ELLIPSIS if end < len(plain) else ''}"


def _best_start(plain: str, words: Sequence[str], length: int) -> int:
    """Return where the window with most different words begins, the first of equals."""
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    if not pattern:
        return 0
    found = [
        (match.start(), match[0].casefold())
        for match in re.finditer(rf"(?<!\w)(?:{pattern})", plain, re.IGNORECASE)
    ]
    reach = int(0.8 * length)
    best, start = 0, 0
    for number, (place, _) in enumerate(found):
        inside = {word for at, word in found[number : number + 200] if at < place + reach}
        if len(inside) > best:
            best, start = len(inside), place
    # Start some words before the first match, or at the beginning of the text if it is near.
    start = max(0, start - length // 8)
    return 0 if start < length // 4 else min(start, len(plain) - length)
