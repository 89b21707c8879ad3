"""The explorer under load: clients that never pause, then requests that mean harm.

Starts the real server in a process of its own and asks it over loopback: mixed requests from 50
clients at once for 60 seconds, each waiting only for its own answer; every answer must have the
status that belongs to it. Then one hostile request after another, each of which must be refused
with a 4xx, while the server goes on answering.

    python -m benchmarks serve_load
    python -m benchmarks serve_load --seconds 10 --model nips.topics --images nips.images
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

import numpy as np

import sketchlasso as sl
from benchmarks.serve_requests import HOSTILE, mixed

SERVER = """
import sys
import sketchlasso as sl
from sketchlasso.interfaces.web import serve
images = sl.load_images(sys.argv[2]) if sys.argv[2] else None
serve(sl.load_topics(sys.argv[1]), images, port=0)
"""
IDLE = 100
# What cannot be answered within this is an error.
PATIENCE = 30.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, help="of the load (60; quick: 3)")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--model", type=Path, help="of TopicImager.save (embedded corpus)")
    parser.add_argument("--images", type=Path, help="of image_all, for the map")


@dataclass
class Line:
    """One connection that is kept open, as a browser keeps it."""

    host: str
    port: int
    ends: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, target: str) -> tuple[int, bytes]:
        """Status and body."""
        head = f"GET {target} HTTP/1.1\r\nHost: {self.host}\r\n\r\n"
        return await self.send(head.encode())

    async def send(self, request: bytes) -> tuple[int, bytes]:
        if self.ends is None:
            self.ends = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.ends
        writer.write(request)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = next(
            (int(row[15:]) for row in head.split("\r\n") if row.startswith("content-length:")), 0
        )
        body = await reader.readexactly(length)
        if "connection: close" in head:
            await self.close()
        return int(head.split(" ", 2)[1]), body

    async def close(self) -> None:
        if self.ends is not None:
            self.ends[1].close()
            self.ends = None


@dataclass
class Tally:
    """Seconds of every kind of request, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, seconds: float, fine: bool) -> None:
        self.seconds.setdefault(kind, []).append(seconds)
        self.errors[kind] = self.errors.get(kind, 0) + (not fine)


@contextmanager
def serving(model: Path, images: Path | None) -> Iterator[tuple[str, int, subprocess.Popen[str]]]:
    """Run the server in a process; where it is, and the process."""
    command = [sys.executable, "-c", SERVER, str(model), str(images or "")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().split()[4])
            yield str(address.hostname), int(address.port or 0), process
        finally:
            process.terminate()


async def client(line: Line, number: int, words: list[str], end: float, tally: Tally) -> None:
    """Ask without a pause until the end."""
    for ask in mixed(words, number):
        start = perf_counter()
        if start >= end:
            break
        try:
            status, _ = await asyncio.wait_for(line.get(ask.target), PATIENCE)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            await line.close()
            status = 0
        tally.add(ask.kind, perf_counter() - start, status in ask.statuses)
    await line.close()


async def load(host: str, port: int, words: list[str], options: argparse.Namespace) -> float:
    """Put the server under load and report each kind of request; seconds it took."""
    tally, start = Tally(), perf_counter()
    end = start + options.seconds
    crowd = [
        client(Line(host, port), number, words, end, tally) for number in range(options.clients)
    ]
    await asyncio.gather(*crowd)
    taken = perf_counter() - start
    together = list(chain.from_iterable(tally.seconds.values()))
    kinds = {**dict(sorted(tally.seconds.items())), "all": together}
    for kind, seconds in kinds.items():
        errors = sum(tally.errors.values()) if kind == "all" else tally.errors[kind]
        middle, high = np.percentile(seconds, [50, 99])
        options.report.add(
            request=kind,
            number=len(seconds),
            errors=errors,
            **{"per second": len(seconds) / taken, "p50 ms": 1e3 * middle, "p99 ms": 1e3 * high},
            **{"max ms": 1e3 * max(seconds)},
        )
    return taken


async def attack(host: str, port: int, options: argparse.Namespace) -> int:
    """Send the hostile requests; how many were not refused as they should be."""
    wrong = 0
    for ask in HOSTILE:
        line = Line(host, port)
        try:
            status, _ = await asyncio.wait_for(line.send(ask.request(host)), PATIENCE)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            status = 0
        await line.close()
        health, _ = await Line(host, port).get("/api/health")
        fine = status in ask.statuses and health == 200
        wrong += not fine
        options.report.add(request=f"hostile: {ask.kind}", status=status, refused=fine)
    return wrong


async def idle(host: str, port: int) -> float:
    """Seconds of an answer while many connections are open and say nothing."""
    lines = [await asyncio.open_connection(host, port) for _ in range(IDLE)]
    for _, writer in lines[::2]:
        writer.write(b"GET /api/image?word=")  # and never the rest
    start = perf_counter()
    status, _ = await asyncio.wait_for(Line(host, port).get("/api/health"), PATIENCE)
    taken = perf_counter() - start
    for _, writer in lines:
        writer.close()
    assert status == 200
    return taken


def run(options: argparse.Namespace) -> None:
    options.seconds = options.seconds or (3.0 if options.quick else 60.0)
    with tempfile.TemporaryDirectory() as folder:
        model, images = options.model, options.images
        if model is None:
            model, images = prepared(Path(folder), options.quick)
        imager = sl.load_topics(model)
        words = [str(word) for word in imager.words_]
        options.report.note(
            f"{len(words)} words, {imager.corpus_.shape[0]} documents; {options.clients} clients "
            f"for {options.seconds:g} s on loopback"
        )
        with serving(model, images) as (host, port, process):
            asyncio.run(load(host, port, words, options))
            wrong = asyncio.run(attack(host, port, options))
            waited = asyncio.run(idle(host, port))
            options.report.note(
                f"hostile requests that were not refused: {wrong} of {len(HOSTILE)}; server "
                f"{'still up' if process.poll() is None else 'DOWN'}; {1e3 * waited:.0f} ms for an "
                f"answer beside {IDLE} silent connections"
            )


def prepared(folder: Path, quick: bool) -> tuple[Path, Path | None]:
    """The embedded corpus, and all its images unless in a hurry."""
    imager = sl.TopicImager(random_state=0).fit(sl.embedded_corpus())
    imager.save(folder / "embedded.topics")
    if quick:
        return folder / "embedded.topics", None
    imager.image_all(folder / "embedded.images")
    return folder / "embedded.topics", folder / "embedded.images"
