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

START_LIMIT = 600.0  # seconds to load data and to compile


@dataclass(frozen=True)
class Measured:
    """Seconds of every run, and the value that the last run returned."""

    seconds: list[float]
    value: Any = None

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))


@dataclass(frozen=True)
class Outcome:
    """One run, perhaps under a time limit; `failure` is empty when it finished."""

    seconds: float
    value: Any = None
    failure: str = ""


def timed(run: Callable[[], Any]) -> Outcome:
    """One run here, without a limit."""
    gc.collect()
    start = perf_counter()
    value = run()
    return Outcome(perf_counter() - start, value)


def interleave(
    contenders: dict[str, Callable[[], Any]], repeats: int, *, warm_up: bool = True
) -> dict[str, Measured]:
    """Run all contenders in turns: one round that does not count, then `repeats` that do.

    A slow phase of the machine then hits every side, and compilation none.
    """
    if warm_up:
        for run in contenders.values():
            run()
    rounds = [{name: timed(run) for name, run in contenders.items()} for _ in range(repeats)]
    return {
        name: Measured([one[name].seconds for one in rounds], rounds[-1][name].value)
        for name in contenders
    }


def exponents(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Slopes of log seconds against log size: over all sizes, and of the last step."""
    x, t = np.log(sizes), np.log(seconds)
    return float(np.polyfit(x, t, 1)[0]), float((t[-1] - t[-2]) / (x[-1] - x[-2]))


@dataclass(frozen=True)
class Steps:
    """The steps of a contender: one when it was ready, then all others.

    `failure` is empty when it came to its end.
    """

    ready: Any
    done: list[Any]
    failure: str


def run_limited(setup: Callable[..., Callable[[], Any]], arguments: Any, limit: float) -> Outcome:
    """Run ``setup(*arguments)()`` in a process of its own for at most `limit` seconds.

    Only the second call is timed and limited, so that loading data is not held against a
    peer. `setup` is a module-level function; arguments and result are small.
    """
    steps = run_steps(_one_step, (setup, *arguments), limit)
    if steps.failure:
        late = steps.failure.startswith("over")
        return Outcome(limit if late else math.nan, failure=steps.failure)
    return Outcome(*steps.done[0])


def _one_step(setup: Callable[..., Callable[[], Any]], *arguments: Any) -> Iterator[Any]:
    run = setup(*arguments)
    yield None
    outcome = timed(run)
    yield outcome.seconds, outcome.value


def run_steps(steps: Callable[..., Iterator[Any]], arguments: Any, limit: float | None) -> Steps:
    """Run ``steps(*arguments)`` for at most `limit` seconds after its first step.

    With a limit it runs in a process of its own, so `steps` is a module-level function, and
    arguments and steps are small. Without a limit it runs here.
    """
    if limit is None:
        *done, (_, failure) = _messages(steps, arguments)
    else:
        *done, (_, failure) = _messages_of_child(steps, arguments, limit)
    values = [value for _, value in done]
    return Steps(values[0] if values else None, values[1:], failure)


def _messages(steps: Callable[..., Iterator[Any]], arguments: Any) -> Iterator[tuple[str, Any]]:
    """Every step, then the reason for the end: empty if no step is missing."""
    failure = ""
    try:
        for value in steps(*arguments):
            yield "step", value
    except ImportError as missing:
        failure = f"not installed: {missing.name or missing}"
    except Exception as error:  # a peer may fail in any way: the report says how
        traceback.print_exc()
        failure = f"{type(error).__name__}: {error}"[:200]
    yield "end", failure


def _messages_of_child(
    steps: Callable[..., Iterator[Any]], arguments: Any, limit: float
) -> Iterator[tuple[str, Any]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=_send, args=(theirs, steps, arguments))
    child.start()
    theirs.close()
    deadline, late = perf_counter() + START_LIMIT, "did not start"
    try:
        while ours.poll(max(deadline - perf_counter(), 0.0)):
            kind, value = ours.recv()
            yield kind, value
            if kind == "end":
                return
            if late == "did not start":
                deadline, late = perf_counter() + limit, f"over {limit:g} s"
        yield "end", late
    except EOFError:
        yield "end", "process died, perhaps of memory"
    finally:
        child.kill()
        child.join()
        ours.close()


def _send(pipe: Connection, steps: Callable[..., Iterator[Any]], arguments: Any) -> None:
    """Send every message, and end as soon as the process that started this one has ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()
    for message in _messages(steps, arguments):
        pipe.send(message)
