"""Sparse rows times a dense factor."""

from __future__ import annotations

from sketchlasso.kernels.compiling import Indices, Matrix, RealMatrix, Vector, kernel


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
