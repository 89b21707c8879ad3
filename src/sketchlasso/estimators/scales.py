"""Sizes of the columns of X under sample weights, without a dense copy of a sparse X."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sketchlasso.data import BlockMatrix
from sketchlasso.data.transform import divide_block_columns, divide_columns
from sketchlasso.types import FloatArray

__all__ = ["column_scales", "divided_columns", "robust_scales"]

# Entries that are worked on at a time.
CHUNK = 2**20
EPS = np.finfo(np.float64).eps


def column_scales(X: Any, weights: FloatArray, centred: bool = True) -> FloatArray:
    """Root mean squares (n,) of the columns of X, about their means where `centred`.

    Zero for columns that are constant up to rounding.

    Parameters
    ----------
    X : ndarray, csr_array or BlockMatrix of shape (m, n)
    weights : ndarray of shape (m,)
        A row of weight 2 counts as two rows.
    centred : bool
    """
    m = X.shape[0]
    if isinstance(X, BlockMatrix):
        means, squares = _of_blocks(X, weights, centred)
    else:
        means = _means(X, weights, centred)
        squares = _block_deviations(X, means, weights)
    squares = squares / weights.sum()
    # What rounding leaves of a constant column.
    return np.sqrt(np.where(squares <= (m * EPS * means) ** 2, 0.0, squares))


def robust_scales(
    X: Any, weights: FloatArray, residual: FloatArray, centred: bool = True
) -> FloatArray:
    """Scales (n,) in which rows of large residuals count for more.

        sqrt( mean_i x_ij^2 e_i^2 / mean_i e_i^2 ),    x about its mean where `centred`

    Where the residual says nothing of the size of x_j these are the :func:`column_scales`.

    Parameters
    ----------
    X : ndarray or csr_array of shape (m, n)
    weights : ndarray of shape (m,)
    residual : ndarray of shape (m,)
        e, not zero everywhere.
    centred : bool
    """
    squares = weights * np.square(residual)
    deviations = _block_deviations(X, _means(X, weights, centred), squares)
    return np.sqrt(deviations / squares.sum())


def divided_columns(X: Any, scales: FloatArray) -> Any:
    """X with its columns divided by `scales` (n,), of X's own kind and floating type."""
    if isinstance(X, BlockMatrix):
        return divide_block_columns(X, scales)
    return divide_columns(X, scales)


def _of_blocks(X: BlockMatrix, weights: FloatArray, centred: bool) -> tuple[FloatArray, FloatArray]:
    """Means (n,) and sums of squares (n,) about them; one pass where all rows weigh alike."""
    if np.all(weights == weights[0]):
        survey = X.surveyed()
        means = survey.sums / survey.rows if centred else np.zeros(X.shape[1])
        return means, weights[0] * survey.deviations(means)
    means = X.T @ weights / weights.sum() if centred else np.zeros(X.shape[1])
    own = [(part,) for part in X.split(weights)]
    return means, X.run_sum(_block_deviations, (means,), own)


def _means(X: Any, weights: FloatArray, centred: bool) -> FloatArray:
    """Weighted means (n,) of the columns, or zeros."""
    means = np.zeros(X.shape[1])
    if centred:
        for rows, block in _blocks(X):
            means += weights[rows] @ block
        means /= weights.sum()
    return means


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


def _block_deviations(entries: Any, means: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted squares (n,) of a block of rows, a part of it at a time."""
    total = np.zeros(len(means))
    for rows, part in _blocks(entries):
        total += _deviations(part, weights[rows], means)
    return total
