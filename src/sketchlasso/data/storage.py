"""Stored matrices: dense arrays and memory maps, compressed sparse matrices."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from sketchlasso.data.protocol import Storage
from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.threads import blas_threads, map_items
from sketchlasso.types import FloatArray, RealArray, SparseRows

# Entries processed at a time by passes over a matrix: temporaries of a few MiB.
CHUNK = 1 << 18
# Multiplications from which a product uses several threads.
THREADED_WORK = 4_000_000
# A sparse factor is used as it is where fewer than one entry in `SPARSE` is not zero. With a dense
# block, which SciPy copies first, it also needs many columns, and with a sparse block a few: two
# products with vectors are faster than one with a sparse matrix. A factor of which a dense copy
# would be large stays sparse.
SPARSE, MANY_COLUMNS, SOME_COLUMNS, MOST_ENTRIES = 32, 16, 3, 1 << 24

Compressed: TypeAlias = "SparseRows | sparse.csc_array[Any]"


def sum_of_squares(values: RealArray) -> float:
    """Return the sum of squared entries, added up in float64."""
    flat = values.ravel().astype(np.float64, copy=False)
    return float(flat @ flat)


class DenseStorage(Storage):
    """An ndarray or memory map of any real type; products are float32 or float64."""

    def __init__(self, values: NDArray[Any], dtype: Any = None) -> None:
        self.matrix: NDArray[Any] = values
        self.shape = values.shape[0], values.shape[1]
        self.dtype = floating(values.dtype if dtype is None else dtype)
        # BLAS reads such arrays in place; a product would copy any other whole.
        flags = values.flags
        self._direct = values.dtype == self.dtype and (flags.c_contiguous or flags.f_contiguous)
        self.on_disk = isinstance(values, np.memmap)

    def blocks(self) -> Iterator[tuple[slice, RealArray]]:
        """Yield row slices and their entries as C-ordered blocks in the working type."""
        m, n = self.shape
        step = max(1, CHUNK // n)
        for start in range(0, m, step):
            chosen = slice(start, min(start + step, m))
            yield chosen, np.ascontiguousarray(self.matrix[chosen], dtype=self.dtype)

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""
        if self._direct:
            return np.asarray(self.matrix @ V)
        product = np.empty((self.shape[0], V.shape[1]), dtype=self.dtype)
        for chosen, block in self.blocks():
            product[chosen] = block @ V
        return product

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        if self._direct:
            return np.asarray(self.matrix.T @ U)
        product = np.zeros((self.shape[1], U.shape[1]), dtype=self.dtype)
        for chosen, block in self.blocks():
            product += block.T @ U[chosen]
        return product

    def in_double(self) -> DenseStorage:
        """Return the same entries with products in float64; float32 is converted in blocks."""
        return DenseStorage(self.matrix, np.float64)

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        return sum(sum_of_squares(block) for _, block in self.blocks())

    def column_sums(self, weights: FloatArray | None = None) -> FloatArray:
        """Return X'1, or X'weights."""
        total = np.zeros(self.shape[1])
        for chosen, block in self.blocks():
            if weights is None:
                total += block.sum(axis=0, dtype=np.float64)
            else:
                total += weights[chosen] @ block
        return total

    def column_deviations(self, means: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Return the (weighted) squared deviations of each column from `means`."""
        total = np.zeros(self.shape[1])
        for chosen, block in self.blocks():
            deviation = block - means
            if weights is None:
                total += np.einsum("ij,ij->j", deviation, deviation)
            else:
                total += weights[chosen] @ np.square(deviation)
        return total

    def row_deviations(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted squared deviations of each row from `means`."""
        total = np.empty(self.shape[0])
        for chosen, block in self.blocks():
            total[chosen] = np.square(block - means) @ weights
        return total

    def row_gram(self, weights: FloatArray) -> FloatArray:
        """Return X diag(weights) X'."""
        block = np.asarray(self.matrix, dtype=np.float64)
        return np.asarray((block * weights) @ block.T)


class SparseStorage(Storage):
    """A compressed sparse matrix, by rows or by columns, of 32- or 64-bit indices."""

    def __init__(self, matrix: Compressed) -> None:
        self.matrix: Compressed = matrix
        self._transposed = matrix.T
        self.shape = matrix.shape[0], matrix.shape[1]
        self.dtype = matrix.dtype
        self.on_disk = isinstance(matrix.data, np.memmap)

    @property
    def density(self) -> float:
        """Share of entries that are stored."""
        m, n = self.shape
        return len(self.matrix.data) / (m * n)

    def entries(self) -> Iterator[tuple[NDArray[Any], NDArray[Any], FloatArray]]:
        """Yield rows, columns and values of the stored entries, some at a time."""
        matrix = self.matrix
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
        return _product(self.matrix, V)

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        return _product(self._transposed, U)

    def in_double(self) -> SparseStorage:
        """Return the same entries with products in float64."""
        return SparseStorage(self.matrix.astype(np.float64, copy=False))

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        data = self.matrix.data
        return sum(sum_of_squares(data[i : i + CHUNK]) for i in range(0, len(data), CHUNK))

    def column_sums(self, weights: FloatArray | None = None) -> FloatArray:
        """Return X'1, or X'weights."""
        weights = np.ones(self.shape[0]) if weights is None else weights
        if self.dtype == np.float64:
            return np.asarray(self._transposed @ weights)
        total = np.zeros(self.shape[1])
        for rows, columns, values in self.entries():
            total += np.bincount(columns, weights[rows] * values, minlength=len(total))
        return total

    def column_deviations(self, means: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Return the (weighted) squared deviations of each column from `means`."""
        n = self.shape[1]
        total, stored = np.zeros(n), np.zeros(n)
        for rows, columns, values in self.entries():
            squares = (values - means[columns]) ** 2
            each = None if weights is None else weights[rows]
            total += np.bincount(columns, squares if each is None else each * squares, minlength=n)
            stored += np.bincount(columns, each, minlength=n)
        weight = self.shape[0] if weights is None else weights.sum()
        # The entries that are not stored are zeros, each at distance means_j.
        return total + (weight - stored) * means**2

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
        matrix = self.matrix.astype(np.float64)
        gram: FloatArray = (matrix @ sparse.diags_array(weights) @ matrix.T).toarray()
        return gram


def storage_of(entries: Any) -> DenseStorage | SparseStorage:
    """Return an array, a sparse matrix or the entries of an opened block as storage."""
    return SparseStorage(entries) if is_sparse(entries) else DenseStorage(entries)


def floating(dtype: DTypeLike) -> np.dtype[np.floating[Any]]:
    """Return the type that numbers are computed in: float32 stays, any other becomes float64."""
    return np.dtype(np.float32 if np.dtype(dtype) == np.float32 else np.float64)


def check_two_axes(
    shape: tuple[int, ...], name: str = "X", wanted: str = "(n_samples, n_features)"
) -> None:
    """Refuse an array that is not a matrix."""
    if len(shape) != 2:
        raise InvalidInputError(
            f"{name} has shape {shape}, but a matrix of shape {wanted} is needed; reshape it to "
            "two dimensions, and check the order of the arguments."
        )


def per_entry(matrix: Any, values: FloatArray) -> FloatArray:
    """Return values (n,) of the columns for every stored entry of a compressed matrix (m, n)."""
    by_columns = matrix.format == "csc"
    return np.repeat(values, np.diff(matrix.indptr)) if by_columns else values[matrix.indices]


def divided_entries(entries: Any, scales: FloatArray) -> Any:
    """Return entries (r, n) with their columns divided by `scales` (n,), floating type kept."""
    kept = floating(entries.dtype)
    divisors = scales.astype(kept)
    if isinstance(entries, np.ndarray):
        return np.asarray(entries, dtype=kept) / divisors
    # Only the entries are new; the index arrays are shared.
    values = entries.data / per_entry(entries, divisors)
    return type(entries)((values, entries.indices, entries.indptr), shape=entries.shape)


def canonical(matrix: Any) -> Any:
    """Return a compressed matrix whose indices are sorted and not repeated; itself if they are.

    Repeated entries are fine for products but not for sums of squares.
    """
    if matrix.has_canonical_format:
        return matrix
    matrix = matrix.copy()
    matrix.sum_duplicates()
    return matrix


def find_entry(
    matrix: Any, fault: Callable[[NDArray[Any]], Any]
) -> tuple[int, int, np.generic] | None:
    """Return row, column and value of the first entry with a fault, or None.

    The matrix (m, n) is dense or compressed; of a sparse one the stored entries are looked at.
    `fault` returns a mask of the shape of its argument.
    """
    dense = isinstance(matrix, np.ndarray)
    values = matrix if dense else matrix.data
    step = max(1, CHUNK // max(1, values[:1].size))
    for start in range(0, len(values), step):
        wrong = fault(values[start : start + step])
        if not wrong.any():
            continue
        first = np.argwhere(wrong)[0]
        place = start + int(first[0])
        if dense:
            return place, int(first[1]), values[place, first[1]]
        major = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        minor = int(matrix.indices[place])
        row, column = (major, minor) if matrix.format == "csr" else (minor, major)
        return row, column, values[place]
    return None


def is_sparse(entries: object) -> bool:
    """Return whether entries are a sparse matrix."""
    return bool(sparse.issparse(entries))


def is_dask_array(X: object) -> bool:
    """Return whether X is a dask array, without importing Dask."""
    kind = type(X)
    return kind.__module__.startswith("dask.array") and hasattr(X, "to_delayed")


def dense_product(X: Any, V: Any) -> FloatArray:
    """Return X V, dense, for any mix of dense and sparse."""
    V = fastest_form(X, V)
    if not is_sparse(X):
        return np.asarray((V.T @ X.T).T if is_sparse(V) else X @ V)
    return np.asarray((X @ V).toarray() if is_sparse(V) else _product(X, V))


def fastest_form(X: Any, V: Any) -> Any:
    """Return a factor V (n, t) dense or sparse, as it multiplies X fastest; dense ones as given."""
    if not is_sparse(V) or (is_sparse(X) and np.prod(V.shape) > MOST_ENTRIES):
        return V
    fewest = SOME_COLUMNS if is_sparse(X) else MANY_COLUMNS
    thin = SPARSE * V.nnz < np.prod(V.shape) and V.shape[1] >= fewest
    return V if thin else V.toarray()


def _product(matrix: Any, V: RealArray) -> RealArray:
    """Return the matrix times V (n, t), parts of the matrix on several threads.

    SciPy uses one thread. The result does not depend on the number of threads.
    """
    threads = blas_threads()
    few = matrix.nnz * V.shape[1] < THREADED_WORK
    if few or (threads <= 1 and matrix.format == "csr"):
        return np.asarray(matrix @ V)
    if matrix.format == "csc":
        # Two summands with any number of threads: others would round differently.
        halves = _parts(matrix.indptr, 2)
        total, other = map_items(lambda half: _part_of(matrix, half) @ V[half], halves, threads)
        total += other
        return np.asarray(total)
    product: RealArray = np.empty((matrix.shape[0], V.shape[1]), np.result_type(matrix, V))

    def multiply(part: slice) -> None:
        product[part] = _part_of(matrix, part) @ V

    map_items(multiply, _parts(matrix.indptr, threads), threads)
    return product


def _parts(indptr: NDArray[Any], count: int) -> list[slice]:
    """Slices of rows (or of columns, where these are stored) with about as many entries each."""
    edges = np.searchsorted(indptr, np.linspace(0, indptr[-1], count + 1)[1:-1])
    bounds = [0, *edges.tolist(), len(indptr) - 1]
    return [slice(*pair) for pair in itertools.pairwise(bounds)]


def _part_of(matrix: Any, part: slice) -> Any:
    """Some rows of a matrix by rows, or some columns of one by columns; shares its entries."""
    indptr, size = matrix.indptr[part.start : part.stop + 1], part.stop - part.start
    entries = slice(indptr[0], indptr[-1])
    arrays = matrix.data[entries], matrix.indices[entries], indptr - indptr[0]
    if matrix.format == "csr":
        return sparse.csr_array(arrays, shape=(size, matrix.shape[1]))
    return sparse.csc_array(arrays, shape=(matrix.shape[0], size))
