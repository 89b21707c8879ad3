"""Dual points that meet chosen constraints of the full problem with equality.

The optimal t of (D) in :mod:`sketchlasso.problem.full_problem` has x_j'W t = alpha f_j sign(w_j)
on the support A, and what is left of it is a multiple of y. With rows scaled by the roots of
their weights, Z_A the columns, b = alpha f sign(w), p the shortest solution of Z_A'p = b and q
the residual's direction less what Z_A sees of it,

    t = p + beta q,   0 <= beta <= sqrt(1 - ||p||^2)

meets these constraints whatever beta is, so that rounding and coefficients that are only nearly
optimal cost nothing: the residual itself has to be scaled down until its worst violation is gone.
Constraints of other columns that t violates are met by the shortest move that leaves the first
ones alone, a problem of least distance (Lawson and Hanson, chapter 23).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize

from sketchlasso.linalg.rows import lengths
from sketchlasso.types import FloatArray, IntArray

# Columns whose part in the fit is below this share of the largest are taken for zeros.
SMALLEST_PART = 1e-9
# A column keeps no direction of its own below this share of its length.
DEPENDENT = 1e-10
# A distance of which less than this share is left says that no move meets the constraints.
INFEASIBLE = 1e-10


@dataclass(frozen=True, eq=False)
class TightParts:
    """The two parts of the points, all of which meet the constraints that were kept."""

    p: FloatArray  # (m,)
    q: FloatArray  # (m,): of length one, or zero where nothing is left of the residual
    left: float  # share of the residual's length that is left
    basis: FloatArray  # (m, r): orthonormal, of the columns whose constraints are met
    kept: IntArray  # (r,): which of the columns these are

    def points(self, small: bool) -> list[FloatArray]:
        """Candidate points; more of them where the residual is small and less informative."""
        length = float(np.linalg.norm(self.p))
        nearest = self.p + self.left * self.q
        if length >= 1.0:
            return [self.p, nearest] if small else [nearest]
        longest = self.p + np.sqrt(1.0 - length**2) * self.q
        return [self.p, nearest, longest] if small else [longest]

    def moved(
        self, point: FloatArray, columns: FloatArray, limit: FloatArray, positive: bool
    ) -> FloatArray:
        """The point (m,), moved as little as other constraints ask for.

        With columns (m, v) and limits (v,) they are |columns't| <= limit, or columns't <= limit
        where `positive`. Returns the same point where no move meets them all.
        """
        seen = columns.T @ point
        free = columns - self.basis @ (self.basis.T @ columns)
        norms = lengths(free)
        used = norms > DEPENDENT * lengths(columns)
        if not used.any() or not np.isfinite(norms).all():
            return point
        factors: Any = linalg.qr(free[:, used] / norms[used], mode="economic", check_finite=False)
        Q, R = factors
        above = (limit - seen)[used] / norms[used]
        # R'z <= above, and R'z >= below.
        sides, bounds = -R, -above
        if not positive:
            sides, bounds = (
                np.hstack([-R, R]),
                np.append(-above, (-limit - seen)[used] / norms[used]),
            )
        step = _least_distance(sides, bounds)
        return point if step is None else point + Q @ step


def _least_distance(sides: FloatArray, bounds: FloatArray) -> FloatArray | None:
    """Shortest z (k,) with sides'z >= bounds, sides (k, v); None where there is none."""
    k = len(sides)
    scale = max(float(bounds.max(initial=0.0)), 0.0)
    if scale == 0.0:
        return np.zeros(k)
    system = np.vstack([sides, bounds / scale])
    wanted = np.zeros(k + 1)
    wanted[k] = 1.0
    try:
        weights, _ = optimize.nnls(system, wanted)
    except RuntimeError:
        return None
    rest = system @ weights - wanted
    if np.linalg.norm(rest) <= INFEASIBLE or rest[k] >= 0:
        return None
    return np.asarray(-scale * rest[:k] / rest[k])


def tight_parts(
    columns: FloatArray, importance: FloatArray, target: FloatArray, residual: FloatArray
) -> TightParts | None:
    """Parts of the dual points with columns't = target; None where the numbers are too large.

    Columns (m, s) and residual (m,) have rows scaled by the roots of their weights and are centred
    where there is an intercept; the residual has length one. The importance (s,) decides which of
    dependent columns are kept, and which count at all.
    """
    norms = lengths(columns)
    largest = importance.max(initial=0.0)
    if not (np.isfinite(norms).all() and np.isfinite(largest)):
        return None
    used = np.flatnonzero((norms > 0) & (importance > SMALLEST_PART * largest))
    if len(used) == 0:
        nothing = np.empty((len(residual), 0))
        return TightParts(np.zeros_like(residual), residual, 1.0, nothing, used)
    sizes = importance[used] / largest
    Q, R, order = linalg.qr(
        columns[:, used] / norms[used] * sizes, mode="economic", pivoting=True, check_finite=False
    )
    pivots = np.abs(np.diagonal(R))
    fails = pivots <= DEPENDENT * sizes[order[: len(pivots)]]
    rank = int(np.argmax(fails)) if fails.any() else len(pivots)
    kept, basis = used[order[:rank]], Q[:, :rank]
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = target[kept] / norms[kept] * sizes[order[:rank]]
        p = basis @ linalg.solve_triangular(R[:rank, :rank], wanted, trans="T", check_finite=False)
    if not np.isfinite(p).all():
        return None
    # Twice: the first pass leaves the rounding of what it removes.
    rest = residual - basis @ (basis.T @ residual)
    rest -= basis @ (basis.T @ rest)
    left = float(np.linalg.norm(rest))
    return TightParts(p, rest / left if left > 0 else rest, left, basis, kept)
