"""What npy and npz files hold, from their headers alone, and rows of an npy file, mapped."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from sketchlasso.files.arrays import understood
from sketchlasso.files.source import Source

__all__ = ["ArrayHeader", "map_rows", "npy_header", "npz_headers"]


@dataclass(frozen=True)
class ArrayHeader:
    """Shape, type and place of a stored array.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    by_columns : bool
        Whether the array is stored column by column.
    offset : int
        Bytes before the first entry.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool
    offset: int

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def n_bytes(self) -> int:
        """Bytes of the entries."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


def npy_header(source: Source) -> ArrayHeader:
    """Return the header of an npy file; refuse a file shorter than its header says."""
    with understood(source), source.guarded(), open(source.path, "rb") as file:
        header = _header(file)
        size = os.fstat(file.fileno()).st_size
    if size < header.offset + header.n_bytes:
        raise source.damaged("is truncated (it ends before its content does)")
    return header


def map_rows(source: Source, header: ArrayHeader, start: int, stop: int) -> Any:
    """Map rows start, ..., stop - 1 of an npy file; only their part where it is stored by rows."""
    with source.guarded():
        if header.by_columns:
            return np.load(source.path, mmap_mode="r")[start:stop]
        width = header.shape[1]
        return np.memmap(
            source.path,
            dtype=header.dtype,
            mode="r",
            offset=header.offset + start * width * header.dtype.itemsize,
            shape=(stop - start, width),
        )


def npz_headers(source: Source) -> dict[str, ArrayHeader]:
    """Return the headers of the arrays of an npz file by name."""
    headers = {}
    with understood(source), source.guarded(), zipfile.ZipFile(source.path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    headers[name.removesuffix(".npy")] = _header(member)
    return headers


def _header(file: IO[bytes]) -> ArrayHeader:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, by_columns, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise ValueError(f"version {version} of the npy format is for records")
    return ArrayHeader(tuple(shape), dtype, by_columns, file.tell())
