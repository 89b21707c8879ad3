"""Blocks with their columns divided when they are opened; nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.data.block_handles import BlockHandle, DaskBlock
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.types import FloatArray

__all__ = ["divide_block_columns", "divide_columns"]


def divide_columns(entries: Any, scales: FloatArray) -> Any:
    """Return entries (r, n) with their columns divided by `scales` (n,), kind and type kept."""
    kept = entries.dtype if entries.dtype == np.float32 else np.float64
    divisors = scales.astype(kept)
    if isinstance(entries, np.ndarray):
        return np.asarray(entries, dtype=kept) / divisors
    stored: Any = sparse.csr_array(entries)
    # Only the entries are new; the index arrays are shared.
    values = stored.data / divisors[stored.indices]
    return sparse.csr_array((values, stored.indices, stored.indptr), shape=stored.shape)


def divide_block_columns(X: BlockMatrix, scales: FloatArray) -> BlockMatrix:
    """Return X with its columns divided by `scales` (n,), block by block and when they are read."""
    handles = {id(part.handle): _divided(part.handle, scales) for part in X._parts}
    divided = BlockMatrix.__new__(BlockMatrix)
    divided._take_over(
        [replace(part, handle=handles[id(part.handle)]) for part in X._parts], X._checked
    )
    return divided


@dataclass(frozen=True, eq=False)
class _DividedBlock:
    """A block whose columns are divided when it is loaded."""

    handle: BlockHandle
    scales: FloatArray
    rows: int
    columns: int
    dtype: np.dtype[Any]
    sparse: bool
    name: str

    def load(self) -> Any:
        """Return the entries, divided."""
        return divide_columns(self.handle.load(), self.scales)


def _divided(handle: BlockHandle, scales: FloatArray) -> BlockHandle:
    dtype = np.dtype(np.float32 if handle.dtype == np.float32 else np.float64)
    if not isinstance(handle, DaskBlock):
        return _DividedBlock(
            handle, scales, handle.rows, handle.columns, dtype, handle.sparse, handle.name
        )
    from dask.delayed import delayed  # installed, since Dask made the block

    quotient = delayed(divide_columns, pure=True)(handle.delayed, scales)
    return replace(handle, delayed=quotient, dtype=dtype)
