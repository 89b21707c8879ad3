"""The images of a whole vocabulary: in resumable parts, and as one file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from sketchlasso.errors import InvalidInputError, Name
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.storage import read_container, unpacking, write_container
from sketchlasso.storage.container import IMAGES
from sketchlasso.storage.door import UnfitError, check_facts
from sketchlasso.storage.parts import Parts
from sketchlasso.storage.sparse import pack_rows, unpack_rows
from sketchlasso.topics.answering import Answers, Queries, Question
from sketchlasso.topics.graph import Rule, WordGraph, word_graph
from sketchlasso.topics.packing import pack_strings, unpack_strings
from sketchlasso.types import FloatArray

if TYPE_CHECKING:
    from sketchlasso.topics.imager import TopicImager

__all__ = ["WordImages", "image_everything", "load_images"]

# Words solved together, and written as one part.
WORDS_PER_PART = 512
# A device solves them in lock-step: many at a time cost little more than few.
WORDS_PER_DEVICE_PART = 16_384
# Vectors of the images, and their types.
VECTORS = {"alpha": "f", "radius": "f", "gap": "f"}


@dataclass(frozen=True, eq=False)
class WordImages:
    """Images of all words.

    Attributes
    ----------
    words : tuple of str, of length n
    weights : csr_array of shape (n, n)
        One row per word: the weights of the words that explain it, at most `n_words` of them.
    alpha, radius, gap : ndarray of shape (n,)
        Penalty, robust radius and relative duality gap of every image.
    n_words : int
    settings : mapping
        What the images were asked for with.
    """

    words: tuple[str, ...]
    weights: sparse.csr_array[Any, tuple[int, int]]
    alpha: FloatArray
    radius: FloatArray
    gap: FloatArray
    n_words: int
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"<WordImages of {len(self.words)} words, {self.weights.nnz} weights>"

    def check_words(self, words: Iterable[str]) -> None:
        """Refuse images of other words than those of a model."""
        given = list(words)
        if list(self.words) != given:
            raise InvalidInputError(
                f"the images are of {len(self.words)} words and the model has {len(given)}, or "
                "others, but both must be of the same vocabulary; run ",
                Name("image_all"),
                " on this model again.",
            )

    def graph(self, rule: Rule = "or") -> WordGraph:
        """Join words that explain each other; see :func:`word_graph`."""
        return word_graph(self.weights, self.words, rule)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all images to a file; :func:`load_images` reads it back."""
        letters, ends = pack_strings(self.words)
        rows = pack_rows(self.weights, {name: getattr(self, name) for name in VECTORS})
        header = {"n_words": self.n_words, "settings": self.settings}
        write_container(path, IMAGES, header, {"words": letters, "words_ends": ends, **rows})


def load_images(path: str | os.PathLike[str]) -> WordImages:
    """Read the images that :meth:`WordImages.save` or :meth:`TopicImager.image_all` wrote.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    StoredFileError
        The file is missing, truncated, altered, foreign, or of a newer version.
    """
    header, arrays = read_container(path, IMAGES)
    with unpacking(path, IMAGES):
        check_facts(header, {"n_words": (int,), "settings": (dict,)})
        words = unpack_strings(arrays["words"], arrays["words_ends"])
        if not words or len(set(words)) != len(words) or header["n_words"] < 1:
            raise UnfitError(f"it has {len(words)} words, and {header['n_words']} in an image")
        shape = (len(words), len(words))
        weights, vectors = unpack_rows(arrays, shape, VECTORS, finite=False)
        alpha, radius, gap = vectors
        return WordImages(words, weights, alpha, radius, gap, header["n_words"], header["settings"])


def image_everything(
    imager: TopicImager,
    question: Question,
    answer: Callable[[Queries, Question], Answers],
    path: str | os.PathLike[str] | None,
    progress: Callable[[int, int], None] | None,
) -> WordImages:
    """Solve the vocabulary part by part; with a path, each part is on disk before the next.

    A part is the same words in the same order whether it was solved in the first attempt or in a
    later one, so that the file is the same too.
    """
    settings = _settings(imager, question)
    count = len(imager.words_)
    size = WORDS_PER_PART if imager.device == CPU else WORDS_PER_DEVICE_PART
    with Parts.beside(path, settings, IMAGES, "corpus") as parts:
        answers = []
        for start in range(0, count, size):
            stop = min(start + size, count)

            def make(first: int = start, last: int = stop) -> Answers:
                found = answer(Queries.single(np.arange(first, last)), question)
                return _strongest(found, question.n_words)

            shape = (stop - start, count)
            answers.append(parts.resumed(start, make, shape, VECTORS, Answers, finite=False))
            if progress is not None:
                progress(stop, count)
        alpha, radius, gap = (
            np.concatenate([getattr(part, name) for part in answers]) for name in VECTORS
        )
        images = WordImages(
            tuple(str(word) for word in imager.words_),
            sparse.csr_array(sparse.vstack([part.coef for part in answers])),
            alpha,
            radius,
            gap,
            n_words=question.n_words,
            settings=settings,
        )
        if path is not None:
            images.save(path)
    return images


def _settings(imager: TopicImager, question: Question) -> dict[str, Any]:
    """What decides the answer, as JSON can hold it."""
    P = np.ascontiguousarray(imager.sketch_.P)
    return {
        "n_words": question.n_words,
        "radius": str(question.radius),
        "positive": question.positive,
        "tol": imager.tol,
        "weighting": imager.weighting,
        "rank": imager.sketch_.rank,
        "device": imager.device,
        # Parts of versions that explained words by columns of other lengths do not belong here.
        "columns": "unit",
        "sketch": hashlib.sha256(P.tobytes()).hexdigest(),
    }


def _strongest(answers: Answers, n_words: int) -> Answers:
    """The answers with the `n_words` strongest weights of each row only."""
    rows = []
    for number in range(answers.coef.shape[0]):
        words, weights = answers.row(number)
        kept = np.sort(np.argsort(-np.abs(weights), kind="stable")[:n_words])
        rows.append((words[kept], weights[kept]))
    return replace(answers, coef=stack_rows(rows, answers.coef.shape[1]))
