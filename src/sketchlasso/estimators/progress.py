"""Progress of a long solve on a terminal; silent in pipes."""

from __future__ import annotations

import sys
from collections.abc import Callable

from sketchlasso.solve import Progress

__all__ = ["progress_callback"]


def progress_callback(verbose: bool | int) -> Callable[[Progress], None] | None:
    """Return what writes one changing line on a terminal, or one line a round with verbose > 1."""
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
