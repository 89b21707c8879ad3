"""Writing files that are either complete or not there."""

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
    """Open a temporary file beside `path` that takes its name once all is written.

    Parameters
    ----------
    path : Path
    compress : bool
        Whether an ending .gz, .bz2 or .xz asks for compression.

    Yields
    ------
    binary file
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if compress:
                with _compressed(file, path.suffix.lower()) as stream:
                    yield stream
            else:
                yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        raise StoredFileError(
            f"{path} could not be written ({problem.strerror or problem}); choose a path in a "
            "folder that exists and can be written to."
        ) from problem
    finally:
        temporary.unlink(missing_ok=True)


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
