"""An array that grows at its end without ever being held twice."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.storage.door import check_memory

__all__ = ["GrowingArray"]

# Bytes that are taken without asking how many are free.
UNCHECKED = 1 << 26


class GrowingArray:
    """Rows appended block by block, when their number is not known beforehand.

    The array is reallocated in place to half as much again; large blocks of memory then move by
    remapping, and pages not yet written do not count. So the peak is the array and one block.

    Parameters
    ----------
    dtype : dtype-like
    width : int or None
        Number of columns; None for a vector.
    """

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        self._tail = () if width is None else (width,)
        self._rows: NDArray[Any] = np.empty((0, *self._tail), dtype=dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, block: NDArray[Any]) -> None:
        """Add rows of shape (b,) or (b, width), cast to the array's type."""
        needed = self._length + len(block)
        if needed > len(self._rows):
            room = max(needed, len(self._rows) * 3 // 2)
            row = self._rows.itemsize * math.prod(self._tail)
            if room * row > UNCHECKED:
                check_memory(row * (needed - len(self._rows)), "the table")
            self._rows.resize((room, *self._tail), refcheck=False)
        self._rows[self._length : needed] = block
        self._length = needed

    def take(self) -> NDArray[Any]:
        """Return the rows and forget them."""
        rows, self._rows = self._rows, np.empty((0, *self._tail), dtype=self._rows.dtype)
        rows.resize((self._length, *self._tail), refcheck=False)
        self._length = 0
        return rows
