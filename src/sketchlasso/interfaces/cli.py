"""Entry point of the command `sketchlasso`, its exit codes and their errors."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import FrameType

import sketchlasso
from sketchlasso.errors import (
    ClusterLostError,
    MissingExtraError,
    SketchlassoError,
    StoredFileError,
)
from sketchlasso.interfaces import visible
from sketchlasso.startup import INTERRUPTED, end_at_once

# Seconds until an interrupt that Python has dropped is sent again.
AGAIN = 0.05


class Exit(IntEnum):
    """How a command ended; `meaning` describes it."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Exit:
        """Keep the meaning with the code."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    FINE = 0, "fine"
    INACCURATE = (
        1,
        "the answer cannot be used as it is: the model is empty, or a tolerance, a certificate or "
        "a check was missed",
    )
    BAD_INPUT = 2, "usage, or input that cannot be used"
    BAD_FILE = 3, "a file is missing, damaged, foreign or cannot be written"
    MISSING_EXTRA = 4, "an optional package is not installed"
    CLUSTER_LOST = 5, "a cluster could not be reached, or was lost"
    BUG = 70, "an error of sketchlasso itself; its traceback is shown, please report it"
    INTERRUPTED = INTERRUPTED, "interrupted"


class Interrupted(BaseException):
    """Ctrl-C at the command line.

    Solvers return unfinished results on KeyboardInterrupt, but a command has to end. An argument
    replaces the usual message.
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
    _check_process()
    if sys.argv[1:] == ["--version"]:  # Typer would load pydantic to convert the option
        print(sketchlasso.__version__)
        return
    try:
        from sketchlasso.interfaces.app import app
    except ImportError as error:
        missing = MissingExtraError("the command line", str(error.name), "cli")
        _end(str(missing), Exit.MISSING_EXTRA)
    interrupts = _Interrupts()
    signal.signal(signal.SIGINT, interrupts.handle)
    sys.unraisablehook = interrupts.repeat
    try:
        app()
    except Interrupted as stop:
        _end(str(stop) or "interrupted before the end.", Exit.INTERRUPTED)
    except Exception:
        if not interrupts.seen:
            raise
        # A library has turned the interrupt into another error.
        _end("interrupted before the end.", Exit.INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, end_at_once)


def _check_process() -> None:
    """Refuse to begin without standard output or a current folder; do without other streams."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        _end("standard output is closed; redirect it, to a file for example.", Exit.BAD_FILE)
    try:
        os.getcwd()
    except FileNotFoundError:
        _end("the current folder was deleted; change to one that exists.", Exit.BAD_FILE)


class _Interrupts:
    """Handles Ctrl-C while a command runs."""

    seen = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """End the command."""
        self.seen = True
        raise Interrupted

    def repeat(self, failure: sys.UnraisableHookArgs) -> None:
        """Repeat an interrupt that Python dropped because it came in a finaliser or callback."""
        if not issubclass(failure.exc_type, Interrupted):
            sys.__unraisablehook__(failure)
            return
        timer = threading.Timer(AGAIN, _interrupt_main_thread)
        timer.daemon = True
        timer.start()


def _interrupt_main_thread() -> None:
    """Send SIGINT to the thread that runs the command, where it also ends a wait."""
    if sys.platform == "win32":
        signal.raise_signal(signal.SIGINT)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _end(message: str, code: Exit) -> None:
    print(f"sketchlasso: {visible(message)}", file=sys.stderr)
    raise SystemExit(int(code)) from None
