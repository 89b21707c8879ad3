"""Topics and the map of all words, made once in the background; needs the extra `web`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Any, TypeVar

import numpy as np

import sketchlasso as sl
from sketchlasso.interfaces.web import payloads
from sketchlasso.interfaces.web.gate import RefusedError
from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.types import IntArray

# Seconds that a request waits for the map before it is asked to try again.
PATIENCE = 2.0
# Largest vocabulary for which the server computes stability, which is slow.
STABILITY_WORDS = 10_000
TOPIC_WORDS, MAP_LABELS = 12, 8


Made = TypeVar("Made")


class NoMapError(RefusedError):
    """There are no images to make a map of."""

    status = 404
    message = (
        "there are no topics and no map, because the images of the whole vocabulary are missing; "
        "run 'sketchlasso topics all' on the model and serve it again."
    )


class NotYetError(RefusedError):
    """The map is being laid out."""

    status, message, again = 503, "topics and map are being made; ask again in a moment.", 2


class MapDesk:
    """Finds topics, lays out the map and measures stability, once, in its own thread."""

    def __init__(
        self,
        imager: sl.topics.TopicImager,
        images: sl.topics.WordImages | None,
        frequency: Mapping[str, int],
        limits: Limits,
    ) -> None:
        self._imager = imager
        self._images = images
        self._frequency = frequency
        self._limits = limits
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sketchlasso-map")
        self._lock = Lock()
        self._topics: Future[sl.topics.Topics] | None = None
        self._stable: Future[sl.topics.Topics] | None = None
        self._map: Future[payloads.Page] | None = None

    def start(self) -> None:
        """Start the work, unless it has been started or there are no images."""
        images = self._images
        with self._lock:
            if images is None or self._topics is not None:
                return
            find = partial(sl.topics.find_topics, self._imager, images)
            topics = self._topics = self._pool.submit(find, stability=False)
            self._map = self._pool.submit(
                lambda: encoded(whole_map(images, topics.result(), self._frequency, self._limits))
            )
            if len(images.words) <= STABILITY_WORDS:
                self._stable = self._pool.submit(find, stability=True)

    async def map(self) -> payloads.Page:
        """Return the map, or raise NoMapError or NotYetError."""
        self.start()
        return await _finished(self._map)

    async def topics(self) -> payloads.Topics:
        """Return the topics, or raise NoMapError or NotYetError."""
        self.start()
        stable = self._stable is not None and self._stable.done()
        found = await _finished(self._stable if stable else self._topics)
        return _topic_list(found, self._frequency)

    def close(self) -> None:
        """Accept no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def _finished(future: Future[Made] | None) -> Made:
    if future is None:
        raise NoMapError
    # Cancelling the wait must not cancel the work.
    answer = asyncio.shield(asyncio.wrap_future(future))
    done, _ = await asyncio.wait({answer}, timeout=PATIENCE)
    if not done:
        answer.cancel()
        raise NotYetError
    return answer.result()


def _topic_list(found: sl.topics.Topics, frequency: Mapping[str, int]) -> payloads.Topics:
    return payloads.Topics(
        topics=[
            payloads.Topic(
                label=list(topic.label),
                words=[
                    payloads.WordCount(word=word, documents=frequency[word])
                    for word in topic.words[:TOPIC_WORDS]
                ],
                n_words=len(topic.words),
                n_documents=topic.n_documents,
                stability=topic.stability,
                examples=[one.title for one in topic.examples],
            )
            for topic in found.topics
        ]
    )


def whole_map(
    images: sl.topics.WordImages,
    topics: sl.topics.Topics,
    frequency: Mapping[str, int],
    limits: Limits,
) -> payloads.Map:
    """Return the map of the linked words, within the limits; topics are the communities.

    `frequency` counts the documents of each word.
    """
    graph = sl.topics.word_graph(images.weights, images.words)
    labels = [list(topic.words[:MAP_LABELS]) for topic in topics.topics]
    return graph_map(graph, topics.of_word(images.words), frequency, limits, labels)


def graph_map(
    graph: Any,
    communities: IntArray,
    sizes: Mapping[str, int],
    limits: Limits,
    labels: Sequence[list[str]] = (),
) -> payloads.Map:
    """Return a graph with places and communities (n_nodes,), within the limits.

    Nodes without links are left out, because they have no place. The dots of the nodes have
    `sizes` of at least one.
    """
    places = list(sl.graphs.force_layout(graph).values())
    links = sl.graphs.links_of(graph)
    degrees = links.degrees
    # Ties by position, so that the same graph gives the same map.
    shown = np.sort(np.argsort(-degrees, kind="stable")[: limits.map_words])
    shown = shown[degrees[shown] > 0]
    number = np.full(len(links.names), -1)
    number[shown] = np.arange(len(shown))
    edges, weights = number[links.edges], links.weights
    inside = np.flatnonzero((edges >= 0).all(axis=1))
    strongest = np.argsort(-np.abs(weights[inside]), kind="stable")[: limits.map_edges]
    kept = np.sort(inside[strongest])
    return payloads.Map(
        nodes=[
            payloads.MapWord(
                word=links.names[place],
                x=round(float(places[place][0]), 4),
                y=round(float(places[place][1]), 4),
                community=int(communities[place]),
                size=sizes[links.names[place]],
            )
            for place in shown
        ],
        edges=[
            (int(source), int(target), float(f"{weight:.3g}"))
            for (source, target), weight in zip(edges[kept], weights[kept], strict=True)
        ],
        labels=list(labels),
        n_words=len(links.names),
        n_edges=len(links.edges),
    )


def encoded(found: payloads.Map) -> payloads.Page:
    """Return a map as a compressed document."""
    return payloads.Page.of(found.model_dump_json(), "application/json", zipped=True)
