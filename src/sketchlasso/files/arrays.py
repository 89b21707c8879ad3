"""NumPy's npz and npy files. Arrays are checked before they are read; pickles are never read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sketchlasso.errors import Argument, InvalidInputError, StoredFileError
from sketchlasso.files.options import ReadOptions, nearest
from sketchlasso.files.source import NoRowsError, Source
from sketchlasso.files.table import Table, as_csr, as_real, finite_or_refuse, refuse_target
from sketchlasso.storage import replacing
from sketchlasso.storage.door import (
    ArrayHeader,
    UnfitError,
    check_shape,
    read_array,
    read_array_header,
)
from sketchlasso.storage.sparse import checked_sparse

# The arrays that files of SciPy's save_npz have.
SPARSE_KEYS = frozenset({"format", "shape", "data"})
# Most bytes per stored byte, by compression, and the overhead of a member of the archive.
TIMES, MARGIN = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}, 1 << 10


def read_npz(source: Source, options: ReadOptions) -> Table:
    """Read a sparse matrix written by SciPy, or arrays X and y written by NumPy.

    A target that is a string names the array that is y. feature_names and target_name come from
    arrays of these names.
    """
    with open_npz(source) as stored:
        X = stored.sparse() if stored.is_sparse else stored[stored.matrix_key()]
        column, y, label = stored.target(options.target)
        names = stored.texts("feature_names")
    return finished_table(source, X, replace(options, target=column), y, names, label)


def read_npy(source: Source, options: ReadOptions) -> Table:
    """Map an npy file into memory; its numbers are read, and checked, where they are used.

    A target or dropped columns inside the matrix, or another type, cost a copy in memory; those
    at its edges do not.
    """
    header = npy_header(source)
    check_matrix(source, header, "its array")
    X = map_rows(source, header, 0, header.shape[0])
    columns = options.columns(source, None, X.shape[1])
    y = None if columns.target is None else np.array(X[:, columns.target], dtype=np.float64)
    X = take_columns(X, columns.features)
    return Table(as_real(X, options.real_type()), y, None, None, str(source))


def take_columns(X: Any, kept: tuple[int, ...]) -> Any:
    """Return some columns of X (m, n); a view where they are neighbours."""
    if kept == tuple(range(kept[0], kept[-1] + 1)):
        return X[:, kept[0] : kept[-1] + 1]
    return np.asarray(X[:, list(kept)])


def write_npz(path: Path, table: Table) -> None:
    """Write a table so that read_npz, and of a sparse X scipy.sparse.load_npz, read it back."""
    arrays: dict[str, Any] = {}
    X = table.X
    if isinstance(X, np.ndarray):
        arrays["X"] = np.asarray(X)
    else:
        arrays.update(indices=X.indices, indptr=X.indptr, data=X.data)
        arrays.update(format=np.array(b"csr"), shape=np.array(X.shape))
    if table.y is not None:
        arrays["y"] = table.y
    if table.ids is not None:
        arrays["ids"] = table.ids
    if table.feature_names is not None:
        arrays["feature_names"] = np.array(table.feature_names, dtype=np.str_)
    if table.target_name is not None:
        names = table.target_name
        arrays["target_name"] = np.array([names] if isinstance(names, str) else names)
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)


def write_npy(path: Path, table: Table) -> None:
    """Write a dense X, to be mapped into memory when it is read."""
    refuse_target(path, table)
    if not isinstance(table.X, np.ndarray):
        raise InvalidInputError(
            f"{path} cannot be written: an npy file is dense but X is sparse; write an npz or "
            "Matrix Market file."
        )
    with replacing(path) as file:
        np.save(file, np.asarray(table.X), allow_pickle=False)


def finished_table(
    source: Source,
    X: Any,
    options: ReadOptions,
    y: NDArray[Any] | None = None,
    names: Sequence[str] | None = None,
    target_name: Any = None,
) -> Table:
    """Make a table of a stored matrix (m, n), less the target and dropped columns; check it."""
    check_matrix(source, X, "its matrix")
    columns = options.columns(source, names, X.shape[1])
    dtype = options.real_type()
    whole = as_csr(X, dtype) if sparse.issparse(X) else as_real(np.asarray(X), dtype)
    if columns.target is not None:
        chosen: Any = whole[:, [columns.target]]
        y = (chosen if isinstance(chosen, np.ndarray) else chosen.toarray()).ravel()
        target_name = columns.target_name
    if len(columns.features) < X.shape[1]:
        whole = whole[:, list(columns.features)]
    table = Table(whole, y, columns.feature_names, target_name, str(source))
    finite_or_refuse(str(source), table.X, table.y, table.feature_names)
    return table


def check_matrix(source: Source, X: Any, what: str) -> None:
    """Refuse anything but a matrix of real numbers; `X` is an array or its header."""
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        empty = X.ndim == 2 and X.dtype.kind in "biuf" and X.shape[0] == 0 < X.shape[1]
        raise (NoRowsError if empty else InvalidInputError)(
            f"{source} cannot be used: {what} has shape {X.shape} and type {X.dtype}, but a matrix "
            "of real numbers with at least one row and column is needed; save one."
        )


class NpzArchive:
    """The arrays of an npz file by name, read on access."""

    def __init__(self, source: Source, archive: zipfile.ZipFile) -> None:
        self._source, self._archive = source, archive
        self._members = {
            info.filename.removesuffix(".npy"): info
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }

    def __getitem__(self, name: str) -> NDArray[Any]:
        info = self._checked(name)
        with self._archive.open(info) as member:
            array = read_array(member, info.file_size)
            if member.read(1):  # at the end the archive also compares its checksum
                raise UnfitError(f"the array {name!r} is longer than it declares")
        return array

    def header(self, name: str) -> ArrayHeader:
        """Return shape and type of an array."""
        info = self._checked(name)
        with self._archive.open(info) as member:
            return read_array_header(member, info.file_size)

    @property
    def is_sparse(self) -> bool:
        """Whether the arrays are a sparse matrix of SciPy's."""
        return self._members.keys() >= SPARSE_KEYS

    def matrix_key(self) -> str:
        """Name of the array that is X."""
        if "X" in self._members:
            return "X"
        matrices = [name for name in self._members if self.header(name).ndim == 2]
        if len(matrices) == 1:
            return matrices[0]
        raise InvalidInputError(
            f"{self._source} holds the arrays {', '.join(self._members)}, but a matrix called X "
            "(or one matrix alone) is needed; save it with numpy.savez(path, X=X, y=y)."
        )

    def target(self, given: int | str | None) -> tuple[int | None, NDArray[Any] | None, Any]:
        """Return the column of X that is the target, or the array that is y and its name."""
        if given is not None and not isinstance(given, str):
            return given, None, None
        if given is not None and given not in self._members:
            hidden = {"X", *SPARSE_KEYS, "indices", "indptr"}
            others = [name for name in self._members if name not in hidden]
            raise InvalidInputError(
                Argument("target", given),
                f" is not an array of {self._source}{nearest(given, others)}; give one of its "
                f"other arrays ({', '.join(others) or 'there are none'}) or the position of a "
                "column of X.",
            )
        key = "y" if given is None else given
        if key not in self._members:
            return None, None, None
        names = self.texts("target_name") or (() if key == "y" else (key,))
        return None, self[key], names[0] if len(names) == 1 else names or None

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return an array of text by its name, or None."""
        return tuple(map(str, np.atleast_1d(self[key]))) if key in self._members else None

    def sparse(self) -> Any:
        """Return the sparse matrix (m, n) that SciPy's ``save_npz`` wrote."""
        names = ("data", "shape", "indices", "indptr", "row", "col", "offsets")
        parts = {name: self[name] for name in names if name in self._members}
        return checked_sparse(self._form(), parts)

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
        """Return the archive's entry of an array; refuse a size that its bytes cannot have."""
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
        yield NpzArchive(source, archive)


def npy_header(source: Source) -> ArrayHeader:
    """Return the header of an npy file; refuse a file shorter than its header says."""
    with _understood(source), source.guarded(), open(source.path, "rb") as file:
        return read_array_header(file, os.fstat(file.fileno()).st_size)


def map_rows(source: Source, header: ArrayHeader, start: int, stop: int) -> Any:
    """Map rows start, ..., stop - 1 of an npy file; only their part where it is stored by rows."""
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
    """Translate errors of NumPy and zipfile into one sentence."""
    try:
        yield
    except (InvalidInputError, StoredFileError):
        raise
    except zipfile.BadZipFile as broken:
        raise source.damaged("is truncated or damaged") from broken
    except KeyError as missing:
        raise source.damaged(f"holds no array {missing.args[0]!r}") from missing
    except (ValueError, TypeError, RuntimeError, OverflowError) as problem:
        # zipfile raises these for unknown methods, passwords, and sizes it cannot seek.
        raise source.misread(problem) from problem
