"""Solutions from the sparse columns themselves, where a Gram matrix would cost more.

A round has two parts. Sweeps of coordinate descent over the support and the columns that violate
their thresholds decide which columns belong to the support. A Newton step then moves them
together. With signs s on a support A, q = X'W r and t = alpha f it solves

    ( X_A'W X_A - q_A q_A' / ||r||^2 + diag(e) ) d  =  q_A - ||r|| (t s)_A

by conjugate gradients, preconditioned by the diagonal. Each iteration takes two products with the
columns of A; no matrix is formed. The small e keeps the step finite where columns depend on each
other. Coefficients that would change their sign stop at zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sketchlasso.exact.columns import SparseColumns
from sketchlasso.exact.knots import CONSTANT
from sketchlasso.exact.point import Point, Target, largest
from sketchlasso.kernels.columns import column_sweeps
from sketchlasso.problem.full_problem import SMALL_RESIDUAL, FullValues
from sketchlasso.types import BoolArray, FloatArray, IntArray

# A solve with a Gram matrix for a support of size a and one on the columns take the same time where
# this many times the numbers of an iteration is a^2 (1 - a / rows). The factor 1 - a / rows stands
# for the iterations: more are needed as the fit becomes exact.
EVEN = 6
# Fixed time of an iteration, in numbers of X.
OVERHEAD = 25_000
# Iterations allowed: this many times the square of the support over the numbers of an iteration.
PATIENCE = 60
# Iterations of one Newton step, and its accuracy relative to the present violation.
MOST_ITERATIONS = 300
ACCURACY = 0.3
# Violation to stop at, relative to the tolerance: the gap is about as large as the violation.
INNER_SHARE = 0.3
SWEEPS = 3
# e as a share of the squared norm, and the least share of it that the preconditioner keeps.
HELD = 1e-6
LEAST_PIVOT = 1e-3
# Columns that enter at a time: at least this many, at most as many as the support has.
FEWEST_ENTERING = 64
SHORTEST = 1e-4
# Rounding of an objective, relative to it.
ROUNDING = 1e-14
STALL_ROUNDS = 5


class ColumnSolver:
    """Solves the problems of one target by sweeps and conjugate gradients on sparse columns.

    `iterations` and `sweeps` count those made so far.
    """

    def __init__(self, target: Target, columns: SparseColumns) -> None:
        self.target = target
        self.iterations = self.sweeps = 0
        self._columns = columns
        self._X: Any = columns.by_columns
        self._lengths = np.diff(columns.by_columns.indptr)

    @cached_property
    def _norms(self) -> FloatArray:
        """Squared norms (n,) of the centred columns; zero for constant ones."""
        training = self.target.training
        squares = self._columns.squares(training.weights)
        norms = squares - training.means**2 * training.weight
        # What centring leaves of a constant column is rounding.
        return np.where(norms > CONSTANT * squares, norms, 0.0)

    def pays(self, point: Point, fall: float) -> bool:
        """Whether this solver is likely to be faster than one with a Gram matrix.

        `fall` is the penalty of the point over the one to solve for: the support is taken to grow
        by that factor, up to all features.
        """
        if self._vanishes(point):
            return False
        active, rows = len(point.support), np.count_nonzero(self.target.training.weights)
        grown = min(max(fall, 1.0) * active, len(self._lengths))
        return bool(grown**2 * (1.0 - active / rows) > EVEN * self._cost(point.support))

    def _vanishes(self, point: Point) -> bool:
        """Whether the fit is nearly exact, which needs another solver."""
        return point.length <= SMALL_RESIDUAL * self.target.null

    def _cost(self, support: IntArray) -> float:
        """Numbers of X that an iteration takes the time of."""
        return float(self._lengths[support].sum()) + 2.0 * len(self.target.y) + OVERHEAD

    def solve(
        self, point: Point, alpha: float, tol: float, max_rounds: int
    ) -> tuple[Point, FullValues]:
        """Bring the relative gap to `tol` from any point; returns the best point reached.

        Gives up where that takes longer than a Gram matrix would, where rounds no longer help,
        and where the fit becomes exact: the point is then the first one.
        """
        values = self.target.certificate(point, alpha)
        first, best, proved = (point, values), point, values
        start, stalled = self.iterations, 0
        for _ in range(max_rounds):
            if values.relative_gap <= tol:
                return point, values
            allowed = PATIENCE * len(point.support) ** 2 / self._cost(point.support)
            if stalled >= STALL_ROUNDS or self.iterations - start > allowed:
                break
            gap = proved.relative_gap
            point = self._newton(self._swept(point, alpha), alpha, tol)
            if self._vanishes(point):
                return first
            values = self.target.certificate(point, alpha)
            falls = values.primal < proved.primal * (1.0 - ROUNDING)
            best = point if values.primal <= proved.primal else best
            proved = proved.joined(values)
            stalled = 0 if falls or proved.relative_gap < gap else stalled + 1
        return best, proved

    def _swept(self, point: Point, alpha: float) -> Point:
        """The point after sweeps over its support and the columns that violate their thresholds."""
        target, training = self.target, self.target.training
        thresholds = alpha * target.factor
        size = point.seen if target.positive else np.abs(point.seen)
        usable = np.isfinite(thresholds) & (self._norms > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = np.where(usable, size / (thresholds * point.length), 0.0)
        excess[point.support] = 0.0
        entering = np.flatnonzero(excess > 1.0)
        entering = largest(entering, excess, max(FEWEST_ENTERING, len(point.support)))
        chosen = np.sort(np.concatenate([point.support, entering]))
        w = np.zeros(len(self._norms))
        w[point.support] = point.values
        w = w[chosen]
        X = self._X
        column_sweeps(
            X.data,
            X.indices,
            X.indptr,
            chosen,
            self._norms[chosen],
            training.means[chosen],
            training.weights,
            training.weight,
            thresholds[chosen],
            target.positive,
            SWEEPS,
            w,
            point.residual.copy(),
            point.square,
        )
        self.sweeps += SWEEPS
        return target.point(chosen, w)

    def _newton(self, point: Point, alpha: float, tol: float) -> Point:
        """The point after a Newton step on its support, cut short where the objective rises."""
        if len(point.support) == 0 or point.square <= 0.0:
            return point
        target, training = self.target, self.target.training
        support, w = point.support, point.values
        thresholds = alpha * target.factor[support]
        face = _Face(
            columns=_Columns(self._X[:, support], training.means[support], training.gram_weights),
            w=w,
            signs=np.sign(w),
            bound=(thresholds > 0) | target.positive,
            norms=self._norms[support],
            unit_seen=point.seen[support] / point.length,
        )
        slope = point.seen[support] - point.length * thresholds * face.signs
        scale = point.length * np.where(thresholds > 0, thresholds, alpha)
        move = self._conjugate_gradients(face, slope, scale, tol)
        objective = target.primal(point, alpha) * (1.0 + ROUNDING)
        share = 1.0
        while share >= SHORTEST:
            values = np.where(face.crosses(share * move), 0.0, w + share * move)
            left = point.residual - face.columns.times(values - w)
            penalty = float(thresholds @ np.abs(values))
            if np.sqrt(training.square(left)) + penalty <= objective:
                return target.point(support, values)
            share *= 0.5
        return point

    def _conjugate_gradients(
        self, face: _Face, slope: FloatArray, scale: FloatArray, tol: float
    ) -> FloatArray:
        """Solve the Newton equations (a,) of a slope (a,), to an accuracy relative to `scale`.

        While no coefficient changes its sign the iterations go on to the last accuracy: each
        new step would start them again.
        """
        extra = HELD * face.norms
        pivots = np.maximum(face.norms - face.unit_seen**2, LEAST_PIVOT * face.norms) + extra
        move, left = np.zeros_like(slope), slope.copy()
        rough = ACCURACY * float(np.max(np.abs(left) / scale))
        eased = left / pivots
        direction, size = eased, float(left @ eased)
        for _ in range(MOST_ITERATIONS):
            seen = face.columns.gram_times(direction) + extra * direction
            seen -= face.unit_seen * float(face.unit_seen @ direction)
            self.iterations += 1
            bend = float(direction @ seen)
            if not bend > 0.0:
                break
            length = size / bend
            move += length * direction
            left -= length * seen
            worst = float(np.max(np.abs(left) / scale))
            if worst <= INNER_SHARE * tol or (worst <= rough and face.crosses(move).any()):
                break
            eased = left / pivots
            before, size = size, float(left @ eased)
            direction = eased + (size / before) * direction
        return move


@dataclass(frozen=True, eq=False)
class _Face:
    """A support whose coefficients keep their signs, all of shape (a,) but the columns."""

    columns: _Columns
    w: FloatArray
    signs: FloatArray
    bound: BoolArray  # which coefficients must not change their sign
    norms: FloatArray  # squared, of the centred columns
    unit_seen: FloatArray  # X'W r / ||r||

    def crosses(self, move: FloatArray) -> BoolArray:
        """Which bound coefficients (a,) a move would take to zero or beyond."""
        return np.asarray(self.bound & (np.sign(self.w + move) != self.signs))


class _Columns:
    """Centred columns of a support, by their products alone."""

    def __init__(self, columns: Any, means: FloatArray, weights: FloatArray | None) -> None:
        self._columns, self._transposed = columns, columns.T
        self._means = means if means.any() else None
        self._weights = weights

    def times(self, values: FloatArray) -> FloatArray:
        """Sum (m,) of values_j (x_j - mean_j) over the columns."""
        out = np.asarray(self._columns @ values)
        if self._means is not None:
            out -= float(self._means @ values)
        return out

    def gram_times(self, values: FloatArray) -> FloatArray:
        """Product (a,) of the centred Gram matrix and values (a,)."""
        out = self.times(values)
        if self._weights is not None:
            out *= self._weights
        seen = np.asarray(self._transposed @ out)
        if self._means is not None:
            seen -= self._means * float(out.sum())
        return seen
