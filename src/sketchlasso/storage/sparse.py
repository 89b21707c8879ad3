"""Sparse matrices from stored arrays, whose indices are checked before they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sketchlasso.storage.door import (
    UnfitError,
    check_lengths,
    check_memory,
    check_numbers,
    check_shape,
)
from sketchlasso.types import SparseRows


def checked_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: Sequence[Any]
) -> SparseRows:
    """Return a CSR matrix (m, n) from entries (k,), columns (k,) and offsets (m + 1,), checked."""
    rows, columns = check_shape(shape)
    _check_compressed(data, indices, indptr, rows, columns)
    if data.ndim != 1:
        raise UnfitError(f"the entries of a matrix have the shape {data.shape}")
    return sparse.csr_array((data, indices, indptr), shape=(rows, columns))


def checked_sparse(form: str, parts: Mapping[str, NDArray[Any]]) -> Any:
    """Return a sparse matrix (m, n) in a form such as "csr", from what ``save_npz`` writes.

    `parts` are ``shape``, ``data`` and the arrays of indices that belong to the form.
    """
    data = parts["data"]
    stored = parts["shape"]
    if stored.ndim != 1 or stored.dtype.kind not in "iu":
        raise UnfitError(f"the shape of a matrix is {stored.dtype} of shape {stored.shape}")
    shape = check_shape(stored.tolist())
    if data.dtype.kind not in "biufc":
        raise UnfitError(f"the entries of a matrix are {data.dtype}")
    if form == "csr":
        return checked_csr(data, parts["indices"], parts["indptr"], shape)
    if form == "csc":
        turned = checked_csr(data, parts["indices"], parts["indptr"], shape[::-1])
        return turned.T
    if form == "coo":
        return _coordinates(data, parts["row"], parts["col"], shape)
    if form == "bsr":
        return _blocks(data, parts["indices"], parts["indptr"], shape)
    if form == "dia":
        return _diagonals(data, parts["offsets"], shape)
    raise UnfitError(f"a sparse matrix is stored in the form {form[:20]!r}")


def pack_rows(matrix: SparseRows, vectors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a matrix (m, n), and vectors (m,) that belong to its rows."""
    indices, indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return {"data": matrix.data, "indices": indices, "indptr": indptr, **vectors}


def unpack_rows(
    arrays: Mapping[str, NDArray[Any]],
    shape: Sequence[Any],
    kinds: Mapping[str, str],
    *,
    finite: bool = True,
) -> tuple[SparseRows, list[NDArray[Any]]]:
    """Return the matrix and vectors of :func:`pack_rows`; `kinds` are the types of the vectors."""
    check_numbers(arrays["data"], "data")
    matrix = checked_csr(arrays["data"], arrays["indices"], arrays["indptr"], shape)
    for name, kind in kinds.items():
        check_numbers(arrays[name], name, kind, finite=finite)
        if arrays[name].shape != matrix.shape[:1]:
            raise UnfitError(f"{name} has the shape {arrays[name].shape}, not ({matrix.shape[0]},)")
    return matrix, [arrays[name] for name in kinds]


def _check_compressed(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], rows: int, columns: int
) -> None:
    _check_indices(indices, columns, "a column index")
    if len(indices) != len(np.atleast_1d(data)):
        raise UnfitError(f"a matrix has {len(indices)} indices for {data.shape} entries")
    check_lengths(indptr, len(indices), "the rows of a matrix")
    if len(indptr) != rows + 1 or int(indptr[0]) != 0:
        raise UnfitError(f"a matrix has {len(indptr) - 1} rows where {rows} are declared")


def _check_indices(indices: NDArray[Any], limit: int, what: str) -> None:
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise UnfitError(f"{what} is {indices.dtype} of shape {indices.shape}, not an integer")
    if len(indices) and not (int(indices.min()) >= 0 and int(indices.max()) < limit):
        wrong = next(int(end) for end in (indices.min(), indices.max()) if not 0 <= end < limit)
        raise UnfitError(f"{what} is {wrong}, but 0 to {limit - 1} are possible")


def _coordinates(
    data: NDArray[Any], row: NDArray[Any], col: NDArray[Any], shape: tuple[int, int]
) -> Any:
    _check_indices(row, shape[0], "a row index")
    _check_indices(col, shape[1], "a column index")
    if data.shape != row.shape or data.shape != col.shape:
        raise UnfitError(f"a matrix has {len(row)} and {len(col)} indices, {data.shape} entries")
    return sparse.coo_array((data, (row, col)), shape=shape)


def _blocks(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> Any:
    if data.ndim != 3 or 0 in data.shape[1:]:
        raise UnfitError(f"the blocks of a matrix have the shape {data.shape}")
    _, height, width = data.shape
    if shape[0] % height or shape[1] % width:
        raise UnfitError(f"blocks of {height} x {width} do not fill a matrix of shape {shape}")
    _check_compressed(data, indices, indptr, shape[0] // height, shape[1] // width)
    return sparse.bsr_array((data, indices, indptr), shape=shape)


def _diagonals(data: NDArray[Any], offsets: NDArray[Any], shape: tuple[int, int]) -> Any:
    if data.ndim != 2 or offsets.ndim != 1 or offsets.dtype.kind not in "iu":
        raise UnfitError(f"diagonals of shape {data.shape} have offsets {offsets.shape}")
    known = [int(offset) for offset in offsets.tolist()]
    if len(known) != len(data) or len(set(known)) != len(known):
        raise UnfitError(f"{len(data)} diagonals have {len(set(known))} offsets")
    if any(not -shape[0] < offset < shape[1] for offset in known):
        raise UnfitError(f"a diagonal lies outside a matrix of shape {shape}")
    check_memory(24 * len(known) * min(max(shape), data.shape[1]), "a matrix of diagonals")
    return sparse.dia_array((data, offsets), shape=shape)
