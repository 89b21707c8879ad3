"""Rows of a table of numbers and text, gathered block by block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.files.columns import Columns
from sketchlasso.files.mixed import Cells, mixed_table
from sketchlasso.files.options import ReadOptions
from sketchlasso.files.table import Table
from sketchlasso.storage.door import check_memory
from sketchlasso.types import FloatArray

__all__ = ["Gathered", "GrowingArray"]

# Bytes that are taken without asking how many are free.
UNCHECKED = 1 << 26


class GrowingArray:
    """Rows appended block by block, when their number is not known beforehand; never held twice.

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


class Gathered:
    """Features, targets and ids of the rows read so far.

    Parameters
    ----------
    source : object
        What the file is called in a sentence.
    columns : Columns
    dtype : dtype-like
        Of the features.
    """

    def __init__(self, source: object, columns: Columns, dtype: Any) -> None:
        self._source, self._columns = source, columns
        self._features = GrowingArray(dtype, len(columns.features))
        self._texts: list[dict[int, str]] = [{} for _ in columns.features]
        self._dates: set[int] = set()
        self._plain = True
        self._labels: list[tuple[NDArray[Any] | None, NDArray[np.bool_]]] = []
        self._ids: list[str] = []
        self._lines = GrowingArray(np.int64)

    def __len__(self) -> int:
        return len(self._features)

    def append(self, values: FloatArray, lines: Sequence[int] = ()) -> None:
        """Add rows (b, features), NaN where a cell is missing or text, with the lines they end in.

        Rows of a file without lines are called by their numbers from 1.
        """
        self._lines.append(np.asarray(lines, dtype=np.int64))
        self._plain = self._plain and bool(np.isfinite(values).all())
        self._features.append(values)

    def add_text(self, column: int, row: int, text: str) -> None:
        """Keep the cell of a feature, by its place among the features, as text."""
        self._texts[column][row] = text

    def add_dates(self, column: int) -> None:
        """Note that a feature holds dates."""
        self._dates.add(column)

    def add_labels(self, labels: NDArray[Any] | None, lost: NDArray[np.bool_]) -> None:
        """Add targets (b,), None where all of them are missing, and which are missing (b,)."""
        self._labels.append((labels, lost))

    def add_ids(self, ids: Sequence[str]) -> None:
        """Add what identifies the rows."""
        self._ids += ids

    def table(self, options: ReadOptions, *, decimal_comma: bool = False) -> Table:
        """Return what was read.

        Parameters
        ----------
        options : ReadOptions
            impute and encoding count.
        decimal_comma : bool
            Whether 1,5 may stand for 1.5.
        """
        y, lost = self._targets()
        X = self._features.take()
        ids = np.array(self._ids, dtype=np.str_) if self._ids else None
        columns = self._columns
        if self._plain and options.encoding is None and (lost is None or not lost.any()):
            return Table(
                X, y, columns.feature_names, columns.target_name, str(self._source), ids=ids
            )
        lines = self._lines.take()

        def where(row: int) -> str:
            return f"line {lines[row]}" if len(lines) else f"row {row + 1}"

        cells = [
            Cells(
                np.array(X[:, j], dtype=np.float64), texts, decimal_comma, j in self._dates, where
            )
            for j, texts in enumerate(self._texts)
        ]
        return mixed_table(
            self._source,
            columns,
            cells,
            y,
            lost=lost,
            impute=options.impute,
            encoding=options.encoding,
            dtype=X.dtype,
            ids=ids,
        )

    def _targets(self) -> tuple[NDArray[Any] | None, NDArray[np.bool_] | None]:
        """Return targets (m,) and which are missing (m,)."""
        if not self._labels:
            return None, None
        kinds = {part.dtype.kind for part, _ in self._labels if part is not None}
        blank: Any = "" if kinds == {"U"} else np.nan
        parts = [np.full(len(lost), blank) if y is None else y for y, lost in self._labels]
        return np.concatenate(parts), np.concatenate([lost for _, lost in self._labels])
