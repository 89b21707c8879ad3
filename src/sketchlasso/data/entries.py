"""Functions of entries in one piece: an array, or a sparse matrix stored by rows or by columns.

They run where a block of rows is; sums of what they return belong to all rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import linalg, sparse

from sketchlasso.linalg.threads import blas_threads, map_items
from sketchlasso.types import FloatArray, RealArray

# Entries at a time in passes with temporaries of the size of what they read: a few MiB.
CHUNK = 1 << 18
# Multiplications from which a product with sparse entries uses several threads.
THREADED_WORK = 4_000_000
# A product of a block with one sparse factor stays sparse where fewer than one entry in so many of
# the factor is stored, or where a dense copy of it would be too large.
SPARSE, MOST_ENTRIES = 32, 1 << 24


def is_sparse(entries: object) -> bool:
    """Return whether entries are a sparse matrix."""
    return bool(sparse.issparse(entries))


def floating(dtype: DTypeLike) -> np.dtype[np.floating[Any]]:
    """Return the type that numbers are computed in: float32 stays, any other becomes float64."""
    return np.dtype(np.float32 if np.dtype(dtype) == np.float32 else np.float64)


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
    """Return row, column and value of the first (stored) entry with a fault, or None.

    `fault` returns a mask of the shape of its argument.
    """
    values = matrix.data if is_sparse(matrix) else matrix
    step = max(1, CHUNK // max(1, values[:1].size))
    for start in range(0, len(values), step):
        wrong = fault(values[start : start + step])
        if not wrong.any():
            continue
        first = np.argwhere(wrong)[0]
        position = start + int(first[0])
        if not is_sparse(matrix):
            return position, int(first[1]), values[position, first[1]]
        major = int(np.searchsorted(matrix.indptr, position, side="right")) - 1
        minor = int(matrix.indices[position])
        row, column = (major, minor) if matrix.format == "csr" else (minor, major)
        return row, column, values[position]
    return None


def _chunks(entries: RealArray, size: int = 0) -> Iterator[tuple[slice, RealArray]]:
    """Yield slices of rows and their entries."""
    step = max(1, (size or CHUNK) // max(1, entries.shape[1]))
    for start in range(0, len(entries), step):
        rows = slice(start, start + step)
        yield rows, entries[rows]


def _stored(matrix: Any) -> Iterator[tuple[NDArray[Any], NDArray[Any], FloatArray]]:
    """Yield rows, columns and values of the stored entries, some at a time."""
    start, position = 0, matrix.indptr
    while start < len(position) - 1:
        stop = int(np.searchsorted(position, position[start] + CHUNK, side="right")) - 1
        stop = max(stop, start + 1)
        part = slice(position[start], position[stop])
        majors = np.repeat(np.arange(start, stop), np.diff(position[start : stop + 1]))
        minors, values = matrix.indices[part], matrix.data[part].astype(np.float64)
        rows, columns = (majors, minors) if matrix.format == "csr" else (minors, majors)
        yield rows, columns, values
        start = stop


def column_sums(entries: Any, weights: FloatArray | None = None) -> FloatArray:
    """Return X'1 or X'weights, of shape (n,)."""
    weights = np.ones(entries.shape[0]) if weights is None else weights
    if is_sparse(entries) and entries.dtype == np.float64:
        return np.asarray(entries.T @ weights)
    total = np.zeros(entries.shape[1])
    if is_sparse(entries):
        for rows, columns, values in _stored(entries):
            total += np.bincount(columns, weights[rows] * values, minlength=len(total))
        return total
    for chunk, block in _chunks(entries):
        total += weights[chunk] @ block.astype(np.float64, copy=False)
    return total


def column_deviations(
    entries: Any, means: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return the (weighted) squared deviations (n,) of each column from `means` (n,)."""
    total = np.zeros(entries.shape[1])
    weights = np.ones(entries.shape[0]) if weights is None else weights
    if not is_sparse(entries):
        for chunk, block in _chunks(entries):
            total += weights[chunk] @ np.square(block - means)
        return total
    share = np.zeros(len(total))
    for rows, columns, values in _stored(entries):
        each = weights[rows]
        total += np.bincount(columns, each * (values - means[columns]) ** 2, minlength=len(total))
        share += np.bincount(columns, each, minlength=len(total))
    # The entries that are not stored are zeros, each at distance means_j.
    return total + (weights.sum() - share) * means**2


def row_deviations(entries: Any, means: FloatArray, weights: FloatArray) -> FloatArray:
    """Return sum_j weights_j (x_ij - means_j)^2 for every row i, of shape (m,)."""
    if not is_sparse(entries):
        return np.concatenate([np.square(block - means) @ weights for _, block in _chunks(entries)])
    total = np.full(entries.shape[0], weights @ means**2)
    for rows, columns, values in _stored(entries):
        # (x - mean)^2 in place of the mean^2 counted for a zero.
        change = weights[columns] * values * (values - 2 * means[columns])
        total += np.bincount(rows, change, minlength=len(total))
    return np.asarray(np.maximum(total, 0.0))


@dataclass(frozen=True, eq=False)
class Moments:
    """Weights, means and weighted squared deviations (n,) of columns over some rows.

    The sum of two belongs to the rows of both (Chan, Golub and LeVeque): nothing large is
    subtracted from anything large.
    """

    weight: Any  # a number or (n,)
    mean: FloatArray
    spread: FloatArray

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0, weight, 1.0)
        apart = other.mean - self.mean
        return Moments(
            weight,
            self.mean + share * apart,
            self.spread + other.spread + self.weight * share * apart**2,
        )

    def about(self, centre: FloatArray | float) -> FloatArray:
        """Return the squared deviations (n,) from other numbers than the means."""
        return self.spread + self.weight * (self.mean - centre) ** 2


def column_moments(entries: Any, weights: FloatArray | None = None) -> Moments:
    """Return the moments of the columns."""
    total = float(entries.shape[0] if weights is None else weights.sum())
    mean = column_sums(entries, weights) / (total if total > 0 else 1.0)
    return Moments(total, mean, column_deviations(entries, mean, weights))


def digest(entries: Any, first_row: int) -> int:
    """Return the sum over all entries of h(x_ij) a_j b_i modulo 2^64, for odd numbers a and b.

    With h(0) = 0 it does not depend on how X is stored, nor on how it is cut into blocks. h mixes
    the bits of a double: multilinear hashing (Lemire and Kaser, 2014) of what they are then.
    """
    m, n = entries.shape
    a, b = _odd_numbers(0, n, 1), _odd_numbers(first_row, m, 2)
    total = 0
    if is_sparse(entries):
        for i, j, values in _stored(entries):
            total += int(np.sum(_mixed(values) * a[j] * b[i]))
    else:
        for rows, block in _chunks(entries, CHUNK // 4):
            bits = _mixed(block)
            bits *= a
            total += int(bits.sum(axis=1) @ b[rows])
    return total % 2**64


def _odd_numbers(first: int, count: int, kind: int) -> NDArray[np.uint64]:
    """Return odd numbers (count,) that look random, from SplitMix64 at first, first + 1, ..."""
    z = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(kind)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) | np.uint64(1))


def _mixed(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return bits of numbers as doubles, the high ones also among the low; none for 0 and -0."""
    bits = np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.uint64)
    bits ^= bits >> np.uint64(29)
    return bits


def product(X: Any, V: Any) -> Any:
    """Return X V, dense, for a dense factor V (n, t).

    SciPy multiplies sparse entries on one thread, so parts of a large matrix go to several. The
    result does not depend on the number of threads.
    """
    if not is_sparse(X):
        if X.dtype == np.result_type(X, V):
            return np.asarray(X @ V)
        # NumPy would convert all of X at once.
        return np.concatenate([block @ V for _, block in _chunks(X)])
    if X.nnz * V.shape[1] < THREADED_WORK:
        return np.asarray(X @ V)
    threads = blas_threads()
    if X.format == "csc":
        # Two summands with any number of threads: others would round differently.
        halves = _parts(X.indptr, 2)
        total, other = map_items(lambda half: _part_of(X, half) @ V[half], halves, threads)
        total += other
        return np.asarray(total)
    parts = _parts(X.indptr, threads)
    return np.concatenate(map_items(lambda part: _part_of(X, part) @ V, parts, threads))


def _parts(indptr: NDArray[Any], count: int) -> list[slice]:
    """Slices of rows (or of columns, where these are stored) with about as many entries each."""
    edges = np.searchsorted(indptr, np.linspace(0, indptr[-1], count + 1)[1:-1])
    bounds = [0, *edges.tolist(), len(indptr) - 1]
    return [slice(*pair) for pair in itertools.pairwise(bounds)]


def _part_of(matrix: Any, part: slice) -> Any:
    """Some rows of a matrix by rows, or some columns of one by columns; shares its entries."""
    indptr, size = matrix.indptr[part.start : part.stop + 1], part.stop - part.start
    stored = slice(indptr[0], indptr[-1])
    arrays = matrix.data[stored], matrix.indices[stored], indptr - indptr[0]
    if matrix.format == "csr":
        return sparse.csr_array(arrays, shape=(size, matrix.shape[1]))
    return sparse.csc_array(arrays, shape=(matrix.shape[0], size))


def dense_product(X: Any, V: Any) -> FloatArray:
    """Return X V, dense, for any mix of dense and sparse."""
    if not is_sparse(V):
        return product(X, V)
    if not is_sparse(X):
        used = np.flatnonzero(np.bincount(V.tocoo().row, minlength=V.shape[0]))
        if 2 * len(used) < V.shape[0]:
            X, V = X[:, used], V.tocsr()[used]
        return product(X, V.toarray())
    size = V.shape[0] * V.shape[1]
    if size > MOST_ENTRIES or (V.shape[1] > 2 and SPARSE * V.nnz < size):
        return np.asarray((X @ V).toarray())
    return product(X, V.toarray())


def transposed_product(entries: Any, U: Any) -> FloatArray:
    """Return X'U (n, t), dense, for U (m, t), dense or sparse."""
    if is_sparse(U):
        found = entries.T @ U
        return np.asarray(found.toarray() if is_sparse(found) else found)
    return product(entries.T, U)


def centred_product(entries: Any, V: RealArray, shift: RealArray | None) -> RealArray:
    """Return B = X V - 1 shift', of shape (r, t)."""
    image: RealArray = product(entries, V)
    if shift is not None:
        image -= shift
    return image


def rows_of(entries: Any, rows: slice) -> Any:
    """Return some rows of an array or of a matrix stored by rows, without a copy."""
    return _part_of(entries, rows) if is_sparse(entries) else entries[rows]


def strips(rows: int, n_features: int, width: int) -> list[slice]:
    """Slices of the rows of a block for products of `width` columns, which stay a few MiB.

    No strip is shorter than n: sums over rows are as large as that.
    """
    step = max(1, n_features, 4 * CHUNK // max(1, width))
    return [slice(start, min(start + step, rows)) for start in range(0, max(1, rows), step)]


def image_sums(
    entries: Any, V: RealArray, shift: RealArray | None, products: bool, triangle: bool
) -> tuple[Any, ...]:
    """Return sums over rows for B = X V - 1 shift': X'B and 1'B, and the triangle of B."""
    entries = entries.tocsr() if is_sparse(entries) else entries
    total: tuple[Any, ...] = ()
    for rows in strips(entries.shape[0], entries.shape[1], V.shape[1]):
        strip = rows_of(entries, rows)
        B = centred_product(strip, V, shift)
        part: tuple[Any, ...] = ()
        if products:
            part += (transposed_product(strip, B), B.sum(axis=0, dtype=np.float64))
        if triangle:
            part += (Triangle.of(B),)
        total = tuple(a + b for a, b in zip(total, part, strict=True)) if total else part
    return total


@dataclass(frozen=True, eq=False)
class Triangle:
    """R (d, t) of B = Q R for rows B (r, t); adding two stacks their rows."""

    R: RealArray

    @classmethod
    def of(cls, B: RealArray) -> Triangle:
        """Return the triangle of B, of at most t rows."""
        return cls(linalg.qr(B, mode="r", check_finite=False)[0][: B.shape[1]])

    def __add__(self, other: Triangle) -> Triangle:
        return Triangle.of(np.vstack([self.R, other.R]))


@dataclass(frozen=True, eq=False)
class Stacked:
    """Rows (r, ...) of a block; adding puts those of two blocks one below the other."""

    rows: RealArray

    def __add__(self, other: Stacked) -> Stacked:
        return Stacked(np.concatenate([self.rows, other.rows]))


def per_entry(matrix: Any, values: FloatArray) -> FloatArray:
    """Return values (n,) of the columns for every stored entry of a compressed matrix (m, n)."""
    by_columns = matrix.format == "csc"
    return np.repeat(values, np.diff(matrix.indptr)) if by_columns else values[matrix.indices]


def divided_entries(entries: Any, scales: FloatArray) -> Any:
    """Return entries (r, n) with their columns divided by `scales` (n,), floating type kept."""
    kind = floating(entries.dtype)
    divisors = scales.astype(kind)
    if not is_sparse(entries):
        return np.asarray(entries, dtype=kind) / divisors
    # Only the entries are new; the index arrays are shared.
    values = entries.data / per_entry(entries, divisors)
    return type(entries)((values, entries.indices, entries.indptr), shape=entries.shape)
