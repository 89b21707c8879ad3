"""Find topics: communities of the word graph, their documents, and their stability."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sketchlasso.errors import InvalidInputError
from sketchlasso.graphs import communities, links_of
from sketchlasso.linalg.seeds import RandomState
from sketchlasso.topics.image import DocumentMatch, match
from sketchlasso.topics.imager import TopicImager
from sketchlasso.topics.judging import image_halves
from sketchlasso.topics.word_images import WordImages, word_graph
from sketchlasso.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Topic:
    """A community of words, and the documents that use them.

    Attributes
    ----------
    words : tuple of str
        The most distinctive first: words with many links inside the topic and few outside.
    n_documents : int
        Documents that have more of this topic than of any other.
    examples : tuple of DocumentMatch
    stability : float
        Share of the pairs of its ten leading words that are in one community again in the graph
        of half of the documents, mean over both halves; NaN if it was not computed.
    """

    words: tuple[str, ...]
    n_documents: int
    examples: tuple[DocumentMatch, ...]
    stability: float

    @property
    def label(self) -> tuple[str, ...]:
        """The five most distinctive words."""
        return self.words[:5]

    def __str__(self) -> str:
        return ", ".join(self.label)


@dataclass(frozen=True, eq=False)
class Topics:
    """The topics of a corpus, the largest first; made by :func:`find_topics`.

    Attributes
    ----------
    topics : tuple of Topic
    titles : tuple of str, of length n_documents
    shares : ndarray of shape (n_documents, n_topics)
        How much of each document is about each topic. Rows sum to one, or to zero for documents
        without a word of any topic.
    groups : tuple of str, of length n_documents, or None
        Those of the corpus.
    """

    topics: tuple[Topic, ...]
    titles: tuple[str, ...]
    shares: FloatArray
    groups: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"<Topics: {len(self.topics)} of {len(self.titles)} documents>"

    def __len__(self) -> int:
        return len(self.topics)

    @property
    def main(self) -> IntArray:
        """The topic with the largest share of each document, -1 for none: shape (n_documents,)."""
        if not self.shares.shape[1]:
            return np.full(len(self.titles), -1, dtype=np.intp)
        return np.where(self.shares.any(axis=1), self.shares.argmax(axis=1), -1)

    def of_word(self, words: Sequence[str]) -> IntArray:
        """Return the topic of each word, -1 for none: shape (len(words),)."""
        place = {word: number for number, topic in enumerate(self.topics) for word in topic.words}
        return np.array([place.get(word, -1) for word in words], dtype=np.intp)

    def over(self, groups: Sequence[str] | None = None) -> tuple[tuple[str, ...], FloatArray]:
        """Return the share of each topic in each group of documents.

        Parameters
        ----------
        groups : sequence of str, of length n_documents, optional
            A year, an author, a section; by default the groups of the corpus.

        Returns
        -------
        names : tuple of str
            Of the groups, in order.
        shares : ndarray of shape (n_groups, n_topics)
            Means over the documents of a group.
        """
        groups = self.groups if groups is None else tuple(map(str, groups))
        if groups is None or len(groups) != len(self.titles):
            raise InvalidInputError(
                f"there are {len(groups or ())} groups for {len(self.titles)} documents; pass "
                "groups= with one per document, or read the corpus with group_column=."
            )
        names, place = np.unique(periods(groups), return_inverse=True)
        total = np.zeros((len(names), len(self.topics)))
        np.add.at(total, place, self.shares)
        return tuple(map(str, names)), total / np.bincount(place)[:, None]


def find_topics(
    imager: TopicImager,
    images: WordImages | None = None,
    *,
    resolution: float = 1.0,
    stability: bool = True,
    random_state: RandomState = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Topics:
    """Find the topics of a corpus: communities of words that explain each other.

    Parameters
    ----------
    imager : TopicImager
        Fitted.
    images : WordImages, optional
        The result of its `image_all`; made here by default.
    resolution : float
        Above 1 for more and smaller topics, below 1 for fewer and larger ones.
    stability : bool
        Whether to repeat the graph on each half of the documents, which takes twice the time of
        `image_all`.
    random_state : int, Generator, RandomState or None
        Of the search for communities.
    progress : callable, optional
        Called with the number of words done and their total.

    Returns
    -------
    Topics
    """
    check_is_fitted(imager)
    images = imager.image_all(progress=progress) if images is None else images
    images.check_words(imager.words_)
    graph, groups = _communities(images.weights, images.words, resolution, random_state)
    members = _members(graph, groups)
    again = []
    if stability:
        question = imager._question(images.n_words)
        for weights in image_halves(imager._made_halves(), question, imager._solving, progress):
            again.append(_communities(weights, images.words, resolution, random_state)[1])
    return _topics(imager, members, again)


def periods(values: Sequence[str]) -> tuple[str, ...]:
    """Return dates as years, or as months within two years; anything else unchanged."""
    date = re.compile(r"\d{4}-\d{2}(-\d{2})?([T ].*)?")
    if not values or not all(map(date.fullmatch, values)):
        return tuple(values)
    digits = 7 if len({value[:4] for value in values}) <= 2 else 4
    return tuple(value[:digits] for value in values)


def _communities(
    weights: Any, words: tuple[str, ...], resolution: float, random_state: RandomState
) -> tuple[Any, IntArray]:
    """Return the graph of words that occur together, and the community of each word (n,)."""
    graph = word_graph(sparse.csr_array(weights).maximum(0), words)
    labels = communities(graph, resolution=resolution, random_state=random_state)
    return graph, np.array(list(labels.values()), dtype=np.intp)


def _members(graph: Any, groups: IntArray) -> list[IntArray]:
    """Return the words of every large community, those of most (links inside)^2 / links first."""
    links = links_of(graph)
    inside = groups[links.edges[:, 0]] == groups[links.edges[:, 1]]
    own = np.bincount(links.edges[inside].ravel(), minlength=len(groups))
    score = own**2 / np.maximum(links.degrees, 1)
    found = []
    for label in range(int(groups.max(initial=-1)) + 1):
        words = np.flatnonzero(groups == label)
        if len(words) >= 4:  # smaller ones come from a few rare words by chance
            found.append(words[np.argsort(-score[words], kind="stable")])
    return found


def _topics(imager: TopicImager, members: list[IntArray], again: list[IntArray]) -> Topics:
    corpus, weights = imager.corpus_, imager.weights_
    while True:
        amounts = np.zeros((len(corpus.titles), len(members)))
        for number, words in enumerate(members):
            amounts[:, number] = weights[:, words].sum(axis=1)
        total = amounts.sum(axis=1, keepdims=True)
        shares = amounts / np.where(total > 0, total, 1.0)
        main = Topics((), corpus.titles, shares).main
        led = np.bincount(main[main >= 0], minlength=len(members))
        if led.all():
            break
        # Drop topics that lead no document; the others lead the same documents without them.
        members = [members[number] for number in np.flatnonzero(led)]
    topics = []
    for number, words in enumerate(members):
        scores = amounts[:, number] * shares[:, number]
        best = np.argsort(-scores, kind="stable")[:3]
        examples = tuple(match(corpus, row, scores[row]) for row in best if scores[row] > 0)
        names = tuple(corpus.words[j] for j in words)
        topics.append(Topic(names, int(led[number]), examples, _stability(words[:10], again)))
    order = sorted(range(len(topics)), key=lambda number: -topics[number].n_documents)
    return Topics(
        tuple(topics[number] for number in order), corpus.titles, shares[:, order], corpus.groups
    )


def _stability(words: IntArray, again: list[IntArray]) -> float:
    """Return the share of pairs of words that share a community in the other groupings."""
    first, second = np.triu_indices(len(words), 1)
    shares = [
        np.mean((groups[words][first] == groups[words][second]) & (groups[words][first] >= 0))
        for groups in again
    ]
    return float(np.mean(shares)) if shares else float("nan")
