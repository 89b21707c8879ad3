"""Progress of a long solve on a terminal; silent in pipes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

from sketchlasso.solve import Progress

__all__ = ["both", "progress_callback"]


Watcher: TypeAlias = Callable[[Progress], None]


def progress_callback(verbose: bool | int | Watcher) -> Watcher | None:
    """Return what writes one changing line on a terminal, or one line a round with verbose > 1.

    A callable is itself what is told.
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


def both(first: Watcher | None, second: Watcher | None) -> Watcher | None:
    """Return what tells both, or the one there is."""
    if first is None or second is None:
        return first or second

    def told(progress: Progress) -> None:
        first(progress)
        second(progress)

    return told
