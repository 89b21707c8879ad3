"""The path of one response on one row set, from the largest penalty down.

Without a radius a walk along the knots proposes solutions for many penalties at once. Those of a
whole Gram matrix are certified by it where its digits suffice. A matrix that grows knows some
columns only: its solutions are checked on all columns of X, and missing columns join. What is not
proved yet, and what no walk reaches, goes to the working set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sketchlasso.exact.columns import SparseColumns
from sketchlasso.exact.gram import TrainingGram
from sketchlasso.exact.target import Point, Target
from sketchlasso.exact.working_set import WorkingSet, largest
from sketchlasso.kernels.gram_path import (
    COLUMN,
    EXACT,
    FIT,
    MISSED,
    MORE,
    GramPath,
    begin_at,
    blank_solutions,
    gram_path,
    walk_gram,
)
from sketchlasso.problem.formulas import relative_gap
from sketchlasso.problem.full_problem import dual_bound, full_primal
from sketchlasso.problem.terms import spread_factors
from sketchlasso.solvers.settings import StopSolve
from sketchlasso.solvers.solution import Status
from sketchlasso.types import FloatArray, IntArray

# With more active columns knots cost more than the working set; of sparse columns, with fewer,
# unless there are only few rows, whose paths end early.
MOST_ACTIVE = 3000
MOST_ACTIVE_SPARSE = 200
FEW_ROWS = 500
# Knots between two looks at a request to stop, and the most on the way to a penalty: their number
# can be exponential in the number of columns.
KNOTS_AT_A_TIME = 200
MOST_KNOTS = 100_000
# With this many columns or fewer all are watched at every knot.
FEW_COLUMNS = 200
# Error of ||r||^2 as a share of ||y||^2 when it comes from a Gram matrix.
GRAM_ERROR = 1e-11
# Columns join a growing matrix if they reach this share of the last lambda of a stretch; at most
# this many, or twice the support. That lambda is at least this share of the first.
NEAR = 0.7
MOST_JOINING = 200
STRETCH = 0.6
# Checks of all columns without a further solution after which the working set takes over.
MOST_CHECKS = 30
# Shares of ||y||^2 at which a fit counts as exact, and of the last penalty that the next one
# must not exceed.
EXACT_FIT = 1e-5
SLOWEST = 0.99


class Solved(NamedTuple):
    """One problem's coefficients and certificate, steps spent, and why the search ended.

    The ledger decides by the certificate whether it is solved.
    """

    support: IntArray
    values: FloatArray
    primal: float
    dual: float
    steps: int = 1
    ended: Status = Status.STALLED


class Stretch(NamedTuple):
    """Proposals for decreasing penalties, as one array each, and the knots on the way."""

    points: list[tuple[IntArray, FloatArray]]  # columns of X (s,) and coefficients (s,)
    lambdas: FloatArray
    squares: FloatArray  # ||r||^2
    inner: FloatArray  # y'r
    worst: FloatArray  # the largest |x_j'r| / f_j of the columns in use
    l1: FloatArray  # sum_j f_j |w_j|
    knots: int
    exact: bool  # whether the last is an exact fit, which serves every smaller penalty


class KnotWalk:
    """A place on the path of a target, and the way down along the knots.

    It proposes solutions on the columns that the Gram matrix holds, to the precision of that
    matrix.
    """

    def __init__(self, target: Target, gram: TrainingGram, stopped: Callable[[], bool]) -> None:
        self._target, self._gram, self._stopped = target, gram, stopped
        rows = int(np.count_nonzero(target.training.weights))
        few = isinstance(target.training.columns, SparseColumns) and rows > FEW_ROWS
        limit = MOST_ACTIVE_SPARSE if few and not gram.whole else MOST_ACTIVE
        self._most = min(rows, limit, len(target.factor))
        gram.include(target.free)
        # The walk is that of what the unpenalised columns leave of the response.
        self._first = np.zeros(len(target.factor))
        self._first[target.first.support] = target.first.values
        # The solution where the next walk begins, and the path that stands there, if there is one.
        squares = np.diagonal(gram.buffer)[gram.place[target.free]]
        self._support, self._level = target.free[squares > 0], np.inf
        self._signs = np.ones(len(self._support))
        self._path: GramPath | None = None
        self._count = 0

    def find(self, penalties: FloatArray, squared: bool, narrow: bool) -> tuple[Stretch, bool]:
        """Proposals for a leading part of decreasing penalties (a,).

        Penalties are values of alpha, or of lambda where `squared`. With `narrow` only columns
        near their thresholds are watched; returns whether one of the others was missed.
        """
        path = self._begin(squared, narrow)
        out = blank_solutions(len(penalties), self._most)
        done, count, knots, why = 0, self._count, 0, MORE
        while count >= 0 and why == MORE and knots < MOST_KNOTS:
            if self._stopped():
                raise StopSolve
            done, more, count, why = walk_gram(path, count, done, penalties, out, KNOTS_AT_A_TIME)
            knots += more
        points = [
            self._point(out.indices[i, :size], out.values[i, :size])
            for i, size in enumerate(out.counts[:done].tolist())
        ]
        facts = out.facts[:done]
        if why == EXACT and done < len(penalties) and not squared:
            points.append(self._point(path.active[COLUMN, :count], path.parts[FIT, :count]))
            facts = np.vstack([facts, np.full(5, np.nan)])
        # Only a walk that came to its last penalty stands on the face of its last solution.
        self._path, self._count = (path, count) if done == len(penalties) else (None, 0)
        lam, squares, inner, worst, l1 = facts.T
        exact = len(points) > done
        return Stretch(points, lam, squares, inner, worst, l1, knots, exact), why == MISSED

    def _point(self, places: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
        """Columns and coefficients of a solution of the walk."""
        columns = self._gram.columns[places]
        return columns, values + self._first[columns]

    def _begin(self, squared: bool, narrow: bool) -> GramPath:
        """The path at the present place."""
        if self._path is not None and self._gram.whole:
            return self._path._replace(squared=squared, narrow=narrow)
        columns, factor = self._gram.columns, self._target.factor
        path = gram_path(
            self._gram.buffer,
            self._target.first.seen[columns],
            factor[columns] * spread_factors(columns),
            self._most,
            self._target.first.square,
            self._target.positive,
            squared,
            narrow,
        )
        self._count = begin_at(path, self._level, self._gram.place[self._support], self._signs)
        return path

    def move_to(self, stretch: Stretch, number: int) -> None:
        """Go to one of the proposals."""
        support, values = stretch.points[number]
        kept = (values != 0) | (self._target.factor[support] == 0)
        self._support, self._signs = support[kept], np.sign(values[kept])
        self._level = float(stretch.lambdas[number])
        if number < len(stretch.points) - 1:
            self._path = None


class Chain:
    """The problems of one target, for decreasing penalties.

    `tol` is a relative duality gap, `max_rounds` the limit of rounds on a working set; `stopped`
    says whether somebody asked to stop.
    """

    def __init__(
        self,
        target: Target,
        gram: TrainingGram,
        tol: float,
        max_rounds: int,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.target, self._gram, self._tol = target, gram, tol
        self._working = WorkingSet(target, gram, tol, max_rounds)
        # Whether the path is piecewise linear, and known where it begins.
        linear = target.radius == 0.0 and not (len(target.free) and target.positive)
        walks = linear and target.alpha_max() > 0
        self._knots = KnotWalk(target, gram, stopped) if walks else None
        first = target.first
        # The present place; |x_j'r| / f_j there (n,), by which columns are chosen that join.
        self._point: Point | None = first
        self._support, self._values, self._square = first.support, first.values, first.square
        self._alpha = target.alpha_max()
        self._scores = self._score(first.seen)
        self._rounding = float(self._score(target.rounding).max(initial=0.0))

    def advance(self, alphas: FloatArray) -> list[Solved]:
        """Solve for decreasing penalties (a,), none larger than those before."""
        return self._descend(alphas, squared=False)[1]

    def largest_lambda(self) -> float:
        """The lambda at which the first penalised column enters; zero where none ever does."""
        return self._alpha * float(np.sqrt(self._square))

    @property
    def fits_exactly(self) -> bool:
        """Whether the last solution fits its rows, so that smaller penalties change nothing."""
        return self._square <= EXACT_FIT * self.target.null**2

    def descend(self, lambdas: FloatArray) -> tuple[FloatArray, list[Solved]]:
        """Solve the problems whose solutions have decreasing lambdas (a,); their penalties too.

        Fewer come back where the fit becomes exact: the penalty no longer falls with lambda.
        """
        return self._descend(lambdas, squared=True)

    def solve(self, alpha: float) -> Solved:
        """Solve for one penalty on a working set, from the last solution."""
        start = self._point or self.target.point(self._support, self._values)
        point, values, status, rounds = self._working.solve(start, alpha)
        self._point = point
        self._support, self._values, self._square = point.support, point.values, point.square
        self._alpha, self._scores = alpha, self._score(point.seen)
        # Checking a start that needs no step counts as one.
        steps = max(rounds, 1)
        return Solved(point.support, point.values, values.primal, values.dual, steps, status)

    def _descend(self, penalties: FloatArray, squared: bool) -> tuple[FloatArray, list[Solved]]:
        """Solve for decreasing alphas, or lambdas where `squared`; the alphas and solutions."""
        alphas: list[float] = []
        found: list[Solved] = []
        checks, narrow = 0, self._gram.whole and len(self._gram.columns) > FEW_COLUMNS
        watch_all = False
        while self._knots is not None and len(found) < len(penalties):
            rest = penalties[len(found) :]
            if not self._gram.whole:
                # Columns that enter much later would slow down every knot before.
                rest = rest[rest >= STRETCH * rest[0]]
                self._gram.include(self._joining(float(rest[-1]), squared))
            elif watch_all:
                # A few penalties with all columns watched, after one was missed.
                rest = rest[:3]
            stretch, missed = self._knots.find(rest, squared, narrow and not watch_all)
            part, joined = self._accept(stretch, rest, squared)
            alphas += [alpha for alpha, _ in part]
            found += [solved for _, solved in part]
            watch_all = missed and not part
            checks = 0 if part else checks + 1
            if checks > MOST_CHECKS or not (part or joined or watch_all):
                self._knots = None
        for penalty in penalties[len(found) :].tolist():
            if squared and self.fits_exactly:
                break
            if squared:
                # The residual shrinks on the way, so lambda ends a little below.
                penalty = min(penalty / np.sqrt(self._square), SLOWEST * self._alpha)
            alphas.append(penalty)
            found.append(self.solve(penalty))
        return np.array(alphas), found

    def _accept(
        self, stretch: Stretch, penalties: FloatArray, squared: bool
    ) -> tuple[list[tuple[float, Solved]], int]:
        """The leading proposals with their proofs; how many columns joined that the next lacks.

        Proposals that need more digits than their Gram matrix has are finished by the working set.
        """
        assert self._knots is not None
        alphas, primal, dual, squares, scores = self._judged(stretch, penalties, squared)
        null = np.full_like(primal, self.target.null)
        proved = relative_gap(primal, dual, null) <= self._tol
        accepted: list[tuple[float, Solved]] = []
        joined, limit = 0, max(MOST_JOINING, 2 * len(self._support))
        for number, (support, values) in enumerate(stretch.points):
            alpha, exact = float(alphas[number]), stretch.exact and number == len(squares) - 1
            if not proved[number] and scores is not None and not exact:
                beyond = np.flatnonzero(scores[:, number] > alpha * np.sqrt(squares[number]))
                beyond = self._gram.missing(beyond)
                joined = self._gram.include(largest(beyond, scores[:, number], limit))
                if joined:
                    break
            self._support, self._values, self._point = support, values, None
            if proved[number]:
                self._alpha, self._square = alpha, float(squares[number])
                solved = Solved(support, values, float(primal[number]), float(dual[number]))
                if scores is not None:
                    self._scores = scores[:, number]
            else:
                solved = self.solve(alpha)
            first = stretch.knots if number == 0 else 0
            accepted.append((alpha, solved._replace(steps=solved.steps + first)))
        if accepted:
            self._knots.move_to(stretch, len(accepted) - 1)
        if stretch.exact and len(accepted) == len(stretch.points):
            # The working set goes on from the exact fit, which serves every smaller penalty.
            self._knots = None
        return accepted, joined

    def _judged(
        self, stretch: Stretch, penalties: FloatArray, squared: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray | None]:
        """Alphas, objectives, dual values and ||r||^2 (a,) of proposals, and scores (n, a).

        Scores are None where the digits of a Gram matrix of all columns prove the gap.
        """
        target, training, total = self.target, self.target.training, self.target.first.square
        squares, scores = stretch.squares, None

        def bounds(
            inner: FloatArray, l1: FloatArray, seen: FloatArray, factor: FloatArray, rounding: Any
        ) -> tuple[FloatArray, FloatArray, FloatArray]:
            lengths, alphas = np.sqrt(squares), penalties[: len(squares)]
            alphas = alphas / lengths if squared else alphas
            dual = dual_bound(seen, lengths, inner, alphas, factor, rounding, target.positive)
            if scores is None or len(target.free):
                # Errors of products with y, and what unpenalised columns see of the residual.
                dual = dual - GRAM_ERROR * total / np.maximum(lengths, 1e-300)
            return alphas, full_primal(lengths, alphas, l1), dual

        if self._gram.whole or not len(squares):
            # Columns may see more than was computed, by the rounding of products with y.
            worst = stretch.worst[None] + self._rounding * np.sqrt(total)
            proof = bounds(stretch.inner, stretch.l1, worst, np.ones(1), np.zeros(1))
            null = np.full_like(squares, target.null)
            if (relative_gap(proof[1], proof[2], null) <= self._tol).all():
                return *proof, squares, None
        support = np.unique(np.concatenate([s for s, _ in stretch.points]))
        table = np.zeros((len(support), len(squares)))
        for number, (chosen, values) in enumerate(stretch.points):
            table[np.searchsorted(support, chosen), number] = values
        residuals = training.residual(target.y, support, table)
        squares = training.weights @ residuals**2
        seen = training.correlate(residuals)
        scores = self._score(seen)
        inner, l1 = (training.weights * target.y) @ residuals, target.factor[support] @ abs(table)
        return *bounds(inner, l1, seen, target.factor, target.rounding), squares, scores

    def _score(self, seen: FloatArray) -> FloatArray:
        """|x_j'r| / f_j of columns (n,) or (n, a), zero for excluded and unpenalised ones."""
        factor = np.where(self.target.factor > 0, self.target.factor, np.inf)
        size = np.maximum(seen, 0.0) if self.target.positive else np.abs(seen)
        return np.asarray((size.T / factor).T)

    def _joining(self, last: float, squared: bool) -> IntArray:
        """Columns likely to enter before the last penalty, the support among them."""
        level = last if squared else last * np.sqrt(self._square)
        outside = self._gram.missing(np.flatnonzero(self._scores > NEAR * level))
        limit = max(MOST_JOINING, 2 * len(self._support))
        return np.concatenate([self._support, largest(outside, self._scores, limit)])
