"""One response on one row set, down the penalties: along the knots of the path, or round by round.

A walk along the knots proposes solutions for many penalties at once. It uses the columns of the
Gram matrix only, so its solutions are checked against all columns of X, and missing columns join.
:class:`~sketchlasso.exact.walk.Walk` takes over where this walk cannot go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sketchlasso.exact.knots import KnotWalk, Stretch, TrainingGram
from sketchlasso.exact.point import Face, Point, Target, largest
from sketchlasso.exact.walk import Walk
from sketchlasso.problem.formulas import relative_gap
from sketchlasso.problem.full_problem import (
    MOST_SIGN_ENTRIES,
    SMALL_RESIDUAL,
    dual_of_ratio,
    full_primal,
)
from sketchlasso.solvers.polish import NEARLY_EXACT, exact_fit
from sketchlasso.solvers.solution import Status
from sketchlasso.types import BoolArray, FloatArray, IntArray

# Error of ||r||^2 as a share of ||y||^2 when it comes from a Gram matrix.
GRAM_ERROR = 1e-13
# Columns join before a stretch if they reach this share of its last lambda; at most this many, or
# twice the support.
NEAR = 0.7
MOST_JOINING = 200
# Checks of all columns per stretch of penalties; another solver takes over after that.
MOST_LOOKS = 8
# The last penalty of a stretch is at least this share of its first. A penalty below this share of
# the present one is approached in strides of that share.
STRIDE = 0.6
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
    steps: int = 0
    ended: Status = Status.STALLED


Points = list[tuple[IntArray, FloatArray]]


class _Judged(NamedTuple):
    """Points of a stretch and their certificates, all of shape (a,) but the scores (n, a)."""

    points: Points
    alphas: FloatArray
    squares: FloatArray
    primal: FloatArray
    dual: FloatArray
    proved: BoolArray
    scores: FloatArray | None

    @property
    def leading(self) -> int:
        """How many are proved before the first that is not."""
        return len(self.proved) if self.proved.all() else int(np.argmin(self.proved))


class Chain:
    """The problems of one response on one row set, from the largest penalty down.

    `tol` and `max_rounds` are those of :class:`Walk`. A `whole` Gram matrix holds all columns that
    can be chosen. With `knots` the chain walks along the knots where possible.
    """

    def __init__(
        self,
        target: Target,
        gram: TrainingGram,
        tol: float,
        max_rounds: int,
        whole: bool,
        knots: bool = True,
    ) -> None:
        self.target = target
        self._gram, self._whole = gram, whole
        self._tol, self._max_rounds = tol, max_rounds
        self._knots: KnotWalk | None = None
        if knots and KnotWalk.possible(target):
            self._knots = KnotWalk(target, gram, whole)
        self._walk: Walk | None = None
        self._exact_end: tuple[IntArray, FloatArray, FloatArray] | None = None
        # A point that cannot be made more exact.
        self._made_exact: Point | None = None
        self._support, self._values = np.empty(0, dtype=np.intp), np.empty(0)
        self._alpha = target.alpha_max()
        self._square = target.null**2
        # |x_j'r| / f_j at the present place (n,), needed to choose columns that join.
        self._scores = np.empty(0)
        if self._knots is not None and not whole:
            self._scores = self._score(target.training.correlate(target.y))

    def advance(self, alphas: FloatArray) -> list[Solved]:
        """Solve for decreasing penalties (a,), none larger than those before."""
        found: list[Solved] = []
        if self._knots is not None:
            between = self._strides(float(alphas[0]))
            found = self._along_knots(np.concatenate([between, alphas]), squared=False)[1]
            found = found[len(between) :]
        found += [self.solve(float(alpha)) for alpha in alphas[len(found) :]]
        return found

    def largest_lambda(self) -> float:
        """The lambda at which the first penalised column enters; zero where none ever does."""
        if self._knots is None and self._alpha > 0:
            # Columns without a penalty are fitted first.
            self.solve(self._alpha)
        return self._alpha * float(np.sqrt(self._square))

    @property
    def fits_exactly(self) -> bool:
        """Whether the last solution fits its rows, so that smaller penalties change nothing."""
        return self._square <= EXACT_FIT * self.target.null**2

    def descend(self, lambdas: FloatArray) -> tuple[FloatArray, list[Solved]]:
        """Solve the problems whose solutions have decreasing lambdas (a,); their penalties too.

        Fewer come back where the fit becomes exact: the penalty no longer falls with lambda.
        """
        penalties = np.empty(0)
        found: list[Solved] = []
        if self._knots is not None:
            penalties, found = self._along_knots(lambdas, squared=True)
        for level in lambdas[len(found) :]:
            if self.fits_exactly:
                break
            # The residual shrinks on the way, so lambda ends a little below.
            alpha = min(float(level) / np.sqrt(self._square), SLOWEST * self._alpha)
            penalties = np.append(penalties, alpha)
            found.append(self.solve(alpha))
        return penalties, found

    def solve(self, alpha: float, start: tuple[IntArray, FloatArray] | None = None) -> Solved:
        """Solve for one penalty round by round, from the last solution or a better start."""
        if self._walk is None:
            self._walk = Walk(self.target, self._gram, self._tol, self._max_rounds)
            self._walk.point = self.target.point(self._support, self._values)
            self._walk.alpha = self._alpha
            if self._exact_end is not None:
                self._walk.offer_exact(*self._exact_end, alpha)
        if start is not None:
            residual = self.target.training.residual(self.target.y, *start)
            square = self.target.training.square(residual)
            # A nearly exact fit is only as good as the digits left of its residual: do not use it.
            if square > (SMALL_RESIDUAL * self.target.null) ** 2:
                self._walk.offer(*start, alpha)
        values, ended, steps = self._walk.solve(alpha)
        primal = self._make_exact(self._walk, values.primal, alpha)
        point = self._walk.point
        self._alpha, self._square = alpha, point.square
        # Checking a start that needs no step counts as one.
        return Solved(point.support, point.values, primal, values.dual, max(steps, 1), ended)

    def _make_exact(self, walk: Walk, primal: float, alpha: float) -> float:
        """Move a nearly exact fit to an exact one on its support, where that costs nothing.

        Which point within the tolerance a solver stops at there depends on rounding. Returns the
        objective.
        """
        point, target = walk.point, self.target
        if point is self._made_exact:
            return primal
        near = point.length <= NEARLY_EXACT * target.null
        if not near or not 0 < len(point.support) * len(point.residual) <= MOST_SIGN_ENTRIES:
            return primal
        view = target.training.view
        missed = view.root * point.residual
        values = exact_fit(view.columns(point.support), point.values, missed)
        fitted = target.point(point.support, values)
        lower = target.primal(fitted, alpha)
        if lower < primal:
            walk.point, primal = fitted, lower
        self._made_exact = walk.point
        return primal

    def _strides(self, alpha: float) -> FloatArray:
        """Penalties on the way to one that is far below the last."""
        if self._whole:
            return np.empty(0)
        count = int(np.log(max(self._alpha / alpha, 1.0)) / -np.log(STRIDE))
        return np.asarray(self._alpha * STRIDE ** np.arange(1, count + 1))

    def _along_knots(self, penalties: FloatArray, squared: bool) -> tuple[FloatArray, list[Solved]]:
        """Solve for a leading part of decreasing alphas, or lambdas where `squared`.

        Returns the alphas and the solutions; where some are missing the walk is over.
        """
        assert self._knots is not None
        alphas = np.empty(0)
        found: list[Solved] = []
        looks = 0
        while looks < MOST_LOOKS:
            rest = penalties[len(found) :]
            if not self._whole:
                # Columns that enter much later would slow down every knot before.
                rest = rest[rest >= STRIDE * rest[0]]
                self._gram.include(self._joining(float(rest[-1]), squared))
            stretch = self._knots.find(rest, squared)
            reached, part, missing = self._proved(stretch, rest, squared)
            if part:
                alphas = np.concatenate([alphas, reached[: len(part)]])
                found += part
                self._knots.move_to(stretch, len(part) - 1)
            if len(found) == len(penalties):
                return alphas, found
            if self._gram.include(missing) == 0 and not part:
                break
            looks = 0 if len(part) == len(rest) else looks + 1
        self._exact_end = self._knots.exact_end
        self._knots = None
        return alphas, found

    def _proved(
        self, stretch: Stretch, penalties: FloatArray, squared: bool
    ) -> tuple[FloatArray, list[Solved], IntArray]:
        """Alphas of a stretch, its leading proved solutions, and missing columns."""
        if len(stretch) == 0:
            return np.empty(0), [], np.empty(0, dtype=np.intp)
        judged = self._judged(stretch, penalties, squared)
        missing = self._missing(stretch, judged)
        if len(missing) == 0 and not judged.proved.all() and judged.scores is not None:
            # The Gram matrix and the spread of the walk leave too few digits for some proofs.
            faces = self._faces(stretch, judged.leading, penalties, squared)
            again = self._judged(stretch, penalties, squared, faces)
            if again.leading > judged.leading:
                judged, missing = again, self._missing(stretch, again)
        count, alphas = judged.leading, judged.alphas
        solved = [
            Solved(s, w, float(p), float(d))
            for (s, w), p, d in zip(judged.points[:count], judged.primal, judged.dual, strict=False)
        ]
        if solved:
            solved[0] = solved[0]._replace(steps=stretch.knots)
            self._support, self._values = solved[-1].support, solved[-1].values
            self._alpha, self._square = float(alphas[count - 1]), float(judged.squares[count - 1])
        if solved and judged.scores is not None:
            self._scores = judged.scores[:, count - 1]
        return alphas, solved, missing

    def _missing(self, stretch: Stretch, judged: _Judged) -> IntArray:
        """Columns outside the Gram matrix that the first point without a proof violates."""
        count, scores = judged.leading, judged.scores
        if scores is None or count == len(judged.proved):
            return np.empty(0, dtype=np.intp)
        beyond = np.flatnonzero(scores[:, count] > stretch.lambdas[count])
        return largest(self._gram.missing(beyond), scores[:, count], self._most_joining)

    def _judged(
        self,
        stretch: Stretch,
        penalties: FloatArray,
        squared: bool,
        faces: Mapping[int, Face] | None = None,
    ) -> _Judged:
        """Certificates of the points of a stretch; `faces` replace some of them."""
        target = self.target
        points, l1 = stretch.points, stretch.l1
        squares, inner, worst = stretch.squares, stretch.inner, stretch.worst
        lengths = seen_lengths = np.sqrt(squares)
        scores = None
        trusted = squares * self._tol > GRAM_ERROR * target.null**2
        if faces is not None or not (self._whole and trusted.all()):
            faces = faces or {}
            points = [faces[i][:2] if i in faces else point for i, point in enumerate(points)]
            residuals = self._residuals(points)
            lengths = seen_lengths = self._lengths(residuals)
            l1 = np.array([float(target.factor[s] @ np.abs(w)) for s, w in points])
            for number, face in faces.items():
                residuals[:, number] = face.residual
            if faces:
                seen_lengths = self._lengths(residuals)
            inner = residuals.T @ (target.training.weights * target.y)
            scores = self._score(target.training.correlate(residuals))
            worst = scores.max(axis=0)
        alphas = penalties[: len(points)]
        if squared:
            alphas = alphas / lengths
        primal = full_primal(lengths, alphas, l1)
        # Columns may see more than was computed, by the rounding of products with r or, in a Gram
        # matrix, with y.
        rounded = target.null if scores is None else seen_lengths
        worst = worst + target.rounding * rounded
        dual = dual_of_ratio(worst, seen_lengths, inner, alphas)
        proved = relative_gap(primal, dual, np.full_like(primal, target.null)) <= self._tol
        return _Judged(points, alphas, lengths**2, primal, dual, proved, scores)

    def _faces(
        self, stretch: Stretch, first: int, penalties: FloatArray, squared: bool
    ) -> dict[int, Face]:
        """Points of a stretch computed from the columns themselves, starting at `first`."""
        found: dict[int, Face] = {}
        entries = 0
        for number in range(first, len(stretch)):
            support, values = stretch.points[number]
            entries += len(support) * len(self.target.y)
            if entries > MOST_SIGN_ENTRIES:
                break
            face = self.target.on_face(support, values, float(penalties[number]), squared)
            if face is not None:
                found[number] = face
        return found

    def _residuals(self, points: Points) -> FloatArray:
        """Residuals (m, a) of points, from X itself."""
        training, y = self.target.training, self.target.y
        return np.column_stack([training.residual(y, s, w) for s, w in points])

    def _lengths(self, residuals: FloatArray) -> FloatArray:
        """||r||_W (a,) of residuals (m, a)."""
        weights = self.target.training.weights[:, None]
        return np.sqrt(np.einsum("ij,ij->j", weights * residuals, residuals))

    def _score(self, seen: FloatArray) -> FloatArray:
        """|x_j'r| / f_j of columns (n,) or (n, a), zero for excluded ones."""
        factor = self.target.factor if seen.ndim == 1 else self.target.factor[:, None]
        size = np.maximum(seen, 0.0) if self.target.positive else np.abs(seen)
        return size / factor

    def _joining(self, last: float, squared: bool) -> IntArray:
        """Columns likely to enter before the last penalty, the support among them."""
        level = last if squared else last * np.sqrt(self._square)
        near = np.flatnonzero(self._scores > NEAR * level)
        outside = near[self._gram.place[near] < 0]
        joining = largest(outside, self._scores, self._most_joining)
        return np.concatenate([self._support, joining])

    @property
    def _most_joining(self) -> int:
        """How many columns may join at a time."""
        return min(max(MOST_JOINING, 2 * len(self._support)), self._gram.room)
