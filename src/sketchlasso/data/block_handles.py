"""Handles of blocks of rows: small objects that load entries stored elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from sketchlasso.cluster import holder_of, value_of
from sketchlasso.errors import InvalidInputError

__all__ = [
    "ArrayBlock",
    "BlockHandle",
    "DaskBlock",
    "check_alike",
    "dask_blocks",
    "is_dask_array",
]


class BlockHandle(Protocol):
    """A handle of a block of rows; it can be pickled, and is opened where it is processed."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def columns(self) -> int:
        """Number of columns, the same for all blocks of a matrix."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries, the same for all blocks of a matrix."""

    @property
    def sparse(self) -> bool:
        """Whether :meth:`load` returns a sparse matrix."""

    @property
    def name(self) -> str:
        """Name of the block in messages, such as its file's name; may be empty."""

    def load(self) -> Any:
        """Return the entries: ndarray or csr_array of shape (rows, columns)."""


@dataclass(frozen=True, eq=False)
class ArrayBlock:
    """A block in memory, or in a memory map; `whole` if it is all of X."""

    entries: Any
    name: str = ""
    whole: bool = False

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.entries.shape[0])

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.entries.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""
        return np.dtype(self.entries.dtype)

    @property
    def sparse(self) -> bool:
        """Whether the entries are a sparse matrix."""
        return bool(sparse.issparse(self.entries))

    def load(self) -> Any:
        """Return the entries."""
        return self.entries


@dataclass(frozen=True, eq=False)
class DaskBlock:
    """A row chunk of a dask array, computed when it is needed."""

    delayed: Any
    rows: int
    columns: int
    dtype: np.dtype[Any]
    sparse: bool
    name: str = ""

    def load(self) -> Any:
        """Compute the chunk in this thread, or fetch it from the cluster that holds it."""
        return value_of(self.delayed)


def is_dask_array(X: Any) -> bool:
    """Return whether X is a dask array, without importing Dask."""
    kind = type(X)
    return kind.__module__.startswith("dask.array") and hasattr(X, "to_delayed")


def dask_blocks(array: Any) -> list[DaskBlock]:
    """Return the row chunks of a dask array (m, n); chunks of columns are joined."""
    if array.ndim != 2:
        raise InvalidInputError(
            f"X is a dask array of shape {array.shape}, but a matrix of shape (n_samples, "
            "n_features) is needed; reshape it to two dimensions."
        )
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise InvalidInputError(
            f"X is a dask array with chunks of unknown size ({array.chunks}), but the number of "
            "rows of every chunk is needed; call X.compute_chunk_sizes() first."
        )
    if len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    kind, columns = sparse.issparse(array._meta), int(array.shape[1])
    # Optimised, the graph would forget that it needs the futures of what was persisted.
    chunks = array.to_delayed(optimize_graph=holder_of(array) is None)
    return [
        DaskBlock(delayed, int(rows), columns, np.dtype(array.dtype), kind, f"chunk {number}")
        for number, (delayed, rows) in enumerate(zip(chunks.ravel(), array.chunks[0], strict=True))
    ]


def check_alike(handles: list[BlockHandle]) -> None:
    """Refuse blocks that do not make one matrix."""
    if not handles:
        raise InvalidInputError(
            "X has no block, but at least one row and one column are needed; pass blocks."
        )
    first = handles[0]
    for number, handle in enumerate(handles):
        name = f"block {number}" + (f" ({handle.name})" if handle.name else "")
        if handle.columns != first.columns:
            raise InvalidInputError(
                f"{name} of X has {handle.columns} columns and block 0 has {first.columns}, but "
                "all blocks need the same features; bring them to one set of columns."
            )
        if np.dtype(handle.dtype) != np.dtype(first.dtype):
            raise InvalidInputError(
                f"{name} of X has entries of type {handle.dtype} and block 0 of {first.dtype}, "
                "but all blocks need one type; convert them first."
            )
        if np.dtype(handle.dtype).kind not in "biuf":
            raise InvalidInputError(
                f"{name} of X has entries of type {handle.dtype}, but real numbers are needed; "
                "convert it to float."
            )
    if first.columns == 0 or not any(handle.rows for handle in handles):
        raise InvalidInputError(
            f"X is empty ({sum(h.rows for h in handles)} rows, {first.columns} columns), but at "
            "least one row and one column are needed; pass blocks with entries."
        )
