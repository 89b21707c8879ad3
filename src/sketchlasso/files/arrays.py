"""NumPy's npz and npy files. Pickles are never read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.files.columns import choose_columns, nearest
from sketchlasso.files.finish import check_matrix, finished_table, refuse_target
from sketchlasso.files.npz import NpzArchive, npy_header, open_npz
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.source import Source
from sketchlasso.files.table import Table, as_real
from sketchlasso.storage import replacing

__all__ = [
    "is_sparse",
    "matrix_key",
    "read_npy",
    "read_npz",
    "target_key",
    "texts",
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
        X = stored.sparse() if is_sparse(held) else stored[matrix_key(source, stored)]
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
    return finished_table(source, X, y, names, target_name, column, options)


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
    check_matrix(source, npy_header(source), "its array")
    with source.guarded():
        X = np.load(source.path, mmap_mode="r", allow_pickle=False)
    columns = choose_columns(source, None, X.shape[1], options.target, options.drop)
    y = None if columns.target is None else np.array(X[:, columns.target], dtype=np.float64)
    kept = columns.features
    if kept == tuple(range(kept[0], kept[-1] + 1)):
        X = X[:, kept[0] : kept[-1] + 1]
    else:
        X = np.asarray(X[:, list(kept)])
    return Table(as_real(X, options.real_type()), y, None, None, str(source))


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


def is_sparse(held: Iterable[str]) -> bool:
    """Whether arrays of these names are a sparse matrix of SciPy's."""
    return set(held) >= SPARSE_KEYS


def matrix_key(source: Source, stored: NpzArchive) -> str:
    """Name of the array that is X."""
    if "X" in stored:
        return "X"
    matrices = [name for name in stored if stored.header(name).ndim == 2]
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
            Argument("target", target),
            f" is not an array of {source}{nearest(target, others)}; give one of its other arrays "
            f"({', '.join(others) or 'there are none'}) or the position of a column of X.",
        )
    return target


def texts(stored: NpzArchive, key: str) -> tuple[str, ...] | None:
    """Return an array of text by its name, where it is there."""
    return tuple(map(str, np.atleast_1d(stored[key]))) if key in stored else None
