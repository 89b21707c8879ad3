"""From queries to payloads: the only file that speaks to the imager; needs the extra `web`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.web import payloads
from sketchlasso.interfaces.web.excerpts import excerpt
from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.interfaces.web.queries import Amount, ImageQuery, read_word

__all__ = ["Answers"]


class Answers:
    """Answers of one fitted model; safe to ask from several threads.

    Parameters
    ----------
    imager : TopicImager
        Fitted.
    images : WordImages or None
        What its `image_all` gave; without it there is no map.
    limits : Limits
    """

    def __init__(
        self, imager: sl.topics.TopicImager, images: sl.topics.WordImages | None, limits: Limits
    ) -> None:
        self._imager = imager
        self._images = images
        self._limits = limits
        self.frequency = {
            str(word): int(count)
            for word, count in zip(imager.words_, imager.document_frequency_, strict=True)
        }
        if images is not None:
            images.check_words(imager.words_)

    def warm(self) -> None:
        """Answer once for nobody, so that compiled code is there when the first visitor asks."""
        word = max(self.frequency, key=self.frequency.__getitem__)
        self.documents(ImageQuery((word,), alpha=Amount(0.9, "auto")), 1)

    def about(self) -> payloads.About:
        """Describe the model."""
        imager, corpus = self._imager, self._imager.corpus_
        return payloads.About(
            version=sl.__version__,
            source=corpus.name,
            n_documents=corpus.shape[0],
            n_words=len(self.frequency),
            settings={name: _plain(value) for name, value in imager.get_params().items()},
            has_map=self._images is not None,
            has_texts=corpus.texts is not None,
            has_phrases=any(" " in word for word in self.frequency),
            limits={
                name: getattr(self._limits, name)
                for name in ("word_length", "words", "excluded", "n_words", "documents")
            },
        )

    def words(self, prefix: str, count: int) -> payloads.Words:
        """Complete a prefix."""
        complete = self._imager.complete
        found = complete(prefix, count) or complete(prefix.casefold(), count)
        return payloads.Words(
            prefix=prefix, words=[self._counted(word) for word in found if self._is_askable(word)]
        )

    def image(self, query: ImageQuery) -> payloads.Image:
        """Compute an image."""
        return self._shown(self._solve(query))

    def images(self, words: Sequence[str], n_words: int) -> payloads.Images:
        """Compute the image of each word."""
        found = self._imager.images(list(words), n_words, judge=False)
        return payloads.Images(images=[self._shown(image) for image in found])

    def documents(self, query: ImageQuery, count: int) -> payloads.Documents:
        """Compute an image and find the documents behind it."""
        image = self._solve(query)
        matches = [
            payloads.MatchedDocument(
                number=int(match.number),
                title=match.title,
                score=_finite(match.score),
                excerpt=excerpt(match.text, (*image.query, *image.words), self._limits.excerpt),
            )
            for match in self._imager.documents(image, count)
        ]
        return payloads.Documents(image=self._shown(image), documents=matches)

    def compare(self, first: ImageQuery, second: ImageQuery) -> payloads.ComparedImages:
        """Compute two images and what they share."""
        one, other = self._solve(first), self._solve(second)
        shared = [word for word in one.words if word in set(other.words)]
        union = {*one.words, *other.words}
        return payloads.ComparedImages(
            first=self._shown(one),
            second=self._shown(other),
            shared=shared,
            overlap=len(shared) / max(1, len(union)),
        )

    def _solve(self, query: ImageQuery) -> sl.topics.TopicImage:
        ask = partial(
            self._imager.image,
            list(query.words),
            min(query.n_words, len(self.frequency) - len(query.words)),
            exclude=query.exclude,
            positive=query.positive,
        )
        quick = partial(ask, judge=False)
        radius: float | str | None = _absolute(query.radius, lambda: quick().radius)
        if query.radius.of in ("spectral", "realised"):
            radius = f"{query.radius.factor!r}*{query.radius.of}"
        alpha = _absolute(query.alpha, lambda: quick(radius=radius).alpha)
        return ask(radius=radius, alpha=alpha)

    def _is_askable(self, word: str) -> bool:
        """Return whether a word of the vocabulary gets through to it as a question."""
        try:
            return read_word("word", word, self._limits) == word.strip() == word
        except InvalidInputError:
            return False

    def _counted(self, word: str) -> payloads.WordCount:
        return payloads.WordCount(word=word, documents=self.frequency.get(word, 0))

    def _shown(self, image: sl.topics.TopicImage) -> payloads.Image:
        return payloads.Image(
            query=list(image.query),
            words=[
                payloads.WordWeight(
                    word=word,
                    weight=float(weight),
                    documents=self.frequency.get(word, 0),
                    askable=self._is_askable(word),
                )
                for word, weight in zip(image.words, image.weights, strict=True)
            ],
            n_nonzero=int(image.n_nonzero),
            alpha=_finite(image.alpha),
            radius=_finite(image.radius),
            gap=_finite(image.gap),
            explained=_finite(image.explained),
            held_out=_finite(image.held_out),
            quality=image.quality,
            advice=image.advice,
            seconds=float(image.seconds),
            excluded=list(image.excluded),
        )


def _absolute(amount: Amount, automatic: Callable[[], float]) -> float | None:
    """Return a penalty or radius as a number; None stands for the imager's own choice."""
    if amount.of == "auto":
        return None if amount.factor == 1.0 else amount.factor * automatic()
    return amount.factor


def _finite(value: float) -> float | None:
    """JSON knows no NaN."""
    return float(value) if math.isfinite(value) else None


def _plain(value: Any) -> str | int | float | bool | None:
    """Return a parameter as JSON has it; what is long or an object is only named."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return type(value).__name__
