"""Access to X by columns, and the rows one problem trains on."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from sketchlasso.data.indirect import BlockStorage
from sketchlasso.data.storage import DenseStorage, SparseStorage
from sketchlasso.data.transform import near_zero
from sketchlasso.data.validate import as_storage
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances.rows import RowSet
from sketchlasso.kernels.columns import add_columns, columns_dot_block, gram_rows
from sketchlasso.linalg.rows import centre, weighted_lengths
from sketchlasso.problem.full_problem import FullView
from sketchlasso.types import FloatArray, IntArray

NO_WEIGHTS = np.empty(0)
# Multiplying a column takes this many times as long where it is copied first.
FEW = 3
# New columns made dense at a time, so that they fit the cache.
BLOCK = 64
# Rows of a Gram matrix of all columns that are summed at a time.
ROWS = 8192
# A pair of entries that meet costs as much as this many products in a dense line.
PAIR_COST = 20.0
# How much faster an operation of a Gram matrix is than one of a product X'v.
DENSE_SPEED = 10.0
SPARSE_SPEED = 6.0


def as_columns(X: Any, centred: bool) -> Columns:
    """X, checked, in the form with the fastest access to its columns.

    It is copied only to change its type or format, or where columns of `centred` problems are far
    from zero. Gram entries of those may be shifted.
    """
    if _plainly_fine(X):
        return _dense_columns(X, centred)
    storage = as_storage(X)
    if isinstance(storage, DenseStorage):
        return _dense_columns(np.asarray(X, dtype=np.float64), centred)
    if isinstance(storage, SparseStorage):
        kind = sparse.csc_array if X.format == "csc" else sparse.csr_array
        entries = kind(X, dtype=np.float64)
        return SparseColumns(*near_zero(entries)) if centred else SparseColumns(entries)
    if isinstance(storage, BlockStorage):
        raise InvalidInputError(
            f"X is in {storage.matrix.n_blocks} blocks, but the exact problem needs its columns in "
            "memory; pass a sketch, or pass X.collect()."
        )
    raise InvalidInputError(
        "X is a LinearOperator, but the exact problem needs its columns; pass an array or a "
        "sparse matrix"
    )


def _plainly_fine(X: Any) -> bool:
    """Whether X is an array of finite doubles; a finite sum proves it faster than a search."""
    if not (isinstance(X, np.ndarray) and X.dtype == np.float64 and X.ndim == 2 and X.size):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))


def _dense_columns(entries: FloatArray, centred: bool) -> DenseColumns:
    if not centred:
        return DenseColumns(entries, np.zeros(entries.shape[1]))
    entries, offsets = near_zero(entries)
    return DenseColumns(entries, entries.mean(axis=0), offsets)


class DenseColumns:
    """Columns of an array; those in use are copied side by side, the others stay in place.

    Gram entries belong to the shifted columns x_j - shift_j 1: a shift near the mean keeps
    digits that subtracting the mean from finished sums would lose. The entries themselves are
    those of X less `offsets`, (n,) or zero.
    """

    def __init__(
        self, entries: FloatArray, shift: FloatArray, offsets: FloatArray | float = 0.0
    ) -> None:
        self.entries = entries
        self.offsets = offsets
        self.shape = (entries.shape[0], entries.shape[1])
        self.shift = shift
        self._lock = threading.Lock()
        # Columns used so far, shifted, side by side in the order of their first use.
        self._place = np.full(self.shape[1], -1, dtype=np.intp)
        self._used = np.empty((self.shape[0], 0), order="F")
        self._count = 0

    @property
    def matrix(self) -> FloatArray:
        """All columns (m, n)."""
        return self.entries

    def correlate(self, vectors: FloatArray) -> FloatArray:
        """X'v (n,) of a vector (m,), or (n, a) of vectors (m, a)."""
        return np.asarray(self.entries.T @ vectors)

    def combine(self, chosen: IntArray, values: FloatArray) -> FloatArray:
        """Sum (m,) of values_j x_j over the chosen columns."""
        where = self._place[chosen]
        if len(where) == 0 or where.min() < 0:
            return np.asarray(self.entries[:, chosen] @ values)
        shift = float(self.shift[chosen] @ values)
        # Another thread may append columns; those up to the last one needed are in place.
        used = self._used[:, : where.max() + 1]
        if FEW * len(where) < used.shape[1]:
            return np.asarray(used[:, where] @ values + shift)
        weights = np.zeros(used.shape[1])
        weights[where] = values
        return np.asarray(used @ weights + shift)

    def gram(
        self, new: IntArray, chosen: IntArray, weights: FloatArray | None = None
    ) -> FloatArray:
        """(x_i - shift_i)'W(x_j - shift_j) of new and chosen columns (new, chosen)."""
        every = np.arange(self.shape[1])
        if self._count == 0 and np.array_equal(new, every) and np.array_equal(chosen, every):
            return self._whole_gram(weights)
        with self._lock:
            return self._gram(new, chosen, weights)

    def _whole_gram(self, weights: FloatArray | None) -> FloatArray:
        """The Gram matrix of all columns, a block of rows at a time and without keeping them."""
        total = None
        for first in range(0, self.shape[0], ROWS):
            part = slice(first, first + ROWS)
            block = self.entries[part] - self.shift
            own = block.T @ (block if weights is None else block * weights[part, None])
            total = own if total is None else np.add(total, own, out=total)
        return np.asarray(total)

    def _gram(self, new: IntArray, chosen: IntArray, weights: FloatArray | None) -> FloatArray:
        where = self._keep(chosen)
        in_order = len(where) == self._count and bool((where == np.arange(len(where))).all())
        left = self._used[:, self._keep(new)]
        if weights is not None:
            left = left * weights[:, None]
        right = self._used[:, : self._count]
        return np.asarray(left.T @ (right if in_order else self._used[:, where]))

    def gram_cost(self, chosen: IntArray) -> float:
        """Estimate the time of the Gram matrix of some columns, in products X'v.

        Half of c^2 m operations against m n: cached ones are DENSE_SPEED times as fast.
        """
        return len(chosen) ** 2 / (2 * DENSE_SPEED * self.shape[1])

    def rows(self, chosen: IntArray) -> DenseColumns:
        """The same columns on some rows only."""
        return DenseColumns(self.entries[chosen], self.shift, self.offsets)

    def _keep(self, chosen: IntArray) -> IntArray:
        """Where the chosen columns stand among the used ones, new ones appended."""
        missing = chosen[self._place[chosen] < 0]
        if len(missing):
            needed = self._count + len(missing)
            if needed > self._used.shape[1]:
                room = min(max(needed, 2 * self._used.shape[1]), self.shape[1])
                grown = np.empty((self.shape[0], room), order="F")
                grown[:, : self._count] = self._used[:, : self._count]
                self._used = grown
            self._used[:, self._count : needed] = self.entries[:, missing] - self.shift[missing]
            self._place[missing] = np.arange(self._count, needed)
            self._count = needed
        return self._place[chosen]


class SparseColumns:
    """Columns of a sparse matrix, kept by columns and by rows; never shifted or made dense.

    The entries are those of X less `offsets`, (n,) or zero.
    """

    def __init__(self, matrix: Any, offsets: FloatArray | float = 0.0) -> None:
        self._given = matrix
        self.offsets = offsets
        self.by_columns = matrix.tocsc()
        self._transposed = self.by_columns.T
        self.shape: tuple[int, int] = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.shift = np.zeros(self.shape[1])

    @property
    def matrix(self) -> Any:
        """All columns (m, n)."""
        return self.by_columns

    @cached_property
    def by_rows(self) -> Any:
        """The matrix in compressed rows."""
        return self._given.tocsr()

    def correlate(self, vectors: FloatArray) -> FloatArray:
        """X'v (n,) of a vector (m,), or (n, a) of vectors (m, a)."""
        return np.asarray(self._transposed @ vectors)

    def combine(self, chosen: IntArray, values: FloatArray) -> FloatArray:
        """Sum (m,) of values_j x_j over the chosen columns."""
        out = np.zeros(self.shape[0])
        X = self.by_columns
        add_columns(X.data, X.indices, X.indptr, chosen, values, out)
        return out

    def gram(
        self, new: IntArray, chosen: IntArray, weights: FloatArray | None = None
    ) -> FloatArray:
        """x_i'W x_j of new and chosen columns (new, chosen)."""
        lengths = np.diff(self.by_columns.indptr)
        per_row = len(self.by_columns.data) / self.shape[0]
        by_pairs = PAIR_COST * float(lengths[new].sum()) * per_row
        if by_pairs < float(lengths[chosen].sum()) * len(new):
            return self._gram_by_pairs(new, chosen, weights)
        out = np.empty((len(chosen), len(new)))
        X = self.by_columns
        for first in range(0, len(new), BLOCK):
            part = slice(first, min(first + BLOCK, len(new)))
            block = X[:, new[part]].toarray(order="C")
            if weights is not None:
                block *= weights[:, None]
            lines = np.empty((len(chosen), part.stop - part.start))
            columns_dot_block(X.data, X.indices, X.indptr, chosen, block, lines)
            out[:, part] = lines
        return out.T

    def _gram_by_pairs(
        self, new: IntArray, chosen: IntArray, weights: FloatArray | None
    ) -> FloatArray:
        """The same, touching only pairs of entries that meet in a row."""
        out = np.empty((len(new), len(chosen)))
        place = np.full(self.shape[1], -1, dtype=np.int32)
        place[chosen] = np.arange(len(chosen), dtype=np.int32)
        X, rows = self.by_columns, self.by_rows
        gram_rows(
            X.data,
            X.indices,
            X.indptr,
            rows.data,
            rows.indices,
            rows.indptr,
            new,
            place,
            NO_WEIGHTS if weights is None else weights,
            out,
        )
        return out

    def squares(self, weights: FloatArray) -> FloatArray:
        """x_j'W x_j (n,) for weights (m,)."""
        X = self.by_columns
        squared = sparse.csc_array((X.data**2, X.indices, X.indptr), shape=self.shape)
        return np.asarray(squared.T @ weights)

    def gram_cost(self, chosen: IntArray) -> float:
        """Half of c products of the chosen columns, SPARSE_SPEED times as fast as others."""
        entries = float(np.diff(self.by_columns.indptr)[chosen].sum())
        return entries * len(chosen) / (2 * SPARSE_SPEED * max(len(self.by_columns.data), 1))

    def rows(self, chosen: IntArray) -> SparseColumns:
        """The same columns on some rows only."""
        return SparseColumns(self.by_rows[chosen], self.offsets)


Columns: TypeAlias = DenseColumns | SparseColumns


class TrainingRows:
    """A row set of X, centred where the problems have an intercept.

    Rows that do not train have a weight of zero; `gram_weights` is None where all weights are one.
    """

    def __init__(self, columns: Columns, row_set: RowSet, fit_intercept: bool) -> None:
        m = columns.shape[0]
        self.columns = columns
        self.fit_intercept = fit_intercept
        self.weights = np.ones(m) if row_set.weights is None else row_set.weights.astype(float)
        self.weights[row_set.removed] = 0.0
        self.weight = float(self.weights.sum())
        self.gram_weights = None if (self.weights == 1.0).all() else self.weights
        sums = columns.correlate(self.weights)
        none = np.zeros(columns.shape[1])
        # Of columns less their offsets, and the sums of shifted columns that centring subtracts.
        self.means = sums / self.weight if fit_intercept else none
        self.shifted_sums = sums - columns.shift * self.weight if fit_intercept else none

    @cached_property
    def view(self) -> FullView:
        """The rows scaled by the roots of their weights."""
        # Columns of standardised data are known up to rounding only.
        return FullView(self.columns.matrix, self.weights, self.fit_intercept, rounded=True)

    @cached_property
    def sizes(self) -> FloatArray:
        """||x_j||_W (n,) of the columns less their offsets, not centred."""
        return weighted_lengths(self.columns.matrix, self.weights)

    def centre_response(self, y: FloatArray) -> tuple[FloatArray, float]:
        """A response (m,) less its weighted mean over the rows, and the mean."""
        if not self.fit_intercept:
            return y, 0.0
        centred, means = centre(y[:, None], self.weights)
        return centred[:, 0], float(means[0])

    def residual(self, y: FloatArray, support: IntArray, values: FloatArray) -> FloatArray:
        """Y - X w with the best intercept (m,), for a centred y and w given on its support."""
        rest = y - self.columns.combine(support, values)
        if self.fit_intercept:
            # Centring the difference, not its parts, keeps its mean at zero to the last digit.
            rest -= float(self.weights @ rest) / self.weight
        return rest

    def square(self, vector: FloatArray) -> float:
        """||v||_W^2."""
        return float(self.weights @ (vector * vector))

    def correlate(self, vectors: FloatArray) -> FloatArray:
        """Centred x_j'W v (n,) of a vector (m,), or (n, a) of vectors (m, a)."""
        weighted = (self.weights * vectors.T).T
        seen = self.columns.correlate(weighted)
        if self.fit_intercept:
            seen -= np.multiply.outer(self.means, weighted.sum(axis=0))
        return seen
