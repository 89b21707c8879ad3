"""The table that readers return and writers take: a matrix, its responses and their names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sketchlasso.data.storage import find_entry, floating
from sketchlasso.errors import InvalidInputError
from sketchlasso.files.encoding import Encoding
from sketchlasso.storage.door import check_memory
from sketchlasso.types import IntArray, RealArray

TableMatrix: TypeAlias = "RealArray | sparse.csr_array[Any, tuple[int, int]]"

# Cells written at a time.
CELLS = 1 << 18


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A data matrix with its responses, as read from a file or to be written to one.

    Attributes
    ----------
    X : csr_array, ndarray or memmap of shape (n_samples, n_features)
        float32 or float64; a memory-mapped ``.npy`` file keeps the type it was stored with and
        is cast block by block where it is used.
    y : ndarray of shape (n_samples,) or (n_samples, n_targets), or None
        float64, or text where the file holds text labels.
    feature_names : tuple of str, or None
        One name per column of X.
    target_name : str, tuple of str, or None
        The name of y, or one name per column of y.
    source : str
        Where the table came from.
    encoding : Encoding or None
        How columns became features, where some are not plain numbers.
    rows : ndarray of shape (n_samples,), or None
        Numbers of the rows in the file, from 0, where some were left out.
    notes : tuple of str
        What was filled in, left out or unknown, for display.
    ids : ndarray of shape (n_samples,), or None
        Identifiers of the rows, text or whole numbers; the first column of CSV, TSV, Parquet and
        Arrow files, and the array ids of npz files.
    id_name : str
        The name of that column.
    gaps : ndarray of shape (n_samples, n_columns), or None
        Which cells of the columns of `encoding` were missing and have been filled.

    Raises
    ------
    InvalidInputError
        The parts do not fit together.
    """

    X: TableMatrix
    y: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    target_name: str | tuple[str, ...] | None = None
    source: str = ""
    encoding: Encoding | None = None
    rows: IntArray | None = None
    notes: tuple[str, ...] = ()
    ids: NDArray[Any] | None = None
    id_name: str = "id"
    gaps: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        given: Any = self.X
        kept = sparse.issparse(given) or isinstance(given, np.memmap)
        X: Any = given if kept else np.asarray(given)
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"X has shape {X.shape} and type {X.dtype}, but a matrix of real numbers of shape "
                "(n_samples, n_features) is needed; convert it first."
            )
        object.__setattr__(self, "X", as_csr(X) if sparse.issparse(X) else as_real(X))
        if self.y is not None:
            object.__setattr__(self, "y", as_response(self.y))
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(map(str, self.feature_names)))
        self._check()

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    def __repr__(self) -> str:
        kind = "sparse" if sparse.issparse(self.X) else "dense"
        target = "no target" if self.y is None else f"target of shape {self.y.shape}"
        origin = f" from {self.source}" if self.source else ""
        return f"<Table of {self.shape[0]} x {self.shape[1]}, {kind}, {target}{origin}>"

    def _check(self) -> None:
        rows, columns = self.shape
        if 0 in (rows, columns):
            raise InvalidInputError(
                f"{self._title} is empty (shape {self.shape}), but at least one row and one "
                "feature are needed; give a matrix with entries."
            )
        if self.y is not None and len(self.y) != rows:
            raise InvalidInputError(
                f"{self._title} has {rows} rows but y has {len(self.y)}; give one response per row."
            )
        if self.ids is not None and len(self.ids) != rows:
            raise InvalidInputError(
                f"{self._title} has {rows} rows but {len(self.ids)} ids; give one id per row."
            )
        names = self.feature_names
        if names is not None and len(names) != columns:
            raise InvalidInputError(
                f"{self._title} has {columns} features but {len(names)} feature names; give one "
                "name per feature."
            )
        if names is not None and len(set(names)) != columns:
            twice = Counter(names).most_common(1)[0][0]
            raise InvalidInputError(
                f"{self._title} has several features called {twice!r}, but names must differ; "
                "rename one of them."
            )

    @property
    def _title(self) -> str:
        return self.source or "the table"


class GrowingArray:
    """Rows appended block by block, when their number is unknown, without a second copy.

    The array grows in place by half; large arrays then move by remapping, and pages not yet
    written take no memory. So the peak is the array and one block. Without a `width` it is a
    vector.
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
            if room * row > 1 << 26:  # small arrays need no check
                check_memory(row * (needed - len(self._rows)), "the table")
            self._rows.resize((room, *self._tail), refcheck=False)
        self._rows[self._length : needed] = block
        self._length = needed

    def take(self) -> NDArray[Any]:
        """Return the rows and release them."""
        rows, self._rows = self._rows, np.empty((0, *self._tail), dtype=self._rows.dtype)
        rows.resize((self._length, *self._tail), refcheck=False)
        self._length = 0
        return rows


def names_to_write(path: object, table: Table) -> list[str]:
    """Names of the columns of a file: ids, features and the target, in this order."""
    y = table.y
    names = list(table.feature_names or (f"x{i}" for i in range(1, table.shape[1] + 1)))
    if table.ids is not None:
        if table.id_name in names:
            raise InvalidInputError(
                f"{path} cannot be written: its ids and a feature are both called "
                f"{table.id_name!r}; give another id_name."
            )
        names.insert(0, table.id_name)
    if y is None:
        return names
    if y.ndim != 1:
        raise InvalidInputError(
            f"{path} cannot be written: it has one column for the target but y has shape "
            f"{y.shape}; give one column or write an npz file."
        )
    target = table.target_name if isinstance(table.target_name, str) else "y"
    if target in names:
        raise InvalidInputError(
            f"{path} cannot be written: its target and a feature are both called {target!r}; give "
            "another target_name."
        )
    return [*names, target]


def refuse_target(path: Path, table: Table) -> None:
    """Refuse to write a target into a file that holds a matrix alone."""
    if table.y is not None:
        raise InvalidInputError(
            f"{path} cannot be written: such a file holds a matrix and no target; write an npz "
            "file, or a Table without y."
        )


def columns_to_write(table: Table) -> Iterator[list[NDArray[Any]]]:
    """Yield the columns of a file, as named by :func:`names_to_write`, for blocks of rows (b,).

    A sparse X is never made dense as a whole.
    """
    rows, width = table.shape
    size = max(1, CELLS // width)
    for start in range(0, rows, size):
        chosen = slice(start, start + size)
        block: Any = table.X[chosen]
        dense = np.asarray(block) if isinstance(table.X, np.ndarray) else block.toarray()
        columns = list(np.ascontiguousarray(dense.T))
        if table.ids is not None:
            columns.insert(0, table.ids[chosen])
        if table.y is not None:
            columns.append(table.y[chosen])
        yield columns


def as_real(values: NDArray[Any], dtype: np.dtype[Any] | None = None) -> RealArray:
    """Return numbers of a type; by default float32 stays and all others become float64.

    By default a memory map is not cast, which would read all of it.
    """
    if dtype is None and isinstance(values, np.memmap):
        return values
    return values.astype(floating(values.dtype) if dtype is None else dtype, copy=False)


def as_csr(X: Any, dtype: np.dtype[Any] | None = None) -> sparse.csr_array[Any, tuple[int, int]]:
    """Return a sparse matrix (m, n) as sorted CSR; its type is that of :func:`as_real`.

    Indices have 64 bits only where they are needed. The arrays of `X` never change.
    """
    array = sparse.csr_array(X)
    if not array.has_canonical_format:
        array = array.copy()
        array.sum_duplicates()
    array.data = as_real(array.data, dtype)
    widest = max(*array.shape, len(array.data))
    if array.indices.dtype != np.int32 and widest <= np.iinfo(np.int32).max:
        array.indices = array.indices.astype(np.int32)
        array.indptr = array.indptr.astype(np.int32)
    return array


def as_response(y: Any) -> NDArray[Any]:
    """Return responses as float64, or as text, of shape (m,) or (m, t)."""
    values = np.asarray(y)
    if values.ndim not in (1, 2) or values.dtype.kind not in "biufU":
        raise InvalidInputError(
            f"y has shape {values.shape} and type {values.dtype}, but one column of numbers or "
            "text, or several of numbers, are needed; convert it first."
        )
    return values if values.dtype.kind == "U" else values.astype(np.float64)


def finite_or_refuse(
    title: str, X: TableMatrix, y: NDArray[Any] | None, names: tuple[str, ...] | None = None
) -> None:
    """Refuse NaN and infinite entries, naming the first one's row and column (from 1)."""
    found = find_entry(X, lambda values: ~np.isfinite(values))
    where = ""
    if found is not None:
        label = f" ({names[found[1]]!r})" if names else ""
        where = f"row {found[0] + 1}, column {found[1] + 1}{label}"
    elif y is not None and y.dtype.kind == "f":
        found = find_entry(y.reshape(len(y), -1), lambda values: ~np.isfinite(values))
        where = "" if found is None else f"the target of row {found[0] + 1}"
    if found is not None:
        raise InvalidInputError(
            f"{title} holds {found[2]} in {where}, but every number must be finite; fill in or "
            "leave out such entries first."
        )
