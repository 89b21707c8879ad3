"""Exit codes that mean something, and the errors they stand for.

::

    0    fine
    1    solved, but some instance missed the tolerance, a search ended at the edge of its grid,
         or a check failed
    2    usage or input that cannot be used
    3    a file that is missing, damaged, foreign or cannot be written
    4    an optional package is not installed
    5    a cluster could not be reached, or was lost
    130  interrupted
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

from sketchlasso.errors import (
    ClusterLostError,
    MissingExtraError,
    SketchlassoError,
    StoredFileError,
)
from sketchlasso.startup import INTERRUPTED

__all__ = ["Exit", "Interrupted", "exit_of", "resumable"]


class Exit(IntEnum):
    """How a command ended."""

    FINE = 0
    INACCURATE = 1
    BAD_INPUT = 2
    BAD_FILE = 3
    MISSING_EXTRA = 4
    CLUSTER_LOST = 5
    INTERRUPTED = INTERRUPTED

    @property
    def meaning(self) -> str:
        """What the code says, in a few words."""
        return _MEANINGS[self]


_MEANINGS = {
    Exit.FINE: "fine",
    Exit.INACCURATE: "solved with warnings: some instance missed the tolerance, a search ended at "
    "the edge of its grid, or a check failed",
    Exit.BAD_INPUT: "usage, or input that cannot be used",
    Exit.BAD_FILE: "a file is missing, damaged, foreign or cannot be written",
    Exit.MISSING_EXTRA: "an optional package is not installed",
    Exit.CLUSTER_LOST: "a cluster could not be reached, or was lost",
    Exit.INTERRUPTED: "interrupted",
}


class Interrupted(BaseException):
    """Ctrl-C at the command line.

    Solvers answer KeyboardInterrupt with what they have; a command has to end instead. A message
    replaces the usual one.
    """


@contextmanager
def resumable(output: Path) -> Iterator[None]:
    """Say on Ctrl-C that the parts beside `output` are kept."""
    try:
        yield
    except Interrupted:
        raise Interrupted(
            f"interrupted; what is finished lies beside {output}, and the same command goes on "
            "from there."
        ) from None


def exit_of(error: Exception) -> Exit | None:
    """Return the exit code of an error that ends in one line; None for one that is a bug."""
    if isinstance(error, MissingExtraError):
        return Exit.MISSING_EXTRA
    if isinstance(error, StoredFileError):
        return Exit.BAD_FILE
    if isinstance(error, ClusterLostError):
        return Exit.CLUSTER_LOST
    # scikit-learn refuses folds, labels and shapes with a plain ValueError.
    if isinstance(error, SketchlassoError | ValueError):
        return Exit.BAD_INPUT
    return None
