"""What an npy file holds, from its header alone, and its rows, mapped."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from sketchlasso.files.npz import understood
from sketchlasso.files.source import Source
from sketchlasso.storage.door import ArrayHeader, read_array_header

__all__ = ["map_rows", "npy_header"]


def npy_header(source: Source) -> ArrayHeader:
    """Return the header of an npy file; refuse a file shorter than its header says."""
    with understood(source), source.guarded(), open(source.path, "rb") as file:
        return read_array_header(file, os.fstat(file.fileno()).st_size)


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
