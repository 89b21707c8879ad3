"""Cross-validation over automatic penalties in stages: a coarse look first, then near the best.

The folds walk down the penalties together, on a coarse grid, with the middle radius policy. The
walk ends where the squared error is past its minimum (:func:`decided`). The other policies
are tried near the best penalties of their neighbours, outwards while that improves, beyond the
end of the grid if need be. Last come the penalties between those tried, for the best policy, near
the best. Points that were never solved have status LEFT_OUT, NaN for numbers, and no coefficients.

With a :class:`Guide`, from the search of another response, there is no walk: every policy begins
where it was best for the other response.

Stages need the sketches of all folds at hand, and many small solves: data in blocks, and batches
for the workers of a cluster, are solved in one piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sketchlasso.cluster import active_engine
from sketchlasso.data import BlockMatrix
from sketchlasso.instances import RowSets
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.threads import map_items, single_blas_thread
from sketchlasso.results.choices import (
    IN_A_ROW,
    CrossValidation,
    closer_looks,
    decided,
    judged,
    mean_of,
    standard_error_of,
    worthwhile,
)
from sketchlasso.results.fitting import Fits, Task
from sketchlasso.results.radius_policy import radius_policies
from sketchlasso.results.scores import HeldOut, Metric, greater_is_better, score
from sketchlasso.results.sketched import (
    grids_of,
    join_fits,
    lay_out,
    sketch_training_rows,
    sketched_path,
    sketched_rows,
)
from sketchlasso.results.stage_parts import Points, StagePart, spread_fits
from sketchlasso.results.stage_progress import SharedProgress
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.matching import check_sketch_of
from sketchlasso.solvers import Settings, Status
from sketchlasso.solvers.solution import warn_of_ending
from sketchlasso.types import BoolArray, FloatArray, IntArray

# Points of the coarse grid, about; grids that are not twice as fine are solved whole.
COARSE = 12
# A policy is clearly better than another by so many standard errors of the difference.
CLEARLY = 2.0
# The best score is looked for within this many strides of the lowest squared error.
NEAR_STRIDES = 2
# Stages keep the sketches of all folds and their rows of X, up to so many bytes.
KEPT_BYTES = 2 << 30


def can_stage(task: Task, sketch: Sketch, rows: RowSets) -> bool:
    """Whether a search goes by stages: many automatic penalties, and data at hand."""
    if task.count is None or task.count < 2 * COARSE or isinstance(task.X, BlockMatrix):
        return False
    engine = active_engine()
    if engine is not None and engine.remote:
        return False
    return kept_bytes(task.X, sketch, len(rows)) <= KEPT_BYTES


def kept_bytes(X: Any, sketch: Sketch, folds: int) -> int:
    """Bytes that a search keeps: the sketches of all folds, and their rows of X."""
    sets = folds if sketch.response_rank else 1
    arrays = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    own = sum(int(array.nbytes) for array in arrays)
    return sets * (own + 8 * sketch.rank * sum(sketch.shape))


def search(
    task: Task, sketch: Sketch, rows: RowSets, metrics: tuple[Metric, ...]
) -> CrossValidation:
    """Search penalties and radii in stages.

    The task has a number of penalties, and every row set has rows to judge by. The first metric
    decides.
    """
    check_sketch_of(sketch, task.X)
    with single_blas_thread():
        found = _Search(task, sketch, rows, metrics)
        if task.guide is None:
            found.walk()
        found.try_other_radii()
        found.look_closely()
        return found.result()


class _Search:
    """The state of a search: what was tried, what it cost, and what is to be tried next."""

    def __init__(
        self, task: Task, sketch: Sketch, rows: RowSets, metrics: tuple[Metric, ...]
    ) -> None:
        self.task, self.sketch, self.rows, self.metrics = task, sketch, rows, metrics
        self.policies = radius_policies(None, sketch, search=True)
        grids = grids_of(task, sketch, self.policies)
        self.count = grids.shape[2]
        self.stride = self.count // COARSE
        # The policy to begin with; the others are its multiples.
        self.first = int(np.argmin([abs(np.log(policy.factor or 1)) for policy in self.policies]))
        if task.guide is not None:
            self.first = task.guide.best
        # The grid may go on for as many penalties again, unless the user has set its end.
        extends = task.alpha_min_ratio is None and self.count > 1
        self.alphas = continued(grids, self.count) if extends else grids
        self.tried = np.zeros(self.alphas.shape, dtype=bool)
        self.cost = np.full((len(rows), *self.alphas.shape), np.nan)
        scored = dict.fromkeys((*metrics, "mse"))
        self.scores: dict[Any, FloatArray] = {name: self.cost.copy() for name in scored}
        self.errors = self.scores["mse"]
        self.stages: list[tuple[Points, Fits]] = []
        self.over = False
        # Sketches that have seen y are made for one row set each, and solved side by side: solves
        # of a few points each have less to do at once than there are cores.
        groups = [rows]
        if sketch.response_rank:
            groups = [RowSets(rows.n_samples, (row_set,)) for row_set in rows]
        settings = task.settings or Settings()
        self.aside = min(settings.n_threads, len(groups)) if settings.device == CPU else 1
        self.bar = SharedProgress(settings.callback, int(self.cost[..., : self.count].size))
        settings = replace(settings, n_threads=1) if self.aside > 1 else settings
        numbered = list(enumerate(groups))
        self.parts = map_items(partial(self._part, settings), numbered, self.aside)

    def _part(self, settings: Settings, group: tuple[int, RowSets]) -> StagePart:
        """Make the sketch of some row sets and lay out their problems."""
        task, (number, sets) = self.task, group
        if self.sketch.response_rank:
            bases = task.bases
            base = None if bases is None else bases.of(number, self.sketch, task.X, sets[0])
            own = sketch_training_rows(task, self.sketch, sets[0], self.policies, base)
        else:
            own = next(sketched_rows(task, self.sketch, sets, self.policies))
        laid = lay_out(task, own, self.policies, self.alphas[..., :1])
        settings = replace(settings, callback=self.bar.part())
        return StagePart(task, laid, sets, self.alphas, settings)

    def walk(self) -> None:
        """Go down the penalties with one radius policy until the smaller ones are out.

        Shares of correct labels vary in jumps; the squared error has one minimum, and decides here.
        """
        active = np.ones(len(self.alphas), dtype=bool)
        in_a_row = max(2, -(-IN_A_ROW // self.stride))
        places = self.stride * np.arange(3)
        while active.any() and not self.over:
            mask = np.zeros_like(self.tried)
            mask[:, self.first, places[places < self.count]] = True
            mask[~active] = False
            self._run(mask, search=True)
            for response in np.flatnonzero(active):
                line = self.tried[response, self.first]
                errors = self.errors[:, response, self.first][:, line]
                active[response] = not decided(errors, in_a_row)
            places = places[-1] + self.stride * np.arange(1, 3)
            active &= places[0] < self.count

    def try_other_radii(self) -> None:
        """Go past the best penalty of every policy worth trying, the responses side by side."""
        plans = [self._plan(response) for response in range(len(self.alphas))]
        while not self.over:
            mask = np.zeros_like(self.tried)
            for response, plan in enumerate(plans):
                radius, places = next(plan, (0, []))
                mask[response, radius, places] = True
            if not mask.any():
                return
            self._run(mask, search=True)

    def _plan(self, response: int) -> Iterator[tuple[int, list[int]]]:
        """Policies and penalties to try next: larger radii while they improve, then smaller ones.

        Smaller ones are left out where a larger one is clearly better. Otherwise both sides may
        improve, and either may be best.
        """
        yield from self._climb(response, self.first, self.first)
        for step in (1, -1):
            radius = self.first
            while 0 <= radius + step < len(self.policies):
                yield from self._climb(response, radius, radius + step)
                if not self._improves(response, radius, radius + step):
                    break
                radius += step
            if self._clearly_better(response, self.first, radius):
                return

    def _lowest(self, response: int, radius: int) -> int:
        """The penalty with the lowest squared error of those tried with a policy."""
        return int(np.argmin(_mean_of(self.errors[:, response, radius])))

    def _climb(self, response: int, known: int, radius: int) -> Iterator[tuple[int, list[int]]]:
        """Penalties of a policy near the best of the guide or a known policy, then on to its best.

        The squared error leads. Shares of correct labels hardly change over many penalties, so
        their best is looked for near that of the squared error only.
        """
        start, guide = self._lowest(response, known), self.task.guide
        if guide is not None and guide.penalty[radius] >= 0:
            start = int(guide.penalty[radius])
        wanted = {start}
        # The first point of a policy starts from another policy's, and its neighbours from it.
        if self.tried[response, radius].any():
            wanted |= {start - self.stride, start + self.stride}
        while True:
            wanted = {place for place in wanted if 0 <= place < self.alphas.shape[2]}
            wanted -= set(np.flatnonzero(self.tried[response, radius]).tolist())
            if not wanted:
                return
            yield radius, sorted(wanted)
            start = self._lowest(response, radius)
            best = int(np.argmin(_mean_of(self.cost[:, response, radius])))
            wanted = self._beside(self.errors[:, response, radius], start)
            if abs(best - start) < NEAR_STRIDES * self.stride:
                wanted |= self._beside(self.cost[:, response, radius], best)

    def _beside(self, values: FloatArray, best: int) -> set[int]:
        """Penalties beside the best by values (folds, a), not beyond an end where they are flat."""
        mean, wanted = _mean_of(values), set()
        for step in (-self.stride, self.stride):
            behind = best - step
            known = 0 <= behind < len(mean) and np.isfinite(mean[behind])
            if not known or mean[behind] - mean[best] > worthwhile(values[:, best]):
                wanted.add(best + step)
        return wanted

    def _improves(self, response: int, known: int, radius: int) -> bool:
        """Whether a policy has a lower cost or squared error than another, by enough to matter."""
        for values in (self.cost[:, response], self.errors[:, response]):
            means = _mean_of(values)
            best = int(np.argmin(means[radius]))
            if means[radius, best] < means[known].min() - worthwhile(values[:, radius, best]):
                return True
        return False

    def _clearly_better(self, response: int, known: int, radius: int) -> bool:
        """Whether the best squared error of a policy is lower than that of another in every fold.

        A difference of CLEARLY standard errors of itself is asked for on top.
        """
        before, after = (
            self.errors[:, response, policy, self._lowest(response, policy)]
            for policy in (known, radius)
        )
        fall = before - after
        return bool((fall > 0).all() and fall.mean() > CLEARLY * standard_error_of(fall))

    def look_closely(self) -> None:
        """Solve penalties between those tried of the best policy, near the best.

        Also between the first penalty within one standard error of the best and its neighbour.
        """
        while not self.over:
            mask = np.zeros_like(self.tried)
            for response in range(len(mask)):
                radius = self._winner(response)
                mask[response, radius, self._gaps(response, radius)] = True
            if not mask.any():
                return
            self._run(mask, search=False)

    def _gaps(self, response: int, radius: int) -> IntArray:
        """Middles of the gaps between the penalties tried in which a closer look is worthwhile."""
        solved = np.flatnonzero(self.tried[response, radius])
        # A grid that may go on has been walked past its best; another is looked at to its end.
        goes_on = self.alphas.shape[2] > self.count
        end = int(solved[-1]) + 1 if goes_on else self.count
        edges = np.append(solved, end)
        wanted, first = closer_looks(self.cost[:, response, radius, solved], solved, self.stride)
        wide = np.diff(edges) > 1
        between = np.asarray((edges[:-1] + edges[1:]) // 2)[wanted & wide]
        if first > 0 or solved[0] == 0:
            return between
        # Larger penalties of a policy that was not tried from the top.
        return np.append(max(solved[0] - self.stride, 0), between)

    def _winner(self, response: int) -> int:
        """The radius policy of the best point."""
        return int(np.argmin(_mean_of(self.cost[:, response]).min(axis=1)))

    def _run(self, mask: BoolArray, search: bool) -> None:
        """Solve the marked points for every row set, and score them."""
        response, radius, place = np.nonzero(mask)
        at = (response, radius, place)

        found = map_items(lambda part: part.solve(at, search), self.parts, self.aside)
        fits = join_fits([fits for fits, _ in found])
        self.stages.append((at, fits))
        self.tried |= mask
        for fold, held_out in enumerate(held_out for _, some in found for held_out in some):
            for metric, values in self.scores.items():
                values[fold, *at] = self._scores(response, held_out, metric)
        sign = -1.0 if greater_is_better(self.metrics[0]) else 1.0
        self.cost[:, *at] = sign * self.scores[self.metrics[0]][:, *at]
        self.over = bool((fits.status == Status.INTERRUPTED).any())

    def _scores(self, response: IntArray, held_out: HeldOut, metric: Metric) -> FloatArray:
        """Scores (p,) of a fold's predictions for the responses (p,) of some points."""
        test, predicted = held_out
        values = np.empty(len(response))
        share = None if self.task.weights is None else self.task.weights[test]
        for number in np.unique(response):
            own = response == number
            values[own] = score(metric, self.task.Y[test, number], predicted[:, own], share)
        return values

    def result(self) -> CrossValidation:
        """All stages as one grid, cut where nothing was tried beyond its end."""
        used = np.flatnonzero(self.tried.any(axis=(0, 1)))
        count = max(self.count, int(used[-1]) + 1)
        shape = (len(self.rows), *self.alphas.shape[:2], count)
        fits = spread_fits(self.stages, shape)
        warn_of_ending(fits.status, fits.relative_gap)
        if not self.over:
            self.bar.end()
        alphas = self.alphas[..., :count]
        path = sketched_path(fits, alphas, self.policies, self.task, self.sketch)
        scores = {metric: self.scores[metric][..., :count] for metric in self.metrics}
        return judged(self.task.X, path, scores, self.rows)


def _mean_of(values: FloatArray) -> FloatArray:
    """Means over the folds (first axis); infinite where no fold is known."""
    return np.nan_to_num(mean_of(values), nan=np.inf)


def continued(grids: FloatArray, more: int) -> FloatArray:
    """Grids (..., a) of evenly spaced penalties with some more at their end."""
    step = grids[..., -1:] / grids[..., -2:-1]
    return np.concatenate([grids, grids[..., -1:] * step ** np.arange(1, more + 1)], axis=-1)
