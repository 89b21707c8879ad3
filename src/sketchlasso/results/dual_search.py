"""The best dual point of the full problem that given coefficients point to.

The scaled residual is tried first. Where it proves too little, points that meet the constraints
of the support with equality are tried, then points that meet the worst violated ones, as
:mod:`sketchlasso.problem.tight_points` makes them. Every feasible point is a proof, so the
largest value counts. Products with X are shared by all coefficients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sketchlasso.data import BlockMatrix
from sketchlasso.data.transform import column_lengths
from sketchlasso.linalg.rows import lengths
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.problem.formulas import relative_gap
from sketchlasso.problem.full_problem import (
    MOST_SIGN_ENTRIES,
    SMALL_RESIDUAL,
    FullView,
    unit,
)
from sketchlasso.problem.lower_bounds import LowerBounds
from sketchlasso.problem.tight_points import tight_parts
from sketchlasso.problem.unpenalised import unpenalised_columns
from sketchlasso.types import BoolArray, FloatArray, IntArray

# Relative gap that is not worth improving.
TIGHT = 1e-9
# Rounds in which violated constraints join those of the support, and rounds without the support.
SUPPORT_ROUNDS = 10
VIOLATED_ROUNDS = 2
# Violated constraints that join in a round, and that may join at all.
MOST_JOINING = 64
MOST_JOINED = 256
# Where more than this are violated, meeting a few of them proves nothing.
HOPELESS = 8 * MOST_JOINED
# Columns of the support that see less than this share of their penalty are not near the optimum.
NEAR = 0.5
# Operations that all factorisations together, and one in units of X's entries, may take.
WORK = 4e9
WORK_PER_ENTRY = 20


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients and what is known of them; responses and residuals are centred and scaled."""

    rows: Any  # csr_array (p, n)
    residual: FloatArray  # (m, p)
    response: FloatArray  # (m, 1) or (m, p)
    primal: FloatArray  # (p,)
    null: FloatArray  # (p,)

    @cached_property
    def directions(self) -> FloatArray:
        """The residuals, made of unit length."""
        return unit(self.residual)

    @cached_property
    def small(self) -> BoolArray:
        """Whether the residuals (p,) are too small to be trusted alone."""
        return np.asarray(lengths(self.residual) <= SMALL_RESIDUAL * self.null)

    def of(self, b: int) -> tuple[IntArray, FloatArray]:
        """Support (s,) of one row and its coefficients."""
        part = slice(self.rows.indptr[b], self.rows.indptr[b + 1])
        used = self.rows.data[part] != 0
        return self.rows.indices[part][used].astype(np.intp), self.rows.data[part][used]


@dataclass(eq=False)
class Attempt:
    """Constraints of one row of coefficients that its dual point is to meet."""

    b: int  # the row
    chosen: IntArray  # (s,): columns whose constraints are met with equality
    target: FloatArray  # (s,): what these columns are to see
    part: FloatArray  # (s,): |w_j|, or inf for columns that count in any case
    bounded: IntArray  # (v,): columns that are to see no more than their penalty

    @property
    def columns(self) -> IntArray:
        """All columns concerned."""
        return np.concatenate([self.chosen, self.bounded])

    def keep(self, kept: IntArray) -> None:
        """Leave out all chosen columns but some."""
        self.chosen = self.chosen[kept]
        self.target, self.part = self.target[kept], self.part[kept]


def best_dual(
    view: FullView,
    start: Coefficients,
    factor: FloatArray,
    alphas: FloatArray,
    positive: bool,
    known: FloatArray | None = None,
) -> FloatArray:
    """Largest dual values (p,) found, for penalty factors (n,) and penalties (p,).

    `known` (p,) are lower bounds that a solver has proved, zero where it has none; no other is
    looked for where it has.
    """
    dual = np.zeros(len(alphas)) if known is None else known.copy()
    if known is not None and not _dependence_is_known(view, factor, positive):
        dual[:] = 0.0
    unpenalised = np.where(np.isinf(factor), factor, 0.0)
    sizes = column_lengths(view.X, view.weights) if (dual == 0).any() else np.empty(0)
    for zero in (False, True):
        members = np.flatnonzero(((alphas == 0) == zero) & (dual == 0))
        if len(members) == 0:
            continue
        own = unpenalised if zero else factor
        if np.count_nonzero(own == 0) * len(view.root) > MOST_SIGN_ENTRIES and zero:
            continue  # zero is a valid bound, and all columns are too many to clear
        search = _DualSearch(view, start, own, alphas, positive, dual, sizes)
        seen = search.along(start.directions[:, members], members)
        if not zero:
            search.meet_constraints(members, seen)
    return dual


def _dependence_is_known(view: FullView, factor: FloatArray, positive: bool) -> bool:
    """Whether unpenalised columns that a solver took for dependent up to rounding are so."""
    free = np.flatnonzero(factor == 0)
    if view.rounded or len(free) == 0:
        return True
    columns = unpenalised_columns(
        view.entries(free), view.weights, view.fit_intercept, positive, rounded=False
    )
    return columns.complete


class _DualSearch:
    """Searches for better dual values, which are written into `dual` (p,)."""

    def __init__(
        self,
        view: FullView,
        start: Coefficients,
        factor: FloatArray,
        alphas: FloatArray,
        positive: bool,
        dual: FloatArray,
        sizes: FloatArray,
    ) -> None:
        self.view, self.start, self.factor = view, start, factor
        self.alphas, self.positive, self.dual = alphas, positive, dual
        self.free = np.flatnonzero(factor == 0)
        self.penalised = (factor > 0) & np.isfinite(factor)
        self.bounds = LowerBounds(view, sizes, factor, positive, start.response)

    def along(self, directions: FloatArray, owners: IntArray, points: bool = False) -> FloatArray:
        """Try directions (m, d) for the rows `owners` (d,); returns what X sees of them (n, d).

        Those that are points are made shorter where they are longer than one.
        """
        found = self.bounds.along(directions, owners, points)
        np.maximum.at(self.dual, owners, self.bounds.values(found, self.alphas[owners]))
        return found.seen

    def _is_loose(self, b: int) -> bool:
        start = self.start
        return bool(relative_gap(start.primal[[b]], self.dual[[b]], start.null[[b]])[0] > TIGHT)

    def meet_constraints(self, members: IntArray, seen: FloatArray) -> None:
        """Try points that meet constraints with equality, for rows that are not proved yet.

        `seen` (n, rows) is what X sees of the residuals of the rows `members`.
        """
        for first, rounds in ((self._of_support, SUPPORT_ROUNDS), (self._none, VIOLATED_ROUNDS)):
            attempts = [first(b, seen[:, i]) for i, b in enumerate(members) if self._is_loose(b)]
            for _ in range(rounds):
                attempts = self._round(attempts)

    def _of_support(self, b: int, seen: FloatArray) -> Attempt:
        """The support of row b, without columns whose constraints the residual is far from."""
        support, values = self.start.of(b)
        limit = self.alphas[b] * self.factor[support]
        if not self.start.small[b]:
            near = np.sign(values) * seen[support] >= NEAR * limit
            near = np.where(limit > 0, near, self.positive)
            support, values, limit = support[near], values[near], limit[near]
        return self._attempt(b, support, limit * np.sign(values), np.abs(values))

    def _none(self, b: int, seen: FloatArray) -> Attempt:
        """No constraint but those that the residual violates most."""
        nothing = np.empty(0)
        attempt = self._attempt(b, nothing.astype(np.intp), nothing, nothing)
        self._join_violated(attempt, seen)
        return attempt

    def _attempt(self, b: int, chosen: IntArray, target: FloatArray, part: FloatArray) -> Attempt:
        if self.positive:  # a negative correlation with these is allowed
            return Attempt(b, chosen, target, part, self.free)
        free = np.setdiff1d(self.free, chosen)
        return Attempt(
            b,
            np.concatenate([chosen, free]),
            np.concatenate([target, np.zeros(len(free))]),
            np.concatenate(
                [np.where(self.factor[chosen] == 0, np.inf, part), np.full(len(free), np.inf)]
            ),
            self.free[:0],
        )

    def _join_violated(self, attempt: Attempt, seen: FloatArray) -> bool:
        """Add the constraints that a point violates most, if any."""
        limit = self.alphas[attempt.b] * self.factor
        size = seen if self.positive else np.abs(seen)
        violated = self.penalised & (size > limit * (1 + TIGHT))
        violated[attempt.columns] = False
        outside = np.flatnonzero(violated)
        if len(outside) > HOPELESS:
            return False
        most = max(min(MOST_JOINING, MOST_JOINED - len(attempt.bounded)), 0)
        if len(outside) > most:
            ratio = size[outside] / self.factor[outside]
            outside = outside[np.argsort(-ratio)[:most]]
        attempt.bounded = np.concatenate([attempt.bounded, outside])
        return len(outside) > 0

    def _round(self, attempts: list[Attempt]) -> list[Attempt]:
        """Try the points of some attempts; returns those worth another round."""
        again = []
        for group in self._grouped(attempts):
            directions, owners = self._points(group)
            if not directions:
                continue
            seen = self.along(np.column_stack(directions), np.array(owners), points=True)
            first = {b: d for d, b in reversed(list(enumerate(owners)))}
            for attempt in group:
                still = attempt.b in first and self._is_loose(attempt.b)
                if still and self._join_violated(attempt, seen[:, first[attempt.b]]):
                    again.append(attempt)
        return again

    def _points(self, group: list[Attempt]) -> tuple[list[FloatArray], list[int]]:
        """Directions to try, and the rows they are for."""
        union = np.unique(np.concatenate([attempt.columns for attempt in group]))
        held = self.view.columns(union)
        directions: list[FloatArray] = []
        owners: list[int] = []
        for attempt in group:
            with single_blas_thread():
                points = self._points_of(attempt, union, held)
            directions += points
            owners += [attempt.b] * len(points)
        return directions, owners

    def _points_of(self, attempt: Attempt, union: IntArray, held: FloatArray) -> list[FloatArray]:
        """Points of one attempt."""
        b = attempt.b
        columns = held[:, np.searchsorted(union, attempt.chosen)]
        part = attempt.part * lengths(columns)
        most = part[np.isfinite(part)].max(initial=0.0) or 1.0
        part = np.where(np.isfinite(part), part, most)
        found = tight_parts(columns, part, attempt.target, self.start.directions[:, b])
        if found is None:
            return []
        points = found.points(bool(self.start.small[b]))
        # Columns left out here may join again as violated ones.
        attempt.keep(found.kept)
        if len(attempt.bounded):
            others = held[:, np.searchsorted(union, attempt.bounded)]
            limit = self.alphas[b] * self.factor[attempt.bounded]
            points = [found.moved(point, others, limit, self.positive) for point in points]
        return points

    def _grouped(self, attempts: list[Attempt]) -> Iterator[list[Attempt]]:
        """Attempts that are worth their work, in groups whose columns fit in memory."""
        m = len(self.view.root)
        allowed = max(WORK / max(len(self.dual), 1), WORK_PER_ENTRY * self.view.size)
        most = MOST_SIGN_ENTRIES // m
        group: list[Attempt] = []
        union: set[int] = set()
        for attempt in attempts:
            count = len(attempt.columns)
            if count == 0 or count > most or 4.0 * m * count * min(m, count) > allowed:
                continue
            joined = union | set(attempt.columns.tolist())
            if len(joined) > most:
                yield group
                if isinstance(self.view.X, BlockMatrix):
                    return  # every group is a pass over the blocks
                group, joined = [], set(attempt.columns.tolist())
            group.append(attempt)
            union = joined
        if group:
            yield group
