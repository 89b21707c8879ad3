"""Newton's method on a working set of columns, for any radius.

A round checks all columns of X, lets those join that violate their thresholds, and brings the
problem of the working columns close to its optimum. With few columns, sweeps of coordinate descent
and Newton steps work on their Gram matrix (:mod:`sketchlasso.kernels.gram_solver`). With many
sparse ones no matrix is formed. With signs s on a support A, q = X'W r, rho = ||r||_W, t = alpha f
and mu = radius rho / ||w||, a step d solves

    H d  =  q_A - mu w - rho (t s)_A
    H    =  X_A'W X_A - q_A q_A' / rho^2 + mu (I - w w' / ||w||^2) + diag(e)

by conjugate gradients, preconditioned by the diagonal. Each iteration takes two products with the
columns of A. The small e keeps the step finite where columns depend on each other. Coefficients
that would change their sign stop at zero. Where the fit becomes exact the loss has a kink; there
the Newton method of batches takes over, which works on the dual.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from sketchlasso.exact.columns import SparseColumns
from sketchlasso.exact.gram import CONSTANT, TrainingGram
from sketchlasso.exact.target import Point, Target
from sketchlasso.kernels.columns import column_sweeps
from sketchlasso.kernels.gram_solver import GramProblem, solve_on_gram
from sketchlasso.linalg.rows import rounding_of_sums
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.full_problem import SMALL_RESIDUAL, FullValues
from sketchlasso.solvers import Settings, solve_or_raise
from sketchlasso.solvers.solution import Status
from sketchlasso.types import BoolArray, FloatArray, IntArray

# Columns that enter at a time: at least this many, at most as many as the support has.
FEWEST_ENTERING = 64
# Columns enter from this share of their threshold on.
NEAR = 0.97
# Sparse columns up to which their Gram matrix is formed.
FEW_COLUMNS = 100
# Accuracy of a round relative to the tolerance, and to the gap where columns have entered.
INNER_SHARE = 0.3
INNER_OF_GAP = 0.01
STALL_ROUNDS = 4
# Largest side for which a Newton step of the batch solver, cubic in it, is still quick.
LARGEST_SIDE = 1200


class Ending(NamedTuple):
    """The best point of a solve, its certificate, why the search ended, and its rounds."""

    point: Point
    values: FullValues
    status: Status
    rounds: int


def largest(columns: IntArray, scores: FloatArray, limit: int) -> IntArray:
    """At most `limit` of some columns (c,), those with the largest scores (n,)."""
    if len(columns) <= limit:
        return columns
    if limit <= 0:
        return columns[:0]
    return columns[np.argpartition(scores[columns], -limit)[-limit:]]


class WorkingSet:
    """Solves the problems of one target to a relative gap of `tol`, from any point."""

    def __init__(self, target: Target, gram: TrainingGram, tol: float, max_rounds: int) -> None:
        self.target, self._gram = target, gram
        self._tol, self._max_rounds = tol, max_rounds
        self._sparse = isinstance(target.training.columns, SparseColumns)

    def solve(self, point: Point, alpha: float) -> Ending:
        """Rounds from a point until the gap is proved, the rounds are over or no longer help."""
        target = self.target
        best, values = point, target.certificate(point, alpha, self._tol)
        # Many sparse columns are solved without their Gram matrix, unless that stalls.
        stalled, by_columns = 0, self._sparse
        for number in range(self._max_rounds):
            gap = values.relative_gap
            if gap <= self._tol:
                return Ending(best, values, Status.STALLED, number)
            if by_columns and stalled >= STALL_ROUNDS // 2:
                stalled, by_columns = 0, False
            if stalled >= STALL_ROUNDS or point.length <= SMALL_RESIDUAL * target.null:
                break
            chosen, entering = self._working(point.support, point.seen / point.length, alpha)
            accuracy = max(INNER_SHARE * self._tol, INNER_OF_GAP * gap if entering else 0.0)
            w = np.zeros(len(target.factor))
            w[point.support] = point.values
            if by_columns and len(chosen) > FEW_COLUMNS:
                point = self._improved(point, chosen, w[chosen], alpha, accuracy)
            else:
                point = self._improved_on_gram(point, chosen, w[chosen], alpha, accuracy)
            new = target.certificate(point, alpha, self._tol)
            best = point if new.primal <= values.primal else best
            values = values.joined(new)
            # New columns make the dual point worse before they make it better.
            slow = not entering and values.relative_gap > 0.9 * gap
            stalled = stalled + 1 if slow else 0
        return self._near_exact_fit(best, values, alpha, number)

    def _near_exact_fit(self, best: Point, values: FullValues, alpha: float, rounds: int) -> Ending:
        """Rounds by the Newton method of batches, which is made for residuals that vanish."""
        target, chosen, seen = self.target, best.support, best.seen / max(best.length, 1e-300)
        for number in range(rounds, self._max_rounds):
            columns, entering = self._working(chosen, seen, alpha)
            answer = None
            if number == rounds or entering:
                answer = solve_on_columns(target, columns, alpha, INNER_SHARE * self._tol)
            if answer is None:
                return Ending(best, values, Status.STALLED, number)
            chosen = columns
            point, direction = answer
            new = target.certificate(point, alpha, self._tol)
            best = point if new.primal <= values.primal else best
            seen, length, inner = target.along(direction)
            dual = target.dual(seen, length, inner, alpha)
            values = values.joined(new).joined(FullValues(new.primal, dual, values.null))
            if values.relative_gap <= self._tol:
                return Ending(best, values, Status.STALLED, number + 1)
        return Ending(best, values, Status.ITERATION_LIMIT, self._max_rounds)

    def _working(self, support: IntArray, seen: FloatArray, alpha: float) -> tuple[IntArray, int]:
        """The support with the worst columns outside, by what they see of a dual point (n,).

        Also returns how many of these violate their thresholds.
        """
        size = np.maximum(seen, 0.0) if self.target.positive else np.abs(seen)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = np.where(size > 0, size / (alpha * self.target.factor), 0.0)
        score[support] = 0.0
        outside = np.flatnonzero(score > NEAR)
        joining = largest(outside, score, max(FEWEST_ENTERING, len(support)))
        chosen = np.sort(np.concatenate([support, joining]))
        return chosen, int(np.count_nonzero(score[joining] > 1.0))

    def _improved_on_gram(
        self,
        point: Point,
        chosen: IntArray,
        w: FloatArray,
        alpha: float,
        accuracy: float,
    ) -> Point:
        """The point after sweeps and Newton steps on the Gram matrix of the chosen columns."""
        target = self.target
        self._gram.include(chosen)
        place = self._gram.place[chosen]
        held = place >= 0
        chosen, w, place = chosen[held], w[held], place[held]
        G = self._gram.buffer[np.ix_(place, place)]
        p = len(chosen)
        problem = GramProblem(
            G,
            point.seen[chosen] + G @ w,
            target.null**2,
            alpha * target.factor[chosen],
            target.radius,
            target.positive,
        )
        work = (np.empty((p, p)), np.empty(p), np.empty(p), np.empty(p), np.empty(p))
        if p:
            solve_on_gram(problem, point.seen[chosen], w, point.square, accuracy, work)
        return target.point(chosen, w)

    @cached_property
    def _norms(self) -> FloatArray:
        """Squared norms (n,) of the centred columns; zero for constant ones."""
        training: Any = self.target.training
        squares = training.columns.squares(training.weights)
        norms = squares - training.means**2 * training.weight
        # What centring leaves of a constant column is rounding.
        return np.where(norms > CONSTANT * squares, norms, 0.0)

    def _improved(
        self,
        point: Point,
        chosen: IntArray,
        w: FloatArray,
        alpha: float,
        accuracy: float,
    ) -> Point:
        """The point after sweeps over the chosen columns and a Newton step on its support."""
        target, training = self.target, self.target.training
        X: Any = training.columns.matrix
        thresholds, residual = alpha * target.factor[chosen], point.residual.copy()
        residual += column_sweeps(
            X.data,
            X.indices,
            X.indptr,
            chosen,
            self._norms[chosen],
            training.means[chosen],
            training.weights,
            training.weight,
            thresholds,
            target.radius,
            target.positive,
            2,
            w,
            residual,
            point.square,
        )
        kept = np.flatnonzero(w)
        support, w = chosen[kept], w[kept]
        face = _Face(
            target,
            X[:, support],
            training.means[support],
            self._norms[support],
            w,
            thresholds[kept],
            residual,
        )
        if len(support) == 0 or face.rho <= 0.0:
            return target.point(support, w)
        move, objective, share = face.step(accuracy), face.objective(residual, w), 1.0
        while share >= 1e-4:
            values = np.where(face.crosses(share * move), 0.0, w + share * move)
            left = residual - face.times(values - w)
            # An objective is known up to rounding.
            if face.objective(left, values) <= objective * (1.0 + 1e-14):
                return target.point(support, values)
            share *= 0.5
        return target.point(support, w)


@dataclass(frozen=True, eq=False)
class _Face:
    """The objective on a support of sparse columns whose coefficients keep their signs.

    Arrays are (a,) but for the columns (m, a) and the residual (m,).
    """

    target: Target
    columns: Any
    means: FloatArray  # of the columns
    norms: FloatArray  # squared, of the centred columns
    w: FloatArray
    thresholds: FloatArray
    residual: FloatArray

    @cached_property
    def rho(self) -> float:
        return float(np.sqrt(self.target.training.square(self.residual)))

    def seen(self, vector: FloatArray) -> FloatArray:
        """Centred x_j'W v (a,) of a vector (m,)."""
        weighted = self.target.training.weights * vector
        return np.asarray(self.columns.T @ weighted) - self.means * float(weighted.sum())

    def times(self, values: FloatArray) -> FloatArray:
        """Sum (m,) of values_j (x_j - mean_j) over the columns."""
        return np.asarray(self.columns @ values) - float(self.means @ values)

    def objective(self, residual: FloatArray, values: FloatArray) -> float:
        """The objective at a residual (m,) and values (a,)."""
        loss = np.sqrt(self.target.training.square(residual))
        ridge = self.target.radius * np.linalg.norm(values)
        return float(loss + ridge + self.thresholds @ np.abs(values))

    def crosses(self, move: FloatArray) -> BoolArray:
        """Which coefficients (a,) a move would take to zero or beyond, where that ends the face."""
        bound = (self.thresholds > 0) | self.target.positive
        return np.asarray(bound & (np.sign(self.w + move) != np.sign(self.w)))

    def step(self, accuracy: float) -> FloatArray:
        """Solve the Newton equations (a,), to an accuracy relative to the penalties.

        While no coefficient changes its sign the iterations go on to the last accuracy: each
        new step would start them again.
        """
        mu = self.target.radius * self.rho / float(np.linalg.norm(self.w))
        q = self.seen(self.residual)
        unit_seen, unit_w = q / self.rho, self.w / np.linalg.norm(self.w)
        slope = q - mu * self.w - self.rho * self.thresholds * np.sign(self.w)
        scale = self.rho * np.where(self.thresholds > 0, self.thresholds, self.thresholds.max())
        scale = np.where(scale > 0, scale, np.abs(q).max())
        extra = mu + 1e-6 * self.norms
        pivots = self.norms - unit_seen**2 - mu * unit_w**2
        pivots = np.maximum(pivots, 1e-3 * self.norms) + extra
        move, left = np.zeros_like(slope), slope.copy()
        rough = 0.3 * float(np.max(np.abs(left) / scale))
        eased = left / pivots
        direction, size = eased, float(left @ eased)
        for _ in range(300):
            seen = self.seen(self.times(direction)) + extra * direction
            seen -= unit_seen * float(unit_seen @ direction)
            seen -= mu * unit_w * float(unit_w @ direction)
            bend = float(direction @ seen)
            if not bend > 0.0:
                break
            length = size / bend
            move += length * direction
            left -= length * seen
            worst = float(np.max(np.abs(left) / scale))
            if worst <= accuracy or (worst <= rough and self.crosses(move).any()):
                break
            eased = left / pivots
            before, size = size, float(left @ eased)
            direction = eased + (size / before) * direction
        return move


def solve_on_columns(
    target: Target, columns: IntArray, alpha: float, tol: float
) -> tuple[Point, FloatArray] | None:
    """Solve the problem of some columns by the Newton method of batches.

    With rows scaled by the root of their weights and centred, Z (m, p), the problem is a batch of
    one instance with P = Z', c = y, s = 0; where the columns are fewer than the rows, Z = Q T
    makes it P = T', c = Q'y, s = ||y - Q Q'y||. Its dual point u stands for Q u plus a share of
    y - Q Q'y.

    Returns the point and a dual direction (m,) on scaled rows; None where that would take too long.
    """
    if not 0 < min(len(columns), len(target.y)) <= LARGEST_SIDE:
        return None
    view = target.training.view
    Z: Any = view.columns(columns)
    y = view.root * target.y
    basis: Any = None
    P, c, s, beyond = Z.T, y, 0.0, y
    if Z.shape[1] < Z.shape[0]:
        basis, T = linalg.qr(Z, mode="economic", check_finite=False)
        P, c = T.T, basis.T @ y
        # Not the root of y'y - c'c, which keeps no digit of a residual far smaller than y.
        beyond = y - basis @ c
        beyond -= basis @ (basis.T @ beyond)
        s = float(np.linalg.norm(beyond))
        s = s if s > rounding_of_sums(len(y)) * target.null else 0.0
    batch = Batch.build(
        P,
        c,
        s,
        alpha=alpha,
        radius=target.radius,
        penalty_factor=target.factor[columns],
        positive=target.positive,
    )
    found = solve_or_raise(batch, settings=Settings(tol=tol, n_threads=1))
    direction = found.dual_point[0]
    if basis is not None:
        share = np.sqrt(max(1.0 - direction @ direction, 0.0))
        direction = basis @ direction + (share * beyond / s if s > 0 else 0.0)
    return target.point(columns[found.coef.indices], found.coef.data), direction
