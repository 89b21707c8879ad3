"""One sketch of a staged search: any points of the grid, solved from what is known around them.

A stage asks for some penalties and radii of every row set. Starting points come from the solved
neighbours of a point on its path, and so do radii: the fixed point of :mod:`realised` is searched
from what smaller steps along the path suggest, and the solution at which it is found is kept.
Row sets share nothing, so that no model depends on its held-out responses.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from sketchlasso.instances import RowSets
from sketchlasso.linalg.rows import replace_rows, stack_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.screening import Restriction, row_norms
from sketchlasso.results.fitting import Fits, Task
from sketchlasso.results.models import LinearModels, held_out_predictions
from sketchlasso.results.realised import EVALUATIONS, FIRST_SLOPE, TOO_LARGE, secant_slope
from sketchlasso.results.scores import HeldOut
from sketchlasso.results.sketched import NUMBERS, SketchedProblems, join_fits
from sketchlasso.solvers import Iterates, Settings, Solution, Status, solve_or_raise
from sketchlasso.solvers.driver import between
from sketchlasso.solvers.workers import join_solutions
from sketchlasso.types import BoolArray, FloatArray, IntArray

# Points of a grid: numbers of their responses, radii and penalties, each (p,).
Points: TypeAlias = "tuple[IntArray, IntArray, IntArray]"

# A solution is kept where log(radius) is this close to its fixed point. Policies differ by
# factors of three, and the fit that follows the search settles its radius anew.
SETTLED = 0.1
# Features in use serve penalties down to this share of the smallest asked for. They are chosen
# anew below it, and where this share of them would do.
AHEAD, FEWER = 0.3, 0.7


class StagePart:
    """The row sets of one sketch, and what has been found on their paths.

    `laid` has one penalty for every row set, response and radius: a path begins there. `held_out`
    are the same row sets in the numbering of all rows, with the rows to predict; `alphas` are the
    penalties (responses, radii, alphas) of all points.
    """

    def __init__(
        self,
        task: Task,
        laid: SketchedProblems,
        held_out: RowSets,
        alphas: FloatArray,
        settings: Settings,
    ) -> None:
        self.task, self.laid, self.held_out, self.alphas = task, laid, held_out, alphas
        # Rows proved zero by their norms have no part in these solves; finding them costs more.
        self.settings = replace(settings, screening=False)
        batch = laid.problems.batch
        with np.errstate(divide="ignore"):
            self._start = np.log(batch.radius)
        self._slope = np.full(batch.n_instances, FIRST_SLOPE)
        # Of every path: penalties solved, in order, and log(radius) found at log(alpha).
        self._solved: dict[int, list[int]] = defaultdict(list)
        self._found: dict[tuple[int, int], tuple[IntArray, FloatArray, FloatArray]] = {}
        self._radii: dict[int, dict[float, float]] = defaultdict(dict)
        # The same as another response has it: the search for radii begins near those.
        self._expected: dict[int, dict[float, float]] = {}
        if task.guide is not None:
            for path in np.flatnonzero(laid.follows).tolist():
                policy = laid.problems.radius_index[path]
                own = alphas[laid.problems.response[path], policy]
                radii = zip(own, task.guide.radius[policy], strict=False)
                known = {_level(alpha): float(np.log(r)) for alpha, r in radii if r > 0}
                self._expected[path] = known
        self._norms = row_norms(batch).largest()
        self._restriction: Restriction | None = None
        self._floor = np.inf

    def solve(self, at: Points, search: bool) -> tuple[Fits, list[HeldOut]]:
        """Solve points of the grid for every row set.

        None of them was solved before. With `search` the radii that follow the realised error are
        searched, else interpolated between those found. Returns fits of R * p instances, row sets
        slowest, and the held-out rows of each row set with their predictions (rows, p).
        """
        base, (response, radius, place) = self.laid.problems, at
        sets, t, radii, _ = base.shape
        path = (np.arange(sets)[:, None] * (t * radii) + response * radii + radius).ravel()
        places = np.tile(place, sets)
        batch = replace(base.batch.take(path), alpha=np.tile(self.alphas[at], sets))
        follows, x = self.laid.follows[path], self._start[path].copy()
        for row in np.flatnonzero(follows):
            suggested = self._suggested(int(path[row]), _level(batch.alpha[row]))
            x[row] = x[row] if suggested is None else suggested
        solution, x = self._settled(batch, path, self._starts(path, places), x, follows & search)
        self._keep(path, places, solution)
        problems = replace(
            base,
            batch=replace(batch, radius=np.exp(x)),
            shape=(sets, 1, 1, len(place)),
            y_mean=base.y_mean[path],
            left_out=base.left_out[path],
        )
        fits = self.laid.fits(problems, solution, solution.seconds)
        return fits, list(held_out_predictions(self.held_out, fits.models, self.task.X))

    def _suggested(self, path: int, level: float) -> float | None:
        """log(radius) at log(alpha) as the radii found suggest; None where none was found.

        They are on the path itself, or on that of the next policy of the same row set and response.
        Their lines, or those of another response, give the slope where one radius alone is known.
        """
        nearest, expected = self._nearest(path, self._radii), self._expected.get(path)
        if expected:
            apart = 0.0
            if nearest is not None and self._expected.get(nearest):
                apart = _nearest_miss(self._radii[nearest], self._expected[nearest], level)
            return _on_lines(expected, level) + apart
        if nearest is None:
            return None
        several = {number: found for number, found in self._radii.items() if len(found) > 1}
        other = self._nearest(path, several)
        if nearest == path and other is not None and other != path:
            lines = self._radii[other]
            return _on_lines(lines, level) + _nearest_miss(self._radii[path], lines, level)
        log_factor = np.log(self.laid.factor)
        # log(radius) - log(error) is the logarithm of the factor, at a slope of -FIRST_SLOPE.
        apart = float((log_factor[nearest] - log_factor[path]) / FIRST_SLOPE)
        return _on_lines(self._radii[nearest], level) + apart

    def _nearest(self, path: int, known: Mapping[int, Any]) -> int | None:
        """The path itself, or that of the next policy of the same row set and response.

        None where nothing is known of any of them.
        """
        radii = self.laid.problems.shape[2]
        siblings = range(path // radii * radii, (path // radii + 1) * radii)
        with np.errstate(divide="ignore"):
            apart = np.abs(np.log(self.laid.factor) - np.log(self.laid.factor[path]))
        numbers = [number for number in siblings if known.get(number)]
        return min(numbers, key=lambda number: apart[number], default=None)

    def _settled(
        self,
        batch: Batch,
        path: IntArray,
        warm: Iterates | None,
        x: FloatArray,
        follows: BoolArray,
    ) -> tuple[Solution, FloatArray]:
        """Solutions at radii exp(x), moved near their fixed points where they follow them."""
        only = self._restricted(batch)
        chain = path if warm is None else None
        open_ = np.arange(len(path))
        before = np.full((2, len(x)), np.nan)
        x, pieces, numbers, seconds = x.copy(), [], [], 0.0
        # The last solve is at the radius that the evaluations before it lead to.
        for left in range(EVALUATIONS, -1, -1):
            part = only.apply(replace(batch.take(open_), radius=np.exp(x[open_])))
            if warm is not None:
                warm = replace(warm, coef=only.narrow(warm.coef))
            found = solve_or_raise(part, self.task.solver, self.settings, warm, chain)
            found = replace(found, coef=only.widen(found.coef))
            seconds += found.seconds
            moves = np.zeros(len(open_), dtype=bool)
            if left and follows.any():
                error = self.laid.error(found.coef, path[open_])
                h = np.log(np.where(error > 0, error, np.nan)) - x[open_]
                then = self._next_radii(batch, path, open_, x, h, before)
                moves = follows[open_] & (np.abs(then - x[open_]) >= SETTLED)
            pieces.append(_rows_of(found, np.flatnonzero(~moves)))
            numbers.append(open_[~moves])
            if not moves.any():
                break
            x[open_[moves]] = then[moves]
            start = Iterates(found.coef, found.dual_point, np.zeros_like(found.steps))
            warm, chain, open_ = start.take(np.flatnonzero(moves)), None, open_[moves]
        return join_solutions(pieces, numbers, seconds), x

    def _restricted(self, batch: Batch) -> Restriction:
        """Features that the static rule leaves to the smallest penalty of a batch, and some more.

        Of text most words are too rare to matter at the penalties of a search.
        """
        alpha, known = float(batch.alpha.min()), self._restriction
        with np.errstate(invalid="ignore"):  # 0 times inf
            reached = self._norms > AHEAD * alpha * np.atleast_2d(batch.penalty_factor)
        features = np.flatnonzero(reached.any(axis=0))
        if known is None or alpha < self._floor or len(features) < FEWER * len(known.features):
            # A batch has at least one feature.
            features = features if len(features) else np.array([np.argmax(self._norms)])
            known, self._floor = Restriction.of(batch.P, features), AHEAD * alpha
            self._restriction = known
        return known

    def _next_radii(
        self,
        batch: Batch,
        path: IntArray,
        open_: IntArray,
        x: FloatArray,
        h: FloatArray,
        before: FloatArray,
    ) -> FloatArray:
        """Better log(radius) of open instances (b,); as it is where w = 0 stays the solution.

        `h` (b,) is log(error) - log(radius), NaN where w = 0; `before` (2, B) holds x and h of
        the last evaluation and changes in place.
        """
        live, owner = np.isfinite(h), path[open_]
        slope = secant_slope(x[open_] - before[0, open_], h - before[1, open_], self._slope[owner])
        before[:, open_] = x[open_], h
        self._slope[owner[live]] = slope[live]
        then = x[open_] - h / slope
        level = [_level(alpha) for alpha in batch.alpha[open_]]
        for row in np.flatnonzero(live):
            self._radii[int(owner[row])][level[row]] = float(then[row])
        for row in np.flatnonzero(~live):
            # The radius was too large, unless others have found one as large.
            here = float(x[open_[row]])
            suggested = self._suggested(int(owner[row]), level[row])
            then[row] = here + TOO_LARGE if suggested is None else min(suggested, here)
        return then

    def _starts(self, path: IntArray, places: IntArray) -> Iterates | None:
        """Mixes of the two nearest solutions on the path, or the last one for points beyond it.

        The dual point of a path is nearly smooth in log(alpha), and penalties are evenly spaced
        there. A path of which nothing is known starts from the next policy's. None where nothing
        was solved yet.
        """
        ends, shares = [], []
        for own, place in zip(path.tolist(), places.tolist(), strict=True):
            number = self._nearest(own, self._solved)
            if number is None:
                return None
            solved = self._solved[number]
            # Its neighbours, or the last two where it is beyond them.
            after = min(bisect_left(solved, place), len(solved) - 1)
            left, right = solved[max(after - 1, 0)], solved[after]
            shares.append((place - left) / max(right - left, 1))
            ends.append(((number, left), (number, right)))
        left_ends, right_ends = (self._iterates([pair[side] for pair in ends]) for side in (0, 1))
        return between(left_ends, right_ends, np.clip(shares, 0.0, 1.0))

    def _iterates(self, keys: list[tuple[int, int]]) -> Iterates:
        rows = [self._found[key] for key in keys]
        return Iterates(
            stack_rows([(row[0], row[1]) for row in rows], self.laid.problems.batch.n_features),
            np.stack([row[2] for row in rows]),
            np.zeros(len(rows), dtype=np.intp),
        )

    def _keep(self, path: IntArray, places: IntArray, solution: Solution) -> None:
        """Remember the solutions of points on their paths."""
        coef: Any = solution.coef
        for row, (number, place) in enumerate(zip(path.tolist(), places.tolist(), strict=True)):
            own = slice(coef.indptr[row], coef.indptr[row + 1])
            self._found[number, place] = coef.indices[own], coef.data[own], solution.dual_point[row]
            insort(self._solved[number], place)


def _level(alpha: float) -> float:
    """log(alpha), also where alpha is zero."""
    return float(np.log(max(alpha, 1e-300)))


def _on_lines(known: dict[float, float], level: float) -> float:
    """Value at a level by lines between known ones; the last line goes on below, not above."""
    levels = sorted(known)
    if len(levels) > 1 and level < levels[0]:
        slope = (known[levels[1]] - known[levels[0]]) / (levels[1] - levels[0])
        return known[levels[0]] + slope * (level - levels[0])
    return float(np.interp(level, levels, [known[at] for at in levels]))


def _nearest_miss(known: dict[float, float], lines: dict[float, float], level: float) -> float:
    """How far the known value nearest to a level is from lines."""
    at = min(known, key=lambda other: abs(other - level))
    return known[at] - _on_lines(lines, at)


def _rows_of(solution: Solution, rows: IntArray) -> Solution:
    """The solutions of some of the instances."""
    names = ("dual_point", "primal", "dual", "null", "status", "rounds", "steps")
    return replace(
        solution,
        coef=solution.coef[rows],
        **{name: getattr(solution, name)[rows] for name in names},
    )


def spread_fits(stages: Sequence[tuple[Points, Fits]], shape: tuple[int, ...]) -> Fits:
    """Fits of all instances of a shape; LEFT_OUT where no stage has solved them."""
    numbers = np.arange(np.prod(shape)).reshape(shape)
    where = np.concatenate([numbers[:, *at].ravel() for at, _ in stages])
    joined = join_fits([fits for _, fits in stages])

    def placed(values: Any, otherwise: float) -> Any:
        whole = np.full(numbers.size, otherwise, dtype=values.dtype)
        whole[where] = values
        return whole

    nothing = sparse.csr_array((numbers.size, joined.models.coef.shape[1]))
    unknown = {"n_iter": 0, "status": int(Status.LEFT_OUT)}
    return Fits(
        models=LinearModels(
            coef=replace_rows(nothing, where, joined.models.coef),
            intercept=placed(joined.models.intercept, np.nan),
        ),
        seconds=joined.seconds,
        **{name: placed(getattr(joined, name), unknown.get(name, np.nan)) for name in NUMBERS},
    )
