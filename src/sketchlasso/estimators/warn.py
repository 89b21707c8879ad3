"""Warnings that point at the user's own line, however deep they arise."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = ["warn_user"]

# scikit-learn wraps fit, for callbacks among others.
OURS = ("sketchlasso", "sklearn", "joblib")


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the nearest frame that is neither this package's nor scikit-learn's."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package(frame) in OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
