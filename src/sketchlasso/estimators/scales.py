"""Sizes of the columns of X under sample weights, without a dense copy of a sparse X."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sketchlasso.types import FloatArray

__all__ = ["column_scales", "divide_columns"]

# Entries that are worked on at a time.
CHUNK = 2**20
EPS = np.finfo(np.float64).eps


def column_scales(X: Any, weights: FloatArray, centred: bool = True) -> FloatArray:
    """Root mean squares (n,) of the columns of X, about their means where `centred`.

    Zero for columns that are constant up to rounding.

    Parameters
    ----------
    X : ndarray or csr_array of shape (m, n)
    weights : ndarray of shape (m,)
        A row of weight 2 counts as two rows.
    centred : bool
    """
    m, n = X.shape
    total = weights.sum()
    means = np.zeros(n)
    if centred:
        for rows, block in _blocks(X):
            means += weights[rows] @ block
        means /= total
    squares = np.zeros(n)
    for rows, block in _blocks(X):
        squares += _deviations(block, weights[rows], means)
    squares /= total
    # What rounding leaves of a constant column.
    return np.sqrt(np.where(squares <= (m * EPS * means) ** 2, 0.0, squares))


def _blocks(X: Any) -> Iterator[tuple[slice, Any]]:
    m = X.shape[0]
    entries = X.size if isinstance(X, np.ndarray) else X.nnz
    step = max(1, int(CHUNK * m / max(entries, 1)))
    for start in range(0, m, step):
        rows = slice(start, start + step)
        yield rows, X[rows]


def _deviations(block: Any, weights: FloatArray, means: FloatArray) -> FloatArray:
    """Weighted squares (n,) of what the columns of a block differ from `means` by."""
    if isinstance(block, np.ndarray):
        return weights @ np.square(block - means)
    own = np.repeat(weights, np.diff(block.indptr))
    columns, n = block.indices, len(means)
    stored = np.bincount(columns, own * np.square(block.data - means[columns]), minlength=n)
    # Entries that are not stored are zeros, each at distance means_j.
    absent = weights.sum() - np.bincount(columns, own, minlength=n)
    return np.asarray(stored + absent * np.square(means))


def divide_columns(X: Any, scales: FloatArray) -> Any:
    """X with its columns divided by `scales` (n,), of X's own kind and floating type."""
    divisors = scales.astype(X.dtype)
    if isinstance(X, np.ndarray):
        return X / divisors
    # Only the entries are new; where they stand is shared.
    return type(X)((X.data / divisors[X.indices], X.indices, X.indptr), shape=X.shape)
