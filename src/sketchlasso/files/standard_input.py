"""Standard input as a file: it is read once, and its rows may be looked at several times."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["STANDARD_INPUT", "TITLE", "standard_input"]

STANDARD_INPUT = "-"
# What it is called in a sentence.
TITLE = "standard input"


@cache
def standard_input() -> Path:
    """Return a temporary file with all of standard input; it is removed when the process ends."""
    handle, name = tempfile.mkstemp(prefix="sketchlasso-")
    copy = Path(name)
    atexit.register(copy.unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return copy
