"""Warnings that point at the user's own line, however deep and in whichever thread they arise."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# scikit-learn wraps fit, for callbacks among others.
OURS = ("sketchlasso", "sklearn", "joblib")

_thread = threading.local()


def warn_user(warning: Warning) -> None:
    """Warn at the nearest frame that is neither this package's nor scikit-learn's."""
    held: list[Warning] | None = getattr(_thread, "held", None)
    if held is not None:
        held.append(warning)
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame) in OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


@contextmanager
def held_back() -> Iterator[list[Warning]]:
    """Collect the warnings of this thread, so that the thread that waits for it can issue them.

    No frame of a worker is the user's code, and where a filter turns warnings into errors, the
    caller must raise them. ``warnings.catch_warnings`` would change the whole process.
    """
    before = getattr(_thread, "held", None)
    found: list[Warning] = []
    _thread.held = found
    try:
        yield found
    finally:
        _thread.held = before


@contextmanager
def not_warning_of(kind: type[Warning]) -> Iterator[None]:
    """Drop warnings of a kind: those of models that are a means to an end."""
    with held_back() as found:
        yield
    for warning in found:
        if not isinstance(warning, kind):
            warn_user(warning)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
