"""Frequent Directions: one pass over row blocks finds the right space, a second one Q."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from sketchlasso.data import ColumnTransform, DataMatrix, ImplicitRows
from sketchlasso.data.storage import is_sparse, storage_of
from sketchlasso.linalg.factor import (
    orthonormal_basis,
    singular_form,
    singular_rotation,
    subtract_product,
)
from sketchlasso.sketches.factors import Factors, implicit_basis
from sketchlasso.sketches.options import SketchOptions
from sketchlasso.types import RealArray

OVERSAMPLING = 10  # default number of columns beyond the rank
# Rows of a sparse block, in multiples of the number of directions kept.
SPARSE_BLOCK = 8


def frequent_directions(
    A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator
) -> Factors:
    """Sketch by Liberty's Frequent Directions (KDD 2013), deterministic.

    The running B (n, l), l = rank + oversampling, takes in a block of rows at a time, and every
    squared singular value is lowered by the (l+1)-st, so that

        0  <=  A'A - B B'  <=  ||A - A_k||_F^2 / (l - k)    for every k < l

    The leading right singular vectors V of B then give Q R = A V in a second pass, and
    Q P' = A V V' with P = V R': here P is not A'Q, which would take a third pass. B goes from
    block to block, and the tiles it takes in do not depend on how X is cut.
    """
    del rng
    count = min(rank + options.extra_columns(OVERSAMPLING), *A.shape)
    B = np.zeros((A.shape[1], 0), dtype=A.dtype)
    tile = count * SPARSE_BLOCK if A.density < 1 / SPARSE_BLOCK else count
    A.meter.count()
    B, rest = A.blocks.run_chain(_walk, (B, None), (A.transform, count, tile))
    if rest is not None:
        B = _take_in(B, rest, A.transform, count)
    return _finished(A, _leading_directions(B, rank))


def _finished(A: DataMatrix, V: RealArray) -> Factors:
    """Return Q and P of A V V', for orthonormal V (n, k): one pass."""
    if A.keeps_rows:
        found = implicit_basis(A, V)
        if found is not None:
            W, R = found
            rotation, values = singular_rotation(V @ R.T)
            return Factors(ImplicitRows(A, W @ rotation), V @ R.T @ rotation, values)
    Q, R = linalg.qr(A.matmat(V), mode="economic", check_finite=False)
    return Factors(*singular_form(Q, V @ R.T))


def _walk(
    entries: Any, state: tuple[RealArray, Any], transform: ColumnTransform, count: int, tile: int
) -> tuple[RealArray, Any]:
    """Take in the full tiles that the rows left over and those of one more block make.

    The state is the running B (n, l), and the rows that did not fill a tile yet, or None.
    """
    B, rest = state
    if rest is not None:
        join = sparse.vstack if is_sparse(entries) else np.vstack
        entries = join([rest, entries])
    entries = sparse.csr_array(entries) if is_sparse(entries) else entries
    start = 0
    while start + tile <= entries.shape[0]:
        B = _take_in(B, entries[start : start + tile], transform, count)
        start += tile
    # A copy, so that the whole block is not kept for the sake of its last rows.
    return B, entries[start:].copy() if start < entries.shape[0] else None


def _take_in(B: RealArray, entries: Any, transform: ColumnTransform, count: int) -> RealArray:
    """Return the best `count` directions of [B'; entries], shrunk by the next one's size.

    In double precision: the Gram matrix squares the sizes of directions, and in single precision
    those 1e-4 times as long as the longest would vanish.
    """
    kind = B.dtype
    block = DataMatrix(storage_of(entries), transform).in_double()
    B = B.astype(np.float64, copy=False)
    width, rows = B.shape[1], block.shape[0]
    gram = np.empty((width + rows, width + rows))
    cross = block.matmat(B)
    gram[:width, :width] = B.T @ B
    gram[width:, :width] = cross
    gram[:width, width:] = cross.T
    gram[width:, width:] = block.row_gram()
    values, vectors = linalg.eigh(gram, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    lowered = values[:count] - (max(values[count], 0.0) if len(values) > count else 0.0)
    # Rounding may leave a direction without weight; it is dropped, not divided by.
    kept = (lowered > 0) & (values[:count] > np.finfo(np.float64).eps * values[0])
    weights = np.sqrt(lowered[kept] / values[:count][kept])
    chosen = vectors[:, :count][:, kept] * weights
    shrunk = block.rmatmat(chosen[width:])
    subtract_product(shrunk, B, -chosen[:width])
    return shrunk.astype(kind, copy=False)


def _leading_directions(B: RealArray, rank: int) -> RealArray:
    """Return orthonormal (n, rank), the leading left singular vectors of B first."""
    if B.shape[1] < rank:
        B = np.hstack([B, np.zeros((len(B), rank - B.shape[1]), dtype=B.dtype)])
    V = orthonormal_basis(B)
    U, _, _ = linalg.svd(V.T @ B, check_finite=False)
    return np.asarray(V @ U[:, :rank])
