"""Blocks of rows: handles of entries stored elsewhere, chosen rows, and how a block is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from sketchlasso.cluster import holder_of
from sketchlasso.data.storage import (
    canonical,
    check_two_axes,
    divided_entries,
    find_entry,
    floating,
    is_sparse,
)
from sketchlasso.errors import InvalidInputError
from sketchlasso.types import FloatArray, IntArray

# Sums of squares of larger entries may overflow, and X in blocks is not rescaled.
LARGEST = {np.dtype(np.float64): 1e120, np.dtype(np.float32): 1e15}


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


def dask_parts(array: Any) -> list[Part]:
    """Return the row chunks of a dask array (m, n); chunks of columns are joined."""
    check_two_axes(array.shape)
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise InvalidInputError(
            f"X is a dask array with chunks of unknown size ({array.chunks}), but the number of "
            "rows of every chunk is needed; call X.compute_chunk_sizes() first."
        )
    if len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    kind, columns = is_sparse(array._meta), int(array.shape[1])
    # An optimised graph would lose the futures of persisted chunks.
    chunks = array.to_delayed(optimize_graph=holder_of(array) is None).ravel()
    return [
        Part(delayed, f"block {i} (chunk {i})", (int(rows), columns), np.dtype(array.dtype), kind)
        for i, (delayed, rows) in enumerate(zip(chunks, array.chunks[0], strict=True))
    ]


def check_alike(parts: list[Part]) -> list[Part]:
    """Return blocks if they make one matrix; refuse them otherwise."""
    if not parts:
        raise InvalidInputError(
            "X has no block, but at least one row and one column are needed; pass blocks."
        )
    columns, dtype = parts[0].shape[1], parts[0].dtype
    for part in parts:
        if part.shape[1] != columns:
            raise InvalidInputError(
                f"{part.label} of X has {part.shape[1]} columns and block 0 has {columns}, but all "
                "blocks need the same features; bring them to one set of columns."
            )
        if part.dtype != dtype:
            raise InvalidInputError(
                f"{part.label} of X has entries of type {part.dtype} and block 0 of {dtype}, but "
                "all blocks need one type; convert them first."
            )
        if part.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"{part.label} of X has entries of type {part.dtype}, but real numbers are "
                "needed; convert it to float."
            )
    if columns == 0 or not any(part.rows for part in parts):
        raise InvalidInputError(
            f"X is empty ({sum(part.rows for part in parts)} rows, {columns} columns), but at "
            "least one row and one column are needed; pass blocks with entries."
        )
    return parts


@dataclass(frozen=True, eq=False)
class Part:
    """A stored block of rows, and how it becomes an array to compute with.

    The `source` is a handle, the entries themselves, or a value that Dask computes. The label is
    the name of the block in messages; shape and type are those announced. Columns are divided by
    `scales` (n,), if there are any. Only the `chosen` rows (r,) are kept, all where it is None.
    With `check`, entries must be finite and not too large. A block that is all of X, in memory, is
    used as it is.
    """

    source: Any
    label: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    sparse: bool
    whole: bool = False
    chosen: IntArray | None = None
    scales: FloatArray | None = None
    check: bool = False

    @classmethod
    def of(cls, handle: BlockHandle, number: int) -> Part:
        """Return the block of a handle."""
        label = f"block {number}" + (f" ({handle.name})" if handle.name else "")
        shape = handle.rows, handle.columns
        return cls(handle, label, shape, np.dtype(handle.dtype), handle.sparse)

    @classmethod
    def of_entries(cls, entries: Any, number: int = 0, whole: bool = False) -> Part:
        """Return a block in memory, or in a memory map."""
        shape = int(entries.shape[0]), int(entries.shape[1])
        kind = np.dtype(entries.dtype)
        return cls(entries, f"block {number}", shape, kind, is_sparse(entries), whole)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.shape[0] if self.chosen is None else len(self.chosen)

    @property
    def open(self) -> Callable[[Any], Any]:
        """What turns the source's value into entries; it does not hold the source."""
        return replace(self, source=None).opened

    def opened(self, source: Any) -> Any:
        """Return an ndarray or csr_array (r, columns), of float32 or float64 unless `whole`."""
        entries = source.load() if hasattr(source, "load") else source
        entries = entries.tocsr() if is_sparse(entries) else np.asarray(entries)
        if not self.whole:
            entries = canonical(sparse.csr_array(entries)) if is_sparse(entries) else entries
            self._check_announced(entries)
        if self.scales is not None:
            entries = divided_entries(entries, self.scales)
        if self.check:
            self._check_sizes(entries)
        if self.chosen is not None:
            entries = entries[self.chosen]
        return entries if self.whole else entries.astype(floating(entries.dtype), copy=False)

    def _check_announced(self, entries: Any) -> None:
        if entries.shape != self.shape:
            raise InvalidInputError(
                f"{self.label} of X has shape {entries.shape}, but {self.shape} was announced; "
                "give all blocks the same columns, and correct the announced sizes."
            )
        if entries.dtype != self.dtype:
            raise InvalidInputError(
                f"{self.label} of X has entries of type {entries.dtype}, but {self.dtype} was "
                "announced for all blocks; convert them to one type first."
            )

    def _check_sizes(self, entries: Any) -> None:
        """Refuse entries that are not finite, or so large that squares of them overflow."""
        values = entries.data if is_sparse(entries) else entries
        if values.dtype.kind != "f" or values.size == 0:
            return
        largest = LARGEST[floating(values.dtype)]
        # NaN propagates to both, and fails both comparisons.
        if values.max() <= largest and values.min() >= -largest:
            return
        found = find_entry(entries, lambda values: ~(np.abs(values) <= largest))
        assert found is not None
        row, column, value = found
        where = f"X holds {value:g} in {self.label}, row {row} of it, column {column}"
        if np.isfinite(value):
            raise InvalidInputError(
                f"{where}, but entries of blocks may be {largest:.0e} at most, or their squares "
                "overflow; divide X by a power of ten first."
            )
        raise InvalidInputError(
            f"{where}, but every entry must be finite; replace or drop such entries first."
        )


def split_rows(rows: IntArray, edges: IntArray) -> list[IntArray]:
    """Return sorted rows (r,) as rows of each block; block i has the rows from edge i on."""
    places = np.searchsorted(rows, edges)
    return [
        rows[a:b] - edge for a, b, edge in zip(places[:-1], places[1:], edges[:-1], strict=True)
    ]


def split_choice(
    rows: IntArray, weights: FloatArray | None, edges: IntArray
) -> list[tuple[IntArray, FloatArray | None]]:
    """Return sorted rows (r,) and their weights (r,) as those of each block."""
    parts = split_rows(rows, edges)
    if weights is None:
        return [(part, None) for part in parts]
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return list(zip(parts, np.split(weights, ends), strict=True))


def row_numbers(key: object, m: int) -> IntArray:
    """Row numbers (r,) of a slice, a mask or numbers, which may be negative."""
    chosen: Any = key if isinstance(key, slice) else np.asarray(key)
    if isinstance(chosen, np.ndarray) and chosen.size == 0:
        chosen = chosen.astype(np.intp)
    try:
        rows = np.arange(m)[chosen]
    except IndexError:
        rows = np.empty((), dtype=np.intp)
    if rows.ndim != 1:
        raise InvalidInputError(
            f"X[{key!r:.60}] was requested, but a slice, a mask of length {m} or a list of row "
            f"numbers, none beyond {m - 1}, is accepted; pass one of them."
        )
    return rows


def check_factor(V: Any, size: int) -> None:
    """Refuse a factor that does not have `size` rows."""
    shape = np.shape(V)
    if len(shape) != 2 or shape[0] != size:
        raise InvalidInputError(
            f"a factor of shape {shape} was given, but a vector or matrix of {size} rows is "
            "needed; reshape it, or check which side of X it belongs to."
        )
