"""Functions that run where a block is, on its entries: an ndarray or csr_array (r, n)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg

from sketchlasso.data.digest import digest_of_rows
from sketchlasso.data.storage import CHUNK, dense_product, is_sparse, storage_of
from sketchlasso.types import FloatArray, IntArray, RealArray

# A wider product of a block is computed for some rows at a time, so that it is no larger than one
# of this many columns, which memory budgets assume. Products of few entries are computed whole.
PRODUCT_COLUMNS = 48
FEW_ENTRIES = 4 * CHUNK


@dataclass(frozen=True, eq=False)
class Survey:
    """Sums over rows, made in one pass; those of two sets of rows can be added.

    `sums` (n,) are those of the columns, `spreads` (n,) their squared deviations from the means
    of these rows, `squares` the sum of all squared entries, `stored` the number of stored entries,
    and `digest` the digest of the rows, see :mod:`sketchlasso.data.digest`.
    """

    rows: int
    sums: FloatArray
    spreads: FloatArray
    squares: float
    stored: int
    digest: int

    def __add__(self, other: Survey) -> Survey:
        rows = self.rows + other.rows
        # Chan, Golub and LeVeque: nothing large is subtracted from anything large.
        apart = self.sums / max(self.rows, 1) - other.sums / max(other.rows, 1)
        share = self.rows * other.rows / max(rows, 1)
        return Survey(
            rows,
            self.sums + other.sums,
            self.spreads + other.spreads + share * apart**2,
            self.squares + other.squares,
            self.stored + other.stored,
            self.digest + other.digest,
        )

    def deviations(self, means: FloatArray) -> FloatArray:
        """Return the squared deviations (n,) of the columns from other means."""
        return self.spreads + self.rows * (self.sums / max(self.rows, 1) - means) ** 2


def of_storage(entries: Any, method: str, *arguments: Any) -> Any:
    """Return what a method of the block's storage returns."""
    return getattr(storage_of(entries), method)(*arguments)


def survey(entries: Any, first: int) -> Survey:
    """Return the survey of a block that begins at row `first` of X."""
    storage = storage_of(entries)
    sums = storage.column_sums()
    rows = entries.shape[0]
    stored = len(entries.data) if is_sparse(entries) else entries.size
    return Survey(
        rows,
        sums,
        storage.column_deviations(sums / max(rows, 1)),
        float(storage.squared_norm()),
        int(stored),
        digest_of_rows(entries, first),
    )


@dataclass(frozen=True, eq=False)
class Triangle:
    """R (d, t) of B = Q R for rows B (r, t); adding two stacks their rows."""

    R: RealArray

    def __add__(self, other: Triangle) -> Triangle:
        return triangle_of(np.vstack([self.R, other.R]))


@dataclass(frozen=True, eq=False)
class Stacked:
    """Rows (r, ...) of a block; adding puts those of two blocks one below the other."""

    rows: RealArray

    def __add__(self, other: Stacked) -> Stacked:
        return Stacked(np.concatenate([self.rows, other.rows]))


def triangle_of(B: RealArray) -> Triangle:
    """Return the triangle of B (r, t), of at most t rows."""
    return Triangle(linalg.qr(B, mode="r", check_finite=False)[0][: B.shape[1]])


def strip_edges(shape: tuple[int, int], width: int) -> IntArray:
    """Return rows (s + 1,) at which a block (r, n) is cut for products of `width` columns.

    No strip is shorter than n: what strips add up to has that many rows itself.
    """
    rows, n = shape
    step = max(1, n, max(rows * PRODUCT_COLUMNS, FEW_ENTRIES) // max(1, width))
    return np.array([*range(0, max(1, rows), step), rows])


def strip_of(entries: Any, start: int, stop: int) -> Any:
    """Return rows start, ..., stop - 1 of a block; the block itself if these are all."""
    return entries if stop - start == entries.shape[0] else entries[start:stop]


def strips(entries: Any, width: int) -> Iterator[Any]:
    """Yield the strips of a block for products of `width` columns."""
    for start, stop in pairwise(strip_edges(entries.shape, width)):
        yield strip_of(entries, start, stop)


def _over_strips(work: Callable[[Any], Any], entries: Any, V: RealArray) -> Any:
    """Return the sum of ``work(strip)``, a tuple, over strips of a block for products with V."""
    total: tuple[Any, ...] | None = None
    for part in map(work, strips(entries, V.shape[1])):
        if total is None:
            total = part
            continue
        # In place: another array for the sum would be as large as a strip's product.
        total = tuple(
            np.add(a, b, out=a) if isinstance(a, np.ndarray) else a + b
            for a, b in zip(total, part, strict=True)
        )
    return total


def centred_product(entries: Any, V: RealArray, shift: RealArray | None) -> RealArray:
    """Return B = X V - 1 shift', of shape (r, t)."""
    product = storage_of(entries).matmat(V)
    if shift is not None:
        product -= shift
    return product


def gram_product(
    entries: Any, V: RealArray, shift: RealArray | None
) -> tuple[RealArray, FloatArray]:
    """Return X'B, of shape (n, t), and the sums of the columns of B = X V - 1 shift'."""
    return _over_strips(lambda strip: storage_of(strip).gram_matmat(V, shift), entries, V)


def orthogonal_product(
    entries: Any, V: RealArray, shift: RealArray | None
) -> tuple[RealArray, FloatArray, Triangle]:
    """Return X'B, the sums of the columns of B, and its triangle, B = X V - 1 shift'."""

    def of_strip(strip: Any) -> tuple[RealArray, FloatArray, Triangle]:
        B = centred_product(strip, V, shift)
        sums = B.sum(axis=0, dtype=np.float64)
        return storage_of(strip).rmatmat(B), sums, triangle_of(B)

    return _over_strips(of_strip, entries, V)


def product_triangle(entries: Any, V: RealArray, shift: RealArray | None) -> Triangle:
    """Return the triangle of B = X V - 1 shift'."""
    [triangle] = _over_strips(
        lambda strip: (triangle_of(centred_product(strip, V, shift)),), entries, V
    )
    return triangle


def correlate(entries: Any, U: Any) -> FloatArray:
    """Return X'U (n, t) in the type of the wider of the two."""
    return np.asarray(entries.T @ U)


def multiply_parts(
    entries: Any, factors: tuple[Any, ...], rows: tuple[IntArray | None, ...]
) -> tuple[FloatArray, ...]:
    """Return X[rows_p] V_p, dense, for every pair of rows (None: all) and factor (n, t)."""
    return tuple(
        dense_product(entries if own is None else entries[own], V)
        for own, V in zip(rows, factors, strict=True)
    )


def sums_of_rows(
    entries: Any, choices: tuple[tuple[IntArray, FloatArray | None], ...]
) -> FloatArray:
    """Return weighted sums (p, n) of the rows of every choice."""
    r, n = entries.shape
    sums = np.zeros((len(choices), n))
    for place, (rows, weights) in enumerate(choices):
        share = np.ones(len(rows)) if weights is None else weights
        if 2 * len(rows) < r:
            sums[place] = entries[rows].T @ share
        else:  # zeros for the other rows cost less than a copy of most rows
            full = np.zeros(r)
            full[rows] = share
            sums[place] = entries.T @ full
    return sums


def row_products(entries: Any, rows: IntArray, B: Any) -> FloatArray:
    """Return inner products (r,) of rows of the block with the rows of a csr_array B (r, n)."""
    if is_sparse(entries):
        return np.asarray(B.multiply(entries[rows]).sum(axis=1)).ravel()
    owner = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
    products = B.data * entries[rows[owner], B.indices]
    return np.bincount(owner, weights=products, minlength=B.shape[0]).astype(np.float64)


def entries_of(entries: Any, columns: Any) -> Any:
    """Return the entries, of chosen columns where those are not None."""
    return entries if columns is None else entries[:, columns]


def stacked(parts: list[Any]) -> Any:
    """Return arrays (r_i, ...) one below the other; a single one as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
