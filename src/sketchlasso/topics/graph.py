"""The graph of words: the images of a whole vocabulary, made symmetric."""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy import sparse

from sketchlasso.errors import InvalidInputError, MissingExtraError
from sketchlasso.files.columns import nearest
from sketchlasso.sketch.options import RandomState, seed_of
from sketchlasso.topics import graph_files
from sketchlasso.topics.layout import force_layout, ring
from sketchlasso.types import FloatArray, IntArray

__all__ = ["Rule", "WordGraph", "word_graph"]

Rule: TypeAlias = Literal["or", "and"]
Attributes: TypeAlias = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class WordGraph:
    """Words, and the links between them; made by :func:`word_graph`.

    Attributes
    ----------
    words : tuple of str, of length n_words
    edges : ndarray of shape (n_edges, 2)
        Positions of linked words, the smaller first, each pair once and in order.
    weights : ndarray of shape (n_edges,)
        Not zero; negative where one word speaks against the other.
    rule : {"or", "and"}
        How the two directions became one link.
    """

    words: tuple[str, ...]
    edges: IntArray
    weights: FloatArray
    rule: Rule

    @property
    def signs(self) -> IntArray:
        """1 or -1 for every edge: shape (n_edges,)."""
        return np.sign(self.weights).astype(np.intp)

    @property
    def degrees(self) -> IntArray:
        """How many links each word has: shape (n_words,)."""
        return np.bincount(self.edges.ravel(), minlength=len(self.words))

    def __repr__(self) -> str:
        return f"<WordGraph of {len(self.words)} words, {len(self.edges)} edges ({self.rule!r})>"

    def neighbours(self, word: str) -> list[tuple[str, float]]:
        """Return the words linked to one, with their signed weights, the strongest first.

        Parameters
        ----------
        word : str

        Returns
        -------
        list of (str, float)

        Raises
        ------
        InvalidInputError
            The graph has no such word; the sentence names the nearest.
        """
        if word not in self.words:
            raise InvalidInputError(
                f"{word!r} is not a word of the graph{nearest(str(word), self.words)}; give one "
                f"of its {len(self.words)} words."
            )
        place = self.words.index(word)
        chosen = np.flatnonzero((self.edges == place).any(axis=1))
        chosen = chosen[np.argsort(-np.abs(self.weights[chosen]), kind="stable")]
        others = self.edges[chosen].sum(axis=1) - place
        return [
            (self.words[other], float(weight))
            for other, weight in zip(others, self.weights[chosen], strict=True)
        ]

    def without_isolated(self) -> WordGraph:
        """Return the graph of those words alone that have links.

        Returns
        -------
        WordGraph
        """
        linked = self.degrees > 0
        number = np.cumsum(linked) - 1
        words = tuple(word for word, kept in zip(self.words, linked, strict=True) if kept)
        return WordGraph(words, number[self.edges], self.weights, self.rule)

    def communities(self, *, resolution: float = 1.0, random_state: RandomState = 0) -> IntArray:
        """Find groups of words with more links inside than out, by Louvain's method.

        Strengths of links are the absolute weights. Needs networkx (extra `graph`).

        Parameters
        ----------
        resolution : float
            Above 1 for more and smaller groups, below 1 for fewer and larger ones.
        random_state : int, Generator, RandomState or None

        Returns
        -------
        ndarray of shape (n_words,)
            0 for words of the largest group, 1 for the next; -1 for words without links.
        """
        networkx = _networkx("finding communities")
        linked = self.without_isolated()
        graph = linked.to_networkx()
        found = networkx.community.louvain_communities(
            graph, weight="weight", resolution=resolution, seed=seed_of(random_state)
        )
        place = {word: number for number, word in enumerate(self.words)}
        groups = [sorted(place[word] for word in group) for group in found]
        labels = np.full(len(self.words), -1, dtype=np.intp)
        for label, group in enumerate(sorted(groups, key=lambda group: (-len(group), group[0]))):
            labels[group] = label
        return labels

    def layout(self, *, random_state: RandomState = 0) -> FloatArray:
        """Return places on a map: linked words near each other, groups apart.

        Strengths of links are the absolute weights. Words without links lie in a ring around the
        others.

        Parameters
        ----------
        random_state : int, Generator, RandomState or None

        Returns
        -------
        ndarray of shape (n_words, 2)
            Inside the unit disc. Some seconds for 10,000 words.
        """
        linked = self.degrees > 0
        places = np.zeros((len(self.words), 2))
        if linked.any():
            inner, generator = self.without_isolated(), np.random.default_rng(seed_of(random_state))
            places[linked] = force_layout(
                inner.edges, np.abs(inner.weights), len(inner.words), generator
            )
        places[~linked] = ring(int(np.count_nonzero(~linked)), inner=1.1 if linked.any() else 0.0)
        return places / max(1.0, float(np.linalg.norm(places, axis=1).max()))

    def to_networkx(self, attributes: Attributes | None = None) -> Any:
        """Return the graph as networkx has it; needs networkx (extra `graph`).

        Parameters
        ----------
        attributes : mapping of str to sequence, optional
            More about the words: names, and one value a word each, such as
            ``{"community": graph.communities()}``.

        Returns
        -------
        networkx.Graph
            Nodes are words. Edges have a `weight`, the absolute one, as networkx's functions need
            it, and a `sign`, 1 or -1.
        """
        graph = _networkx("making a networkx graph").Graph(rule=self.rule)
        graph.add_nodes_from(graph_files.nodes(self.words, attributes))
        graph.add_edges_from(
            (source, target, {"weight": weight, "sign": sign})
            for source, target, weight, sign in graph_files.links(self)
        )
        return graph

    def to_json(self, path: str | os.PathLike[str], attributes: Attributes | None = None) -> None:
        """Write nodes and links as JSON, for d3 and ``networkx.node_link_graph(edges="links")``.

        Parameters
        ----------
        path : path-like
        attributes : mapping of str to sequence, optional
            As for :meth:`to_networkx`.
        """
        graph_files.write_json(Path(path), self, attributes)

    def to_graphml(
        self, path: str | os.PathLike[str], attributes: Attributes | None = None
    ) -> None:
        """Write GraphML, for Gephi, yEd, igraph, Cytoscape and ``networkx.read_graphml``.

        Parameters
        ----------
        path : path-like
        attributes : mapping of str to sequence, optional
            As for :meth:`to_networkx`: whole numbers, real numbers or text.
        """
        graph_files.write_graphml(Path(path), self, attributes)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a list of edges with the columns source, target, weight and sign.

        Parameters
        ----------
        path : path-like
            Compressed if it ends in .gz, .bz2 or .xz.
        """
        graph_files.write_csv(Path(path), self)


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
        One a row and column.
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
    >>> graph = sl.word_graph(images, ["sea", "wave", "desert"])
    >>> graph.neighbours("sea")
    [('wave', 0.5), ('desert', -0.3)]
    """
    if rule not in get_args(Rule):
        raise InvalidInputError(
            f"rule={rule!r} was given, but only 'or' and 'and' are known; pass one of them."
        )
    matrix, names = _checked(weights, tuple(map(str, words)))
    inside = matrix.row != matrix.col
    row, column, values = matrix.row[inside], matrix.col[inside], matrix.data[inside]
    pairs = np.minimum(row, column).astype(np.int64) * len(names) + np.maximum(row, column)
    keys, place = np.unique(pairs, return_inverse=True)
    forward, backward = np.zeros(len(keys)), np.zeros(len(keys))
    forward[place[row < column]] = values[row < column]
    backward[place[row > column]] = values[row > column]
    joined = _joined(forward, backward, rule)
    kept = joined != 0
    edges = np.column_stack(np.divmod(keys[kept], max(1, len(names)))).astype(np.intp)
    graph = WordGraph(names, edges, joined[kept], rule)
    return graph.without_isolated() if drop_isolated else graph


def _joined(forward: FloatArray, backward: FloatArray, rule: Rule) -> FloatArray:
    """Return one weight for both directions, zero for no link; the directions may be swapped."""
    high, low = np.maximum(forward, backward), np.minimum(forward, backward)
    if rule == "or":
        return np.where(high >= -low, high, low)
    return np.where(low > 0, low, np.where(high < 0, high, 0.0))


def _checked(weights: Any, words: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
    given: Any = weights if sparse.issparse(weights) else np.asarray(weights)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or given.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"weights have shape {given.shape} and type {given.dtype}, but a square matrix of "
            "real numbers, one row and column a word, is needed; give all images together."
        )
    if given.shape[0] != len(words):
        raise InvalidInputError(
            f"weights have shape {given.shape} but there are {len(words)} words; give one word a "
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


def _networkx(feature: str) -> Any:
    try:
        return importlib.import_module("networkx")
    except ImportError as missing:
        raise MissingExtraError(feature, "networkx", "graph") from missing
