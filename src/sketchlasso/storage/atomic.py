"""Write files completely or not at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from sketchlasso.errors import StoredFileError


@contextmanager
def replacing(path: Path, *, compress: bool = False) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` that is renamed to it once all is written.

    A file that is replaced keeps its permissions. A symbolic link stays, and the file that it
    points to is replaced; a device or a pipe is written as it is. With `compress`, the ending .gz,
    .bz2 or .xz decides the compression.
    """
    temporary = None
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with open(path, "wb") as file, _compressed(file, path, compress) as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
        with open(temporary, "xb") as file:
            if target.exists():
                shutil.copymode(target, temporary)
            with _compressed(file, path, compress) as stream:
                yield stream
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


@contextmanager
def _compressed(file: BinaryIO, path: Path, compress: bool) -> Iterator[BinaryIO]:
    ending = path.suffix.lower() if compress else ""
    if ending == ".gz":
        # No name and no time in the header: the same table gives the same bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
            yield cast(BinaryIO, zipped)
    elif ending in (".bz2", ".xz"):
        with (bz2 if ending == ".bz2" else lzma).open(file, "wb") as packed:
            yield cast(BinaryIO, packed)
    else:
        yield file
