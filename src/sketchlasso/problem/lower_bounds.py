"""Lower bounds of the full problem that hold despite rounding.

A computed x_j'W d is off by up to e_j = eps ||x_j|| ||d||. Where alpha f_j is of that size, a point
that seems feasible may be far from it. Two bounds count that rounding; the better one is taken.

- Every column may see e_j more than was computed. This costs a share e_j / (alpha f_j) of the
  bound: nothing, unless a penalty is little.
- Columns of little or no penalty form a set D. If they are independent, there is a point near the
  computed one at which all of D see exactly what their constraints allow. The bound is that
  point's: other columns, the response and the length count by how far it may be. This costs
  nothing unless D is nearly dependent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sketchlasso.linalg.rows import lengths, rounding_of_sums
from sketchlasso.problem.full_problem import FullView, dual_of_ratio, largest_ratio, unit
from sketchlasso.problem.unpenalised import (
    MOST_DOUBT,
    UnpenalisedColumns,
    outward,
    unpenalised_columns,
)
from sketchlasso.types import BoolArray, FloatArray, IntArray

# A penalty is little where rounding of its column may exceed this share of it.
LITTLE_SHARE = 1e-10
# Columns that come within this many roundings of their limit are forgiven that.
MARGIN = 10.0
# The second bound is not worth its work where it can gain no more than this share.
LEAST_GAIN = 1e-9
# What columns see of shorter points may underflow.
SHORTEST = 1e-100
# A product of two numbers may underflow by this much.
SMALLEST = np.finfo(np.float64).smallest_subnormal
# Operations of a decomposition of the columns of little penalty.
MOST_WORK = 4e8


class Directions(NamedTuple):
    """Dual directions d among the scaled rows. Products with X serve every penalty."""

    seen: FloatArray  # (n, p): x_j'W d of all columns, as computed
    length: FloatArray  # (p,): ||d||_W
    inner: FloatArray  # (p,): y'W d
    which: IntArray | None = None  # (p,): the response of each, where there are several

    def take(self, numbers: IntArray) -> Directions:
        """Some of the directions (c,)."""
        which = None if self.which is None else self.which[numbers]
        return Directions(self.seen[:, numbers], self.length[numbers], self.inner[numbers], which)


@dataclass(frozen=True, eq=False)
class Doubt:
    """What rounding hides of a direction of length one."""

    # How much more a column (n,) may see than was computed; negative where that is forgiven.
    of_columns: FloatArray
    of_responses: FloatArray  # (r,): by how much y'd may be smaller
    stretch: float = 0.0  # by how much the direction may be longer


@dataclass(eq=False)
class LowerBounds:
    """The bounds of one problem, for one response or several."""

    view: FullView
    sizes: FloatArray  # (n,): ||x_j||_W of the columns as they are given
    factor: FloatArray  # (n,)
    positive: bool
    responses: FloatArray  # (m, r), centred and on scaled rows
    _near: dict[bytes, Doubt | None] = field(default_factory=dict)

    @cached_property
    def free(self) -> UnpenalisedColumns | None:
        """The columns of factor zero, if there are any."""
        chosen = np.flatnonzero(self.factor == 0)
        if len(chosen) == 0:
            return None
        view = self.view
        return unpenalised_columns(
            view.entries(chosen), view.weights, view.fit_intercept, self.positive, view.rounded
        )

    def along(
        self, directions: FloatArray, which: IntArray | None = None, points: bool = False
    ) -> Directions:
        """Prepare directions (m, p) on scaled rows, for the responses `which` (p,).

        They lose what the intercept and the unpenalised columns see of them, and become of length
        one; those that are `points` become no longer than one, if none is very short.
        """
        directions = self.view.centre(directions)
        if self.free is not None:
            directions = self._centred_again(self.free.clear(directions))
        length = lengths(directions)
        if points and (length > SHORTEST).all():
            directions = directions / np.maximum(length, 1.0)
        else:
            directions = unit(directions)
        responses = self.responses
        if which is not None and responses.shape[1] > 1:
            responses = responses[:, which]
        inner = np.sum(responses * directions, axis=0)
        return Directions(self.view.correlate(directions), lengths(directions), inner, which)

    def _centred_again(self, cleared: FloatArray) -> FloatArray:
        """Cleared directions (m, p) without the mean that centring left them.

        Where little is left of a direction that rounding counts. What is mostly a mean would leave
        nothing but rounding: it becomes zero.
        """
        centred = self.view.centre(cleared)
        moved = np.linalg.norm(centred - cleared, axis=0)
        return np.where(moved <= MOST_DOUBT * np.linalg.norm(cleared, axis=0), centred, 0.0)

    def values(self, along: Directions, alphas: FloatArray) -> FloatArray:
        """Lower bounds (p,) that directions prove for penalties (p,)."""
        found = self._bounds(self._plain, along, alphas)
        for d in np.flatnonzero(alphas * LITTLE_SHARE <= self.largest_rounding):
            one = self._nearby_bound(found[d], along.take(np.array([d])), alphas[[d]])
            found[d] = max(found[d], one)
        return found

    def _nearby_bound(self, least: float, along: Directions, alpha: FloatArray) -> float:
        """The second bound of one direction; zero where it cannot exceed `least` by much."""
        limit = alpha[0] * self.factor
        little = self._penalised & (self.rounding > LITTLE_SHARE * limit)
        # Forgiving the rounding of little penalties gives no more than this.
        forgiven = Doubt(np.where(little, -self.rounding, 0.0), np.zeros(1))
        hoped = self._bounds(forgiven, along, alpha)[0]
        if not hoped > least * (1.0 + LEAST_GAIN):
            return 0.0
        # A column that stays below its limit in any case needs no forgiveness.
        length = along.length[0]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scale = min(1.0 / length, hoped / along.inner[0])
            size = scale * (np.abs(along.seen[:, 0]) + MARGIN * self.rounding * length)
        doubt = self._nearby(np.flatnonzero(little & ~(size < limit)))
        return 0.0 if doubt is None else float(self._bounds(doubt, along, alpha)[0])

    def _bounds(self, doubt: Doubt, along: Directions, alphas: FloatArray) -> FloatArray:
        lost = doubt.of_responses
        if along.which is not None and len(lost) > 1:
            lost = lost[along.which]
        with np.errstate(invalid="ignore", over="ignore"):
            unsure = np.outer(doubt.of_columns, along.length)
            size = outward(along.seen, unsure, self.positive)
            found = dual_of_ratio(
                largest_ratio(size, self.factor, positive=True),
                along.length * (1.0 + doubt.stretch),
                along.inner - lost * along.length,
                alphas,
            )
        # A column too long for a double leaves NaN, which proves nothing.
        return np.where(np.isnan(found), 0.0, found)

    @cached_property
    def rounding(self) -> FloatArray:
        """Rounding (n,) of what the columns see of a direction of length one."""
        m = len(self.responses)
        return np.asarray(rounding_of_sums(m) * self.sizes + m * SMALLEST)

    @cached_property
    def largest_rounding(self) -> float:
        """Rounding of |x_j'W d| / f_j for ||d|| = 1, the largest of the penalised columns."""
        used = self._penalised
        with np.errstate(over="ignore"):
            return float(np.max(self.rounding[used] / self.factor[used], initial=0.0))

    @cached_property
    def _penalised(self) -> BoolArray:
        return np.asarray((self.factor > 0) & np.isfinite(self.factor) & (self.sizes > 0))

    @cached_property
    def _plain(self) -> Doubt:
        """The doubt of the first bound."""
        if self.free is None:
            return Doubt(self.rounding, np.zeros(1))
        moved: FloatArray | float = 0.0
        if self.free.distance <= MOST_DOUBT:
            # No vector sees more of a short move than their lengths allow.
            moved = self.free.distance * self.sizes
            if self.free.in_doubt:
                moved = self.free.doubt(self.view.correlate(self.free.basis))
        of_responses = self.free.doubt(self.responses.T @ self.free.basis)
        return Doubt(self.rounding + moved, of_responses)

    def _nearby(self, little: IntArray) -> Doubt | None:
        """The doubt of the second bound, or None where it proves nothing."""
        key = little.tobytes()
        if key not in self._near:
            self._near[key] = self._found_nearby(little)
        return self._near[key]

    def _found_nearby(self, little: IntArray) -> Doubt | None:
        together = np.union1d(little, np.flatnonzero((self.factor == 0) & (self.sizes > 0)))
        m = len(self.responses)
        if len(together) > m or m * len(together) ** 2 > MOST_WORK:
            return None
        entries = self.view.entries(together)
        # What is met for one of two equal columns is met for both.
        distinct = _distinct(entries)
        span = unpenalised_columns(
            entries[:, distinct],
            self.view.weights,
            self.view.fit_intercept,
            positive=False,
            rounded=True,
        )
        # A correlation that seems to exceed its limit by its rounding may do so by twice as much,
        # and by four times where it is that of an equal column.
        times = 2.0 if len(distinct) == len(together) else 4.0
        if span.basis.shape[1] < len(distinct) or times * span.distance > MOST_DOUBT:
            return None
        of_columns = self.rounding + times * span.doubt(self.view.correlate(span.basis))
        # Not the rounding of all columns, which may be rounded up: squares underflow.
        whole = lengths(self.view.root[:, None] * entries)
        forgiven = np.minimum(self.rounding[together], rounding_of_sums(m) * whole)
        of_columns[together] = -forgiven
        of_responses = times * span.doubt(self.responses.T @ span.basis)
        return Doubt(of_columns, of_responses, times * span.distance)


def _distinct(entries: FloatArray) -> IntArray:
    """Columns (c,) of entries (m, q), one of those that are equal or opposite."""
    first = np.argmax(entries != 0, axis=0)
    signs = np.sign(entries[first, np.arange(entries.shape[1])])
    return np.unique(entries * np.where(signs == 0, 1.0, signs), axis=1, return_index=True)[1]
