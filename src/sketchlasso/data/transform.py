"""Centring and scaling of X and y, forwards and back.

Units are powers of two: division by them is exact, so a fit of data in other units differs in
nothing but the units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from sketchlasso.data import entries as at_blocks
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.entries import divided_entries, floating, is_sparse, per_entry
from sketchlasso.types import BoolArray, FloatArray, SparseRows

# Largest entries within these powers of two are left as they are, which saves a copy of X: the
# fourth powers of their sums neither overflow nor vanish.
COMFORT = {np.dtype(np.float64): 64, np.dtype(np.float32): 12}

# A column whose entries differ by no more than this share of their size is far from zero.
FAR = 1e-2

Rows = TypeVar("Rows", "FloatArray", "SparseRows")


@dataclass(frozen=True, eq=False)
class ColumnTransform:
    """The map X -> A = (X - 1 means') diag(1 / scales), and the way back for coefficients.

    A prediction is the same on both scales:

        A w + b  =  X v + d    with    v = w / scales,    d = b - means'v

    The means (n,) are None where columns were not centred, the scales (n,) where not scaled.
    """

    means: FloatArray | None = None
    scales: FloatArray | None = None

    def unscale(self, coef: Rows, units: FloatArray | float = 1.0) -> Rows:
        """Return v = w / scales, the coefficients (t, n) or (n,) for X, from those for A.

        The responses were divided by `units`, one number or (t,).
        """
        return self._mapped(coef, units, lambda entries, columns, rows: entries / columns * rows)

    def scale(self, coef: Rows, units: FloatArray | float = 1.0) -> Rows:
        """Return the coefficients for A from those for X: the inverse of :meth:`unscale`."""
        return self._mapped(coef, units, lambda entries, columns, rows: entries / rows * columns)

    def _mapped(self, coef: Any, units: Any, change: Callable[[Any, Any, Any], FloatArray]) -> Any:
        """Change entries, given the divisors of the column and of the response of every entry."""
        scales: Any = 1.0 if self.scales is None else self.scales
        if isinstance(coef, np.ndarray):
            return change(coef, scales, np.expand_dims(units, -1) if np.ndim(units) else units)
        columns = scales if self.scales is None else scales[coef.indices]
        rows = np.repeat(units, np.diff(coef.indptr)) if np.ndim(units) else units
        entries = change(coef.data, columns, rows)
        return sparse.csr_array((entries, coef.indices, coef.indptr), shape=coef.shape)

    def shift(self, coef: SparseRows) -> FloatArray:
        """Return means'v (t,) for coefficients v (t, n) for X; zeros without means."""
        if self.means is None:
            return np.zeros(coef.shape[0])
        return np.asarray(coef @ self.means)


def unit_of(size: float) -> float:
    """Return the largest power of two that is at most `size`; 1 for 0, infinity and NaN."""
    if not (np.isfinite(size) and size > 0):
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(size)[1]) - 1))


def matrix_unit(X: Any) -> float:
    """Return the unit (a power of two) of an array or sparse matrix X of shape (m, n).

    1 where the largest entry needs no scaling.
    """
    values = X.data if is_sparse(X) else X
    if values.size == 0:
        return 1.0
    unit = unit_of(max(float(values.max()), -float(values.min())))
    return 1.0 if abs(np.log2(unit)) <= COMFORT[floating(values.dtype)] else unit


def in_column_units(X: Any) -> tuple[Any, FloatArray]:
    """Return X (m, n) with columns divided by powers of two, and these (n,).

    They are 1 for blocks, and where no column has a largest entry that needs scaling.
    """
    if isinstance(X, BlockMatrix):
        return X, np.ones(X.shape[1])
    highest, lowest = X.max(axis=0), X.min(axis=0)
    if is_sparse(X):
        highest, lowest = highest.toarray().ravel(), lowest.toarray().ravel()
    units = np.array([unit_of(float(size)) for size in np.maximum(highest, -lowest)])
    if np.abs(np.log2(units)).max() <= COMFORT[floating(X.dtype)]:
        return X, np.ones(X.shape[1])
    return divided_entries(X, units), units


def in_units(X: Any, unit: float) -> Any:
    """Return an array or sparse matrix X divided by `unit`, a power of two; X itself for 1."""
    return X if unit == 1.0 else divided_entries(X, np.full(X.shape[1], unit))


def near_zero(X: Any) -> tuple[Any, FloatArray]:
    """X (m, n) less a constant for every column far from zero, and these constants (n,).

    With an intercept it is the same problem, in which products with X keep the digits that the
    constants would take. Numbers that differ by less than a factor two have an exact difference.
    The entries keep their type. X itself where no column is far from zero, and where it is in
    blocks.
    """
    offsets = np.zeros(X.shape[1])
    if isinstance(X, BlockMatrix) or 0 in X.shape:
        return X, offsets
    # Few columns are: the first rows of an array show it, and a zero in a sparse column.
    if not is_sparse(X):
        columns = np.flatnonzero(_is_far(X[:64].astype(np.float64)))
    elif X.format == "csc":
        columns = np.flatnonzero(np.diff(X.indptr) == X.shape[0])
    else:
        columns = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])
    if len(columns) == 0:
        return X, offsets
    part = X[:, columns].toarray() if is_sparse(X) else X[:, columns]
    part = part.astype(np.float64)
    far = _is_far(part)
    if not far.any():
        return X, offsets
    offsets[columns[far]] = part[0, far]
    if not is_sparse(X):
        return X - offsets.astype(X.dtype), offsets
    near: Any = X.copy()
    near.data -= per_entry(X, offsets.astype(X.dtype))
    return near, offsets


def _is_far(entries: FloatArray) -> BoolArray:
    """Which columns (n,) have entries (m, n) of one sign that differ little."""
    low, high = entries.min(axis=0), entries.max(axis=0)
    size = np.minimum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((np.sign(low) == np.sign(high)) & (size > 0) & (high - low <= FAR * size))


def column_units(Y: FloatArray) -> FloatArray:
    """Return the unit (t,) of every column of Y (m, t)."""
    return np.array([unit_of(float(size)) for size in np.abs(Y).max(axis=0, initial=0.0)])


def divided_columns(X: Any, scales: FloatArray) -> Any:
    """Return X (m, n) with its columns divided by `scales` (n,), kind and floating type kept.

    Blocks are divided when they are read.
    """
    return X.divided(scales) if isinstance(X, BlockMatrix) else divided_entries(X, scales)


def column_scales(X: Any, weights: FloatArray, centred: bool = True) -> FloatArray:
    """Root mean squares (n,) of the columns of X, about their means where `centred`.

    Zero for columns that are constant up to rounding. A row of weight 2 counts as two rows.
    """
    equal = bool(np.all(weights == weights[0]))
    moments = BlockMatrix.of(X).moments(None if equal else weights)
    squares = moments.spread if centred else moments.about(0.0)
    means = moments.mean if centred else np.zeros(X.shape[1])
    return np.sqrt(less_rounding(squares / moments.weight, means, X.shape[0]))


def column_lengths(X: Any, weights: FloatArray) -> FloatArray:
    """||x_j||_W (n,) of the columns of an array, sparse matrix or blocks X (m, n)."""
    X = BlockMatrix.of(X)
    each = [(np.zeros(X.shape[1]), own) for own in X.split(weights)]
    return np.sqrt(X.run_sum(at_blocks.column_deviations, (), each))


def robust_scales(
    X: Any, weights: FloatArray, residual: FloatArray, centred: bool = True
) -> FloatArray:
    """Scales (n,) in which rows of large residuals count for more.

        sqrt( mean_i x_ij^2 e_i^2 / mean_i e_i^2 ),    x about its mean where `centred`

    X (m, n) is in memory; the residual e (m,) is not zero everywhere. Where e^2 and x_j^2 are
    uncorrelated these are the :func:`column_scales`.
    """
    means = np.zeros(X.shape[1])
    if centred:
        means = at_blocks.column_sums(X, weights) / weights.sum()
    squares = weights * np.square(residual)
    return np.sqrt(at_blocks.column_deviations(X, means, squares) / squares.sum())


def less_rounding(variances: FloatArray, means: FloatArray, m: int) -> FloatArray:
    """Return variances (n,) of columns of m entries, zero where they are due to rounding alone."""
    floor = (m * np.finfo(np.float64).eps * means) ** 2
    return np.where(variances <= floor, 0.0, variances)
