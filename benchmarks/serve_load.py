"""The explorer under load: clients that never pause, then hostile requests.

Starts the real server in a process of its own and sends it mixed requests over loopback, from 200
clients at once for 60 seconds. A client sends its next request as soon as it has the answer to the
last one. After a 503 it waits for as long as Retry-After says, and repeats the request. Every other
answer must have the expected status. Then come hostile requests, one after another: each must be
refused with a 4xx, while the server keeps answering.

    python -m benchmarks serve_load
    python -m benchmarks serve_load --seconds 10 --model nips.topics --images nips.images
"""

from __future__ import annotations

import asyncio
import math
import re
import resource
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np

from benchmarks.serve_requests import HOSTILE, mixed
from sketchlasso.topics import TopicImager, embedded_corpus, load_topics

SERVER = """
import sys
from sketchlasso.topics import TopicImager, embedded_corpus, load_images, load_topics
from sketchlasso.interfaces.web import serve
images = load_images(sys.argv[2]) if sys.argv[2] else None
serve(load_topics(sys.argv[1]), images, port=0)
"""
IDLE = 100
LENGTH = re.compile(rb"\ncontent-length: *(\d+)")
AGAIN = re.compile(rb"\nretry-after: *(\d+)")
# What cannot be answered within this is an error.
PATIENCE = 30.0


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, help="of the load (60; quick: 3)")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--model", type=Path, help="of TopicImager.save (embedded corpus)")
    parser.add_argument("--images", type=Path, help="of image_all, for the map")


class Answer(NamedTuple):
    status: int
    # Seconds that Retry-After asks for.
    again: float | None = None


@dataclass
class Line:
    """One connection that is kept open, as a browser keeps it."""

    host: str
    port: int
    ends: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, target: str) -> Answer:
        head = f"GET {target} HTTP/1.1\r\nHost: {self.host}\r\n\r\n"
        return await self.send(head.encode())

    async def send(self, request: bytes) -> Answer:
        """Return the answer, or status 0 if none came."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._exchange(request)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            await self.close()
            return Answer(0)

    async def close(self) -> None:
        if self.ends is not None:
            self.ends[1].close()
            self.ends = None

    async def _exchange(self, request: bytes) -> Answer:
        if self.ends is None:
            self.ends = await asyncio.open_connection(self.host, self.port)
        reader, writer = self.ends
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length, again = LENGTH.search(head), AGAIN.search(head)
        await reader.readexactly(int(length[1]) if length else 0)
        if b"connection: close" in head:
            await self.close()
        return Answer(int(head[9:12]), float(again[1]) if again else None)


@dataclass
class Tally:
    """Times and outcomes of the requests of one kind."""

    # Of every request that was sent, until its answer.
    seconds: list[float] = field(default_factory=list)
    # Of those whose answer was other than 503.
    answered: list[float] = field(default_factory=list)
    # Of every question, until its answer other than 503, with the waits that Retry-After asked for.
    whole: list[float] = field(default_factory=list)
    busy: int = 0
    errors: Counter[int] = field(default_factory=Counter)

    def merge(self, other: Tally) -> None:
        self.seconds += other.seconds
        self.answered += other.answered
        self.whole += other.whole
        self.busy += other.busy
        self.errors += other.errors

    def row(self, taken: float) -> dict[str, float | int]:
        middle, high = percentiles(self.seconds)
        answered, whole = percentiles(self.answered), percentiles(self.whole)
        return {
            "sent": len(self.seconds),
            "503": self.busy,
            "errors": self.errors.total(),
            "answered per second": len(self.answered) / taken,
            "p50 ms": 1e3 * middle,
            "p99 ms": 1e3 * high,
            "max ms": 1e3 * max(self.seconds),
            "answered p50 ms": 1e3 * answered[0],
            "answered p99 ms": 1e3 * answered[1],
            "with retries p50 ms": 1e3 * whole[0],
            "with retries p99 ms": 1e3 * whole[1],
        }


@contextmanager
def serving(model: Path, images: Path | None) -> Iterator[tuple[str, int, subprocess.Popen[str]]]:
    """Run the server in a process; yield its host, its port and the process."""
    command = [sys.executable, "-c", SERVER, str(model), str(images or "")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = urlsplit(process.stdout.readline().split()[4])
            yield str(address.hostname), int(address.port or 0), process
        finally:
            process.terminate()


async def client(
    line: Line, number: int, words: list[str], end: float, tallies: dict[str, Tally]
) -> None:
    """Ask without a pause until the end; wait only as long as Retry-After asks for."""
    for ask in mixed(words, number):
        tally, began = tallies[ask.kind], perf_counter()
        while (start := perf_counter()) < end:
            answer = await line.get(ask.target)
            now = perf_counter()
            tally.seconds.append(now - start)
            if answer.status == 503 and answer.again is not None:
                tally.busy += 1
                await asyncio.sleep(min(answer.again, max(0.0, end - now)))
                continue
            tally.answered.append(now - start)
            tally.whole.append(now - began)
            if answer.status not in ask.statuses:
                tally.errors[answer.status] += 1
            break
        else:
            break
    await line.close()


async def load(host: str, port: int, pid: int, words: list[str], options: Namespace) -> None:
    """Put the server under load; report each kind of request and the server's memory."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    first, start = resident(pid), perf_counter()
    end = start + options.seconds
    crowd = asyncio.gather(
        *(
            client(Line(host, port), number, words, end, tallies)
            for number in range(options.clients)
        )
    )
    await asyncio.sleep(options.seconds / 2)
    middle = resident(pid)
    await crowd
    taken, last = perf_counter() - start, resident(pid)
    together = Tally()
    for kind, tally in sorted(tallies.items()):
        together.merge(tally)
        options.report.add(request=kind, **tally.row(taken))
    options.report.add(request="all", **together.row(taken))
    options.report.note(
        f"statuses that are errors (0: no answer): {dict(together.errors) or 'none'}; resident "
        f"memory of the server before the load, in its middle and at its end: {first:.0f}, "
        f"{middle:.0f}, {last:.0f} MiB"
    )


def percentiles(seconds: list[float]) -> tuple[float, float]:
    """Median and 99th percentile."""
    if not seconds:
        return math.nan, math.nan
    middle, high = np.percentile(seconds, [50, 99])
    return float(middle), float(high)


def resident(pid: int) -> float:
    """Memory of a process in MiB; NaN where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return math.nan
    return pages * resource.getpagesize() / 2**20


async def attack(host: str, port: int, options: Namespace) -> int:
    """Send the hostile requests; how many were not refused as they should be."""
    wrong = 0
    for ask in HOSTILE:
        line, healthy = Line(host, port), Line(host, port)
        answer = await line.send(ask.request(host))
        health = await healthy.get("/api/health")
        await line.close()
        await healthy.close()
        fine = answer.status in ask.statuses and health.status == 200
        wrong += not fine
        options.report.add(request=f"hostile: {ask.kind}", status=answer.status, refused=fine)
    return wrong


async def idle(host: str, port: int) -> float:
    """Seconds of an answer while many connections are open and silent."""
    lines = [await asyncio.open_connection(host, port) for _ in range(IDLE)]
    for _, writer in lines[::2]:
        writer.write(b"GET /api/image?word=")  # and never the rest
    start, line = perf_counter(), Line(host, port)
    answer = await line.get("/api/health")
    taken = perf_counter() - start
    await line.close()
    for _, writer in lines:
        writer.close()
    assert answer.status == 200
    return taken


def run(options: Namespace) -> None:
    options.seconds = options.seconds or (3.0 if options.quick else 60.0)
    with tempfile.TemporaryDirectory() as folder:
        model, images = options.model, options.images
        if model is None:
            model, images = prepared(Path(folder), options.quick)
        imager = load_topics(model)
        # Quoted once: the clients share the machine with the server, and have to be cheap.
        words = [quote(str(word)) for word in imager.words_]
        options.report.note(
            f"{len(words)} words, {imager.corpus_.shape[0]} documents; {options.clients} clients "
            f"for {options.seconds:g} s on loopback"
        )
        with serving(model, images) as (host, port, process):
            asyncio.run(load(host, port, process.pid, words, options))
            wrong = asyncio.run(attack(host, port, options))
            waited = asyncio.run(idle(host, port))
            options.report.note(
                f"hostile requests that were not refused: {wrong} of {len(HOSTILE)}; server "
                f"{'still up' if process.poll() is None else 'DOWN'}; {1e3 * waited:.0f} ms for an "
                f"answer beside {IDLE} silent connections"
            )


def prepared(folder: Path, quick: bool) -> tuple[Path, Path | None]:
    """The embedded corpus, and all its images unless in a hurry."""
    imager = TopicImager(random_state=0).fit(embedded_corpus())
    imager.save(folder / "embedded.topics")
    if quick:
        return folder / "embedded.topics", None
    imager.image_all(folder / "embedded.images")
    return folder / "embedded.topics", folder / "embedded.images"
