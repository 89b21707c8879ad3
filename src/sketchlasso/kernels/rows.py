"""Loops over the rows of a factor: the choice of those an instance works on, and products."""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.compiling import Indices, Matrix, RealMatrix, Reals, Vector, kernel
from sketchlasso.kernels.dense import copy_to, kth_smallest


@kernel()
def find_rows(
    correlation: Reals,
    factor: Vector,
    alpha: float,
    positive: bool,
    support: Indices,
    limit: int,
    trusted: bool,
    spare: float,
    work: Matrix,
    chosen: Indices,
) -> int:
    """Write the indices of the working rows into `chosen` (n,) and return their number.

    These are the support and the rows nearest to entering: those whose |correlation| exceeds their
    threshold. At least `limit` rows are taken, and with `trusted` correlations `spare` times as
    many as enter. `work` is scratch (2, n).
    """
    n = correlation.shape[0]
    excess = work[0]
    candidates = 0
    entering = 0
    for j in range(n):
        excess[j] = -np.inf
        threshold = alpha * factor[j]
        if not np.isfinite(threshold):
            continue
        x = float(correlation[j])
        excess[j] = (x if positive else abs(x)) - threshold
        candidates += 1
        entering += excess[j] > 0.0
    for i in range(support.shape[0]):
        if excess[support[i]] > -np.inf:
            excess[support[i]] = np.inf
    cut = -np.inf
    if trusted:
        wanted = int(spare * entering)
        limit = wanted if wanted > limit else limit
    if candidates > limit:
        copy_to(excess, work[1])
        cut = kth_smallest(work[1], n - limit)
    count = 0
    for j in range(n):
        if excess[j] >= cut and excess[j] > -np.inf:
            chosen[count] = j
            count += 1
    return count


@kernel()
def gather(P: RealMatrix, chosen: Indices, A: Matrix) -> None:
    """Write the rows P[chosen] into A, in double precision."""
    for i in range(chosen.shape[0]):
        for a in range(P.shape[1]):
            A[i, a] = P[chosen[i], a]


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
