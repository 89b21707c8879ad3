"""Centring and scaling of X and y, forwards and back.

Units are powers of two: division by them is exact, so a fit of data in other units differs in
nothing but the units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse

from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.opening import BlockHandle, DaskBlock
from sketchlasso.types import FloatArray, SparseRows

__all__ = [
    "ColumnTransform",
    "column_units",
    "divide_block_columns",
    "divide_columns",
    "in_units",
    "matrix_unit",
    "unit_of",
]

# Largest entries within these powers of two are left as they are, which saves a copy of X: the
# fourth powers of their sums neither overflow nor vanish.
COMFORT = {np.dtype(np.float64): 64, np.dtype(np.float32): 12}

Rows = TypeVar("Rows", "FloatArray", "SparseRows")


@dataclass(frozen=True, eq=False)
class ColumnTransform:
    """The map X -> A = (X - 1 means') diag(1 / scales), and the way back for coefficients.

    A prediction is the same on both scales:

        A w + b  =  X v + d    with    v = w / scales,    d = b - means'v

    Attributes
    ----------
    means : ndarray of shape (n,) or None
        None when the columns were not centred.
    scales : ndarray of shape (n,) or None
        None when the columns were not scaled.
    """

    means: FloatArray | None = None
    scales: FloatArray | None = None

    @property
    def is_identity(self) -> bool:
        """Whether A is X itself."""
        return self.means is None and self.scales is None

    def unscale(self, coef: Rows, units: FloatArray | float = 1.0) -> Rows:
        """Return v = w / scales (t, n), the coefficients for X, from those for A (t, n).

        Parameters
        ----------
        coef : ndarray of shape (t, n) or (n,), or csr_array of shape (t, n)
        units : float or ndarray of shape (t,)
            What the responses were divided by.
        """
        given: Any = coef
        columns, rows = self._sizes(given, units)
        return cast("Rows", _with_entries(given, _entries(given) / columns * rows))

    def scale(self, coef: Rows, units: FloatArray | float = 1.0) -> Rows:
        """Return the coefficients for A from those for X: the inverse of :meth:`unscale`."""
        given: Any = coef
        columns, rows = self._sizes(given, units)
        return cast("Rows", _with_entries(given, _entries(given) / rows * columns))

    def _sizes(self, coef: Any, units: Any) -> tuple[Any, Any]:
        """What the column and the response of every entry were divided by."""
        scales = 1.0 if self.scales is None else self.scales
        if isinstance(coef, np.ndarray):
            return scales, np.expand_dims(units, -1) if np.ndim(units) else units
        columns = scales if self.scales is None else self.scales[coef.indices]
        return columns, np.repeat(units, np.diff(coef.indptr)) if np.ndim(units) else units

    def shift(self, coef: SparseRows) -> FloatArray:
        """Return means'v (t,) for coefficients v (t, n) for X; zeros without means."""
        if self.means is None:
            return np.zeros(coef.shape[0])
        return np.asarray(coef @ self.means)


def _entries(coef: Any) -> FloatArray:
    return coef if isinstance(coef, np.ndarray) else np.asarray(coef.data)


def _with_entries(coef: Any, entries: FloatArray) -> Any:
    if isinstance(coef, np.ndarray):
        return entries
    return sparse.csr_array((entries, coef.indices, coef.indptr), shape=coef.shape)


def unit_of(size: float) -> float:
    """Return the largest power of two that is at most `size`; 1 for 0, infinity and NaN."""
    if not (np.isfinite(size) and size > 0):
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(size)[1]) - 1))


def matrix_unit(X: Any) -> float:
    """Return the unit (a power of two) of an array or sparse matrix X of shape (m, n).

    1 where the largest entry needs no scaling.
    """
    stored: Any = X
    values = stored.data if sparse.issparse(X) else stored
    if values.size == 0:
        return 1.0
    unit = unit_of(max(float(values.max()), -float(values.min())))
    limit = COMFORT.get(values.dtype, COMFORT[np.dtype(np.float64)])
    return 1.0 if abs(np.log2(unit)) <= limit else unit


def in_units(X: Any, unit: float) -> Any:
    """Return an array or sparse matrix X divided by `unit`, a power of two; X itself for 1."""
    if unit == 1.0:
        return X
    exponent = 1 - int(np.frexp(unit)[1])
    if sparse.issparse(X):
        scaled: Any = X
        scaled = scaled.copy()
        scaled.data = np.ldexp(scaled.data, exponent)
        return scaled
    return np.ldexp(np.asarray(X), exponent)


def column_units(Y: FloatArray) -> FloatArray:
    """Return the unit (t,) of every column of Y (m, t)."""
    return np.array([unit_of(float(size)) for size in np.abs(Y).max(axis=0, initial=0.0)])


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
