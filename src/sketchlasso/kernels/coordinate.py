"""Coordinate descent for the square-root LASSO, in terms of the Gram matrix of its columns.

With r = y - X w, these loops minimise  ||r|| + sum_j t_j |w_j|  from G = X'X, q = X'r and
||r||^2 alone. For one coefficient, with the others fixed, let

    rest = ||r + x_j w_j||^2,   rho = x_j'(r + x_j w_j),   N = ||x_j||^2

Zero is best if |rho| <= t sqrt(rest); N <= t^2 implies it, since |rho| <= sqrt(N rest). Else
the slope vanishes at z = |rho| - N |w| > 0 with  z = t ||r||,  ||r||^2 = e + z^2 / N,
e = rest - rho^2 / N, which solves to

    z = t sqrt( (rest N - rho^2) / (N - t^2) ),      w = sign(rho) (|rho| - z) / N
"""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.compiling import Matrix, Vector, kernel

# Below this share of its value at the start ||r||^2 has lost its digits to cancellation.
LOST_DIGITS = 1e-9


@kernel()
def best_coefficient(
    rest: float, rho: float, norm: float, threshold: float, positive: bool
) -> float:
    """Minimiser over w of  sqrt(rest - 2 rho w + norm w^2) + threshold |w|."""
    size = rho if positive else abs(rho)
    if norm <= threshold * threshold or size <= threshold * np.sqrt(rest):
        return 0.0
    beyond = max(rest * norm - rho * rho, 0.0)
    kept = (size - threshold * np.sqrt(beyond / (norm - threshold * threshold))) / norm
    return max(kept, 0.0) if rho > 0.0 else min(-kept, 0.0)


@kernel(fast=True)
def subtract_multiple(q: Vector, row: Vector, factor: float, count: int) -> None:
    """Subtract factor * row from q, on the first `count` entries."""
    for i in range(count):
        q[i] -= factor * row[i]


@kernel()
def gram_gap(
    G: Matrix, q: Vector, w: Vector, thresholds: Vector, square: float, positive: bool
) -> tuple[float, float]:
    """Objective and duality gap of the problem of these columns alone.

    The dual point is a r with the largest a that keeps a ||r|| <= 1 and a |q_j| <= t_j; its
    value is a y'r = a (||r||^2 + w'q). A column of threshold zero that correlates with r counts
    with the gain of its own best move.
    """
    length = np.sqrt(max(square, 0.0))
    l1 = 0.0
    inner = square
    worst = length
    to_gain = 0.0
    for j in range(w.shape[0]):
        l1 += thresholds[j] * abs(w[j])
        inner += w[j] * q[j]
        size = q[j] if positive and w[j] == 0.0 else abs(q[j])
        if thresholds[j] > 0.0:
            size = q[j] if positive else abs(q[j])
            if size > worst * thresholds[j]:
                worst = size / thresholds[j]
        elif size > 0.0 and G[j, j] > 0.0:
            to_gain += length - np.sqrt(max(square - size * size / G[j, j], 0.0))
    primal = length + l1
    dual = inner / worst if worst > 0.0 else 0.0
    return primal, primal - max(dual, 0.0) + to_gain


@kernel()
def gram_sweeps(
    G: Matrix,
    q: Vector,
    w: Vector,
    thresholds: Vector,
    square: float,
    positive: bool,
    tol: float,
    max_sweeps: int,
) -> tuple[float, float, int]:
    """Cycle over the coefficients until the gap of these columns is small.

    G is (c, c) with c >= p, of which the leading (p, p) part is used; q = X'r and w (p,) change
    in place. Stops at a relative gap of `tol`, when ||r||^2 has lost its digits, or after
    `max_sweeps`. Returns ||r||^2, the relative gap and the number of sweeps.
    """
    p = w.shape[0]
    start = square
    primal, gap = gram_gap(G, q, w, thresholds, square, positive)
    sweeps = 0
    while gap > tol * primal and sweeps < max_sweeps and square > LOST_DIGITS * start:
        for j in range(p):
            norm = G[j, j]
            if norm <= 0.0:  # an empty column can only add to the penalty
                w[j] = 0.0
                continue
            rho = q[j] + norm * w[j]
            rest = max(square + 2.0 * w[j] * q[j] + norm * w[j] * w[j], 0.0)
            new = best_coefficient(rest, rho, norm, thresholds[j], positive)
            moved = new - w[j]
            if moved != 0.0:
                square = max(square - 2.0 * moved * q[j] + moved * moved * norm, 0.0)
                subtract_multiple(q, G[j], moved, p)
                w[j] = new
        sweeps += 1
        primal, gap = gram_gap(G, q, w, thresholds, square, positive)
    return square, gap / primal if primal > 0.0 else 0.0, sweeps
