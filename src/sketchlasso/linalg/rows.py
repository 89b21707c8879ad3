"""Sparse rows joined, scaled and replaced, read-only views, centring, and lengths of columns."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from sketchlasso.types import FloatArray, IntArray, SparseRows

Array = TypeVar("Array", bound="np.ndarray[Any, Any]")
# Numbers that differ from their mean by no more than this share of their size are constant.
CONSTANT_SHARE = 4 * np.finfo(np.float64).eps


def stack_rows(pieces: list[tuple[IntArray, FloatArray]], n_features: int) -> SparseRows:
    """Sparse rows (b, n) from (indices, values) pairs."""
    lengths = [len(indices) for indices, _ in pieces]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = np.concatenate([i for i, _ in pieces]) if pieces else np.empty(0, dtype=np.intp)
    values = np.concatenate([v for _, v in pieces]) if pieces else np.empty(0)
    return sparse.csr_array((values, indices, indptr), shape=(len(pieces), n_features))


def scale_rows(matrix: Any, factors: FloatArray) -> SparseRows:
    """Sparse matrix (b, n) with its rows multiplied by factors (b,)."""
    each = np.repeat(factors, np.diff(matrix.indptr))
    scaled = matrix.data * each, matrix.indices, matrix.indptr
    return sparse.csr_array(scaled, shape=matrix.shape)


def read_only(array: Array) -> Array:
    """Return a view of an array, of any shape, that cannot be written to.

    An array that is already read-only is returned itself, so that it can be recognised.
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(write=False)
    return view


def replace_rows(matrix: Any, which: IntArray, others: Any) -> SparseRows:
    """Sparse matrix (B, n) with the rows `which` (b,) taken from `others` (b, n)."""
    order = np.arange(matrix.shape[0])
    order[which] = matrix.shape[0] + np.arange(len(which))
    return sparse.csr_array(sparse.vstack([matrix, others], format="csr")[order])


def lengths(directions: FloatArray) -> FloatArray:
    """Lengths (p,) of directions (m, p), whose squares may be too large or small for doubles."""
    largest = np.abs(directions).max(axis=0, initial=0.0)
    units = directions / np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.linalg.norm(units, axis=0))


def rounding_of_sums(count: int, kind: type[np.floating[Any]] = np.float64) -> float:
    """Rounding of the product of two vectors (count,) of length one."""
    return float((8.0 + np.sqrt(count)) * np.finfo(kind).eps)


def centre(values: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Values (m, t) less their weighted means (t,), and the means.

    Means are subtracted twice: the first has rounding errors of the size of the values, the second
    of the size of their spread. Columns that are constant up to rounding become exactly zero. Of
    the weights (m,) at least one is positive; rows of weight zero do not affect the means, but are
    centred too.
    """
    used = slice(None) if weights is None else weights > 0
    if weights is None:
        first = values.mean(axis=0)
        centred = values - first
        second = centred.mean(axis=0)
    else:
        # Relative to the largest, sums of huge or tiny weights stay finite and positive.
        shares = weights / weights.max()
        shares = shares / shares.sum()
        first = shares @ values
        centred = values - first
        second = shares @ centred
    centred -= second
    spread = np.abs(centred[used]).max(axis=0, initial=0.0)
    size = np.abs(values[used]).max(axis=0, initial=0.0)
    centred[:, spread <= CONSTANT_SHARE * size] = 0.0
    return centred, first + second
