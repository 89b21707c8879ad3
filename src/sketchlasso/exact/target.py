"""One response on one row set: its points, its largest penalty, and certificates.

minimise over w, b    || y - X w - b ||_W  +  radius ||w||_2  +  alpha * sum_j f_j |w_j|
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, optimize

from sketchlasso.exact.columns import TrainingRows
from sketchlasso.kernels.dense import smallest_penalty
from sketchlasso.linalg.rows import lengths, rounding_of_sums
from sketchlasso.problem.formulas import feasible_scale, magnitude
from sketchlasso.problem.full_problem import (
    MOST_SIGN_ENTRIES,
    SMALL_RESIDUAL,
    FullValues,
    Unpenalised,
    dual_bound,
    largest_ratio,
    tight_points,
    unit,
)
from sketchlasso.types import FloatArray, IntArray

# A column keeps no direction of its own below this share of its length.
DEPENDENT = 1e-10
# Columns of a support count with at least this share of the largest part in the fit.
LEAST_PART = 1e-6
# A penalty factor below this share of the largest is little.
LITTLE = 1e-6
# What is left of a response that unpenalised columns explain is rounding below this share.
EXPLAINED = 1e-12


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


class Target:
    """A response y (m,), penalty factors (n,) and a radius, on a row set."""

    def __init__(
        self,
        training: TrainingRows,
        y: FloatArray,
        factor: FloatArray,
        positive: bool,
        radius: float = 0.0,
    ) -> None:
        self.training, self.factor = training, factor
        self.positive, self.radius = positive, radius
        self.y, self.y_mean = training.centre_response(y)
        self.null = float(np.sqrt(training.square(self.y)))
        self.free = np.flatnonzero(factor == 0)
        # The last direction that met the constraints of a support with equality.
        self._last: tuple[FloatArray, float, float] | None = None

    def point(self, support: IntArray, values: FloatArray) -> Point:
        """The point of given coefficients: the two products with X."""
        kept = values != 0
        support, values = support[kept], values[kept]
        residual = self.training.residual(self.y, support, values)
        square = self.training.square(residual)
        return Point(support, values, residual, square, self.training.correlate(residual))

    @cached_property
    def first(self) -> Point:
        """Where paths without a radius begin: the fit of the unpenalised columns alone."""
        if len(self.free) == 0:
            return self.point(self.free, np.empty(0))
        Z, y = self.training.view.columns(self.free), self.training.view.root * self.y
        norms = lengths(Z)
        used = np.flatnonzero(norms > 0)
        if len(used) == 0:
            return self.point(used, np.empty(0))
        if self.positive:
            values = optimize.nnls(Z[:, used] / norms[used], y)[0]
        else:
            values = linalg.lstsq(Z[:, used] / norms[used], y, cond=DEPENDENT)[0]
        return self.point(self.free[used], values / norms[used])

    def alpha_max(self) -> float:
        """Smallest penalty at which no penalised coefficient is needed."""
        if self.radius == 0.0:
            first = self.first
        elif len(self.free):
            first = self._first_with_radius()
        else:
            first = self.point(self.free, np.empty(0))
        if first.length <= EXPLAINED * self.null or first.length == 0.0:
            return 0.0
        seen = first.seen / first.length
        if self.radius == 0.0 or len(first.support):
            # Beside coefficients that are not zero a radius adds no threshold to the others.
            return float(largest_ratio(seen[:, None], self.factor, self.positive)[0])
        size = magnitude(seen, self.positive)
        # What unpenalised columns see takes its part of the radius.
        room = np.sqrt(max(self.radius**2 - float(np.sum(size[self.free] ** 2)), 0.0))
        buffer = np.empty((2, len(seen)))
        return smallest_penalty(seen, self.factor, self.positive, float(room), buffer)

    def _first_with_radius(self) -> Point:
        """The solution v of the unpenalised columns Z alone: a ridge fit.

        Its mu = radius ||r|| / ||v|| is that where ||Z'r|| = mu ||v|| is radius ||r||.
        """
        Z, y = self.training.view.columns(self.free), self.training.view.root * self.y
        k = len(self.free)
        T = linalg.qr(np.column_stack([Z, y]), mode="r", check_finite=False)[0][: k + 1]
        goal = np.concatenate([T[:, k], np.zeros(k)])

        def fit(mu: float) -> FloatArray:
            stacked = np.vstack([T[:, :k], np.sqrt(mu) * np.eye(k)])
            if self.positive:
                return np.asarray(optimize.nnls(stacked, goal)[0])
            return np.asarray(linalg.lstsq(stacked, goal)[0])

        def excess(log_mu: float) -> float:
            values = fit(np.exp(log_mu))
            rest = np.linalg.norm(T[:, k] - T[:, :k] @ values)
            return float(np.exp(log_mu) * np.linalg.norm(values) - self.radius * rest)

        seen = magnitude(Z.T @ y, self.positive)
        square = float(np.sum(Z**2))
        if np.linalg.norm(seen) <= self.radius * self.null or square == 0.0:
            return self.point(self.free[:0], np.empty(0))
        low, high = np.log(square) - 60.0, np.log(square) + 60.0
        if excess(low) >= 0.0:
            # The fit is exact.
            return self.point(self.free, fit(np.exp(low)))
        return self.point(self.free, fit(np.exp(optimize.brentq(excess, low, high))))

    def certificate(self, point: Point, alpha: float, tol: float = 0.0) -> FullValues:
        """Objective, and the best dual value along the residual and the signs of the point.

        The signs are not needed where the gap is at most `tol`.
        """
        if len(self.free) and self.radius == 0.0:
            direction = self.training.view.root * point.residual
            cleared = self._free.clear(direction[:, None])[:, 0]
            dual = self.dual(*self.along(cleared), alpha)
        else:
            inner = float((self.training.weights * point.residual) @ self.y)
            dual = self.dual(point.seen, point.length, inner, alpha)
        small = self._has_little or point.length <= SMALL_RESIDUAL * self.null
        entries = len(point.support) * len(point.residual)
        l1 = float(self.factor[point.support] @ np.abs(point.values))
        primal = point.length + self.radius * float(np.linalg.norm(point.values)) + alpha * l1
        values = FullValues(primal, dual, self.null)
        if not small or not 0 < entries <= MOST_SIGN_ENTRIES:
            return values
        if self._last is not None:
            # The direction of an exact fit serves all smaller penalties.
            values = values.joined(FullValues(primal, self.dual(*self._last, alpha), 0.0))
        if values.relative_gap > tol:
            for tight in self._tight(point, alpha):
                last = self.along(tight)
                dual = self.dual(*last, alpha)
                self._last = last if dual > values.dual else self._last
                values = values.joined(FullValues(primal, dual, 0.0))
        return values

    @cached_property
    def _has_little(self) -> bool:
        """Whether some penalties are so small that rounding of the residual exceeds them."""
        penalties = self.factor[(self.factor > 0) & np.isfinite(self.factor)]
        return bool(penalties.min(initial=1.0) <= LITTLE * penalties.max(initial=1.0))

    @cached_property
    def _free(self) -> Unpenalised:
        """The unpenalised columns."""
        return Unpenalised.of(self.training.view.columns(self.free), self.positive)

    def _tight(self, point: Point, alpha: float) -> list[FloatArray]:
        """Directions on scaled rows that meet the constraints of the support with equality."""
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
        target += self.radius * values[chosen] / np.linalg.norm(point.values)
        residual = unit((view.root * point.residual)[:, None])[:, 0]
        return tight_points(columns, parts, target, residual)

    def along(self, direction: FloatArray) -> tuple[FloatArray, float, float]:
        """Centred x_j'W d (n,), ||d||_W and y'W d of a direction (m,) on scaled rows."""
        view = self.training.view
        direction = view.centre(direction[:, None])
        seen, length = view.correlate(direction)[:, 0], float(np.linalg.norm(direction))
        return seen, length, float((view.root * self.y) @ direction[:, 0])

    def dual(self, seen: FloatArray, length: float, inner: float, alpha: float) -> float:
        """The best dual value along a direction d, by x_j'W d (n,), ||d||_W and y'W d."""
        if not length > 0.0:
            return 0.0
        if self.radius == 0.0:
            bound = dual_bound(
                seen[:, None],
                np.array([length]),
                np.array([inner]),
                np.array([alpha]),
                self.factor,
                self.rounding,
                self.positive,
            )
            return float(bound[0])
        size = magnitude(seen, self.positive)
        rest = (alpha * self.factor)[None]
        scale = feasible_scale(
            size[None], rest, np.array([self.radius]), np.array([1.0 / length]), 0.0
        )
        return max(float(scale[0]) * inner, 0.0)

    @cached_property
    def rounding(self) -> FloatArray:
        """Rounding (n,) of |x_j'W d| for ||d|| = 1."""
        return rounding_of_sums(len(self.y)) * self.training.lengths
