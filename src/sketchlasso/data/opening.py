"""Open a block where it is processed: load it, check it, choose its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.data.block_handles import ArrayBlock, BlockHandle, DaskBlock
from sketchlasso.data.compressed import SparseStorage, canonical
from sketchlasso.data.dense import DenseStorage
from sketchlasso.errors import InvalidInputError
from sketchlasso.types import IntArray

__all__ = ["Opening", "Part", "RowBlock", "is_sparse", "storage_of"]

# Sums of squares of larger entries may overflow, and X in blocks is not rescaled.
LARGEST = {np.dtype(np.float64): 1e120, np.dtype(np.float32): 1e15}


@dataclass(frozen=True, eq=False)
class Opening:
    """How a loaded block becomes an array to compute with.

    Attributes
    ----------
    label : str
        Name of the block in messages.
    shape : tuple of int
        Announced rows and columns.
    dtype : dtype
        Announced type; anything but float32 is computed with as float64.
    chosen : ndarray of shape (r,) or None
        Rows of the block to keep; None for all.
    check : bool
        Whether to check that entries are finite and not too large.
    whole : bool
        Whether the block is all of X, in memory: it is used as it is, and never copied.
    """

    label: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    chosen: IntArray | None
    check: bool
    whole: bool = False

    def __call__(self, source: Any) -> Any:
        """Return an ndarray or csr_array (r, columns), of float32 or float64 unless `whole`."""
        entries = source.load() if hasattr(source, "load") else source
        if self.whole:
            rows = entries.tocsr() if is_sparse(entries) else np.asarray(entries)
            return rows if self.chosen is None else rows[self.chosen]
        entries = (
            canonical(sparse.csr_array(entries)) if is_sparse(entries) else np.asarray(entries)
        )
        self._check_announced(entries)
        if self.check:
            self._check_sizes(entries)
        if self.chosen is not None:
            entries = entries[self.chosen]
        if entries.dtype not in (np.float32, np.float64):
            entries = entries.astype(np.float64)
        return entries

    def _check_announced(self, entries: Any) -> None:
        if entries.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"{self.label} of X has entries of type {entries.dtype}, but real numbers are "
                "needed; convert it to float."
            )
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
        largest = LARGEST.get(values.dtype, LARGEST[np.dtype(np.float64)])
        # NaN propagates to both, and fails both comparisons.
        if values.max() <= largest and values.min() >= -largest:
            return
        place = np.argwhere(~(np.abs(values) <= largest))[0]
        if is_sparse(entries):
            row = int(np.searchsorted(entries.indptr, place[0], side="right")) - 1
            column, value = int(entries.indices[place[0]]), values[place[0]]
        else:
            row, column, value = int(place[0]), int(place[1]), values[tuple(place)]
        where = f"X holds {value:g} in {self.label}, row {row} of it, column {column}"
        if np.isfinite(value):
            raise InvalidInputError(
                f"{where}, but entries of blocks may be {largest:.0e} at most, or their squares "
                "overflow; divide X by a power of ten first."
            )
        raise InvalidInputError(
            f"{where}, but every entry must be finite; replace or drop such entries first."
        )


@dataclass(frozen=True, eq=False)
class RowBlock:
    """A block for an engine: its source, and how it is opened."""

    source: Any
    open: Opening


@dataclass(frozen=True, eq=False)
class Part:
    """The chosen rows of one stored block; None for all of them."""

    handle: BlockHandle
    number: int
    chosen: IntArray | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.handle.rows if self.chosen is None else len(self.chosen)

    @property
    def whole(self) -> bool:
        """Whether it belongs to one array in memory."""
        return isinstance(self.handle, ArrayBlock) and self.handle.whole

    def block(self, check: bool) -> RowBlock:
        """Return the block for an engine, which checks its entries where asked."""
        handle = self.handle
        opening = Opening(
            f"block {self.number}" + (f" ({handle.name})" if handle.name else ""),
            (handle.rows, handle.columns),
            np.dtype(handle.dtype),
            self.chosen,
            check,
            self.whole,
        )
        return RowBlock(handle.delayed if isinstance(handle, DaskBlock) else handle, opening)


def is_sparse(entries: Any) -> bool:
    """Return whether entries are a sparse matrix."""
    return bool(sparse.issparse(entries))


def storage_of(entries: Any) -> DenseStorage | SparseStorage:
    """Return the entries of an opened block as storage."""
    return SparseStorage(entries) if is_sparse(entries) else DenseStorage(entries)
