"""npz and npy files: arrays, each checked against its size before it is read or mapped."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.files.source import Source
from sketchlasso.storage.door import (
    ArrayHeader,
    UnfitError,
    check_shape,
    read_array,
    read_array_header,
)
from sketchlasso.storage.sparse import checked_sparse

__all__ = ["NpzArchive", "map_rows", "npy_header", "open_npz"]

# How many bytes a stored byte becomes at most, and what a member costs beside that.
TIMES, MARGIN = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}, 1 << 10
ENDING = ".npy"


class NpzArchive:
    """The arrays of an npz file by name, read where they are asked for.

    Parameters
    ----------
    archive : ZipFile
    """

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._members = {
            info.filename.removesuffix(ENDING): info
            for info in archive.infolist()
            if info.filename.endswith(ENDING)
        }

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __getitem__(self, name: str) -> NDArray[Any]:
        info = self._checked(name)
        with self._archive.open(info) as member:
            array = read_array(member, info.file_size)
            if member.read(1):  # the end is where the archive compares its checksum, too
                raise UnfitError(f"the array {name!r} is longer than it declares")
        return array

    def header(self, name: str) -> ArrayHeader:
        """Return shape and type of an array."""
        info = self._checked(name)
        with self._archive.open(info) as member:
            return read_array_header(member, info.file_size)

    def sparse(self) -> Any:
        """Return the sparse matrix (m, n) that SciPy's ``save_npz`` wrote."""
        names = ("data", "shape", "indices", "indptr", "row", "col", "offsets")
        return checked_sparse(self._form(), {name: self[name] for name in names if name in self})

    def sparse_shape(self) -> tuple[int, int]:
        """Return the shape (m, n) that a sparse matrix declares, and has offsets for."""
        rows, columns = check_shape(self["shape"].tolist())
        lines = {"csr": rows, "csc": columns}.get(self._form())
        if lines is not None and self.header("indptr").shape != (lines + 1,):
            raise UnfitError(
                f"a matrix has offsets of shape {self.header('indptr').shape} where {lines + 1} "
                "are needed"
            )
        return rows, columns

    def _form(self) -> str:
        """Return the name of the sparse format."""
        form: Any = self["format"].reshape(-1)[:1].tolist()
        return form[0].decode("latin1") if form and isinstance(form[0], bytes) else "".join(form)

    def _checked(self, name: str) -> zipfile.ZipInfo:
        """Return what the archive says of an array, unless its bytes cannot become so many."""
        info = self._members[name]
        times = TIMES.get(info.compress_type)
        if times is not None and info.file_size > info.compress_size * times + MARGIN:
            raise UnfitError(
                f"the array {name!r} declares {info.file_size} bytes, more than the "
                f"{info.compress_size} that are there can become"
            )
        return info


@contextmanager
def open_npz(source: Source) -> Iterator[NpzArchive]:
    """Open an npz file as a mapping of arrays, with damage translated into one sentence."""
    with _understood(source), source.guarded(), zipfile.ZipFile(source.path) as archive:
        yield NpzArchive(archive)


def npy_header(source: Source) -> ArrayHeader:
    """Return the header of an npy file; refuse a file shorter than its header says."""
    with _understood(source), source.guarded(), open(source.path, "rb") as file:
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


@contextmanager
def _understood(source: Source) -> Iterator[None]:
    """Translate what NumPy and zipfile say of a file they cannot read into one sentence."""
    try:
        yield
    except (InvalidInputError, StoredFileError):
        raise
    except zipfile.BadZipFile as broken:
        raise source.damaged("is truncated or damaged") from broken
    except KeyError as missing:
        raise source.damaged(f"holds no array {missing.args[0]!r}") from missing
    except (ValueError, TypeError, RuntimeError, OverflowError) as problem:
        # zipfile: a method or a password that it does not know, sizes that it cannot seek.
        raise source.misread(problem) from problem
