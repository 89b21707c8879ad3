"""Entry point of the command `sketchlasso`."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from sketchlasso import MissingExtraError
from sketchlasso.interfaces.exits import Exit, Interrupted

__all__ = ["main"]


def main() -> None:
    """Run the command line; errors end in one line on stderr and a telling exit code."""
    try:
        from sketchlasso.interfaces.app import app
    except ImportError as error:
        missing = MissingExtraError("the command line", str(error.name), "cli")
        _end(str(missing), Exit.MISSING_EXTRA)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        app()
    except Interrupted as stop:
        _end(str(stop) or "interrupted before the end.", Exit.INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def _end(message: str, code: Exit) -> None:
    print(f"sketchlasso: {message}", file=sys.stderr)
    raise SystemExit(int(code)) from None
