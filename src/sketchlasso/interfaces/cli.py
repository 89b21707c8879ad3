"""Entry point of the command `sketchlasso`."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any

from sketchlasso.errors import MissingExtraError
from sketchlasso.interfaces.exits import Exit, Interrupted
from sketchlasso.interfaces.visible import visible
from sketchlasso.startup import end_at_once

__all__ = ["main"]

# Seconds after which an interrupt is repeated that came where nothing can be raised.
AGAIN = 0.05


def main() -> None:
    """Run the command line; errors end in one line on stderr and a telling exit code."""
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
        # Some library has turned the interrupt into an error of its own.
        _end("interrupted before the end.", Exit.INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, end_at_once)


class _Interrupts:
    """What Ctrl-C does while a command runs."""

    seen = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise what ends the command."""
        self.seen = True
        raise Interrupted

    def repeat(self, failure: Any) -> None:
        """Repeat an interrupt that came in a finaliser or callback, where Python drops it."""
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
