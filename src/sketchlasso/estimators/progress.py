"""Progress of a long solve on a terminal; silent in pipes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

from sketchlasso.solvers import Progress

__all__ = ["Watcher", "both", "count_callback", "progress_callback"]


Watcher: TypeAlias = Callable[[Progress], None]


def progress_callback(verbose: bool | int | Watcher) -> Watcher | None:
    """Return a callback that writes one changing line on a terminal.

    In a pipe it writes one line per round with verbose > 1. A callable is returned as it is.
    """
    if callable(verbose):
        return verbose
    if not verbose:
        return None

    def on_terminal(progress: Progress) -> None:
        done = progress.solved == progress.total
        sys.stderr.write(
            f"\rsketchlasso: {progress.solved}/{progress.total} solved, "
            f"worst gap {progress.worst_gap:.1e}" + ("\n" if done else "")
        )
        sys.stderr.flush()

    def in_pipe(progress: Progress) -> None:
        if int(verbose) > 1:
            sys.stderr.write(
                f"sketchlasso: round {progress.round}, {progress.solved}/{progress.total} solved, "
                f"worst gap {progress.worst_gap:.1e}\n"
            )

    return on_terminal if sys.stderr.isatty() else in_pipe


def count_callback(verbose: bool | int | Watcher) -> Callable[[int, int], None] | None:
    """Return the callback of :func:`progress_callback` for work counted as (done, total)."""
    report = progress_callback(verbose)
    if report is None:
        return None
    return lambda done, total: report(Progress(done, total, round=0, worst_gap=0.0))


def both(first: Watcher | None, second: Watcher | None) -> Watcher | None:
    """Combine two callbacks; return the only one where the other is None."""
    if first is None or second is None:
        return first or second

    def combined(progress: Progress) -> None:
        first(progress)
        second(progress)

    return combined
