"""Loops over the columns of a compressed sparse matrix."""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.compiling import Indices, Matrix, Vector, kernel
from sketchlasso.kernels.dense import shrink


@kernel()
def add_columns(
    data: Vector, indices: Indices, indptr: Indices, chosen: Indices, values: Vector, out: Vector
) -> None:
    """Add the sum of values_j x_j over the chosen columns to `out` (m,)."""
    for c in range(chosen.shape[0]):
        value = values[c]
        if value != 0.0:
            for i in range(indptr[chosen[c]], indptr[chosen[c] + 1]):
                out[indices[i]] += value * data[i]


@kernel(fast=True)
def columns_dot_block(
    data: Vector, indices: Indices, indptr: Indices, chosen: Indices, block: Matrix, out: Matrix
) -> None:
    """Write x_j'D of the chosen columns and a dense block D (m, b) into `out` (chosen, b)."""
    width = block.shape[1]
    for c in range(chosen.shape[0]):
        line = out[c]
        line[:] = 0.0
        for i in range(indptr[chosen[c]], indptr[chosen[c] + 1]):
            value = data[i]
            row = block[indices[i]]
            for e in range(width):
                line[e] += value * row[e]


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
def gram_rows(
    data: Vector,
    indices: Indices,
    indptr: Indices,
    row_data: Vector,
    row_indices: Indices,
    row_indptr: Indices,
    new: Indices,
    place: Indices,
    weights: Vector,
    out: Matrix,
) -> None:
    """Write x_i'W x_j of the new columns i and the placed columns j into `out` (new, placed).

    The matrix is given by columns and by rows. place (n,) is the position of a column in `out`, or
    negative; empty weights mean (m,) ones. A row of `out` stays in cache while the loop passes
    the rows of the matrix that hold the column.
    """
    weighted = weights.shape[0] > 0
    for c in range(new.shape[0]):
        line = out[c]
        line[:] = 0.0
        for i in range(indptr[new[c]], indptr[new[c] + 1]):
            row = indices[i]
            value = data[i] * weights[row] if weighted else data[i]
            if value == 0.0:
                continue
            for e in range(row_indptr[row], row_indptr[row + 1]):
                where = place[row_indices[e]]
                if where >= 0:
                    line[where] += value * row_data[e]


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
