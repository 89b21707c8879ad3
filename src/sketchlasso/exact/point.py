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
    FullView,
    dual_of_ratio,
    face_level,
    full_primal,
    largest_ratio,
    unit,
)
from sketchlasso.problem.lower_bounds import LITTLE_SHARE, LowerBounds
from sketchlasso.problem.tight_points import DEPENDENT, tight_parts
from sketchlasso.problem.unpenalised import UnpenalisedColumns, unpenalised_columns
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


class Direction(NamedTuple):
    """A dual direction d among the rows: x_j'd of all columns (n,), ||d|| and y'd.

    The products with X serve every penalty.
    """

    seen: FloatArray
    length: float
    inner: float


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
        self.unpenalised: UnpenalisedColumns | None = None
        if len(self.free):
            entries = training.columns.dense(self.free)
            self.unpenalised = unpenalised_columns(
                entries, training.weights, training.fit_intercept, positive, rounded=True
            )

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
        root = self.root
        y = root * self.y
        Q, R = linalg.qr(self.training.scaled(support), mode="economic", check_finite=False)
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
        residual = np.divide(left, root, out=np.zeros_like(left), where=root > 0)
        return Face(support, better, residual)

    def primal(self, point: Point, alpha: float) -> float:
        """||r||_W + alpha sum_j f_j |w_j|."""
        l1 = float(self.factor[point.support] @ np.abs(point.values))
        return full_primal(point.length, alpha, l1)

    def alpha_max(self) -> float:
        """Smallest penalty at which the fit of the unpenalised columns alone is optimal."""
        left = self.root * self.y
        if self.unpenalised is not None:
            left = self.unpenalised.project(left[:, None])[:, 0]
        length = float(np.linalg.norm(left))
        if length <= 1e-12 * self.null or length == 0.0:
            return 0.0
        seen = self.seen_by_columns(left) / length
        return float(largest_ratio(seen[:, None], self.factor, self.positive)[0])

    def certificate(self, point: Point, alpha: float) -> FullValues:
        """Objective, and the best dual value along the residual and the signs of the point."""
        dual = self.dual(self._along_residual(point), alpha)
        small = self._has_little or point.length <= SMALL_RESIDUAL * self.null
        entries = len(point.support) * len(point.residual)
        if small and 0 < entries <= MOST_SIGN_ENTRIES:
            for along in self._tight(point, alpha):
                dual = max(dual, self.dual(along, alpha))
        return FullValues(self.primal(point, alpha), dual, self.null)

    @cached_property
    def _has_little(self) -> bool:
        """Whether some penalties are so small that rounding of the residual exceeds them."""
        penalties = self.factor[(self.factor > 0) & np.isfinite(self.factor)]
        return bool(penalties.min(initial=1.0) <= LITTLE * penalties.max(initial=1.0))

    def _tight(self, point: Point, alpha: float) -> list[Direction]:
        """Dual points that meet the constraints of the support, made no longer than one."""
        chosen = np.union1d(point.support, self.free)
        values = np.zeros(len(self.factor))
        values[point.support] = point.values
        columns = self.training.scaled(chosen)
        parts = np.abs(values[chosen]) * lengths(columns)
        # Every constraint counts, those of unpenalised columns first.
        parts = np.maximum(parts, LEAST_PART * parts.max(initial=0.0))
        parts[self.factor[chosen] == 0] = parts.max(initial=0.0)
        target = alpha * self.factor[chosen] * np.sign(values[chosen])
        residual = unit((self.root * point.residual)[:, None])[:, 0]
        found = tight_parts(columns, parts, target, residual)
        if found is None:
            return []
        return [
            self.direction(scaled / max(float(np.linalg.norm(scaled)), 1.0))
            for scaled in found.points(small=True)
        ]

    def _along_residual(self, point: Point) -> Direction:
        """The direction of the residual, whose correlations are known."""
        if self.unpenalised is not None:
            return self.direction(self.root * point.residual)
        weighted = self.training.weights * point.residual
        return Direction(point.seen, point.length, float(weighted @ self.y))

    @property
    def root(self) -> FloatArray:
        """Square roots (m,) of the weights."""
        return np.sqrt(self.training.weights)

    def direction(self, scaled: FloatArray) -> Direction:
        """Any dual direction (m,), given on rows scaled by the root of the weights."""
        root = self.root
        if self.training.fit_intercept:
            scaled = scaled - root * float(root @ scaled) / self.training.weight
        if self.unpenalised is not None:
            scaled = self.unpenalised.clear(scaled[:, None])[:, 0]
        seen = self.seen_by_columns(scaled)
        inner = float(scaled @ (root * self.y))
        length = float(np.linalg.norm(scaled))
        return Direction(seen, length, inner)

    @cached_property
    def rounding(self) -> float:
        """Rounding of |x_j'W d| / f_j for ||d|| = 1, the largest of the penalised columns."""
        ratio = largest_ratio(self.training.sizes[:, None], self.factor)[0]
        return float(rounding_of_sums(len(self.y)) * ratio)

    @cached_property
    def bounds(self) -> LowerBounds:
        """What directions prove, with their rounding counted."""
        training, response = self.training, (self.root * self.y)[:, None]
        view = FullView(training.columns.matrix, training.weights, training.fit_intercept, True)
        return LowerBounds(
            view, training.sizes, self.factor, self.positive, self.unpenalised, response
        )

    def seen_by_columns(self, scaled: FloatArray) -> FloatArray:
        """Centred x_j'W d, (n,) or (n, p), of directions (m,) or (m, p) given on scaled rows."""
        root = self.root if scaled.ndim == 1 else self.root[:, None]
        direction = np.divide(scaled, root, out=np.zeros_like(scaled), where=root > 0)
        return self.training.correlate(direction)

    def dual(self, along: Direction, alpha: float) -> float:
        """Dual value of the best point along a direction."""
        length, inner = np.array([along.length]), np.array([along.inner])
        if self.unpenalised is None and self.rounding <= LITTLE_SHARE * alpha:
            # The first of the bounds of `LowerBounds`; the second gains nothing.
            worst = largest_ratio(along.seen[:, None], self.factor, self.positive)
            worst = worst + self.rounding * length
            return float(dual_of_ratio(worst, length, inner, np.array([alpha]))[0])
        return float(self.bounds.values(along.seen[:, None], length, inner, np.array([alpha]))[0])
