"""Timing: contenders in turns, medians with their spread, growth laws."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

__all__ = ["exponent", "in_turns", "spread", "timed"]


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of one run, and what it returned."""
    gc.collect()
    start = perf_counter()
    value = run()
    return perf_counter() - start, value


def in_turns(
    contenders: dict[str, Callable[[], Any]], least: int, most: int, enough: float
) -> dict[str, list[float]]:
    """Seconds of every run of every contender; a slow phase of the machine hits all of them.

    Parameters
    ----------
    contenders : dict of callable
    least, most : int
        Rounds.
    enough : float
        Seconds after which no round is begun beyond the least.
    """
    found: dict[str, list[float]] = {name: [] for name in contenders}
    start = perf_counter()
    for number in range(most):
        if number >= least and perf_counter() - start > enough:
            break
        for name, run in contenders.items():
            found[name].append(timed(run)[0])
    return found


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, and the range in which the middle half lies."""
    low, middle, high = np.quantile(np.asarray(values, dtype=np.float64), [0.25, 0.5, 0.75])
    return {"median": float(middle), "low": float(low), "high": float(high)}


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Slope of log values against log sizes: p where values grow like size^p."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
