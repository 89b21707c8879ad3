"""Frequent Directions: one pass over row blocks finds the right space, a second one Q."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from sketchlasso.data import DataMatrix
from sketchlasso.linalg.factor import orthonormal_basis, singular_form, subtract_product
from sketchlasso.sketch.factors import Factors
from sketchlasso.sketch.options import SketchOptions
from sketchlasso.types import RealArray

__all__ = ["frequent_directions"]

OVERSAMPLING = 10
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
    Q P' = A V V' with P = V R': here P is not A'Q, which would take a third pass.
    """
    del rng
    extra = OVERSAMPLING if options.oversampling is None else options.oversampling
    count = min(rank + extra, *A.shape)
    B = np.zeros((A.shape[1], 0), dtype=A.dtype)
    sparse_blocks = A.storage.density < 1 / SPARSE_BLOCK
    for block in A.row_blocks(count * SPARSE_BLOCK if sparse_blocks else count):
        B = _absorb(B, block, count)
    V = _leading_directions(B, rank)
    Q, R = linalg.qr(A.matmat(V), mode="economic", check_finite=False)
    return Factors(*singular_form(Q, V @ R.T))


def _absorb(B: RealArray, block: DataMatrix, count: int) -> RealArray:
    """Return the best `count` directions of [B'; block], shrunk by the next one's size."""
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
    kept = (lowered > 0) & (values[:count] > np.finfo(B.dtype).eps * values[0])
    weights = np.sqrt(lowered[kept] / values[:count][kept])
    chosen = (vectors[:, :count][:, kept] * weights).astype(B.dtype)
    shrunk = block.rmatmat(chosen[width:])
    subtract_product(shrunk, B, -chosen[:width])
    return shrunk


def _leading_directions(B: RealArray, rank: int) -> RealArray:
    """Return orthonormal (n, rank), the leading left singular vectors of B first."""
    if B.shape[1] < rank:
        B = np.hstack([B, np.zeros((len(B), rank - B.shape[1]), dtype=B.dtype)])
    V = orthonormal_basis(B)
    U, _, _ = linalg.svd(V.T @ B, check_finite=False)
    return np.asarray(V @ U[:, :rank])
