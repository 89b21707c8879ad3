"""Images of words, and advice for weak ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.topics.answering import FEWEST_DOCUMENTS, Question
from sketchlasso.topics.corpus import Corpus
from sketchlasso.topics.judging import Quality, quality_of
from sketchlasso.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TopicImage:
    """The few words that explain a word, or several words together.

    Attributes
    ----------
    query : tuple of str
    words : tuple of str
        Strongest first.
    weights : ndarray of shape (len(words),)
        Their coefficients, for columns of length one.
    n_nonzero : int
        Non-zero coefficients of the whole solution, of which `words` are the strongest.
    alpha : float
        Penalty.
    radius : float
        Robust radius.
    gap : float
        Relative duality gap of the solution on the sketch.
    explained : float
        Share of the query's variance over the documents that these coefficients explain, on the
        data and not on the sketch. It can be negative.
    seconds : float
        Time of the answer, or of all answers to one call together.
    excluded : tuple of str
        Words that were not allowed, besides those of the query.
    held_out : float
        Share of the query's variance that an image made in the same way from one half of the
        documents explains in the other half; the mean of both directions. NaN if it was not
        judged.
    advice : str
        What would help a weak image; empty for the others.
    """

    query: tuple[str, ...]
    words: tuple[str, ...]
    weights: FloatArray
    n_nonzero: int
    alpha: float
    radius: float
    gap: float
    explained: float
    seconds: float
    excluded: tuple[str, ...] = ()
    held_out: float = float("nan")
    advice: str = ""

    @property
    def quality(self) -> Quality:
        """How far to trust the image: "strong", "fair", "weak" or "unknown".

        Strong images explain at least 10 % of the query's variance in documents they were not
        made from, fair ones at least 1 %.
        """
        return quality_of(self.held_out)

    @property
    def signs(self) -> IntArray:
        """+1 for words that occur with the query, -1 for words that avoid it."""
        return np.sign(self.weights).astype(np.intp)

    def __str__(self) -> str:
        named = ", ".join(
            word if weight > 0 else f"not {word}"
            for word, weight in zip(self.words, self.weights, strict=True)
        )
        return f"{' + '.join(self.query)}: {named or 'nothing'}"


@dataclass(frozen=True)
class DocumentMatch:
    """A document that an image fits.

    Attributes
    ----------
    number : int
        Its row.
    title : str
    score : float
        Sum of what the image predicts for it and of its weight of the query, both in standard
        deviations over the documents.
    text : str or None
        Its beginning.
    """

    number: int
    title: str
    score: float
    text: str | None


def match(corpus: Corpus, row: int, score: float) -> DocumentMatch:
    """Return a document with a score."""
    text = None if corpus.texts is None else corpus.texts[row]
    return DocumentMatch(int(row), corpus.readable_title(row), float(score), text)


@dataclass(frozen=True, eq=False)
class ComparedImages:
    """Images of one word in two corpora, or of two words.

    Attributes
    ----------
    first, second : TopicImage
    """

    first: TopicImage
    second: TopicImage

    @property
    def shared(self) -> tuple[str, ...]:
        """Words of both images, in the order of the first."""
        return tuple(word for word in self.first.words if word in self.second.words)

    @property
    def only_first(self) -> tuple[str, ...]:
        """Words of the first image alone."""
        return tuple(word for word in self.first.words if word not in self.second.words)

    @property
    def only_second(self) -> tuple[str, ...]:
        """Words of the second image alone."""
        return tuple(word for word in self.second.words if word not in self.first.words)

    @property
    def overlap(self) -> float:
        """Shared words over all words of the two images, between 0 and 1."""
        words = {*self.first.words, *self.second.words}
        return len(self.shared) / len(words) if words else 0.0


def advice(image: TopicImage, question: Question, documents: int, rank: int, largest: int) -> str:
    """Return one sentence about a weak image, and nothing about others.

    `documents` have the rarest word of the query; `largest` is the largest rank of a sketch.
    """
    if image.quality != "weak":
        return ""
    if documents < FEWEST_DOCUMENTS:  # too few in each half to learn from
        together = f", or ask for it together with {image.words[0]!r}" if image.words else ""
        return f"the word is in only {documents} documents: add documents{together}."
    if image.excluded:
        return "words were excluded: allow some of them again."
    if question.radius != "auto" or question.alpha is not None:
        return "radius or alpha were set: leave them to be chosen."
    if len(image.words) < 10:
        return f"the image has {len(image.words)} words: ask for 10."
    finer = min(100, largest)
    if rank < finer:
        return f"the sketch has rank {rank}: a rank of {finer} may help."
    return "the word is used in too many ways here: ask for a more specific one."
