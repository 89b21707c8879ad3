"""Timing: contenders in turns, and peers under a time limit in a process of their own."""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable, Sequence
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
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, setup, arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        failure = _step(ours, START_LIMIT, "did not start")
        if failure:
            return Outcome(math.nan, failure=failure)
        failure = _step(ours, limit, f"over {limit:g} s")
        if failure:
            return Outcome(limit if failure.startswith("over") else math.nan, failure=failure)
        seconds, value = ours.recv()
        return Outcome(seconds, value)
    finally:
        process.kill()
        process.join()
        ours.close()


def _step(pipe: Connection, limit: float, late: str) -> str:
    """Empty once the child is through its next step, else why it is not."""
    if not pipe.poll(limit):
        return late
    try:
        return str(pipe.recv())
    except EOFError:
        return "process died, perhaps of memory"


def end_with_parent() -> None:
    """Let this process end as soon as the one that started it has ended, even if killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _child(pipe: Connection, setup: Setup, arguments: tuple[Any, ...]) -> None:
    end_with_parent()
    try:
        run = setup(*arguments)
        pipe.send("")
        start = perf_counter()
        value = run()
        elapsed = perf_counter() - start
        pipe.send("")
        pipe.send((elapsed, value))
    except Exception as error:  # a peer may fail in any way: the report says how
        traceback.print_exc()
        pipe.send(f"{type(error).__name__}: {error}"[:200])
