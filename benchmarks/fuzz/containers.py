"""Files of arrays taken apart and put together again: own containers, npz and npy."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sketchlasso.storage.container import FORMAT_VERSION, LENGTH, MAGIC, PREFIX

__all__ = [
    "DEEP",
    "PACKERS",
    "Parts",
    "framed",
    "header_text",
    "npy_bytes",
    "npy_claiming",
    "read_own",
    "read_zip",
    "write_own",
    "write_zip",
]

# An array, or the bytes that stand where an array belongs.
Parts = dict[str, Any]
# JSON in brackets too deep for a parser that calls itself.
DEEP = b"[" * 100_000 + b"]" * 100_000
# By the ending of a file, what unpacks it and what packs it.
PACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (gzip.decompress, gzip.compress),
    ".bz2": (bz2.decompress, bz2.compress),
    ".xz": (lzma.decompress, lzma.compress),
}


def npy_bytes(array: Any) -> bytes:
    """An array in NumPy's format; bytes as they are."""
    if isinstance(array, bytes):
        return array
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def npy_claiming(shape: Any, descr: str = "<f8", content: bytes = b"\0" * 64) -> bytes:
    """An npy header that claims a shape and type, and some bytes after it."""
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin1") + content


def read_own(content: bytes) -> tuple[dict[str, Any], Parts]:
    """Return the header and arrays of one of our containers."""
    file = io.BytesIO(content[PREFIX.size :])
    (size,) = LENGTH.unpack(file.read(LENGTH.size))
    header = json.loads(file.read(size))
    names = header.pop("arrays")
    return header, {name: np.lib.format.read_array(file) for name in names}


def header_text(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """Return the header of one of our containers as JSON."""
    return json.dumps({**header, "arrays": list(arrays)}).encode()


def write_own(
    header: Mapping[str, Any],
    arrays: Mapping[str, Any],
    *,
    text: bytes | None = None,
    length: int | None = None,
) -> bytes:
    """Build one of our containers with a valid checksum from any contents.

    `text` replaces the header, `length` the length that is declared for it.
    """
    text = header_text(header, arrays) if text is None else text
    size = len(text) if length is None else length
    return framed(LENGTH.pack(size) + text + b"".join(map(npy_bytes, arrays.values())))


def framed(payload: bytes) -> bytes:
    """A payload behind the prefix that belongs to it."""
    digest = hashlib.sha256(payload).digest()
    return PREFIX.pack(MAGIC, FORMAT_VERSION, len(payload), digest) + payload


def read_zip(content: bytes) -> Parts:
    """The arrays of an npz file."""
    with np.load(io.BytesIO(content)) as stored:
        return dict(stored)


def write_zip(arrays: Mapping[str, Any]) -> bytes:
    """An npz file of arrays, and of bytes that stand where arrays belong."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", npy_bytes(array))
    return file.getvalue()
