"""Compressed sparse matrices, processed by their stored entries and never made dense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sketchlasso.data.storage import CHUNK, new_digest, sum_of_squares, two_products
from sketchlasso.linalg.threads import blas_threads, map_slices
from sketchlasso.types import FloatArray, RealArray, SparseRows

__all__ = ["SparseStorage", "canonical"]

# Multiplications from which a product uses several threads, and columns per thread.
THREADED_WORK = 1_000_000
COLUMNS_PER_THREAD = 4

Compressed: TypeAlias = "SparseRows | sparse.csc_array[Any]"


class SparseStorage:
    """A compressed sparse matrix, by rows or by columns, of 32- or 64-bit indices."""

    has_entries = True
    fused = False
    surveyed = False

    def __init__(self, matrix: Compressed) -> None:
        self._matrix = matrix
        self._transposed = matrix.T
        self.dtype = matrix.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features, (m, n)."""
        return self._matrix.shape[0], self._matrix.shape[1]

    @property
    def density(self) -> float:
        """Share of entries that are stored."""
        m, n = self.shape
        return len(self._matrix.data) / (m * n)

    @property
    def matrix(self) -> Compressed:
        """The entries as stored."""
        return self._matrix

    def entries(self) -> Iterator[tuple[NDArray[Any], NDArray[Any], FloatArray]]:
        """Yield rows, columns and values of the stored entries, some at a time."""
        matrix = self._matrix
        major, position = 0, matrix.indptr
        while major < len(position) - 1:
            last = int(np.searchsorted(position, position[major] + CHUNK, side="right")) - 1
            last = max(last, major + 1)
            chosen = slice(position[major], position[last])
            majors = np.repeat(np.arange(major, last), np.diff(position[major : last + 1]))
            minors = matrix.indices[chosen]
            values = matrix.data[chosen].astype(np.float64)
            if matrix.format == "csr":
                yield majors, minors, values
            else:
                yield minors, majors, values
            major = last

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""
        return _product(self._matrix, V)

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        return _product(self._transposed, U)

    def gram_matmat(
        self, V: RealArray, shift: RealArray | None = None
    ) -> tuple[RealArray, FloatArray]:
        """Return X'B and 1'B for B = X V - 1 shift'."""
        return two_products(self, V, shift)

    def in_double(self) -> SparseStorage:
        """Return the same entries with products in float64."""
        return SparseStorage(self._matrix.astype(np.float64, copy=False))

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        data = self._matrix.data
        return sum(sum_of_squares(data[i : i + CHUNK]) for i in range(0, len(data), CHUNK))

    def column_sums(self) -> FloatArray:
        """Return X'1."""
        if self.dtype == np.float64:
            return np.asarray(self._transposed @ np.ones(self.shape[0]))
        total = np.zeros(self.shape[1])
        for _, columns, values in self.entries():
            total += np.bincount(columns, values, minlength=len(total))
        return total

    def column_deviations(self, means: FloatArray) -> FloatArray:
        """Return the squared deviations of each column from `means`."""
        m, n = self.shape
        total, stored = np.zeros(n), np.zeros(n)
        for _, columns, values in self.entries():
            total += np.bincount(columns, (values - means[columns]) ** 2, minlength=n)
            stored += np.bincount(columns, minlength=n)
        # The entries that are not stored are zeros, each at distance means_j.
        return total + (m - stored) * means**2

    def row_deviations(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted squared deviations of each row from `means`."""
        total = np.full(self.shape[0], weights @ means**2)
        for rows, columns, values in self.entries():
            # (x - mean)^2 in place of the mean^2 counted for a zero.
            change = weights[columns] * values * (values - 2 * means[columns])
            total += np.bincount(rows, change, minlength=len(total))
        return np.asarray(np.maximum(total, 0.0))

    def row_gram(self, weights: FloatArray) -> FloatArray:
        """Return X diag(weights) X'."""
        matrix = self._matrix.astype(np.float64)
        gram: FloatArray = (matrix @ sparse.diags_array(weights) @ matrix.T).toarray()
        return gram

    def fingerprint(self) -> str:
        """Return a digest that the width of the indices does not change."""
        matrix = self._matrix
        wide = max(*self.shape, len(matrix.data)) > np.iinfo(np.int32).max
        index_type = np.dtype(np.int64 if wide else np.int32)
        digest = new_digest(matrix.format, self.shape, self.dtype)
        for array, kind in (
            (matrix.indptr, index_type),
            (matrix.indices, index_type),
            (matrix.data, self.dtype),
        ):
            for start in range(0, len(array), CHUNK):
                digest.update(np.ascontiguousarray(array[start : start + CHUNK], dtype=kind).data)
        return digest.hexdigest()


def canonical(matrix: Any) -> Any:
    """Return a compressed matrix whose indices are sorted and not repeated; itself if they are.

    Repeated entries are fine for products but not for sums of squares.
    """
    if matrix.has_canonical_format:
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    return matrix


def _product(matrix: Any, V: RealArray) -> RealArray:
    """Return the matrix times V (n, t), columns of V on several threads.

    SciPy uses one thread. The result does not depend on the number of threads.
    """
    columns = V.shape[1]
    threads = min(blas_threads(), columns // COLUMNS_PER_THREAD)
    if threads <= 1 or matrix.nnz * columns < THREADED_WORK:
        return np.asarray(matrix @ V)
    product: RealArray = np.empty((matrix.shape[0], columns), np.result_type(matrix, V))

    def multiply(part: slice) -> None:
        product[:, part] = matrix @ np.ascontiguousarray(V[:, part])

    map_slices(multiply, columns, threads)
    return product
