"""The choice of the rows that an instance works on."""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.compiling import Indices, Matrix, RealMatrix, Reals, Vector, kernel
from sketchlasso.kernels.dense import copy_to, kth_smallest


@kernel()
def count_removed(
    correlation: Reals,
    factor: Vector,
    alpha: float,
    radius: float,
    norms: Vector,
    norm_scale: float,
    reach: float,
    scale: float,
    distance: float,
) -> tuple[int, int, int]:
    """How many features the paper's, the static and the gap-safe rule remove."""
    paper, static, gap_safe = 0, 0, 0
    for j in range(correlation.shape[0]):
        threshold = np.inf if np.isinf(factor[j]) else alpha * factor[j]
        norm = norms[j] * norm_scale
        paper += norm * reach <= threshold - radius
        static += norm * reach <= threshold
        if np.isinf(threshold):
            gap_safe += 1
        else:
            gap_safe += abs(correlation[j]) * scale + norm * distance < threshold
    return paper, static, gap_safe


@kernel()
def find_rows(
    correlation: Reals,
    factor: Vector,
    alpha: float,
    positive: bool,
    norms: Vector,
    norm_scale: float,
    reach: float,
    margin: float,
    scale: float,
    distance: float,
    support: Indices,
    limit: int,
    trusted: bool,
    spare: float,
    work: Matrix,
    chosen: Indices,
) -> int:
    """Write the indices of the working rows into `chosen` (n,) and return their number.

    These are the support and the rows nearest to entering: those whose |correlation| exceeds their
    threshold. Rows proved zero never enter; `norms` is empty when no safe rule applies. At least
    `limit` rows are taken, and with `trusted` correlations `spare` times as many as enter. `work`
    is scratch (2, n).
    """
    n = correlation.shape[0]
    screening = norms.shape[0] == n
    excess = work[0]
    candidates = 0
    entering = 0
    for j in range(n):
        excess[j] = -np.inf
        threshold = alpha * factor[j]
        if not np.isfinite(threshold):
            continue
        x = float(correlation[j])
        if screening:
            # A safe rule proves the coefficient zero: by its norm, or gap-safe at scale u.
            norm = norms[j] * norm_scale
            by_norm = norm * reach <= threshold - margin
            if by_norm or abs(x) * scale + norm * distance < threshold:
                continue
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
