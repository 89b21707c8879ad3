"""Write files completely or not at all, and find the folder of the cache."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from sketchlasso.errors import StoredFileError


@contextmanager
def replacing(path: Path, *, compress: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` that is renamed to it once all is written.

    A symbolic link stays; the file that it points to is replaced. With `compress`, the ending
    .gz, .bz2 or .xz decides the compression.
    """
    temporary = None
    try:
        target = _target(path)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
        with open(temporary, "xb") as file:
            if compress:
                with _compressed(file, path.suffix.lower()) as stream:
                    yield stream
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as problem:
        raise StoredFileError(
            f"{path} could not be written ({problem.strerror or problem}); choose a path in a "
            "folder that exists and can be written to."
        ) from problem
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """Return the file behind a link; a device or pipe, which must not be replaced, is refused."""
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink() or (target.exists() and not (target.is_file() or target.is_dir())):
        raise StoredFileError(
            f"{path} is a device, a pipe or a loop of links, but only a file can be written; "
            "choose the path of a file."
        )
    return target


@contextmanager
def _compressed(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        # No name and no time in the header: the same table gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
            yield cast(BinaryIO, zipped)
    elif suffix in (".bz2", ".xz"):
        opener = bz2.open if suffix == ".bz2" else lzma.open
        with opener(file, "wb") as packed:
            yield cast(BinaryIO, packed)
    else:
        yield file


def cache_folder() -> Path | None:
    """Return the user's cache folder for this package, or None where there is no home folder.

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
