"""Sparse rows times a dense factor, and mixtures of sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.kernels.compiling import Indices, Matrix, RealMatrix, Vector, kernel
from sketchlasso.types import FloatArray, IntArray


@kernel(fast=True)
def rows_times_factor(
    indptr: Indices,
    indices: Indices,
    data: Vector,
    P: RealMatrix,
    start: int,
    stop: int,
    out: Matrix,
) -> None:
    """Rows start to stop of a CSR matrix (b, n) times P (n, k), summed in double precision."""
    k = P.shape[1]
    for row in range(start, stop):
        total = out[row]
        total[:] = 0.0
        for place in range(indptr[row], indptr[row + 1]):
            factor_row = P[indices[place]]
            value = data[place]
            for a in range(k):
                total[a] += value * factor_row[a]


def mix_rows(
    left_ptr: Any,
    left_idx: Any,
    left_val: FloatArray,
    right_ptr: Any,
    right_idx: Any,
    right_val: FloatArray,
    share: FloatArray,
) -> tuple[IntArray, IntArray, FloatArray]:
    """CSR parts of (1 - share_b) left_b + share_b right_b; all indices sorted."""
    size = len(left_idx) + len(right_idx)
    indptr = np.zeros(len(left_ptr), dtype=np.int64)
    indices, values = np.empty(size, dtype=np.int64), np.empty(size)
    left, right = (left_ptr, left_idx, left_val), (right_ptr, right_idx, right_val)
    count = write_mix(*left, *right, share, indptr, indices, values)
    return indptr, indices[:count], values[:count]


@kernel()
def write_mix(
    left_ptr: Indices,
    left_idx: Indices,
    left_val: Vector,
    right_ptr: Indices,
    right_idx: Indices,
    right_val: Vector,
    share: Vector,
    indptr: Indices,
    indices: Indices,
    values: Vector,
) -> int:
    """Write the parts of :func:`mix_rows`; returns the number of entries."""
    count = 0
    for row in range(share.shape[0]):
        i, i_end = left_ptr[row], left_ptr[row + 1]
        j, j_end = right_ptr[row], right_ptr[row + 1]
        while i < i_end or j < j_end:
            take_left = j >= j_end or (i < i_end and left_idx[i] <= right_idx[j])
            take_right = i >= i_end or (j < j_end and right_idx[j] <= left_idx[i])
            indices[count] = left_idx[i] if take_left else right_idx[j]
            value = 0.0
            if take_left:
                value += (1.0 - share[row]) * left_val[i]
                i += 1
            if take_right:
                value += share[row] * right_val[j]
                j += 1
            values[count] = value
            count += 1
        indptr[row + 1] = count
    return count
