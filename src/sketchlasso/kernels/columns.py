"""Loops over the columns of a compressed sparse matrix."""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.compiling import Indices, Matrix, Vector, kernel
from sketchlasso.kernels.dense import shrink


@kernel(fast=True)
def column_moments(
    data: Vector, indices: Indices, indptr: Indices, chosen: Indices, a: Vector, out: Matrix
) -> None:
    """Write x_j'a, (x_j^2)'(a^2) and x_j'(a^2) of the chosen columns into `out` (chosen, 3)."""
    for c in range(chosen.shape[0]):
        first, second, third = 0.0, 0.0, 0.0
        for i in range(indptr[chosen[c]], indptr[chosen[c] + 1]):
            other = a[indices[i]]
            product = data[i] * other
            first += product
            second += product * product
            third += product * other
        out[c, 0], out[c, 1], out[c, 2] = first, second, third


@kernel()
def column_sweeps(
    data: Vector,
    indices: Indices,
    indptr: Indices,
    chosen: Indices,
    norms: Vector,
    means: Vector,
    weights: Vector,
    weight: float,
    thresholds: Vector,
    radius: float,
    positive: bool,
    sweeps: int,
    w: Vector,
    residual: Vector,
    square: float,
) -> float:
    """Cycle over the coefficients w (c,) of the chosen columns, which change in place.

    See gram_solver.py for the best value of one coefficient, and `square`. norms, means and
    thresholds (c,) belong to the chosen columns; norms are those of the centred columns. residual
    (m,) starts as the centred residual. A move by d adds d mean_j to all of its entries; the sum
    of these is returned instead, so that a column costs only its own entries.
    """
    shift = 0.0
    length = 0.0
    for c in range(chosen.shape[0]):
        length += w[c] * w[c]
    for _ in range(sweeps):
        for c in range(chosen.shape[0]):
            norm = norms[c]
            if norm <= 0.0:  # an empty column can only add to the penalty
                w[c] = 0.0
                continue
            first, last = indptr[chosen[c]], indptr[chosen[c] + 1]
            q = shift * means[c] * weight
            for i in range(first, last):
                q += data[i] * weights[indices[i]] * residual[indices[i]]
            rho = np.sqrt(square)
            ridge = radius * rho / np.sqrt(length) if length > 0.0 else 0.0
            new = shrink(q + norm * w[c], thresholds[c] * rho, positive) / (norm + ridge)
            moved = new - w[c]
            if moved != 0.0:
                square = max(square - 2.0 * moved * q + moved * moved * norm, 0.0)
                length = max(length + moved * (new + w[c]), 0.0)
                shift += moved * means[c]
                for i in range(first, last):
                    residual[indices[i]] -= moved * data[i]
                w[c] = new
    return shift
