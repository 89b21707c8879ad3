"""Limits on single requests, and on all requests together."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

import sketchlasso as sl

# More threads than cores make every query slower, and the event loop late.
WORKERS = min(4, max(2, os.cpu_count() or 1))


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds that keep the server responsive under any load.

    Attributes
    ----------
    word_length : int
        Characters of a word, prefix or excluded word.
    words : int
        Words asked for together.
    excluded : int
        Words left out on request.
    n_words : int
        Words of an image.
    completions : int
        Words offered for a prefix.
    documents : int
        Documents behind an image.
    excerpt : int
        Characters shown of a document.
    map_words, map_edges : int
        Size of the map; the words with most links and the strongest links are kept.
    workers : int
        Queries solved at the same time; as many as there are cores by default, from 2 to 4.
    waiting : int
        Queries that may wait for a worker; the next ones are refused with 503.
    wait_seconds : float
        Time that a query waits for a worker before it is refused with 503.
    seconds : float
        Time after which a query that was begun is given up with 504.
    late_seconds : float
        Time within which the server must take a request up; while many are under way, one that
        it takes up later is refused with 503, before any work.
    connections : int
        Connections open at the same time; fewer where the system allows fewer open files. Beyond
        that, the one that has waited longest for its request is closed.
    request_seconds : float
        Time in which a request must arrive completely, counted from the connection or from the
        previous answer.

    Raises
    ------
    InvalidInputError
        A limit is not positive.
    """

    word_length: int = 64
    words: int = 8
    excluded: int = 32
    n_words: int = 50
    completions: int = 50
    documents: int = 20
    excerpt: int = 600
    map_words: int = 20_000
    map_edges: int = 60_000
    workers: int = WORKERS
    waiting: int = 16
    wait_seconds: float = 0.5
    seconds: float = 10.0
    late_seconds: float = 0.05
    connections: int = 1000
    request_seconds: float = 10.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "waiting" else 1
            if not (value >= least if field.type == "int" else value > 0):
                raise sl.errors.InvalidInputError(
                    f"{field.name}={value!r} was given as a limit, but it must be positive; "
                    "leave it out to use the default."
                )
