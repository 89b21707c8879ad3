"""Entry point of the command `sketchlasso`, and its exit codes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

import sketchlasso
from sketchlasso.errors import (
    ClusterLostError,
    MissingExtraError,
    SketchlassoError,
    StoredFileError,
)
from sketchlasso.interfaces import visible


class Exit(IntEnum):
    """How a command ended."""

    FINE = 0
    UNUSABLE = 1
    BAD_INPUT = 2
    BAD_FILE = 3
    MISSING_EXTRA = 4
    CLUSTER_LOST = 5
    BUG = 70
    INTERRUPTED = 130


MEANINGS = {
    Exit.FINE: "fine, perhaps with warnings",
    Exit.UNUSABLE: "the answer cannot be used as it is: the model is empty, or a tolerance, a "
    "certificate or a check was missed",
    Exit.BAD_INPUT: "usage, or input that cannot be used",
    Exit.BAD_FILE: "a file is missing, damaged, foreign or cannot be written",
    Exit.MISSING_EXTRA: "an optional package is not installed",
    Exit.CLUSTER_LOST: "a cluster could not be reached, or was lost",
    Exit.BUG: "an error of sketchlasso itself; its traceback is shown, please report it",
    Exit.INTERRUPTED: "interrupted",
}


class Interrupted(BaseException):
    """Ctrl-C at the command line.

    Solvers return unfinished results on KeyboardInterrupt, but a command has to end.
    """


@contextmanager
def resumable(output: Path) -> Iterator[None]:
    """Report on Ctrl-C that finished parts are kept next to `output`."""
    try:
        yield
    except Interrupted:
        raise Interrupted(
            f"interrupted; finished parts are kept next to {output}, and the same command resumes "
            "from them."
        ) from None


def exit_of(error: Exception) -> Exit:
    """Return the exit code of an error; all but those of ours and of the system are bugs."""
    if isinstance(error, MissingExtraError):
        return Exit.MISSING_EXTRA
    if isinstance(error, StoredFileError | OSError):
        return Exit.BAD_FILE
    if isinstance(error, ClusterLostError):
        return Exit.CLUSTER_LOST
    return Exit.BAD_INPUT if isinstance(error, SketchlassoError) else Exit.BUG


def main() -> None:
    """Run the command line; errors end in one line on stderr and an exit code."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        if sys.argv[1:] in (["--version"], ["-V"]):  # at once, without Typer
            print(sketchlasso.__version__, flush=True)
            return
        from sketchlasso.interfaces.app import app

        app()
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        _end(str(MissingExtraError("the command line", error.name, "cli")), Exit.MISSING_EXTRA)
    except Interrupted as stop:
        _end(str(stop) or "interrupted before the end.", Exit.INTERRUPTED)
    except OSError as problem:
        # Flushing stdout at exit must not fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _end(f"standard output could not be written ({problem.strerror}).", Exit.BAD_FILE)


def _interrupt(*_: Any) -> None:
    raise Interrupted


def _end(message: str, code: Exit) -> None:
    print(f"sketchlasso: {visible(message)}", file=sys.stderr)
    raise SystemExit(int(code)) from None
