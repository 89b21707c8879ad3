"""Write files completely or not at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from sketchlasso.errors import StoredFileError

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path, *, compress: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` that is renamed to it once all is written.

    Parameters
    ----------
    path : Path
        The file to write. A symbolic link stays; the file that it points to is replaced.
    compress : bool
        Whether to compress where the name ends in .gz, .bz2 or .xz.

    Yields
    ------
    binary file
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
