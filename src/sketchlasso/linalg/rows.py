"""Sparse rows joined, scaled and replaced, read-only views, centring, and lengths of columns."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from sketchlasso.types import FloatArray, IntArray, SparseRows

Array = TypeVar("Array", bound="np.ndarray[Any, Any]")
# Number of stored entries above which replaced ones are dropped.
SPARE_ENTRIES = 1 << 20
# Numbers that differ from their mean by no more than this share of their size are constant.
CONSTANT_SHARE = 4 * np.finfo(np.float64).eps


class KeptRows:
    """Sparse rows (b, n), empty at first, that are replaced block by block.

    A block is stored whole, without a loop over its rows: devices deliver 100,000 rows at once.
    """

    def __init__(self, size: int, n_features: int) -> None:
        self._n_features = n_features
        self._start = np.zeros(size, dtype=np.intp)
        self._length = np.zeros(size, dtype=np.intp)
        self._indices: list[Any] = []
        self._values: list[FloatArray] = []
        self._entries, self._limit = 0, SPARE_ENTRIES

    def put(self, numbers: IntArray, block: Any, rows: IntArray) -> None:
        """Replace rows `numbers` (c,) by the rows `rows` (c,) of a sparse block (any, n)."""
        if len(rows) == 0:
            return
        start = block.indptr[rows]
        self._start[numbers] = self._entries + start
        self._length[numbers] = block.indptr[rows + 1] - start
        self._indices.append(block.indices.copy())
        self._values.append(block.data.copy())
        self._entries += len(block.data)
        if self._entries > self._limit:
            everything = np.arange(len(self._start))
            kept = self.take(everything)
            self._start, self._entries = kept.indptr[:-1].astype(np.intp), len(kept.data)
            self._indices, self._values = [kept.indices], [kept.data]
            self._limit = 2 * self._entries + SPARE_ENTRIES

    def take(self, numbers: IntArray) -> SparseRows:
        """Return some rows (b, n), in the order of `numbers` (b,)."""
        length = self._length[numbers]
        indptr = np.concatenate([[0], np.cumsum(length)])
        if len(self._values) > 1:
            self._indices = [np.concatenate(self._indices)]
            self._values = [np.concatenate(self._values)]
        shape = len(numbers), self._n_features
        if not self._values:
            return sparse.csr_array(shape)
        place = np.arange(indptr[-1]) + np.repeat(self._start[numbers] - indptr[:-1], length)
        taken = self._values[0][place], self._indices[0][place], indptr
        return sparse.csr_array(taken, shape=shape)


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
