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

from sketchlasso.data.block_work import of_storage
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.storage import divided_entries, floating, per_entry, storage_of
from sketchlasso.linalg.rows import lengths, weighted_lengths
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows

# Largest entries within these powers of two are left as they are, which saves a copy of X: the
# fourth powers of their sums neither overflow nor vanish.
COMFORT = {np.dtype(np.float64): 64, np.dtype(np.float32): 12}

# A column whose entries differ by no more than this share of their size is far from zero.
FAR = 1e-2
# Rows that are looked at first: few columns are far from zero.
FIRST_ROWS = 64

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
    stored: Any = X
    values = stored.data if sparse.issparse(X) else stored
    if values.size == 0:
        return 1.0
    unit = unit_of(max(float(values.max()), -float(values.min())))
    return 1.0 if abs(np.log2(unit)) <= COMFORT[floating(values.dtype)] else unit


def in_column_units(X: Any) -> tuple[Any, FloatArray]:
    """Return X (m, n) with columns divided by powers of two, and these (n,).

    They are 1 for blocks, and where no column has a largest entry that needs scaling.
    """
    n = X.shape[1]
    if isinstance(X, BlockMatrix):
        return X, np.ones(n)
    largest = np.maximum(_dense(X.max(axis=0)), -_dense(X.min(axis=0)))
    units = np.array([unit_of(float(size)) for size in largest])
    if np.abs(np.log2(units)).max() <= COMFORT[floating(X.dtype)]:
        return X, np.ones(n)
    return divided_columns(X, units), units


def _dense(line: Any) -> FloatArray:
    return np.asarray(line if isinstance(line, np.ndarray) else line.toarray()).ravel()


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
    columns = _far_at_first(X)
    if len(columns) == 0:
        return X, offsets
    part = X[:, columns]
    part = np.asarray(part if isinstance(part, np.ndarray) else part.toarray(), dtype=np.float64)
    far = _is_far(part)
    if not far.any():
        return X, offsets
    offsets[columns[far]] = part[0, far]
    if isinstance(X, np.ndarray):
        return X - offsets.astype(X.dtype), offsets
    near: Any = X.copy()
    near.data -= per_entry(X, offsets.astype(X.dtype))
    return near, offsets


def _far_at_first(X: Any) -> IntArray:
    """Columns (c,) that may be far from zero: by their first rows, or without a zero."""
    if isinstance(X, np.ndarray):
        return np.flatnonzero(_is_far(X[:FIRST_ROWS].astype(np.float64)))
    if X.format == "csc":
        return np.flatnonzero(np.diff(X.indptr) == X.shape[0])
    return np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])


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
    return X._divided(scales) if isinstance(X, BlockMatrix) else divided_entries(X, scales)


def column_scales(X: Any, weights: FloatArray, centred: bool = True) -> FloatArray:
    """Root mean squares (n,) of the columns of X, about their means where `centred`.

    Zero for columns that are constant up to rounding. A row of weight 2 counts as two rows.
    """
    if isinstance(X, BlockMatrix):
        means, squares = _of_blocks(X, weights, centred)
    else:
        means = _means(X, weights, centred)
        squares = storage_of(X).column_deviations(means, weights)
    return np.sqrt(less_rounding(squares / weights.sum(), means, X.shape[0]))


def column_lengths(X: Any, weights: FloatArray) -> FloatArray:
    """||x_j||_W (n,) of the columns of X (m, n); see :func:`weighted_lengths`."""
    if not isinstance(X, BlockMatrix):
        return weighted_lengths(X, weights)
    own = [(part,) for part in X.split(weights)]
    found = X.run_collect(weighted_lengths, (), own)
    return lengths(np.stack(found))


def robust_scales(
    X: Any, weights: FloatArray, residual: FloatArray, centred: bool = True
) -> FloatArray:
    """Scales (n,) in which rows of large residuals count for more.

        sqrt( mean_i x_ij^2 e_i^2 / mean_i e_i^2 ),    x about its mean where `centred`

    X (m, n) is in memory; the residual e (m,) is not zero everywhere. Where e^2 and x_j^2 are
    uncorrelated these are the :func:`column_scales`.
    """
    squares = weights * np.square(residual)
    deviations = storage_of(X).column_deviations(_means(X, weights, centred), squares)
    return np.sqrt(deviations / squares.sum())


def _of_blocks(X: BlockMatrix, weights: FloatArray, centred: bool) -> tuple[FloatArray, FloatArray]:
    """Means (n,) and sums of squares (n,) about them; one pass where all rows weigh alike."""
    if np.all(weights == weights[0]):
        survey = X.surveyed()
        means = survey.sums / survey.rows if centred else np.zeros(X.shape[1])
        return means, weights[0] * survey.deviations(means)
    means = X.T @ weights / weights.sum() if centred else np.zeros(X.shape[1])
    own = [(part,) for part in X.split(weights)]
    return means, X.run_sum(of_storage, ("column_deviations", means), own)


def _means(X: Any, weights: FloatArray, centred: bool) -> FloatArray:
    """Weighted means (n,) of the columns, or zeros."""
    if not centred:
        return np.zeros(X.shape[1])
    return storage_of(X).column_sums(weights) / weights.sum()


def less_rounding(variances: FloatArray, means: FloatArray, m: int) -> FloatArray:
    """Return variances (n,) of columns of m entries, zero where they are due to rounding alone."""
    floor = (m * np.finfo(np.float64).eps * means) ** 2
    return np.where(variances <= floor, 0.0, variances)
