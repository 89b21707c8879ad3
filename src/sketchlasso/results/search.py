"""The search for penalty and radius: down the penalties, judged on held-out rows as they come.

All lines (a response and a radius) walk down their penalties together. A line ends where its
squared error is well past its minimum (:func:`~sketchlasso.results.choices.decided`). On a sketch
the walk takes every few penalties, and some between them follow near the best. Points that were
never solved have status LEFT_OUT, NaN for numbers, and no coefficients. An automatic grid goes on
where its last penalty is the best.

Penalties that are given are all solved, and so are problems on X in blocks and those for workers of
a cluster or a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.cluster import active_engine
from sketchlasso.data import BlockMatrix, as_responses, as_rows
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import RowSets, check_weights, splitter_rows
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.problem.terms import Terms
from sketchlasso.results.choices import (
    IN_A_ROW,
    STANDARD_ERRORS,
    WORTHWHILE,
    CrossValidation,
    decided,
    judged,
    mean_of,
    settled,
    standard_error_of,
)
from sketchlasso.results.full_data import FullPaths
from sketchlasso.results.path import Grid, Path, Points, Problem, fit_exact
from sketchlasso.results.radius import RadiusLike, given_radius
from sketchlasso.results.scores import SCORES, Metric, check_metrics, held_out_scores
from sketchlasso.results.sketched import SketchedPaths, every_point, fit_sketched
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.response import RowsBase
from sketchlasso.sketches.sketch import check_sketch_of
from sketchlasso.solvers import Settings, Solver
from sketchlasso.types import FloatArray, IntArray

# Points of the coarse grid on a sketch, about; grids that are not twice as fine are solved whole.
COARSE = 12
# Steps between two penalties of the coarse grid in a closer look.
CLOSER = 4
# An automatic grid may grow to so many times its length.
MOST_GROWTH = 2

# A response and a radius, whose penalties are walked down.
Line = tuple[int, int]


def cross_validate(
    sketch: Sketch | None,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 5,
    groups: Any = None,
    metrics: tuple[Metric, ...] = ("mse",),
    alphas: int | ArrayLike = 100,
    alpha_min_ratio: float | None = None,
    radii: RadiusLike | Sequence[RadiusLike] | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    positive: bool = False,
    solver: Solver = "newton",
    settings: Settings | None = None,
) -> CrossValidation:
    """Score every penalty and radius on held-out rows.

    The training problems use the sketch, the scores use the real rows of X. The response of a
    held-out row never affects the model that is scored on it: a sketch that has seen y is made
    again for every fold, from its training rows and their responses. Only the automatic
    penalties depend on the responses of all rows.

    Parameters
    ----------
    sketch : Sketch or None
        Of X. None solves the full problems, without any approximation.
    X : array, sparse matrix, BlockMatrix or dask array of shape (m, n)
        The data that were sketched.
    y : array-like of shape (m,) or (m, t)
    cv : int, splitter, iterable of (train, test), or RowSets
    groups : array-like of shape (m,), optional
    metrics : tuple of {"mse", "mae", "r2", "accuracy", "f1", "auc"}
        What to score; by default the first one decides.
    alphas : int or array-like of shape (a,)
        Penalties, or how many to space evenly in log scale from alpha_max down. Of automatic
        penalties those well past the best are left out, with status LEFT_OUT and NaN for numbers;
        so are, on a sketch, most of 24 or more that are not near the best. The grid goes on if its
        last penalty is the best. For X in blocks, on workers and on devices all are solved.
    alpha_min_ratio : float, optional
        Smallest over largest automatic penalty; 1e-3 with a realised radius and where m >= n,
        else 1e-2.
    radii : float, str, RadiusPolicy or a sequence of them, optional
        What to try: numbers, ``"spectral"``, ``"realised"``, multiples as ``"0.3*spectral"``.
        By default the number the sketch was given, else 0.1, 0.3, 1 and 3 times the realised
        radius, which every fold finds once, at the middle of the penalties.
    sample_weight : array-like of shape (m,), optional
        Weights of the rows, in training and in the scores.
    fit_intercept, penalty_factor, positive
        See :func:`build_problems`.
    solver : str
    settings : Settings, optional

    Returns
    -------
    CrossValidation
    """
    entries = as_rows(X)
    Y = as_responses(y, entries.shape[0], squared=True)
    check_metrics(metrics, Y)
    target = Y[:, 0] if Y.shape[1] == 1 else None
    rows = cv if isinstance(cv, RowSets) else splitter_rows(cv, len(Y), target, groups)
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, len(Y))
        rows = rows.weighted(weights)
    terms = Terms(fit_intercept, penalty_factor, positive)
    problem = Problem(entries, Y, weights, terms, settings, solver)
    if sketch is not None:
        check_sketch_of(sketch, entries, Y)
    found = search(problem, Grid(alphas, alpha_min_ratio, radii), sketch, rows, tuple(metrics))
    found.fits.warn_if_unsolved()
    return found


def sqrt_lasso_path(
    X: Any,
    y: ArrayLike,
    sketch: Sketch | None = None,
    *,
    alphas: int | ArrayLike = 100,
    alpha_min_ratio: float | None = None,
    radius: RadiusLike | Sequence[RadiusLike] | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    positive: bool = False,
    solver: Solver = "newton",
    settings: Settings | None = None,
) -> Path:
    """Solve the robust square-root LASSO for many penalties on all rows.

    ::

        minimise over w, b   ||Q P'w + b - y||_2 + radius ||w||_2 + alpha * sum_j f_j |w_j|

    with X ~ Q P' the sketch; or, with ``sketch=None``, the full problem

    ::

        minimise over w, b   ||X w + b - y||_2 + radius ||w||_2 + alpha * sum_j f_j |w_j|

    Parameters
    ----------
    X : array, sparse matrix, BlockMatrix or dask array of shape (m, n)
    y : array-like of shape (m,) or (m, t)
    sketch : Sketch, optional
        Of X. Without one the full problem is solved, without any approximation.
    alphas : int or array-like of shape (a,)
        Penalties, or how many to space evenly in log scale from alpha_max down.
    alpha_min_ratio : float, optional
        See :func:`cross_validate`.
    radius : float, str, RadiusPolicy or a sequence of them, optional
        See `radii` of :func:`cross_validate`; by default the number the sketch was given, else the
        realised radius. Without a sketch one number, 0 by default.
    sample_weight : array-like of shape (m,), optional
    fit_intercept, penalty_factor, positive
        See :func:`build_problems`.
    solver : str
    settings : Settings, optional
        Its tolerance is for the sketched gap (default 1e-6) or the full one (1e-4).

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> import sketchlasso as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 40))
    >>> y = X[:, 0] - 2 * X[:, 1] + 0.1 * rng.standard_normal(60)
    >>> path = sl.sqrt_lasso_path(X, y, alphas=[3.0])
    >>> path.models.coef.indices
    array([0, 1])
    >>> bool(path.relative_gap[0] <= 1e-4)
    True
    """
    entries = as_rows(X)
    Y = as_responses(y, entries.shape[0], squared=True)
    weights = None if sample_weight is None else check_weights(sample_weight, len(Y))
    terms = Terms(fit_intercept, penalty_factor, positive)
    problem = Problem(entries, Y, weights, terms, settings, solver)
    if sketch is not None:
        check_sketch_of(sketch, entries, Y)
    found = fit_all(problem, Grid(alphas, alpha_min_ratio, radius), sketch)
    found.warn_if_unsolved()
    return found


def fit_all(problem: Problem, grid: Grid, sketch: Sketch | None) -> Path:
    """Solve every point of a grid on all rows: see :func:`sqrt_lasso_path`."""
    if sketch is None:
        return fit_exact(problem, grid, problem.all_rows)
    return fit_sketched(problem, grid, sketch, problem.all_rows)


def search(
    problem: Problem,
    grid: Grid,
    sketch: Sketch | None,
    rows: RowSets,
    metrics: tuple[Metric, ...],
    bases: Sequence[RowsBase] | None = None,
) -> CrossValidation:
    """Search a grid by the scores on held-out rows: see :func:`cross_validate`.

    `bases` are the parts of the folds' sketches that do not depend on the response.
    """
    if any(len(row_set.test) == 0 for row_set in rows):
        raise InvalidInputError("a fold holds out no row; every fold needs rows to be judged on")
    automatic = grid.count is not None and grid.count > 1 and grid.alpha_min_ratio is None
    growth = MOST_GROWTH if automatic else 1
    solver: FullPaths | SketchedPaths
    with single_blas_thread():
        if sketch is not None:
            stride = _stride(problem, grid)
            solver = SketchedPaths(
                problem,
                grid,
                sketch,
                rows,
                searching=True,
                growth=growth if stride else 1,
                bases=bases,
            )
        elif grid.count is None or given_radius(grid.radii) > 0:
            # Lambda is that of paths without a radius.
            return _all_judged(problem, fit_exact(problem, grid, rows), rows, metrics)
        else:
            stride, solver = 1, FullPaths(problem, grid, rows, growth)
        walk = _Search(solver, metrics, grid.count or solver.shape[3], stride)
        walk.run()
    scores = {name: walk.scores[name][..., : walk.count] for name in metrics}
    result = judged(problem.X, solver.path(walk.count), scores, rows)
    if isinstance(solver, FullPaths):
        return replace(result, on_all_rows=solver.on_all_rows(walk.count))
    return result


def _stride(problem: Problem, grid: Grid) -> int:
    """Steps between the penalties of a walk on a sketch; 0 where all are solved at once.

    So it is where each step would cost a pass over blocks or a trip to workers.
    """
    engine, settings = active_engine(), problem.settings or Settings()
    here = settings.device == CPU and (engine is None or not engine.remote)
    if grid.count is None or not here or isinstance(problem.X, BlockMatrix):
        return 0
    return grid.count // COARSE if grid.count >= 2 * COARSE else 0


def _all_judged(
    problem: Problem, path: Path, rows: RowSets, metrics: tuple[Metric, ...]
) -> CrossValidation:
    responses = np.repeat(np.arange(len(path.alphas)), path.alphas[0].size)
    scores = held_out_scores(
        problem.X, problem.Y, problem.weights, path.models, responses, rows, metrics
    )
    return judged(problem.X, path, {n: own.reshape(path.shape) for n, own in scores.items()}, rows)


class _Search:
    """Scores of the points tried so far, and what they say about the next ones."""

    def __init__(
        self,
        solver: FullPaths | SketchedPaths,
        metrics: tuple[Metric, ...],
        count: int,
        stride: int,
    ) -> None:
        self.solver, self.count, self.stride, self.metric = solver, count, stride, metrics[0]
        self.tried = np.zeros(solver.shape[1:], dtype=bool)
        # The squared error decides when to stop, also beside other metrics.
        self.scores: dict[Metric, FloatArray] = {
            name: np.full(solver.shape, np.nan) for name in dict.fromkeys((*metrics, "mse"))
        }
        self.in_a_row = max(2, -(-IN_A_ROW // max(stride, 1)))

    def run(self) -> None:
        """Walk down every line until it is past its best, then look between its penalties."""
        if not self.stride:
            self._try(every_point(self.tried))
            return
        for responses in self.solver.groups():
            lines = [(t, radius) for t in responses for radius in range(self.tried.shape[1])]
            place = 0
            while lines and not self.solver.interrupted:
                places = self.solver.stage(place, [t for t, _ in lines])
                self._try(_points([(*line, p) for line in lines for p in places.tolist()]))
                place = self._after(int(places[-1]))
                ended = [line for line in lines if self._finished(line, place)]
                lines = [line for line in lines if line not in ended]
                for t in {t for t, _ in ended} - {t for t, _ in lines}:
                    self.solver.close(t, place)
        if self.stride > 1 and not self.solver.interrupted:
            self._look_closely()
        self.count = max(self.count, int(np.flatnonzero(self.tried.any(axis=(0, 1)))[-1]) + 1)

    def _after(self, place: int) -> int:
        """The next place of the walk; the last of the grid is tried in any case."""
        following, last = place + self.stride, self.tried.shape[2] - 1
        return last if place < last < following else following

    def _try(self, at: Points) -> None:
        """Solve points for every fold, and score them."""
        for metric, values in self.solver.scored(at, tuple(self.scores)).items():
            self.scores[metric][:, *at] = values
        self.tried[at] = True

    def _cost(self, line: Line, places: IntArray) -> FloatArray:
        """Scores (folds, p) of some penalties by the metric that decides, smaller ones better."""
        values = self.scores[self.metric][:, *line, places]
        return -values if SCORES[self.metric].greater_is_better else values

    def _finished(self, line: Line, place: int) -> bool:
        """Whether no smaller penalty of a line, from a place on, has to be tried."""
        tried = np.flatnonzero(self.tried[line])
        cost, errors = self._cost(line, tried), self.scores["mse"][:, *line, tried]
        past = len(tried) - 1 - int(np.argmin(_means(cost)))
        # Shares of correct labels vary in jumps and seldom get clearly worse; squared errors do.
        if past >= self.in_a_row and decided(errors, self.in_a_row):
            return True
        if place >= self.tried.shape[2] or self.solver.ended(line[0]):
            return True
        if self.stride > 1 and self._outdone(line, errors):
            return True
        if place < self.count:
            return False
        return past > 0 or (self.stride > 1 and settled(cost) and settled(errors))

    def _outdone(self, line: Line, errors: FloatArray) -> bool:
        """Whether another radius is clearly better than this line, with errors (folds, a), can be.

        Its error falls by less and less, so that its last step bounds the steps to come.
        """
        others = self.scores["mse"][:, line[0]].reshape(len(errors), -1)
        behind, means = errors[:, -1] - others[:, int(np.argmin(_means(others)))], _means(errors)
        clearly = behind.mean() > STANDARD_ERRORS * standard_error_of(behind)
        # Steps grow at first, once features enter.
        steps = -np.diff(means)[-2:]
        slows = len(steps) > 1 and steps[1] < steps[0]
        return bool(clearly and slows and COARSE * steps[1] < behind.mean())

    def _look_closely(self) -> None:
        """Try penalties beside the best, where its neighbours are worse by an amount that matters.

        Also before the first within one standard error of it. The best radius of a response only.
        """
        points: list[tuple[int, int, int]] = []
        step = max(1, self.stride // CLOSER)
        for response, tried in enumerate(self.tried):
            every = [
                self._cost((response, radius), np.flatnonzero(own))
                for radius, own in enumerate(tried)
            ]
            radius = int(np.argmin([_means(cost).min() for cost in every]))
            places, mean = np.flatnonzero(tried[radius]), _means(every[radius])
            best = int(np.argmin(mean))
            error = standard_error_of(every[radius][:, best])
            first = int(np.argmax(mean <= mean[best] + error))
            for left in {first - 1, best - 1, best}:
                if left < 0 or left + 1 >= len(places):
                    continue
                if abs(mean[left + 1] - mean[left]) > WORTHWHILE * error:
                    between = range(places[left] + step, places[left + 1], step)
                    points += [(response, radius, place) for place in between]
        if points:
            self._try(_points(points))


def _points(points: Sequence[tuple[int, int, int]]) -> Points:
    response, radius, place = np.array(points, dtype=np.intp).T
    return response, radius, place


def _means(values: FloatArray) -> FloatArray:
    """Means over the folds (first axis); infinite where no fold is known."""
    return np.nan_to_num(mean_of(values), nan=np.inf)
