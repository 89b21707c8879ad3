"""Timing: contenders in turns, and peers under a time limit in a process of their own."""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from time import perf_counter
from typing import Any

import numpy as np

START_LIMIT = 600.0


@dataclass(frozen=True)
class Measured:
    """Seconds of every run, and what the last run returned."""

    seconds: list[float]
    value: Any = None

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def spread(self) -> float:
        """Slowest over fastest run."""
        return max(self.seconds) / min(self.seconds)


@dataclass(frozen=True)
class Outcome:
    """One run of a peer under a time limit; `failure` is empty when it finished."""

    seconds: float
    value: Any = None
    failure: str = ""

    @property
    def finished(self) -> bool:
        return not self.failure


Contenders = dict[str, Callable[[], Any]]
Setup = Callable[..., Callable[[], Any]]
Stepping = Callable[..., Iterator[Any]]


def interleave(
    contenders: Contenders,
    repeats: int,
    *,
    warm_up: bool = True,
    least: int | None = None,
    enough: float = math.inf,
) -> dict[str, Measured]:
    """Run all contenders in turns: one round that does not count, then `repeats` that do.

    A slow phase of the machine then hits every side, and compilation none. After `enough` seconds
    no round beyond the `least` number begins.
    """
    measured = {name: Measured([]) for name in contenders}
    if warm_up:
        for run in contenders.values():
            run()
    start = perf_counter()
    for number in range(repeats):
        if least is not None and number >= least and perf_counter() - start > enough:
            break
        measured = _one_round(contenders, measured)
    return measured


def alternate(
    ours: Contenders, peers: dict[str, Callable[[], Outcome]], repeats: int
) -> tuple[dict[str, Measured], dict[str, Outcome]]:
    """Slow peers once each, a round of ours before every one of them and after the last."""
    for run in ours.values():
        run()
    measured = {name: Measured([]) for name in ours}
    outcomes = {}
    for name, peer in peers.items():
        measured = _one_round(ours, measured)
        outcomes[name] = peer()
    for _ in range(max(1, repeats - len(peers))):
        measured = _one_round(ours, measured)
    return measured, outcomes


def timed(run: Callable[[], Any]) -> Outcome:
    """One run here, without a limit."""
    gc.collect()
    start = perf_counter()
    value = run()
    return Outcome(perf_counter() - start, value)


def _one_round(contenders: Contenders, so_far: dict[str, Measured]) -> dict[str, Measured]:
    after = {}
    for name, run in contenders.items():
        gc.collect()
        start = perf_counter()
        value = run()
        elapsed = perf_counter() - start
        after[name] = Measured([*so_far[name].seconds, elapsed], value)
    return after


def exponents(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Slopes of log seconds against log size: over all sizes, and of the last step."""
    x, t = np.log(sizes), np.log(seconds)
    return float(np.polyfit(x, t, 1)[0]), float((t[-1] - t[-2]) / (x[-1] - x[-2]))


def run_limited(setup: Setup, arguments: tuple[Any, ...], limit: float) -> Outcome:
    """Run ``setup(*arguments)()`` in a process of its own for at most `limit` seconds.

    Only the second call is timed and limited, so that loading data is not held against a
    peer. `setup` is a module-level function; arguments and result are small.
    """
    found = run_steps(_one_step, (setup, *arguments), limit)
    if found.failure:
        late = found.failure.startswith("over")
        return Outcome(limit if late else math.nan, failure=found.failure)
    return Outcome(*found.done[0])


def _one_step(setup: Setup, *arguments: Any) -> Iterator[Any]:
    run = setup(*arguments)
    yield None
    start = perf_counter()
    value = run()
    yield perf_counter() - start, value


@dataclass(frozen=True)
class Steps:
    """What a contender yielded: once when it was ready, then step by step.

    `failure` is empty when it came to its end.
    """

    ready: Any
    done: list[Any]
    failure: str


def run_steps(steps: Stepping, arguments: tuple[Any, ...], limit: float | None) -> Steps:
    """Run ``steps(*arguments)`` for at most `limit` seconds after it was ready.

    With a limit it runs in a process of its own, so `steps` is a module-level function, and
    arguments and steps are small. Without a limit it runs here.
    """
    if limit is None:
        messages = list(_messages(steps, arguments))
    else:
        messages = list(_messages_of_child(steps, arguments, limit))
    *seen, (_, failure) = messages
    ready, *done = [step for _, step in seen] or [None]
    return Steps(ready, done, failure)


def _messages(steps: Stepping, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """Every step, then the reason for the end: empty if no step is missing."""
    try:
        for step in steps(*arguments):
            yield "step", step
        yield "end", ""
    except ImportError as missing:
        yield "end", f"not installed: {missing.name or missing}"
    except Exception as error:  # a peer may fail in any way: the report says how
        traceback.print_exc()
        yield "end", f"{type(error).__name__}: {error}"[:200]


def _messages_of_child(
    steps: Stepping, arguments: tuple[Any, ...], limit: float
) -> Iterator[tuple[str, Any]]:
    child = Child(_send_messages, steps, arguments)
    start, allowed, late = perf_counter(), START_LIMIT, "did not start"
    try:
        kind = "ready"
        while kind != "end":
            kind, content = child.receive(allowed - (perf_counter() - start))
            yield kind, content
            if allowed != limit:
                start, allowed, late = perf_counter(), limit, f"over {limit:g} s"
    except TimeoutError:
        yield "end", late
    except EOFError:
        yield "end", "process died, perhaps of memory"
    finally:
        child.close()


def _send_messages(pipe: Connection, steps: Stepping, arguments: tuple[Any, ...]) -> None:
    for message in _messages(steps, arguments):
        pipe.send(message)


class Child:
    """A process of its own that answers through a pipe, and ends with this one, even if killed."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        """Start ``work(pipe, *arguments)``, a module-level function."""
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_begin, args=(work, theirs, arguments), daemon=True)
        self._process.start()
        theirs.close()

    def receive(self, limit: float, tick: Callable[[float], None] = lambda seconds: None) -> Any:
        """The next message; TimeoutError where it is late, EOFError where the process died.

        Meanwhile `tick` is called every second with the seconds so far.
        """
        start = perf_counter()
        while (elapsed := perf_counter() - start) < limit:
            tick(elapsed)
            if self.pipe.poll(min(1.0, limit - elapsed)):
                return self.pipe.recv()
        raise TimeoutError

    def close(self) -> None:
        """End the process in any case."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _begin(work: Callable[..., None], pipe: Connection, arguments: tuple[Any, ...]) -> None:
    """Work, and end as soon as the process that started this one has ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
    work(pipe, *arguments)
