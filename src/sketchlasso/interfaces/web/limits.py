"""What a request may ask for: limits, and the parsing of parameters within them."""

from __future__ import annotations

import math
import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, fields

from sketchlasso.errors import InvalidInputError

NUMBER = r"[0-9]{1,12}(?:\.[0-9]{0,12})?(?:e[-+]?[0-9]{1,2})?|\.[0-9]{1,12}(?:e[-+]?[0-9]{1,2})?"
AMOUNT = re.compile(
    rf"(?P<number>{NUMBER})|(?:(?P<factor>{NUMBER})\*)?(?P<of>auto|spectral|realised)",
    re.ASCII,
)
# Characters that are not text: control characters, halves of surrogate pairs, private and
# unassigned code points.
NOT_TEXT = {"Cc", "Cs", "Co", "Cn"}
# Replaces bytes that were not UTF-8.
REPLACED = "\N{REPLACEMENT CHARACTER}"
SHOWN = 40
# More threads than cores slow down every query and the event loop.
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
        Time after which a running query is given up with 504.
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
                raise InvalidInputError(
                    f"{field.name}={value!r} was given as a limit, but it must be positive; "
                    "leave it out to use the default."
                )


@dataclass(frozen=True)
class Amount:
    """A number (`of` is empty), or a multiple of a named number."""

    factor: float
    of: str = ""


AUTOMATIC = Amount(1.0, "auto")


@dataclass(frozen=True)
class ImageQuery:
    """An image to compute; `positive=None` uses the setting of the model."""

    words: tuple[str, ...]
    n_words: int = 10
    alpha: Amount = AUTOMATIC
    radius: Amount = AUTOMATIC
    positive: bool | None = None
    exclude: tuple[str, ...] = ()


def read_words(name: str, texts: Sequence[str], limits: Limits, most: int) -> tuple[str, ...]:
    """Return the words of a parameter that may be repeated, each once, in the order given."""
    if len(texts) > most:
        raise InvalidInputError(
            f"{len(texts)} values of {name} were given, but at most {most} are accepted; "
            "ask for fewer."
        )
    return tuple(dict.fromkeys(read_word(name, text, limits) for text in texts))


def read_word(name: str, text: str, limits: Limits, *, empty: bool = False) -> str:
    """Return a word (or a prefix, which may be empty) as the vocabulary would write it."""
    word = unicodedata.normalize("NFC", text.strip(" "))
    if len(word) > limits.word_length:
        raise InvalidInputError(
            f"{name} has {len(word)} characters, but at most {limits.word_length} are accepted; "
            "ask for a shorter word."
        )
    if any(unicodedata.category(character) in NOT_TEXT for character in word) or REPLACED in word:
        raise InvalidInputError(
            f"{name}={shown(word)} holds characters that are not text, but a word in UTF-8 is "
            "accepted; leave them out."
        )
    if not word and not empty:
        raise InvalidInputError(f"{name} is empty, but a word is needed; give one.")
    return word


def read_amount(
    name: str, text: str | None, scales: Sequence[str], *, zero: bool = False
) -> Amount:
    """Return a penalty or radius: ``0.5``, ``auto``, ``2*auto``, ``0.1*spectral``."""
    if text is None:
        return AUTOMATIC
    found = AMOUNT.fullmatch(text.strip(" ").lower()) if len(text) <= SHOWN else None
    if found is not None:
        factor, of = float(found["number"] or found["factor"] or 1.0), found["of"] or ""
        if math.isfinite(factor) and (factor > 0 or zero) and of in ("", *scales):
            return Amount(factor, of)
    least = "not negative" if zero else "positive"
    raise InvalidInputError(
        f"{name}={shown(text)} was given, but a {least} number, {' or '.join(scales)}, or a "
        f"multiple such as 0.5*{scales[0]} is accepted; correct it or leave it out."
    )


def shown(text: str) -> str:
    """Return a value as errors quote it: escaped, and shortened if it is long."""
    return ascii(text if len(text) <= SHOWN else text[:SHOWN] + "...")
