"""Solutions of the problem of a few columns by following the LASSO as its thresholds fall.

The square-root problem with thresholds t has the solution of the LASSO with thresholds l = r t,
where the level r is ||y - X w||, and the solution of the LASSO is piecewise linear in l. A march
along the present face passes a number of knots at once; Newton steps then find the columns that
belong to the support. They maximise the dual of the LASSO held near a centre w_0,

    1/2 ||y - X w||^2 + sum_j l_j |w_j| + 1/2 sum_j e_j (w_j - w_0j)^2

whose Newton matrix (G + diag(e))_AA has a Cholesky factor even where columns depend on each
other. The centre is the last solution, so e does not change the limit. A march that needs too many
Newton steps is undone and a shorter one is tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from scipy import linalg

from sketchlasso.exact.factor import SupportFactor
from sketchlasso.kernels.coordinate import LOST_DIGITS, gram_gap
from sketchlasso.kernels.faces import add_gram_rows, knot_distances, proximal_point
from sketchlasso.problem.full_problem import full_primal
from sketchlasso.types import FloatArray, IntArray

# e_j as a share of G_jj: at first, at least and at most. Large values make Newton steps easy,
# small ones make the centre converge quickly.
HELD = 1e-4
LEAST_HELD = 1e-8
MOST_HELD = 1e-2
# The share is multiplied by this where the level falls by less than the share SETTLED and the gap
# shrinks by less than SLOW.
LESS_HELD = 0.1
SETTLED = 0.01
SLOW = 0.5
# Newton steps before the first march, and after each one.
FIRST_CORRECTIONS = 30
MOST_CORRECTIONS = 10
MOST_MARCHES = 300
# Knots that a march passes, as a share of the support: first and largest share, smallest number.
FIRST_SHARE = 0.1
MOST_SHARE = 0.25
FEWEST_KNOTS = 5
LONGER = 1.5
SHORTER = 0.3
# Share of the level that a single march may take off.
LONGEST = 0.9
# The level stays where the residual adds less than this share of the tolerance to the gap, unless
# the gap no longer shrinks and a small fall is left.
NEGLIGIBLE = 0.3
# Line search: required share of the predicted decrease, and shortest step. Marches cover at least
# this share of the way, too.
ARMIJO = 1e-4
SHORTEST = 1e-3


@dataclass(eq=False)
class Restricted:
    """State of the problem of p columns; w (p,) and q (p,) change in place."""

    G: FloatArray  # (c, c), c >= p: its leading (p, p) part is the Gram matrix
    q: FloatArray  # X'r
    w: FloatArray
    thresholds: FloatArray  # (p,): alpha f_j
    square: float  # ||r||^2
    positive: bool

    @property
    def objective(self) -> float:
        """||r|| + sum_j t_j |w_j|."""
        return self.objective_of(self.w, self.square)

    def objective_of(self, w: FloatArray, square: float) -> float:
        """The objective of other coefficients with their ||r||^2."""
        return full_primal(sqrt(max(square, 0.0)), 1.0, float(self.thresholds @ np.abs(w)))

    def relative_gap(self, w: FloatArray, q: FloatArray, square: float) -> float:
        """Gap / objective of coefficients with their X'r and ||r||^2."""
        primal, gap = gram_gap(self.G, q, w, self.thresholds, square, self.positive)
        return float(gap / primal) if primal > 0.0 else 0.0


@dataclass(eq=False)
class _State:
    """A point near the path of the LASSO: w, c and levels (p,), support and signs (a,)."""

    w: FloatArray
    c: FloatArray  # X'(y - X w)
    square: float  # ||y - X w||^2
    levels: FloatArray  # the thresholds l
    support: IntArray  # the face, as of the last Newton step
    signs: FloatArray

    def moved(
        self, values: FloatArray, seen: FloatArray, length: float, per_level: FloatArray
    ) -> _State:
        """The point at a distance along the face, where w moves by `values` and X'r by -seen."""
        square = self.square + length**2 * float(values @ seen[self.support])
        square -= 2.0 * length * float(values @ self.c[self.support])
        w = self.w.copy()
        w[self.support] += length * values
        levels = self.levels - length * per_level
        return _State(w, self.c - length * seen, square, levels, self.support, self.signs)


class Follower:
    """Solves the problems of one growing Gram matrix, which share its factor.

    `steps` counts the Newton steps made so far.
    """

    def __init__(self) -> None:
        self.steps = 0
        self._factor = SupportFactor()
        self._share = FIRST_SHARE

    @property
    def factorisations(self) -> int:
        """Cholesky factors computed so far."""
        return self._factor.factorisations

    def solve(self, problem: Restricted, tol: float) -> float:
        """Bring the relative gap to `tol`; returns the gap reached, inf where this fails.

        Leaves early where ||r||^2 has lost its digits. The problem changes only where that proves
        the gap or lowers the objective.
        """
        self._problem = problem
        present = np.diagonal(problem.G)[: len(problem.w)] > 0
        w, c = np.where(present, problem.w, 0.0), np.where(present, problem.q, 0.0)
        support = np.flatnonzero(w)
        share = HELD
        while True:
            self._hold(share)
            signs = np.sign(w[support])
            now = _State(w.copy(), c.copy(), problem.square, np.zeros(len(w)), support, signs)
            try:
                end, gap = self._finish(self._begin(now), tol)
                break
            except linalg.LinAlgError:
                # Newton steps fail where ties persist; a larger e makes them easier.
                share /= LESS_HELD
                if share > 1.001 * MOST_HELD:
                    return np.inf
        if gap <= tol or problem.objective_of(end.w, end.square) < problem.objective:
            problem.w[:], problem.q[:], problem.square = end.w, end.c, end.square
        return gap

    def _hold(self, share: float) -> None:
        """Set e to a share of the diagonal."""
        self._held = share
        norms = np.diagonal(self._problem.G)[: len(self._problem.w)]
        self._extra = np.where(norms > 0, share * norms, 1.0)
        self._factor.renew(self._problem.G, self._extra)

    def _seen(self, chosen: IntArray, values: FloatArray) -> FloatArray:
        """G[:, chosen] values (p,)."""
        out = np.zeros(len(self._extra))
        add_gram_rows(self._problem.G, chosen, values, out)
        return out

    def _begin(self, now: _State) -> _State:
        """A point on the path from the coefficients of another problem, or of fewer columns.

        The level is the one at which they are about optimal. Columns outside the support that
        exceed their thresholds begin with higher ones, which then come down.
        """
        thresholds = self._problem.thresholds
        t = thresholds[now.support]
        ratios = np.abs(now.c[now.support[t > 0]]) / t[t > 0]
        level = float(np.sqrt(max(now.square, 0.0)))
        if len(ratios):
            level = max(level, float(np.median(ratios)))
        target = level * thresholds
        if len(now.support):
            d = self._factor.solve(
                now.support, now.c[now.support] - target[now.support] * now.signs
            )
            now = now.moved(d, self._seen(now.support, d), 1.0, now.levels)
        now.levels = np.maximum(np.where(now.w == 0, np.abs(now.c), 0.0), target)
        if not self._correct(now, FIRST_CORRECTIONS):
            raise linalg.LinAlgError("the coefficients are too far from any path")
        excess, left = now.levels - target, 1.0
        for _ in range(MOST_MARCHES):
            if left <= 0.0 or not excess.any():
                now.levels = target
                return now
            now, length = self._march(now, excess, *self._along(now, excess), left)
            left -= length
        raise linalg.LinAlgError("too many marches to bring the thresholds down")

    def _finish(self, now: _State, tol: float) -> tuple[_State, float]:
        """March until the level is the length of the residual and the gap is proved."""
        problem, start = self._problem, self._problem.square
        thresholds = problem.thresholds
        positive = thresholds > 0
        level = float(np.max(now.levels[positive] / thresholds[positive], initial=0.0))
        level = level if level > 0.0 else float(np.sqrt(max(now.square, 0.0)))
        before, least = np.inf, LEAST_HELD
        for _ in range(MOST_MARCHES):
            gap = problem.relative_gap(now.w, now.c, now.square)
            if gap <= tol or now.square <= LOST_DIGITS * start:
                break
            d, seen = self._along(now, thresholds)
            length = np.sqrt(max(now.square, 0.0))
            by_residual = length * abs(1.0 - length / level)
            negligible = NEGLIGIBLE * tol * problem.objective_of(now.w, now.square)
            fall = min(max(_fall(now, level, d, seen), -level), LONGEST * level)
            slow, settled = gap > SLOW * before, abs(fall) <= SETTLED * level
            if by_residual <= negligible and not (slow and settled):
                fall, settled = 0.0, True
            if settled and slow and self._held > least:
                self._hold(LESS_HELD * self._held)
                d, seen = self._along(now, thresholds)
            before, last = gap, now.w
            try:
                now, length = self._march(now, thresholds, d, seen, fall)
            except linalg.LinAlgError:
                if self._held >= MOST_HELD:
                    break
                least = self._held / LESS_HELD
                self._hold(least)
                continue
            level -= length
            now.levels = level * thresholds
            if slow and length == 0.0:
                now = self._further(now, now.w - last)
        return now, gap

    def _further(self, now: _State, move: FloatArray) -> _State:
        """Go on along the last move as far as that lowers the objective and no sign changes.

        Where columns depend on each other the centre moves along a line that the residual does
        not see, in steps that the hold keeps short.
        """
        chosen = np.flatnonzero(now.w)
        values, w = move[chosen], now.w[chosen]
        signs = np.sign(w)
        if np.count_nonzero(move) > np.count_nonzero(values):
            return now  # a coefficient has just become zero: the line has ended
        seen = self._seen(chosen, values)
        gain = float(values @ (now.c[chosen] - now.levels[chosen] * signs))
        bend = float(values @ seen[chosen])
        back = np.flatnonzero(values * w < 0)
        if gain <= 0.0 or len(back) == 0:
            return now
        ends = -w[back] / values[back]
        length = float(ends.min())
        if bend * length > gain:
            length, back = gain / bend, back[:0]
        start = replace(now, support=chosen, signs=signs)
        end = start.moved(values, seen, length, np.zeros_like(now.levels))
        if len(back):
            end.w[chosen[back[ends.argmin()]]] = 0.0
        return end

    def _along(self, now: _State, per_level: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Moves of w on the support (a,) and of -X'r (p,) as the thresholds fall by per_level."""
        d = self._factor.solve(now.support, per_level[now.support] * now.signs)
        return d, self._seen(now.support, d)

    def _march(
        self, now: _State, per_level: FloatArray, d: FloatArray, seen: FloatArray, most: float
    ) -> tuple[_State, float]:
        """Walk past a limited number of knots, at most `most` far; the end and the distance."""
        signs, per_w = np.zeros((2, len(now.w)))
        signs[now.support], per_w[now.support] = now.signs, d
        positive, knots = self._problem.positive, np.empty(len(now.w))
        knot_distances(now.w, now.c, now.levels, signs, per_w, seen, per_level, positive, knots)
        ahead = np.sort(knots[knots < most])
        size = max(len(now.support), 1)
        while True:
            passed = max(int(self._share * size), FEWEST_KNOTS)
            limited = passed < len(ahead)
            # Ties put many knots at one place, but the march must advance.
            length = max(float(ahead[passed]), SHORTEST * most) if limited else most
            tried = now.moved(d, seen, length, per_level)
            if self._correct(tried, MOST_CORRECTIONS):
                if limited:
                    self._share = min(LONGER * self._share, MOST_SHARE)
                return tried, length
            if passed == FEWEST_KNOTS or len(ahead) <= FEWEST_KNOTS:
                raise linalg.LinAlgError("no march is short enough")
            self._share = SHORTER * min(passed, len(ahead)) / size

    def _correct(self, now: _State, most: int) -> bool:
        """Newton steps to the solution at the present thresholds; False where `most` are too few.

        A full step leads to the solution of the face that the proximal point x has. It is that
        of the problem if x keeps its signs there.
        """
        centre, first, levels = now.w.copy(), now.c, now.levels
        x, trial = np.empty_like(centre), np.empty_like(centre)
        value, bowl = self._proximal(centre, now.c, levels, x), 0.0
        for _ in range(most):
            self.steps += 1
            now.support = np.flatnonzero(x)
            now.signs = np.sign(x[now.support])
            d, seen = self._newton(now, centre, x)
            along, bend = float(d @ (first - now.c)), float(d @ seen)
            decrease = float((x - now.w) @ seen)
            length = 1.0
            while True:
                c = now.c - length * seen
                rest = self._proximal(centre, c, levels, trial)
                grown = bowl + length * along + 0.5 * length**2 * bend
                same = length == 1.0 and bool((np.sign(x) == np.sign(trial)).all())
                if same or grown + rest <= bowl + value - ARMIJO * length * decrease:
                    break
                if length < SHORTEST:
                    return False
                length *= 0.5
            now.square += length**2 * bend - 2.0 * length * float(d @ now.c)
            now.w, now.c = now.w + length * d, c
            if same:
                return True
            value, bowl = rest, grown
            x, trial = trial, x
        return False

    def _proximal(
        self, centre: FloatArray, c: FloatArray, levels: FloatArray, out: FloatArray
    ) -> float:
        positive = self._problem.positive
        return float(proximal_point(centre, c, levels, self._extra, positive, out))

    def _newton(
        self, now: _State, centre: FloatArray, x: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The move of w (p,) to the solution of a face, and what it takes off X'r (p,)."""
        chosen = now.support
        gone = np.flatnonzero((now.w != 0) & (x == 0))
        d = np.zeros_like(centre)
        d[gone] = -now.w[gone]
        seen = self._seen(gone, d[gone])
        slope = (now.c - seen)[chosen] - now.levels[chosen] * now.signs
        slope += self._extra[chosen] * (centre - now.w)[chosen]
        d[chosen] = self._factor.solve(chosen, slope)
        add_gram_rows(self._problem.G, chosen, d[chosen], seen)
        return d, seen


def _fall(now: _State, level: float, d: FloatArray, seen: FloatArray) -> float:
    """How far the level must fall to be the length of the residual, if the face stays.

    After a fall by x the square of the residual is square - 2 x d'c + x^2 d'Gd. Where that never
    is the square of the level the face interpolates, and the level may fall all the way.
    """
    bend = 1.0 - float(d @ seen[now.support])
    along = level - float(d @ now.c[now.support])
    excess = level**2 - now.square
    inside = along**2 - bend * excess
    if bend <= 0.0 or inside < 0.0:
        return level
    return float((along - np.sqrt(inside)) / bend)
