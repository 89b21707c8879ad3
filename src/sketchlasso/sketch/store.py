"""The file format of a stored sketch.

A container for named arrays and a JSON header, without pickle. All integers are little-endian::

    offset  bytes  content
         0     16  magic: 0x93 "SKETCHLASSO" CR LF 0x1A LF
        16      4  format version, unsigned (1)
        20      8  length of the payload in bytes, unsigned
        28     32  SHA-256 of the payload
        60    ...  payload, up to the end of the file

The payload is an unsigned 8-byte length, a UTF-8 JSON header of that length, and one array
after another in NumPy's own ``.npy`` format. The header's key ``arrays`` lists their names in
order; its other keys are described by :meth:`sketchlasso.sketch.Sketch.save`.

A file is written under a temporary name beside its destination and renamed when complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import StoredFileError

__all__ = ["FORMAT_VERSION", "read_container", "write_container"]

MAGIC = b"\x93SKETCHLASSO\r\n\x1a\n"
FORMAT_VERSION = 1
PREFIX = struct.Struct("<16sIQ32s")
LENGTH = struct.Struct("<Q")
CHUNK = 1 << 20


class _HashingWriter:
    """A file that digests and counts what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.length = 0

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.length += len(data)
        return self._file.write(data)


def write_container(
    path: str | os.PathLike[str], header: Mapping[str, object], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write a header and arrays to a file, replacing it only once all is written.

    Parameters
    ----------
    path : path-like
    header : mapping
        Anything JSON can hold.
    arrays : mapping of str to ndarray
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    text = json.dumps({**header, "arrays": list(arrays)}, allow_nan=False).encode()
    try:
        with open(temporary, "xb") as file:
            file.write(bytes(PREFIX.size))
            writer = _HashingWriter(file)
            writer.write(LENGTH.pack(len(text)))
            writer.write(text)
            for array in arrays.values():
                np.lib.format.write_array(writer, array, allow_pickle=False)
            file.seek(0)
            file.write(PREFIX.pack(MAGIC, FORMAT_VERSION, writer.length, writer.digest.digest()))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as problem:
        raise StoredFileError(
            f"{target} could not be written ({problem.strerror}); choose a path in a folder that "
            "exists and can be written to."
        ) from problem
    finally:
        temporary.unlink(missing_ok=True)


def read_container(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read back what :func:`write_container` wrote, after checking all of it.

    Raises
    ------
    StoredFileError
        The file is missing, truncated, altered, foreign, or of a newer version.
    """
    try:
        with open(path, "rb") as file:
            _check(file, path)
            file.seek(PREFIX.size)
            return _payload(file)
    except FileNotFoundError as missing:
        raise StoredFileError(
            f"{path} does not exist; give the path of a file written by Sketch.save."
        ) from missing
    except OSError as problem:
        raise StoredFileError(
            f"{path} could not be read ({problem.strerror}); give the path of a file written by "
            "Sketch.save."
        ) from problem
    except StoredFileError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as problem:
        # The checksum fits, so nothing was damaged: another program wrote the payload.
        raise StoredFileError(
            f"{path} has a sketch's frame but its content cannot be understood; write it again "
            "with Sketch.save."
        ) from problem


def _check(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    prefix = file.read(PREFIX.size)
    if prefix[: len(MAGIC)] != MAGIC[: len(prefix)] or not prefix:
        raise StoredFileError(
            f"{path} is not a stored sketch; give the path of a file written by Sketch.save."
        )
    if len(prefix) < PREFIX.size:
        raise _truncated(path)
    _, version, length, checksum = PREFIX.unpack(prefix)
    if version != FORMAT_VERSION:
        raise StoredFileError(
            f"{path} has format version {version}, but this release reads version "
            f"{FORMAT_VERSION}; read it with a newer sketchlasso or write it again with this one."
        )
    digest, found = hashlib.sha256(), 0
    while block := file.read(CHUNK):
        digest.update(block)
        found += len(block)
    if found < length:
        raise _truncated(path)
    if found > length or digest.digest() != checksum:
        raise StoredFileError(
            f"{path} was altered after it was written (its checksum does not match); restore it "
            "from a copy or write it again with Sketch.save."
        )


def _payload(file: BinaryIO) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    (size,) = LENGTH.unpack(file.read(LENGTH.size))
    header = json.loads(file.read(size).decode())
    names = header.pop("arrays")
    return header, {name: np.lib.format.read_array(file, allow_pickle=False) for name in names}


def _truncated(path: str | os.PathLike[str]) -> StoredFileError:
    return StoredFileError(
        f"{path} is truncated (it ends before its content does); restore it from a copy or write "
        "it again with Sketch.save."
    )
