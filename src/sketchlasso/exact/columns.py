"""Access to X by columns, and the rows one problem trains on."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg.blas import dsyrk

from sketchlasso.data import BlockMatrix, as_entries
from sketchlasso.data.blocks import LARGEST
from sketchlasso.data.entries import is_sparse
from sketchlasso.data.transform import column_lengths, near_zero
from sketchlasso.data.validate import check_size
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances.rows import RowSets
from sketchlasso.linalg.rows import centre
from sketchlasso.problem.full_problem import FullView
from sketchlasso.types import FloatArray, IntArray

# New columns of a sparse matrix made dense at a time, so that they fit the cache.
BLOCK = 64
# Entries of X that are copied at a time.
COPIED = 2**23
# A pair of entries that meet costs as much as this many products in a dense line.
PAIR_COST = 30.0


def as_columns(X: Any, centred: bool) -> Columns:
    """X, checked, in the form with the fastest access to its columns.

    It is copied only to change its type or format, or where columns of `centred` problems are far
    from zero. Gram entries of those may be shifted.
    """
    if _plainly_fine(X):
        return _dense_columns(X, centred)
    entries = as_entries(X)
    if isinstance(entries, BlockMatrix):
        raise InvalidInputError(
            f"X is in {entries.n_blocks} blocks, but the exact problem needs its columns in "
            "memory; pass a sketch, or pass X.collect()."
        )
    check_size("X", entries)
    entries = entries.astype(np.float64, copy=False)
    if not is_sparse(entries):
        return _dense_columns(entries, centred)
    return SparseColumns(*near_zero(entries)) if centred else SparseColumns(entries)


def _plainly_fine(X: Any) -> bool:
    """Whether X is an array of doubles of good size: its sum of squares proves it in one pass."""
    if not (isinstance(X, np.ndarray) and X.dtype == np.float64 and X.ndim == 2):
        return False
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        return False
    flat = X.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(1.0 / LARGEST <= flat @ flat <= LARGEST)


def _dense_columns(entries: FloatArray, centred: bool) -> DenseColumns:
    if not centred:
        return DenseColumns(entries, np.zeros(entries.shape[1]))
    entries, offsets = near_zero(entries)
    return DenseColumns(entries, entries.mean(axis=0), offsets)


class DenseColumns:
    """Columns of an array, on all rows or on some.

    Gram entries belong to the shifted columns x_j - shift_j 1: a shift near the mean keeps
    digits that subtracting the mean from finished sums would lose. The entries themselves are
    those of X less `offsets`, (n,) or zero.
    """

    def __init__(
        self,
        entries: FloatArray,
        shift: FloatArray,
        offsets: FloatArray | float = 0.0,
        rows: IntArray | None = None,
    ) -> None:
        self.matrix, self.shift, self.offsets = entries, shift, offsets
        self._rows = rows
        m = entries.shape[0] if rows is None else len(rows)
        self.shape = (m, entries.shape[1])
        # Entries that a product reads.
        self.size = float(m * entries.shape[1])

    def rows(self, chosen: IntArray) -> DenseColumns:
        """The Gram matrix of these columns on some rows only."""
        return DenseColumns(self.matrix, self.shift, self.offsets, chosen)

    def correlate(self, vectors: FloatArray) -> FloatArray:
        """X'v (n,) of a vector (m,), or (n, a) of vectors (m, a)."""
        return np.asarray(self.matrix.T @ vectors)

    def combine(self, chosen: IntArray, values: FloatArray) -> FloatArray:
        """Sum over the chosen columns (c,) of values_j x_j; values are (c,) or (c, a)."""
        # Copying a column takes as long as multiplying three.
        if 3 * len(chosen) < self.shape[1]:
            return np.asarray(self.matrix[:, chosen] @ values)
        every = np.zeros((self.shape[1], *values.shape[1:]))
        every[chosen] = values
        return np.asarray(self.matrix @ every)

    def gram(
        self, new: IntArray, chosen: IntArray, weights: FloatArray | None = None
    ) -> FloatArray:
        """(x_i - shift_i)'W(x_j - shift_j) of new and chosen columns (new, chosen)."""
        total = np.zeros((len(new), len(chosen)))
        for part in self._parts(len(chosen)):
            left = self._entries(part, new)
            if weights is not None:
                left *= weights[part, None]
            total += left.T @ self._entries(part, chosen)
        return total

    def whole_gram(self, weights: FloatArray | None = None) -> FloatArray:
        """The Gram matrix of all columns (n, n); only its lower triangle is filled."""
        n = self.shape[1]
        gram = np.zeros((n, n))
        # Without rows no page of it is touched.
        for number, part in enumerate(self._parts(n) if self.shape[0] else []):
            block = self._entries(part, slice(None))
            if weights is not None:
                block *= np.sqrt(weights[part, None])
            # BLAS reads arrays in Fortran order: the transpose of its upper triangle.
            dsyrk(1.0, block.T, beta=float(number > 0), c=gram.T, overwrite_c=1)
        return gram

    def _parts(self, width: int) -> list[slice]:
        """Parts of the rows of which a copy of so many columns is not large."""
        m = self.shape[0]
        count = max(1, -(-m * width // COPIED))
        edges = [m * number // count for number in range(count + 1)]
        return [slice(first, last) for first, last in itertools.pairwise(edges)]

    def _entries(self, part: slice, chosen: Any) -> FloatArray:
        """A copy of the shifted entries of some rows and columns."""
        if isinstance(chosen, slice):
            if self._rows is None:
                return np.ascontiguousarray(self.matrix[part] - self.shift)
            entries = np.ascontiguousarray(self.matrix[self._rows[part]])
        elif self._rows is None:
            entries = self.matrix[part].take(chosen, axis=1)
        else:
            entries = self.matrix[self._rows[part][:, None], chosen]
        entries -= self.shift[chosen]
        return entries


class SparseColumns:
    """Columns of a sparse matrix, never shifted or made dense.

    The entries are those of X less `offsets`, (n,) or zero.
    """

    def __init__(self, matrix: Any, offsets: FloatArray | float = 0.0) -> None:
        self._given, self.offsets = matrix, offsets
        self.matrix = matrix.tocsc()
        self.shape: tuple[int, int] = (int(matrix.shape[0]), int(matrix.shape[1]))
        self.size = float(max(len(self.matrix.data), 1))
        self.shift = np.zeros(self.shape[1])

    def rows(self, chosen: IntArray) -> SparseColumns:
        """The same columns on some rows only."""
        return SparseColumns(self._by_rows[chosen], self.offsets)

    @cached_property
    def _by_rows(self) -> Any:
        return self._given.tocsr()

    def correlate(self, vectors: FloatArray) -> FloatArray:
        """X'v (n,) of a vector (m,), or (n, a) of vectors (m, a)."""
        return np.asarray(self.matrix.T @ vectors)

    def combine(self, chosen: IntArray, values: FloatArray) -> FloatArray:
        """Sum over the chosen columns (c,) of values_j x_j; values are (c,) or (c, a)."""
        return np.asarray(self.matrix[:, chosen] @ values)

    def gram(
        self, new: IntArray, chosen: IntArray, weights: FloatArray | None = None
    ) -> FloatArray:
        """x_i'W x_j of new and chosen columns (new, chosen)."""
        left, right = self.matrix[:, new], self.matrix[:, chosen].T
        if weights is not None:
            left.data *= weights[left.indices]
        # Pairs of entries that meet in a row, if these are spread evenly.
        pairs = len(left.data) * len(self.matrix.data) / max(self.shape[0], 1)
        if PAIR_COST * pairs < len(right.data) * len(new):
            return np.asarray((right @ left).toarray(order="F").T)
        lines = np.empty((len(chosen), len(new)))
        for first in range(0, len(new), BLOCK):
            part = slice(first, first + BLOCK)
            lines[:, part] = right @ left[:, part].toarray()
        return lines.T

    def whole_gram(self, weights: FloatArray | None = None) -> FloatArray:
        """The Gram matrix of all columns (n, n)."""
        every = np.arange(self.shape[1])
        return np.ascontiguousarray(self.gram(every, every, weights))

    def squares(self, weights: FloatArray) -> FloatArray:
        """x_j'W x_j (n,) for weights (m,)."""
        return np.asarray((self.matrix**2).T @ weights)


Columns: TypeAlias = DenseColumns | SparseColumns


class TrainingRows:
    """A row set of X, centred where the problems have an intercept.

    Rows that do not train have a weight of zero; `gram_weights` is None where all weights are one.
    """

    def __init__(self, columns: Columns, weights: FloatArray, sums: FloatArray | None) -> None:
        self.columns, self.fit_intercept = columns, sums is not None
        self.weights, self.weight = weights, float(weights.sum())
        self.gram_weights = None if (weights == 1.0).all() else weights
        self.means = self.shifted_sums = np.zeros(columns.shape[1])
        if sums is not None:
            # Of columns less their offsets, and the sums that centring subtracts from Gram entries.
            self.means = sums / self.weight
            self.shifted_sums = sums - columns.shift * self.weight

    @classmethod
    def of(cls, columns: Columns, rows: RowSets, fit_intercept: bool) -> list[TrainingRows]:
        """All row sets, with the sums of columns in one product."""
        weights = [one.all_weights(columns.shape[0]).astype(float) for one in rows]
        if not fit_intercept:
            return [cls(columns, own, None) for own in weights]
        sums = columns.correlate(np.stack(weights, axis=1)).T
        return [
            cls(columns, own, np.ascontiguousarray(one))
            for own, one in zip(weights, sums, strict=True)
        ]

    @cached_property
    def view(self) -> FullView:
        """The rows scaled by the roots of their weights."""
        # Columns of standardised data are known up to rounding only.
        return FullView(self.columns.matrix, self.weights, self.fit_intercept)

    @cached_property
    def lengths(self) -> FloatArray:
        """||x_j||_W (n,) of the columns less their offsets, not centred."""
        return column_lengths(self.columns.matrix, self.weights)

    def centre_response(self, y: FloatArray) -> tuple[FloatArray, float]:
        """A response (m,) less its weighted mean over the rows, and the mean."""
        if not self.fit_intercept:
            return y, 0.0
        centred, means = centre(y[:, None], self.weights)
        return centred[:, 0], float(means[0])

    def residual(self, y: FloatArray, support: IntArray, values: FloatArray) -> FloatArray:
        """Y - X w with the best intercept, for a centred y (m,) and w on its support (s,).

        Values are (s,) or, for several solutions, (s, a).
        """
        rest = (y - self.columns.combine(support, values).T).T
        if self.fit_intercept:
            # Centring the difference, not its parts, keeps its mean at zero to the last digit.
            rest -= (self.weights @ rest) / self.weight
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
