"""NumPy's npz and npy files and Matrix Market text. Pickles are never read."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.files.columns import choose_columns, nearest
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.source import NoRowsError, Source
from sketchlasso.files.table import Table, as_csr, as_real, finite_or_refuse
from sketchlasso.storage import replacing

__all__ = [
    "check_matrix",
    "is_sparse",
    "matrix_key",
    "open_npz",
    "read_matrix_market",
    "read_npy",
    "read_npz",
    "target_key",
    "texts",
    "understood",
    "write_matrix_market",
    "write_npy",
    "write_npz",
]

# The arrays by which SciPy's save_npz is known.
SPARSE_KEYS = frozenset({"format", "shape", "data"})


def read_npz(source: Source, options: ReadOptions) -> Table:
    """Read a sparse matrix written by SciPy, or arrays X and y written by NumPy.

    Parameters
    ----------
    source : Source
    options : ReadOptions
        target, drop and dtype count; a target that is a string names the array that is y.

    Returns
    -------
    Table
        feature_names come from an array of that name, target_name likewise.
    """
    with open_npz(source) as stored:
        held = list(stored)
        X = sparse.load_npz(source.path) if is_sparse(held) else None
        if X is None:
            X = stored[matrix_key(source, stored)]
        key = target_key(source, held, options.target)
        y = None if key is None else stored[key]
        names = texts(stored, "feature_names")
        label = texts(stored, "target_name")
    column = None if isinstance(options.target, str) else options.target
    if y is not None and column is not None:
        y, label = None, None
    target_name = key if label is None and key != "y" else label
    if isinstance(target_name, tuple) and len(target_name) == 1:
        target_name = target_name[0]
    return _finished(source, X, y, names, target_name, column, options)


def read_npy(source: Source, options: ReadOptions) -> Table:
    """Map a npy file into memory; its numbers are read, and checked, where they are used.

    Parameters
    ----------
    source : Source
    options : ReadOptions
        target, drop and dtype count. A target or dropped columns inside the matrix, or another
        type, cost a copy in memory; a target that is the first or the last column does not.

    Returns
    -------
    Table
    """
    with understood(source), source.guarded():
        X = np.load(source.path, mmap_mode="r", allow_pickle=False)
    check_matrix(source, X, "its array")
    columns = choose_columns(source, None, X.shape[1], options.target, options.drop)
    y = None if columns.target is None else np.array(X[:, columns.target], dtype=np.float64)
    kept = columns.features
    if kept == tuple(range(kept[0], kept[-1] + 1)):
        X = X[:, kept[0] : kept[-1] + 1]
    else:
        X = np.asarray(X[:, list(kept)])
    return Table(as_real(X, options.real_type()), y, None, None, str(source))


def read_matrix_market(source: Source, options: ReadOptions) -> Table:
    """Read Matrix Market text: sparse where it lists coordinates, dense where it lists all.

    Parameters
    ----------
    source : Source
    options : ReadOptions
        target, drop and dtype count; columns are given by position.

    Returns
    -------
    Table
    """
    from scipy.io import mmread  # not needed to import the library

    with source.open() as file:
        try:
            X = mmread(file)
        except (ValueError, OverflowError) as problem:
            raise source.misread(problem) from problem
    return _finished(source, X, None, None, None, options.target, options)


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
    if table.feature_names is not None:
        arrays["feature_names"] = np.array(table.feature_names, dtype=np.str_)
    if table.target_name is not None:
        names = table.target_name
        arrays["target_name"] = np.array([names] if isinstance(names, str) else names)
    with replacing(path) as file:
        np.savez_compressed(file, **arrays)


def write_npy(path: Path, table: Table) -> None:
    """Write a dense X, to be mapped into memory when it is read."""
    _matrix_alone(path, table)
    if not isinstance(table.X, np.ndarray):
        raise InvalidInputError(
            f"{path} cannot be written: an npy file is dense but X is sparse; write an npz or "
            "Matrix Market file."
        )
    with replacing(path) as file:
        np.save(file, np.asarray(table.X), allow_pickle=False)


def write_matrix_market(path: Path, table: Table) -> None:
    """Write X: coordinates where it is sparse, all numbers where it is dense."""
    from scipy.io import mmwrite  # not needed to import the library

    _matrix_alone(path, table)
    with replacing(path, compress=True) as file:
        mmwrite(file, table.X, symmetry="general")


def _matrix_alone(path: Path, table: Table) -> None:
    if table.y is not None:
        raise InvalidInputError(
            f"{path} cannot be written: such a file holds a matrix and no target; write an npz "
            "file, or a Table without y."
        )


@contextmanager
def open_npz(source: Source) -> Iterator[Any]:
    """Open an npz file as a mapping of arrays, with damage translated into one sentence."""
    # NumPy leaves a file open that it opened itself and cannot read.
    with (
        understood(source),
        source.guarded(),
        open(source.path, "rb") as file,
        np.load(file, allow_pickle=False) as stored,
    ):
        yield stored


@contextmanager
def understood(source: Source) -> Iterator[None]:
    """Translate what NumPy and zipfile say of a file they cannot read into one sentence."""
    try:
        yield
    except (InvalidInputError, StoredFileError):
        raise
    except zipfile.BadZipFile as broken:
        raise source.damaged("is truncated or damaged") from broken
    except (ValueError, KeyError) as problem:
        if "allow_pickle" in str(problem) or "Python objects" in str(problem):
            raise StoredFileError(
                f"{source} holds Python objects, which are never read because they can run code; "
                "save plain numbers and text."
            ) from problem
        raise source.misread(problem) from problem


def _finished(
    source: Source,
    X: Any,
    y: NDArray[Any] | None,
    names: Sequence[str] | None,
    target_name: Any,
    target: int | str | None,
    options: ReadOptions,
) -> Table:
    check_matrix(source, X, "its matrix")
    columns = choose_columns(source, names, X.shape[1], target, options.drop)
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


def is_sparse(held: Iterable[str]) -> bool:
    """Whether arrays of these names are a sparse matrix of SciPy's."""
    return set(held) >= SPARSE_KEYS


def matrix_key(source: Source, stored: Any) -> str:
    """Name of the array that is X, in a mapping of arrays or of their headers."""
    if "X" in stored:
        return "X"
    matrices = [name for name in stored if stored[name].ndim == 2]
    if len(matrices) == 1:
        return str(matrices[0])
    raise InvalidInputError(
        f"{source} holds the arrays {', '.join(stored)}, but a matrix called X (or one matrix "
        "alone) is needed; save it with numpy.savez(path, X=X, y=y)."
    )


def target_key(source: Source, held: Sequence[str], target: int | str | None) -> str | None:
    """Name of the array that is y, or None."""
    if not isinstance(target, str):
        return "y" if "y" in held else None
    if target not in held:
        others = [name for name in held if name not in {"X", *SPARSE_KEYS, "indices", "indptr"}]
        raise InvalidInputError(
            f"target={target!r} is not an array of {source}{nearest(target, others)}; give one "
            f"of its other arrays ({', '.join(others) or 'there are none'}) or the position of a "
            "column of X."
        )
    return target


def texts(stored: Any, key: str) -> tuple[str, ...] | None:
    """Return an array of text by its name, where it is there."""
    return tuple(map(str, np.atleast_1d(stored[key]))) if key in stored else None


def check_matrix(source: Source, X: Any, what: str) -> None:
    """Refuse what is no matrix of real numbers; `X` is an array or its header."""
    if X.ndim != 2 or X.dtype.kind not in "biuf" or 0 in X.shape:
        empty = X.ndim == 2 and X.dtype.kind in "biuf" and X.shape[0] == 0 < X.shape[1]
        raise (NoRowsError if empty else InvalidInputError)(
            f"{source} cannot be used: {what} has shape {X.shape} and type {X.dtype}, but a matrix "
            "of real numbers with at least one row and column is needed; save it so."
        )
