"""The graph of words: the images of a whole vocabulary, made symmetric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.graphs import Graph, Rule, join_directions

__all__ = ["Rule", "WordGraph", "word_graph"]


@dataclass(frozen=True, eq=False, repr=False)
class WordGraph(Graph):
    """Words, and the links between them; made by :func:`word_graph`.

    Attributes
    ----------
    names : tuple of str, of length n_words
    edges : ndarray of shape (n_edges, 2)
        Positions of linked words, the smaller first, each pair once and in order.
    weights : ndarray of shape (n_edges,)
        Not zero; negative where one word speaks against the other.
    rule : {"or", "and"}
        How the two directions became one link.
    edge_attributes : mapping of str to ndarray of shape (n_edges,)
        More about the links.
    """

    node_word: ClassVar[str] = "word"

    @property
    def words(self) -> tuple[str, ...]:
        """The words: a tuple of length n_words."""
        return self.names


def word_graph(
    weights: Any, words: Sequence[str], rule: Rule = "or", *, drop_isolated: bool = False
) -> WordGraph:
    """Make a graph of the images of all words, by an "or" or an "and" of both directions.

    With a the weight of word j in the image of word i and b that of i in the image of j:

    - "or" links them if either is not zero, with the one of larger absolute value;
    - "and" links them if neither is zero and both have the same sign, with the one of smaller
      absolute value. Where the signs differ the two images contradict each other.

    Parameters
    ----------
    weights : sparse or dense matrix of shape (n_words, n_words)
        A row is the image of a word: the signed weights of the words that explain it. The
        diagonal is not looked at.
    words : sequence of str
        One per row and column.
    rule : {"or", "and"}
    drop_isolated : bool
        Whether words without links are left out.

    Returns
    -------
    WordGraph

    Raises
    ------
    InvalidInputError
        The matrix is not square or not finite, or words do not belong to it.

    Examples
    --------
    >>> import sketchlasso as sl
    >>> images = [[0, 0.5, 0], [0.2, 0, 0], [-0.3, 0, 0]]
    >>> graph = sl.topics.word_graph(images, ["sea", "wave", "desert"])
    >>> graph.neighbours("sea")
    [('wave', 0.5), ('desert', -0.3)]
    """
    matrix, names = _checked(weights, tuple(map(str, words)))
    edges, joined = join_directions(matrix.row, matrix.col, matrix.data, len(names), rule)
    graph = WordGraph(names, edges, joined, rule)
    return graph.without_isolated() if drop_isolated else graph


def _checked(weights: Any, words: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
    given: Any = weights if sparse.issparse(weights) else np.asarray(weights)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"weights have shape {given.shape} and type {given.dtype}, but a square matrix of "
            "real numbers, one row and column per word, is needed; give all images together."
        )
    if given.shape[0] != len(words):
        raise InvalidInputError(
            f"weights have shape {given.shape} but there are {len(words)} words; give one word per "
            "row and column."
        )
    if len(set(words)) != len(words):
        twice = Counter(words).most_common(1)[0][0]
        raise InvalidInputError(
            f"the word {twice!r} was given twice, but words must differ; rename one of them."
        )
    rows: Any = sparse.csr_array(given.astype(np.float64))
    rows.sum_duplicates()
    matrix = sparse.coo_array(rows)
    if not np.isfinite(matrix.data).all():
        place = int(np.argmax(~np.isfinite(matrix.data)))
        raise InvalidInputError(
            f"the image of {words[matrix.row[place]]!r} holds {matrix.data[place]}, but every "
            "weight must be finite; make it again."
        )
    return matrix, words
