"""Coefficients with their residual and correlations, and their full-data certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg

from sketchlasso.exact.columns import TrainingRows
from sketchlasso.linalg.rows import lengths, rounding_of_sums
from sketchlasso.problem.full_problem import (
    MOST_SIGN_ENTRIES,
    SMALL_RESIDUAL,
    FullValues,
    dual_of_ratio,
    face_level,
    full_primal,
    largest_ratio,
    unit,
)
from sketchlasso.problem.lower_bounds import LITTLE_SHARE, Directions, LowerBounds
from sketchlasso.problem.tight_points import DEPENDENT, tight_parts
from sketchlasso.types import FloatArray, IntArray

# Columns of a support count with at least this share of the largest part in the fit.
LEAST_PART = 1e-6
# A penalty factor is little below this share of the largest.
LITTLE = 1e-6


@dataclass(frozen=True, eq=False)
class Point:
    """Coefficients and their residual."""

    support: IntArray  # (s,)
    values: FloatArray  # (s,): the coefficients that are not zero
    residual: FloatArray  # (m,): y - X w with the best intercept
    square: float  # ||r||_W^2
    seen: FloatArray  # (n,): centred x_j'W r

    @property
    def length(self) -> float:
        """||r||_W."""
        return float(np.sqrt(self.square))


class Face(NamedTuple):
    """Coefficients (s,) of a support (s,), and their residual (m,) in more digits."""

    support: IntArray
    values: FloatArray
    residual: FloatArray


def largest(columns: IntArray, scores: FloatArray, limit: int) -> IntArray:
    """At most `limit` of some columns (c,), those with the largest scores (n,)."""
    if len(columns) <= limit:
        return columns
    if limit == 0:
        return columns[:0]
    return columns[np.argpartition(scores[columns], -limit)[-limit:]]


class Target:
    """One response y (m,) on one row set, with penalty factors (n,): points and certificates."""

    def __init__(
        self, training: TrainingRows, y: FloatArray, factor: FloatArray, positive: bool
    ) -> None:
        self.training = training
        self.y, self.y_mean = training.centre_response(y)
        self.factor = factor
        self.positive = positive
        self.null = float(np.sqrt(training.square(self.y)))
        self.free = np.flatnonzero(factor == 0)

    def point(self, support: IntArray, values: FloatArray) -> Point:
        """The point of given coefficients: the two products with X."""
        kept = values != 0
        support, values = support[kept], values[kept]
        residual = self.training.residual(self.y, support, values)
        square = self.training.square(residual)
        return Point(support, values, residual, square, self.training.correlate(residual))

    def on_face(
        self, support: IntArray, values: FloatArray, penalty: float, squared: bool
    ) -> Face | None:
        """Solve on the support and signs of given coefficients, from the columns themselves.

        With Z = QR the columns of the support and p their signed factors, Z'r = lambda p gives
        w = R^-1 (Q'y - lambda R^-T p) and r = y - QQ'y + lambda Q R^-T p. Computed like this, r
        has more digits than y - Zw. None where w has other signs or the columns depend on each
        other.

        The penalty is alpha, or lambda = alpha ||r|| where `squared`.
        """
        kept = values != 0
        support, values = support[kept], values[kept]
        if not 0 < len(support) <= len(self.y):
            return None
        view = self.training.view
        y = view.root * self.y
        Q, R = linalg.qr(view.columns(support), mode="economic", check_finite=False)
        pivots = np.abs(np.diag(R))
        if pivots.min() <= DEPENDENT * pivots.max():
            return None
        inner = Q.T @ y
        outside = y - Q @ inner
        outside -= Q @ (Q.T @ outside)
        pull = linalg.solve_triangular(R, self.factor[support] * np.sign(values), trans="T")
        level = penalty
        if not squared:
            # Where the penalty leaves no room the fit is exact.
            level = np.nan_to_num(face_level(penalty, outside @ outside, pull @ pull))
        better = linalg.solve_triangular(R, inner - level * pull)
        if not np.all(np.sign(better) == np.sign(values)):
            return None
        left = outside + level * (Q @ pull)
        residual = np.divide(left, view.root, out=np.zeros_like(left), where=view.root > 0)
        return Face(support, better, residual)

    def primal(self, point: Point, alpha: float) -> float:
        """||r||_W + alpha sum_j f_j |w_j|."""
        l1 = float(self.factor[point.support] @ np.abs(point.values))
        return full_primal(point.length, alpha, l1)

    def alpha_max(self) -> float:
        """Smallest penalty at which the fit of the unpenalised columns alone is optimal."""
        # Without unpenalised columns the bounds, whose sizes take a pass over X, are not needed.
        free = self.bounds.free if len(self.free) else None
        if free is None:
            length, seen = self.null, self.training.correlate(self.y[:, None])
        else:
            view = self.training.view
            left = free.project((view.root * self.y)[:, None])
            length, seen = float(np.linalg.norm(left)), view.correlate(left)
        if length <= 1e-12 * self.null or length == 0.0:
            return 0.0
        return float(largest_ratio(seen / length, self.factor, self.positive)[0])

    def certificate(self, point: Point, alpha: float) -> FullValues:
        """Objective, and the best dual value along the residual and the signs of the point."""
        dual = self.dual(self._along_residual(point), alpha)
        small = self._has_little or point.length <= SMALL_RESIDUAL * self.null
        entries = len(point.support) * len(point.residual)
        if small and 0 < entries <= MOST_SIGN_ENTRIES:
            dual = max(dual, self._tight_dual(point, alpha))
        return FullValues(self.primal(point, alpha), dual, self.null)

    @cached_property
    def _has_little(self) -> bool:
        """Whether some penalties are so small that rounding of the residual exceeds them."""
        penalties = self.factor[(self.factor > 0) & np.isfinite(self.factor)]
        return bool(penalties.min(initial=1.0) <= LITTLE * penalties.max(initial=1.0))

    def _tight_dual(self, point: Point, alpha: float) -> float:
        """The best dual value of points that meet the constraints of the support with equality."""
        chosen = np.union1d(point.support, self.free)
        values = np.zeros(len(self.factor))
        values[point.support] = point.values
        view = self.training.view
        columns = view.columns(chosen)
        parts = np.abs(values[chosen]) * lengths(columns)
        # Every constraint counts, those of unpenalised columns first.
        parts = np.maximum(parts, LEAST_PART * parts.max(initial=0.0))
        parts[self.factor[chosen] == 0] = parts.max(initial=0.0)
        target = alpha * self.factor[chosen] * np.sign(values[chosen])
        residual = unit((view.root * point.residual)[:, None])[:, 0]
        found = tight_parts(columns, parts, target, residual)
        if found is None:
            return 0.0
        points = np.column_stack(found.points(small=True))
        return self.dual(self.bounds.along(points, points=True), alpha)

    def _along_residual(self, point: Point) -> Directions:
        """The direction of the residual, whose correlations are known."""
        if len(self.free):
            return self.bounds.along((self.training.view.root * point.residual)[:, None])
        inner = float((self.training.weights * point.residual) @ self.y)
        return Directions(point.seen[:, None], np.array([point.length]), np.array([inner]))

    @cached_property
    def rounding(self) -> float:
        """Rounding of |x_j'W d| / f_j for ||d|| = 1, the largest of the penalised columns."""
        ratio = largest_ratio(self.training.sizes[:, None], self.factor)[0]
        return float(rounding_of_sums(len(self.y)) * ratio)

    @cached_property
    def bounds(self) -> LowerBounds:
        """What directions prove, with their rounding counted."""
        training = self.training
        response = (training.view.root * self.y)[:, None]
        return LowerBounds(training.view, training.sizes, self.factor, self.positive, response)

    def dual(self, along: Directions, alpha: float) -> float:
        """The best dual value along some directions."""
        alphas = np.full(len(along.length), alpha)
        if len(self.free) == 0 and self.rounding <= LITTLE_SHARE * alpha:
            # The first of the bounds of `LowerBounds`; the second gains nothing.
            worst = largest_ratio(along.seen, self.factor, self.positive)
            worst = worst + self.rounding * along.length
            return float(dual_of_ratio(worst, along.length, along.inner, alphas).max())
        return float(self.bounds.values(along, alphas).max())
