"""The images of a whole vocabulary: in resumable parts, as one file, and as a graph."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from sketchlasso.errors import InvalidInputError
from sketchlasso.graphs import Rule, graph_of, join_directions
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.storage import Parts, matrix_arrays, reading, strings_array, write_stored
from sketchlasso.topics.answering import Answers, Queries, Question
from sketchlasso.topics.store import plain_radius
from sketchlasso.types import FloatArray, IntArray, SparseRows

if TYPE_CHECKING:
    from sketchlasso.topics.imager import TopicImager

# Words solved together, and written as one part.
WORDS_PER_PART = 512
# A device solves them in lock-step: many at a time cost little more than few.
WORDS_PER_DEVICE_PART = 16_384
# Vectors of the images, and their types.
VECTORS = {"alpha": "f", "radius": "f", "gap": "f"}


def word_graph(
    weights: Any, words: Sequence[str], rule: Rule = "or", *, drop_isolated: bool = False
) -> Any:
    """Make a graph of the images of all words, by an "or" or an "and" of both directions.

    "or" links two words if either explains the other, with the weight of larger absolute value;
    "and" links them if both do and agree in sign, with that of smaller absolute value.

    Parameters
    ----------
    weights : sparse or dense matrix of shape (n_words, n_words)
        A row is the image of a word: the signed weights of the words that explain it. The
        diagonal is ignored.
    words : sequence of str
        One per row and column.
    rule : {"or", "and"}
    drop_isolated : bool
        Whether words without links are left out.

    Returns
    -------
    networkx.Graph
        Its edges have a `weight`, the absolute one, and a `sign`, 1 or -1. Needs the extra `graph`.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> images = [[0, 0.5, 0], [0.2, 0, 0], [-0.3, 0, 0]]
    >>> graph = sl.topics.word_graph(images, ["sea", "wave", "desert"])
    >>> graph["sea"]["desert"]
    {'weight': 0.3, 'sign': -1}
    """
    names = tuple(map(str, words))
    values: Any = weights if sparse.issparse(weights) else np.asarray(weights)
    if values.shape != (len(names), len(names)) or values.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"weights have shape {values.shape} and type {values.dtype}, but real numbers with a "
            f"row and a column for each of {len(names)} words are needed; give all images together."
        )
    rows: Any = sparse.csr_array(values.astype(np.float64))
    rows.sum_duplicates()
    if len(set(names)) != len(names) or not np.isfinite(rows.data).all():
        raise InvalidInputError(
            "a word was given twice, or a weight is NaN or infinite, but words must differ and "
            "weights be finite; make the images again."
        )
    matrix = rows.tocoo()
    edges, joined = join_directions(matrix.row, matrix.col, matrix.data, len(names), rule)
    graph = graph_of(names, edges, joined, rule)
    if drop_isolated:
        graph.remove_nodes_from([word for word, links in graph.degree if links == 0])
    return graph


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
        The options that the images were made with.
    """

    words: tuple[str, ...]
    weights: SparseRows
    alpha: FloatArray
    radius: FloatArray
    gap: FloatArray
    n_words: int
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"<WordImages of {len(self.words)} words, {self.weights.nnz} weights>"

    def check_words(self, words: Iterable[str]) -> None:
        """Reject a model that has other words."""
        if self.words != tuple(words):
            raise InvalidInputError(
                "the images are of other words than the model, but both must be of the same "
                "vocabulary; run image_all on this model again."
            )

    def graph(self, rule: Rule = "or") -> Any:
        """Join words that explain each other; see :func:`word_graph`."""
        return word_graph(self.weights, self.words, rule)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all images to a file; :func:`load_images` reads it back."""
        facts = {"n_words": self.n_words, "settings": self.settings}
        arrays = {name: getattr(self, name) for name in VECTORS}
        arrays |= matrix_arrays("weights", self.weights)
        write_stored(path, "images", facts, arrays | {"words": strings_array(self.words)})


def load_images(path: str | os.PathLike[str]) -> WordImages:
    """Read the images that :meth:`WordImages.save` or :meth:`TopicImager.image_all` wrote.

    Parameters
    ----------
    path : path-like

    Raises
    ------
    StoredFileError
        The file is missing, damaged, foreign, or of another version.
    """
    with reading(path, "images") as stored:
        words, n_words = stored.strings("words"), stored.fact("n_words", int)
        n = len(words)
        alpha, radius, gap = (stored.array(name, (n,), finite=False) for name in VECTORS)
        weights = stored.matrix("weights", (n, n))
        return WordImages(
            words, weights, alpha, radius, gap, n_words, stored.fact("settings", dict)
        )


def image_everything(
    imager: TopicImager,
    question: Question,
    path: str | os.PathLike[str] | None,
    progress: Callable[[int, int], None] | None,
) -> WordImages:
    """Solve the vocabulary part by part; with a path, each part is stored before the next.

    Parts do not depend on where an earlier attempt stopped, so neither does the file.
    """

    def solved(words: IntArray) -> Answers:
        answers, rows = imager._answer(Queries.single(words), question), []
        for number in range(len(words)):
            strongest, weights = answers.strongest(number, question.n_words)
            order = np.argsort(strongest)
            rows.append((strongest[order], weights[order]))
        return replace(answers, coef=stack_rows(rows, answers.coef.shape[1]))

    settings = {
        "n_words": question.n_words,
        "radius": plain_radius(question.radius),
        "positive": question.positive,
        "tol": imager.tol,
        "weighting": imager.weighting,
        "rank": imager.sketch_.rank,
        "device": imager.device,
        "sketch": hashlib.sha256(np.ascontiguousarray(imager.sketch_.P).tobytes()).hexdigest(),
    }
    count = len(imager.words_)
    size = WORDS_PER_PART if imager.device == CPU else WORDS_PER_DEVICE_PART
    with Parts.beside(path, settings, "corpus") as parts:
        answers = []
        for part in gen_batches(count, size):
            make = partial(solved, np.arange(part.start, part.stop))
            shape = (part.stop - part.start, count)
            answers.append(parts.resumed(part.start, make, shape, VECTORS, Answers, finite=False))
            if progress is not None:
                progress(part.stop, count)
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
