"""Loops over the Gram matrix of the working columns, for solutions as functions of thresholds.

The LASSO of these columns, 1/2 ||y - X w||^2 + sum_j l_j |w_j|, is given by G = X'X and
c = X'(y - X w). At its solution c_j = l_j sign(w_j) on the support and |c_j| <= l_j elsewhere.
"""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.compiling import Indices, Matrix, Vector, kernel


@kernel()
def gather_lower(G: Matrix, chosen: Indices, extra: Vector, out: Matrix) -> None:
    """Write the lower triangle of G[chosen, chosen] + diag(extra[chosen]) into `out` (a, a)."""
    for i in range(chosen.shape[0]):
        row, line = G[chosen[i]], out[i]
        for j in range(i + 1):
            line[j] = row[chosen[j]]
        line[i] += extra[chosen[i]]


@kernel()
def add_gram_rows(G: Matrix, chosen: Indices, values: Vector, out: Vector) -> None:
    """Add G[:, chosen] values to `out` (p,); G is symmetric, (c, c) with c >= p."""
    p = out.shape[0]
    for i in range(chosen.shape[0]):
        value, row = values[i], G[chosen[i]]
        if value != 0.0:
            for j in range(p):
                out[j] += value * row[j]


@kernel()
def proximal_point(
    centre: Vector, c: Vector, levels: Vector, extra: Vector, positive: bool, out: Vector
) -> float:
    """Write the proximal point x (p,) of centre + c / e into `out`; returns the sum over j of

        (x_j - centre_j) c_j - l_j |x_j| - e_j (x_j - centre_j)^2 / 2

    the part of the dual function, of the problem with a proximal term at `centre`, that is not the
    square.
    """
    total = 0.0
    for j in range(c.shape[0]):
        u = centre[j] + c[j] / extra[j]
        cut = levels[j] / extra[j]
        x = 0.0
        if u > cut:
            x = u - cut
        elif u < -cut and not positive:
            x = u + cut
        out[j] = x
        away = x - centre[j]
        total += away * c[j] - levels[j] * abs(x) - 0.5 * extra[j] * away * away
    return total


@kernel()
def knot_distances(
    w: Vector,
    c: Vector,
    levels: Vector,
    signs: Vector,
    per_w: Vector,
    per_c: Vector,
    per_level: Vector,
    positive: bool,
    out: Vector,
) -> None:
    """Write the length of the walk at which each coefficient (p,) joins or leaves; inf for never.

    A walk of length x moves w by x per_w, c by -x per_c and the thresholds by -x per_level. Signs
    are those of the support, 0 outside. Coefficients without a threshold stay.
    """
    for j in range(w.shape[0]):
        out[j] = np.inf
        if signs[j] != 0.0:
            if (levels[j] > 0.0 or positive) and per_w[j] * signs[j] < 0.0:
                out[j] = max(-w[j] / per_w[j], 0.0)
        elif levels[j] > 0.0:
            if per_level[j] > per_c[j]:
                out[j] = max((levels[j] - c[j]) / (per_level[j] - per_c[j]), 0.0)
            if not positive and per_level[j] > -per_c[j]:
                below = max((levels[j] + c[j]) / (per_level[j] + per_c[j]), 0.0)
                out[j] = min(out[j], below)
