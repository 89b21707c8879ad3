"""The sketch's Newton solver on real columns, for problems where the residual vanishes.

With rows scaled by the root of their weights and centred, Z (m, p), a problem is a batch of
one instance with P = Z', c = y, s = 0; where the columns are fewer than the rows, Z = Q T
makes it P = T', c = Q'y, s = ||y - Q Q'y||. Its dual point u stands for Q u plus a share of
y - Q Q'y among the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from sketchlasso.exact.point import Point, Target
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.reduction import unreachable_part
from sketchlasso.solvers import Settings, solve_or_raise
from sketchlasso.types import FloatArray, IntArray

__all__ = ["Answer", "solve_on_columns", "within_reach"]

# Largest side for which a Newton step, cubic in it, is still quick.
LARGEST_SIDE = 1200


@dataclass(frozen=True, eq=False)
class Answer:
    """A solved problem: its point, and a dual direction (m,) on scaled rows."""

    point: Point
    direction: FloatArray
    steps: int


def within_reach(target: Target, columns: IntArray) -> bool:
    """Whether the problem of some columns is small enough for this solver."""
    return min(len(columns), len(target.y)) <= LARGEST_SIDE


def solve_on_columns(target: Target, columns: IntArray, alpha: float, tol: float) -> Answer | None:
    """Solve the problem of some columns; None where that would take too long."""
    if not within_reach(target, columns):
        return None
    Z: Any = target.training.scaled(columns)
    y = target.root * target.y
    basis: Any = None
    P, c, s = Z.T, y, 0.0
    if Z.shape[1] < Z.shape[0]:
        basis, T = linalg.qr(Z, mode="economic", check_finite=False)
        P, c = T.T, basis.T @ y
        s = float(unreachable_part(np.array([y @ y]), c[None, :])[0])
    batch = Batch.build(
        P,
        c,
        s,
        alpha=alpha,
        penalty_factor=target.factor[columns],
        positive=target.positive,
    )
    found = solve_or_raise(batch, settings=Settings(tol=tol, n_threads=1))
    if not found.solved.all():
        # Slower, but it may succeed where Newton's method does not.
        other = solve_or_raise(batch, "barrier", Settings(tol=tol, n_threads=1))
        found = other if other.relative_gap[0] < found.relative_gap[0] else found
    direction = found.dual_point[0]
    if basis is not None:
        beyond = np.sqrt(max(1.0 - direction @ direction, 0.0))
        direction = basis @ direction
        if s > 0:
            direction += beyond * (y - basis @ c) / s
    point = target.point(columns[found.coef.indices], found.coef.data)
    return Answer(point, direction, int(found.steps[0]))
