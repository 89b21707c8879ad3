"""Requests of ordinary visitors and hostile requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

FINE = (200,)
UNKNOWN = (404,)
MALFORMED = (422,)
LONG = "x" * 10_000


@dataclass(frozen=True)
class Ask:
    """A request, and the statuses that are right answers to it."""

    kind: str
    target: str
    statuses: tuple[int, ...] = FINE
    method: str = "GET"
    headers: str = ""
    body: str = ""
    raw: bytes = b""

    def request(self, host: str) -> bytes:
        """Return the bytes to send."""
        called = "" if "Host:" in self.headers else f"Host: {host}\r\n"
        length = f"Content-Length: {len(self.body)}\r\n" if self.body else ""
        head = f"{self.method} {self.target} HTTP/1.1\r\n{called}{self.headers}{length}\r\n"
        return self.raw or (head + self.body).encode("latin-1")


def mixed(words: list[str], seed: int) -> Iterator[Ask]:
    """Yield what a visitor's page asks for, without end; the words are quoted as in an address."""
    rng = np.random.default_rng(seed)
    kinds = ("words", "image", "slider", "neighbours", "documents", "compare", "unknown", "page")
    shares = (0.25, 0.25, 0.2, 0.08, 0.1, 0.05, 0.02, 0.05)
    while True:
        kind = str(rng.choice(kinds, p=shares))
        one, other, *eight = (words[place] for place in rng.integers(len(words), size=10))
        n = int(rng.integers(3, 25))
        factor = 2.0 ** rng.integers(-2, 3)
        together = "&".join(f"word={word}" for word in eight)
        yield {
            "words": Ask(kind, f"/api/words?prefix={one[:2]}&count=8"),
            "image": Ask(kind, f"/api/image?word={one}"),
            "slider": Ask(kind, f"/api/image?word={one}&n_words={n}&alpha={factor}*auto"),
            "neighbours": Ask(kind, f"/api/images?{together}&n_words=3"),
            "documents": Ask(kind, f"/api/documents?word={one}&n_words={n}&count=6"),
            "compare": Ask(kind, f"/api/compare?first={one}&second={other}"),
            "unknown": Ask(kind, f"/api/image?word={one}qzx", UNKNOWN),
            "page": Ask(kind, str(rng.choice(["/", "/static/app.js", "/static/style.css"]))),
        }[kind]


def _image(kind: str, query: str, statuses: tuple[int, ...] = MALFORMED) -> Ask:
    return Ask(kind, f"/api/image?{query}", statuses)


HOSTILE = (
    _image("word of 10 kB", f"word={LONG}"),
    _image("control characters", "word=a%00b%1b%5b2J"),
    _image("line breaks", "word=a%0d%0aX-Evil:%201"),
    _image("bytes that are not UTF-8", "word=%ff%fe"),
    _image("path-like word", "word=../../etc/passwd", UNKNOWN),
    _image("path-like word, encoded", "word=%2e%2e%2f%2e%2e%2fetc%2fpasswd", UNKNOWN),
    _image("markup", "word=%3Cscript%3Ealert(1)%3C/script%3E", UNKNOWN),
    _image("no word", "n_words=3"),
    _image("a thousand words", "&".join(["word=array"] * 1000)),
    _image("wrong type", "word=array&n_words=ten"),
    _image("negative count", "word=array&n_words=-5"),
    _image("huge count", f"word=array&n_words={'9' * 1000}"),
    _image("NaN", "word=array&alpha=nan"),
    _image("infinity", "word=array&radius=inf"),
    _image("code", "word=array&radius=__import__('os').getcwd()"),
    Ask("negative documents", "/api/documents?word=array&count=-1", MALFORMED),
    Ask("prefix of 10 kB", f"/api/words?prefix={LONG}", MALFORMED),
    Ask("path out of the page", "/static/../../../../etc/passwd", UNKNOWN),
    Ask("path out of the page, encoded", "/static/%2e%2e%2f%2e%2e%2fetc/passwd", UNKNOWN),
    Ask("name of another host", "/api/health", (400,), headers="Host: evil.example\r\n"),
    Ask("POST", "/api/image?word=array", (405,), "POST", body="x" * 1000),
    Ask("DELETE", "/", (405,), "DELETE"),
    Ask("address of 100 kB", f"/?{'x' * 100_000}", (400, 414, 431)),
    Ask("header of 100 kB", "/", (400, 431), headers=f"X-Long: {'x' * 100_000}\r\n"),
    Ask("no HTTP at all", "", (400,), raw=b"\x16\x03\x01\x00\xa5\x01\x00\r\n\r\n"),
    Ask("null in the address", "", (400,), raw=b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
)
