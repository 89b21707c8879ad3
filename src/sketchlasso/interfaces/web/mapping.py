"""Topics and the map of all words, made once in the background; needs the extra `web`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from fastapi import HTTPException

import sketchlasso as sl
from sketchlasso.interfaces.web.application import Body, finite
from sketchlasso.types import IntArray

# The map shows the words with most links and the strongest links.
MAP_WORDS, MAP_LINKS = 20_000, 60_000


class TopicMap:
    """The topics of a corpus and the map of its words; its answers wait until they are made."""

    def __init__(
        self,
        imager: sl.topics.TopicImager,
        images: sl.topics.WordImages,
        frequency: Mapping[str, int],
    ) -> None:
        self._imager, self._images, self._frequency = imager, images, frequency
        self._topics: Future[sl.topics.Topics]
        self._stable: Future[sl.topics.Topics]
        self._map: Future[Body]

    def start(self) -> None:
        """Start the work in a thread of its own."""
        pool = ThreadPoolExecutor(1, thread_name_prefix="sketchlasso-map")
        find = partial(sl.topics.find_topics, self._imager, self._images)
        self._topics = self._stable = pool.submit(find, stability=False)
        self._map = pool.submit(self._lay_out)
        if len(self._images.words) <= 10_000:  # stability is slow
            self._stable = pool.submit(find, stability=True)
        pool.shutdown(wait=False)

    def map(self) -> Body:
        """Return the map; topics are its communities."""
        return self._map.result()

    def topics(self) -> Body:
        """Return all topics, with their stability once that is computed."""
        topics = self._found().topics
        return {"topics": [self._described(n, topic, 12) for n, topic in enumerate(topics)]}

    def topic(self, number: int) -> Body:
        """Return one topic with all its words, and 200 documents that are mostly about it."""
        topics = self._found()
        if not 0 <= number < len(topics):
            raise HTTPException(
                404, f"there is no topic {number}; they are counted from 0 to {len(topics) - 1}."
            )
        share = topics.shares[:, number]
        rows = np.flatnonzero(topics.main == number)
        rows = rows[np.argsort(-share[rows], kind="stable")][:200]
        title = self._imager.corpus_.readable_title
        documents = [
            {"number": row, "title": title(row), "share": float(share[row])}
            for row in rows.tolist()
        ]
        return self._described(number, topics.topics[number], None) | {"documents": documents}

    def _found(self) -> sl.topics.Topics:
        return (self._stable if self._stable.done() else self._topics).result()

    def _described(self, number: int, topic: sl.topics.Topic, most: int | None) -> Body:
        return {
            "number": number,
            "label": list(topic.label),
            "words": [
                {"word": word, "documents": self._frequency[word]} for word in topic.words[:most]
            ],
            "n_words": len(topic.words),
            "n_documents": topic.n_documents,
            "stability": finite(topic.stability),
            "examples": [one.title for one in topic.examples],
        }

    def _lay_out(self) -> Body:
        topics, words = self._topics.result(), self._images.words
        graph = sl.topics.word_graph(self._images.weights, words)
        labels = [list(topic.words[:8]) for topic in topics.topics]
        return graph_map(graph, topics.of_word(words), self._frequency, labels)


def graph_map(
    graph: Any,
    communities: IntArray,
    sizes: Mapping[str, int],
    labels: Sequence[list[str]] = (),
) -> Body:
    """Return a graph with places and communities (n_nodes,).

    Nodes without links are left out, because they have no place. The dots of the nodes have
    `sizes` of at least one; `labels` are the words that set each community apart.
    """
    places = list(sl.graphs.force_layout(graph).values())
    links = sl.graphs.links_of(graph)
    # Ties by position, so that the same graph gives the same map.
    shown = np.sort(np.argsort(-links.degrees, kind="stable")[:MAP_WORDS])
    shown = shown[links.degrees[shown] > 0]
    number = np.full(len(links.names), -1)
    number[shown] = np.arange(len(shown))
    ends = number[links.edges]
    inside = np.flatnonzero((ends >= 0).all(axis=1))
    strongest = np.argsort(-np.abs(links.weights[inside]), kind="stable")[:MAP_LINKS]
    drawn = inside[np.sort(strongest)]
    return {
        "nodes": [
            {
                "word": links.names[place],
                "x": round(float(places[place][0]), 4),
                "y": round(float(places[place][1]), 4),
                "community": int(communities[place]),
                "size": sizes[links.names[place]],
            }
            for place in shown
        ],
        "edges": [
            (int(source), int(target), float(f"{weight:.3g}"))
            for (source, target), weight in zip(ends[drawn], links.weights[drawn], strict=True)
        ],
        "labels": list(labels),
        "n_words": len(links.names),
        "n_edges": len(links.edges),
    }
