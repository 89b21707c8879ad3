"""The folder for files that can be made again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path | None:
    """Return the user's cache folder for this package, or None where there is no home folder.

    Returns
    -------
    Path or None
        It may not exist or be writable.
    """
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "sketchlasso"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "sketchlasso"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "sketchlasso"
