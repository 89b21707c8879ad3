"""One response on one row set: walk down the penalties, each problem started from the last."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy import linalg

from sketchlasso.exact.columns import SparseColumns
from sketchlasso.exact.columnwise import ColumnSolver
from sketchlasso.exact.follow import Follower, Restricted
from sketchlasso.exact.knots import TrainingGram
from sketchlasso.exact.point import Point, Target, largest
from sketchlasso.exact.restricted import improve
from sketchlasso.linalg.rows import rounding_of_sums
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.full_problem import SMALL_RESIDUAL, FullValues
from sketchlasso.problem.lower_bounds import Directions
from sketchlasso.solvers import Settings, solve_or_raise
from sketchlasso.solvers.solution import Status
from sketchlasso.types import BoolArray, FloatArray, IntArray

# Columns that enter at a time: at least this many, at most as many as the support has.
FEWEST_ENTERING = 64
# Columns this near to entering (share of the threshold) enter with those that do.
NEAR = 0.9
# Columns are forgotten to make room for others where at most this share of them is needed.
MOST_KEPT = 0.9
# Gap of the restricted problem, relative to the tolerance and to the full gap.
INNER_SHARE = 0.3
INNER_OF_GAP = 0.1
# Below this share of ||y||^2 the residual is nearly zero, and coordinate descent stalls.
INTERPOLATES = 1e-8
# The same where there are too many columns for the solver that takes over there.
VANISHED = 1e-26
STALL_ROUNDS = 3
# A penalty below this share of the last one is approached in strides of the other share, each
# solved to this gap.
LONGEST_STRIDE = 0.4
STRIDE = 0.5
# At most this many strides to a penalty. Below, only rounding is left to enter.
MOST_STRIDES = 60
LOOSE = 1e-2
# Products with X that a good start saves for each stride.
WORTH = 0.5
# Largest side for which a Newton step, cubic in it, is still quick.
LARGEST_SIDE = 1200


# The certificate of the point that a walk has moved to, why the search ended, steps spent.
Ending: TypeAlias = tuple[FullValues, Status, int]


class Walk:
    """Solves the problems of one response on one row set, best with decreasing penalties.

    The Gram matrix grows with the columns in use. `tol` is a relative full-data gap, `max_rounds`
    the limit of rounds of certificate and restricted solve per problem.
    """

    def __init__(self, target: Target, gram: TrainingGram, tol: float, max_rounds: int) -> None:
        self.target, self.gram = target, gram
        self.tol, self.max_rounds = tol, max_rounds
        gram.include(target.free)
        self.point = target.point(np.empty(0, dtype=np.intp), np.empty(0))
        # Penalty at which the present point is about optimal.
        self.alpha = target.alpha_max()
        # Made for the first restricted problem.
        self._follower: Follower | None = None
        # Serves large supports of sparse columns; None where columns are dense, or once it gave up.
        self.by_columns: ColumnSolver | None = None
        if isinstance(target.training.columns, SparseColumns):
            self.by_columns = ColumnSolver(target, target.training.columns)
        # Dual direction of the last interpolating problem: it serves its smaller penalties too.
        self._direction: Directions | None = None

    def offer(self, support: IntArray, values: FloatArray, alpha: float) -> None:
        """Start from other coefficients, less those far from the support, if that pays.

        It pays where the penalty is far below the last one and where the Gram matrix of the
        columns offered costs less than the products with X that approaching it would.
        """
        strides = np.log(max(self.alpha / alpha, 1.0)) / -np.log(STRIDE)
        if alpha >= LONGEST_STRIDE * self.alpha or len(support) == 0:
            return
        target = self.target
        usable = np.isfinite(target.factor[support])
        support, values = support[usable], values[usable]
        if target.positive:
            values = np.maximum(values, 0.0)
        offered = target.point(support, values)
        if self._certificate(offered, alpha).relative_gap <= LOOSE:
            self.point, self.alpha = offered, alpha
            return
        near = self._scores(offered)[offered.support] >= NEAR * alpha * offered.length
        near |= target.factor[offered.support] == 0
        if target.training.columns.gram_cost(offered.support[near]) > WORTH * strides:
            return
        if not near.all():
            offered = target.point(offered.support[near], offered.values[near])
        if target.primal(offered, alpha) < target.primal(self.point, alpha):
            self.point, self.alpha = offered, alpha

    def offer_exact(
        self, support: IntArray, values: FloatArray, along: FloatArray, alpha: float
    ) -> None:
        """Move to an exact fit, if a dual direction proves it optimal for a penalty.

        The direction is the sum of along_j x_j over the support. It serves all smaller penalties,
        too.
        """
        target = self.target
        point = target.point(support, values)
        combined = target.training.residual(np.zeros_like(target.y), support, -along)
        direction = target.bounds.along((target.training.view.root * combined)[:, None])
        dual = target.dual(direction, alpha)
        if FullValues(target.primal(point, alpha), dual, target.null).relative_gap <= self.tol:
            self.point, self._direction = point, direction

    def solve(self, alpha: float) -> Ending:
        """Solve the problem of one penalty from the present point, which moves.

        A penalty far below the last one is approached by way of others, solved loosely: the
        columns then enter about in the order in which they matter.
        """
        for _ in range(MOST_STRIDES):
            if alpha >= LONGEST_STRIDE * self.alpha:
                break
            self._reach(max(STRIDE * self.alpha, alpha), max(self.tol, LOOSE))
        values, ended, steps = self._reach(alpha, self.tol)
        if values.relative_gap > self.tol:
            values, more = self._last_resort(values, alpha)
            steps += more
        return values, ended, steps

    def _certificate(self, point: Point, alpha: float) -> FullValues:
        """The certificate of a point, with the help of the last interpolating problem's."""
        target = self.target
        small = point.length <= SMALL_RESIDUAL * target.null
        if self._direction is None or not small:
            return target.certificate(point, alpha)
        dual = target.dual(self._direction, alpha)
        values = FullValues(target.primal(point, alpha), dual, target.null)
        if values.relative_gap <= self.tol:
            return values
        return target.certificate(point, alpha).joined(values)

    def _reach(self, alpha: float, tol: float) -> Ending:
        """Solve to a gap from the present point, by the solver that is likely to be faster."""
        solver, before = self.by_columns, self.alpha
        self.alpha = alpha
        if solver is None or not solver.pays(self.point, before / alpha):
            return self._rounds(alpha, tol)
        spent = solver.iterations + solver.sweeps
        self.point, values = solver.solve(self.point, alpha, tol, self.max_rounds)
        steps = solver.iterations + solver.sweeps - spent
        if values.relative_gap <= tol:
            return values, Status.STALLED, steps
        self.by_columns = None
        again, ended, more = self._rounds(alpha, tol)
        return again.joined(values), ended, steps + more

    def _rounds(self, alpha: float, tol: float) -> Ending:
        """Rounds of certificate and restricted solve until the gap is proved."""
        best, steps, stalled = self.point, 0, 0
        vanished = INTERPOLATES if within_reach(self.target, self.gram.columns) else VANISHED
        values = self._certificate(best, alpha)
        for number in range(self.max_rounds + 1):
            gap = values.relative_gap
            stuck = stalled >= STALL_ROUNDS or best.square <= vanished * self.target.null**2
            if gap <= tol or stuck or number == self.max_rounds:
                break
            entered = self.gram.include(self._entering(best, alpha))
            # A problem that may still lack columns is not worth solving to the last digit.
            share = INNER_OF_GAP * gap if entered else 0.0
            point, spent = self._advance(best, alpha, max(INNER_SHARE * tol, share))
            steps += spent
            found = self._certificate(point, alpha)
            best = point if found.primal <= values.primal else best
            values = values.joined(found)
            # New columns make the dual point worse before they make it better.
            slow = entered == 0 and values.relative_gap > 0.9 * gap
            stalled = stalled + 1 if slow else 0
        self.point = best
        limit = number == self.max_rounds
        return values, Status.ITERATION_LIMIT if limit else Status.STALLED, steps

    def _advance(self, point: Point, alpha: float, tol: float) -> tuple[Point, int]:
        """Solve the problem of the working columns, then check all of X."""
        columns = self.gram.columns
        w = np.zeros(len(columns))
        w[self.gram.place[point.support]] = point.values
        problem = Restricted(
            G=self.gram.buffer,
            q=point.seen[columns],
            w=w,
            thresholds=alpha * self.target.factor[columns],
            square=point.square,
            positive=self.target.positive,
        )
        self._follower = self._follower or Follower()
        steps = improve(problem, tol, self._follower)
        return self.target.point(columns, problem.w), steps

    def _scores(self, point: Point) -> FloatArray:
        """|x_j'W r| / f_j (n,), which must not exceed alpha ||r||; -inf for excluded columns."""
        factor = self.target.factor
        size = point.seen if self.target.positive else np.abs(point.seen)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(np.isfinite(factor) & (factor > 0), size / factor, -np.inf)

    def _entering(self, point: Point, alpha: float) -> IntArray:
        """Columns to work with: the support, and the worst of those outside."""
        score = self._scores(point)
        close = score > NEAR * alpha * point.length
        used = self.target.factor == 0
        used[point.support] = True
        if np.count_nonzero((close | used) & (self.gram.place < 0)) > self.gram.room:
            self._make_room(close | used, used)
        close[self.gram.columns] = False
        near = np.flatnonzero(close & ~used)
        limit = min(max(FEWEST_ENTERING, len(point.support)), self.gram.room)
        return np.concatenate([point.support, largest(near, score, limit)])

    def _make_room(self, *needed: BoolArray) -> None:
        """Forget working columns: keep the first of the sets (n,) that leaves room for others."""
        for columns in needed:
            kept = columns[self.gram.columns]
            if np.count_nonzero(kept) <= MOST_KEPT * len(kept):
                self.gram.keep(kept)
                # Its factor refers to columns by their places, which change.
                self._follower = None
                return

    def _last_resort(self, values: FullValues, alpha: float) -> tuple[FullValues, int]:
        """Pass the columns to the sketch's Newton solver, which handles a residual of zero.

        Returns the certificate of the point, which moves, and the steps spent.
        """
        steps = 0
        columns = np.union1d(self._entering(self.point, alpha), self.gram.columns)
        for _ in range(self.max_rounds):
            answer = solve_on_columns(self.target, columns, alpha, INNER_SHARE * self.tol)
            if answer is None:
                break
            point, scaled, spent = answer
            steps += spent
            self._direction = self.target.bounds.along(scaled[:, None])
            new = self._certificate(point, alpha)
            dual = self.target.dual(self._direction, alpha)
            self.point = point if new.primal < values.primal else self.point
            values = values.joined(new).joined(FullValues(values.primal, dual, values.null))
            outside = self._violating(scaled, alpha, columns)
            if values.relative_gap <= self.tol or len(outside) == 0:
                break
            columns = np.union1d(columns, outside)
        return values, steps

    def _violating(self, direction: FloatArray, alpha: float, columns: IntArray) -> IntArray:
        """The worst columns outside that a dual point of the columns inside violates."""
        view = self.target.training.view
        seen = view.correlate(view.centre(direction[:, None]))[:, 0]
        point = Point(columns[:0], np.empty(0), direction, 1.0, seen)
        score = self._scores(point)
        score[columns] = -np.inf
        outside = np.flatnonzero(score > alpha)
        limit = max(FEWEST_ENTERING, len(columns))
        return outside[np.argsort(-score[outside])[:limit]]


def within_reach(target: Target, columns: IntArray) -> bool:
    """Whether the problem of some columns is small enough for this solver."""
    return min(len(columns), len(target.y)) <= LARGEST_SIDE


def solve_on_columns(
    target: Target, columns: IntArray, alpha: float, tol: float
) -> tuple[Point, FloatArray, int] | None:
    """Solve the problem of some columns by the Newton solver of batches.

    It is made for residuals that vanish. With rows scaled by the root of their weights and
    centred, Z (m, p), the problem is a batch of one instance with P = Z', c = y, s = 0; where the
    columns are fewer than the rows, Z = Q T makes it P = T', c = Q'y, s = ||y - Q Q'y||. Its dual
    point u stands for Q u plus a share of y - Q Q'y among the rows.

    Returns the point, a dual direction (m,) on scaled rows and the steps spent; None where that
    would take too long.
    """
    if not within_reach(target, columns):
        return None
    view = target.training.view
    Z: Any = view.columns(columns)
    y = view.root * target.y
    basis: Any = None
    P, c, s = Z.T, y, 0.0
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
        penalty_factor=target.factor[columns],
        positive=target.positive,
        rounded=True,
    )
    found = solve_or_raise(batch, settings=Settings(tol=tol, n_threads=1))
    direction = found.dual_point[0]
    if basis is not None:
        share = np.sqrt(max(1.0 - direction @ direction, 0.0))
        direction = basis @ direction
        if s > 0:
            direction += share * beyond / s
    point = target.point(columns[found.coef.indices], found.coef.data)
    return point, direction, int(found.steps[0])
