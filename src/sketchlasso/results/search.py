"""The search for penalty and radius: down the penalties, judged on held-out rows as they come.

All lines (a response and a radius) walk down their penalties together. A line ends where its
squared error is well past its minimum (:func:`~sketchlasso.results.choices.decided`). On a sketch
the walk takes every few penalties, and some between them follow near the best. Points that were
never solved have status LEFT_OUT, NaN for numbers, and no coefficients. An automatic grid goes on
where its last penalty is the best.

:class:`OnData` solves the problems on X itself, :class:`SketchSearch` those on a sketch. Penalties
that are given are all solved, and so are problems on X in blocks and those for workers of a cluster
or a device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.cluster import active_engine
from sketchlasso.data import BlockMatrix, as_responses, as_rows
from sketchlasso.errors import InvalidInputError
from sketchlasso.exact import SLOWEST, Descended, Descent, ExactLedger, Solved
from sketchlasso.instances import RowSets, check_weights, splitter_rows
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import replace_rows
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.problem.terms import Terms, alpha_grid, default_ratio
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
from sketchlasso.results.models import LinearModels
from sketchlasso.results.path import (
    NUMBERS,
    Fits,
    Grid,
    Path,
    Problem,
    exact_path,
    fit_exact,
    join_fits,
)
from sketchlasso.results.radius import RadiusLike, given_radius
from sketchlasso.results.scores import (
    Metric,
    check_metrics,
    greater_is_better,
    held_out_scores,
    score,
)
from sketchlasso.results.sketched import OnSketch, fit_sketched
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.response import RowsBase
from sketchlasso.solvers import Settings, Solver, Status
from sketchlasso.solvers.settings import StopSolve
from sketchlasso.types import FloatArray, IntArray

# Points of the coarse grid on a sketch, about; grids that are not twice as fine are solved whole.
COARSE = 12
# Steps between two penalties of the coarse grid in a closer look.
CLOSER = 4
# An automatic grid may grow to so many times its length.
MOST_GROWTH = 2
# Penalties between two decisions on X itself. Larger stages cost less than they save with many
# responses, and at first where all row sets share a Gram matrix.
STAGE = 6
LONG_STAGE = 25
MANY_RESPONSES = 20
# Chains that have Gram matrices of their own, and are held at a time.
CHAINS_AT_ONCE = 24
# Up to this many entries of X, most of the time is spent in Python, which runs on one thread.
FEW_ENTRIES = 100_000

# A response and a radius, whose penalties are walked down.
Line = tuple[int, int]
Scores = dict[Any, FloatArray]


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
    found = searched(problem, Grid(alphas, alpha_min_ratio, radii), sketch, rows, metrics)
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
    found = fit_all(problem, Grid(alphas, alpha_min_ratio, radius), sketch, problem.all_rows)
    found.warn_if_unsolved()
    return found


def fit_all(
    problem: Problem,
    grid: Grid,
    sketch: Sketch | None,
    rows: RowSets,
    *,
    searching: bool = False,
) -> Path:
    """Solve every point of a grid on every row set: see :func:`sqrt_lasso_path`."""
    if sketch is not None:
        return fit_sketched(problem, grid, sketch, rows, searching=searching)
    return fit_exact(problem, grid, rows)


def searched(
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
    if grid.count is None or not _in_stages(problem, sketch, grid):
        fits = fit_all(problem, grid, sketch, rows, searching=True)
        responses = np.repeat(np.arange(len(fits.alphas)), fits.alphas[0].size)
        scores = held_out_scores(
            problem.X, problem.Y, problem.weights, fits.models, responses, rows, metrics
        )
        return judged(
            problem.X, fits, {name: one.reshape(fits.shape) for name, one in scores.items()}, rows
        )
    with single_blas_thread():
        solver: OnData | SketchSearch
        if sketch is None:
            solver = OnData(problem, grid, rows)
        else:
            solver = SketchSearch(problem, grid, sketch, rows, bases)
        search = _Search(solver, rows, metrics, grid.count)
        search.run()
    path = solver.path(search.count)
    found = {name: search.scores[name][..., : search.count] for name in metrics}
    result = judged(problem.X, path, found, rows)
    if isinstance(solver, OnData):
        return replace(result, on_all_rows=solver.on_all_rows(path))
    return result


def _in_stages(problem: Problem, sketch: Sketch | None, grid: Grid) -> bool:
    """Whether penalties are solved a few at a time.

    Not where each stage would cost a pass over blocks or a trip to workers, or penalties are few.
    """
    engine, settings = active_engine(), problem.settings or Settings()
    if sketch is None:
        # Knots are those of paths without a radius.
        return given_radius(grid.radii) == 0.0
    here = settings.device == CPU and (engine is None or not engine.remote)
    fine = grid.count is not None and grid.count >= 2 * COARSE
    return here and fine and not isinstance(problem.X, BlockMatrix)


class _Search:
    """Scores of the points tried so far, and what they say about the next ones."""

    def __init__(
        self,
        solver: OnData | SketchSearch,
        rows: RowSets,
        metrics: tuple[Metric, ...],
        count: int,
    ) -> None:
        self.solver, self.count, self.metric = solver, count, metrics[0]
        shape = (len(rows), *solver.shape)
        self.tried = np.zeros(shape[1:], dtype=bool)
        # The squared error decides when to stop, also beside other metrics.
        self.scores: Scores = {
            name: np.full(shape, np.nan) for name in dict.fromkeys((*metrics, "mse"))
        }
        self.in_a_row = max(2, -(-IN_A_ROW // solver.stride))

    def run(self) -> None:
        """Walk down every line until it is past its best, then look between its penalties."""
        for lines in self.solver.groups():
            place = 0
            while lines and not self.solver.stopped:
                places = self.solver.stage(place, lines)
                self._try([(*line, int(other)) for line in lines for other in places])
                place = self._after(int(places[-1]))
                ended = [line for line in lines if self._finished(line, place)]
                lines = [line for line in lines if line not in ended]
                self.solver.close(ended, place)
        if self.solver.stride > 1 and not self.solver.stopped:
            self._look_closely()
        self.count = max(self.count, int(np.flatnonzero(self.tried.any(axis=(0, 1)))[-1]) + 1)

    def _after(self, place: int) -> int:
        """The next place of the walk; the last of the grid is tried in any case."""
        following, last = place + self.solver.stride, self.tried.shape[2] - 1
        return last if place < last < following else following

    def _try(self, points: list[tuple[int, int, int]]) -> None:
        """Solve points for every fold, and score them."""
        at = tuple(np.array(points, dtype=np.intp).T)
        for metric, values in self.solver.solve(at, tuple(self.scores)).items():
            self.scores[metric][:, *at] = values
        self.tried[at] = True

    def _cost(self, response: int, radius: int, places: IntArray) -> FloatArray:
        """Scores (folds, p) of some penalties by the metric that decides, smaller ones better."""
        values = self.scores[self.metric][:, response, radius, places]
        return -values if greater_is_better(self.metric) else values

    def _finished(self, line: Line, place: int) -> bool:
        """Whether no smaller penalty of a line, from a place on, has to be tried."""
        tried = np.flatnonzero(self.tried[line])
        cost, errors = self._cost(*line, tried), self.scores["mse"][:, *line, tried]
        past = len(tried) - 1 - int(np.argmin(_means(cost)))
        # Shares of correct labels vary in jumps and seldom get clearly worse; squared errors do.
        if past >= self.in_a_row and decided(errors, self.in_a_row):
            return True
        if place >= self.tried.shape[2] or self.solver.ended(line):
            return True
        if self.solver.stride > 1 and self._outdone(line, errors):
            return True
        if place < self.count:
            return False
        return past > 0 or (self.solver.stride > 1 and settled(cost) and settled(errors))

    def _outdone(self, line: Line, errors: FloatArray) -> bool:
        """Whether another radius is clearly better than this line, with errors (folds, a), can be.

        Its error falls by less and less, so that its last step bounds the steps to come.
        """
        others = self.scores["mse"][:, line[0]].reshape(len(errors), -1)
        best = others[:, int(np.argmin(_means(others)))]
        behind, means = errors[:, -1] - best, _means(errors)
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
        for response in range(len(self.tried)):
            lines = [(response, radius) for radius in range(self.tried.shape[1])]
            every = [self._cost(*line, np.arange(self.tried.shape[2])) for line in lines]
            radius = int(np.argmin([_means(cost).min() for cost in every]))
            places = np.flatnonzero(self.tried[response, radius])
            cost = every[radius][:, places]
            mean, best = _means(cost), int(np.argmin(_means(cost)))
            error = standard_error_of(cost[:, best])
            first = int(np.argmax(mean <= mean[best] + error))
            for left in {first - 1, best - 1, best}:
                gap = places[left : left + 2]
                if left < 0 or len(gap) < 2 or np.ptp(mean[left : left + 2]) <= WORTHWHILE * error:
                    continue
                step = max(1, self.solver.stride // CLOSER)
                points += [(response, radius, p) for p in range(gap[0] + step, gap[1], step)]
        if points:
            self._try(points)


def _means(values: FloatArray) -> FloatArray:
    """Means over the folds (first axis); infinite where no fold is known."""
    return np.nan_to_num(mean_of(values), nan=np.inf)


class SketchSearch:
    """Points of a grid on a sketch, in the stages of a search."""

    def __init__(
        self,
        problem: Problem,
        grid: Grid,
        sketch: Sketch,
        rows: RowSets,
        bases: Sequence[RowsBase] | None,
    ) -> None:
        assert grid.count is not None
        growth = MOST_GROWTH if grid.alpha_min_ratio is None and grid.count > 1 else 1
        self._solver = OnSketch(
            problem, grid, sketch, rows, searching=True, growth=growth, bases=bases
        )
        self._problem, self._rows = problem, rows
        self.shape = self._solver.alphas.shape
        self.stride = grid.count // COARSE
        self.stopped = False
        self._found: list[tuple[Any, Fits]] = []

    def groups(self) -> list[list[Line]]:
        """All lines at once."""
        return [list(product(range(self.shape[0]), range(self.shape[1])))]

    def stage(self, place: int, lines: list[Line]) -> IntArray:
        """One penalty at a time."""
        del lines
        return np.array([place])

    def solve(self, at: Any, metrics: tuple[Any, ...]) -> Scores:
        """Scores (folds, p) of points."""
        fits = self._solver.solve(at)
        self._found.append((at, fits))
        self.stopped = bool((fits.status == Status.INTERRUPTED).any())
        X, Y, weights = self._problem.X, self._problem.Y, self._problem.weights
        return held_out_scores(X, Y, weights, fits.models, at[0], self._rows, metrics)

    def ended(self, line: Line) -> bool:
        """Whether smaller penalties change nothing."""
        del line
        return False

    def close(self, lines: list[Line], place: int) -> None:
        """Nothing is held for single lines."""

    def path(self, count: int) -> Path:
        """The points solved as one grid of `count` penalties; LEFT_OUT where none was."""
        shape = (len(self._rows), *self.shape[:2], count)
        numbers = np.arange(np.prod(shape)).reshape(shape)
        where = np.concatenate([numbers[:, *at].ravel() for at, _ in self._found])
        joined = join_fits([fits for _, fits in self._found])

        def spread_out(values: Any, otherwise: float) -> Any:
            whole = np.full(numbers.size, otherwise, dtype=values.dtype)
            whole[where] = values
            return whole

        unknown = {"n_iter": 0, "status": int(Status.LEFT_OUT)}
        nothing: Any = sparse.csr_array((numbers.size, joined.models.coef.shape[1]))
        fits = Fits(
            models=LinearModels(
                coef=replace_rows(nothing, where, joined.models.coef),
                intercept=spread_out(joined.models.intercept, np.nan),
            ),
            seconds=joined.seconds,
            **{
                name: spread_out(getattr(joined, name), unknown.get(name, np.nan))
                for name in NUMBERS
            },
        )
        if not self.stopped:
            self._solver.bar.end()
        return self._solver.path(fits, self._solver.alphas[..., :count])


class OnData:
    """Problems on X itself, each response and row set at its own place on its path.

    Penalties follow lambda = alpha ||r|| on all rows, evenly spaced in log scale from the largest:
    the grid of other LASSO software, whose end means the same for data with little noise and with
    much. In every stage the path on all rows gives the alphas of the next lambdas, and the folds
    are solved for them. With little noise the residual shrinks with lambda, and alpha hardly falls.
    Folds have fewer rows, and smaller penalties at which features enter: each alpha is therefore a
    little smaller than the one before. Where all rows are fitted exactly, lambda is zero for all
    smaller ones. From there on the penalties themselves are evenly spaced, until every fold is
    fitted exactly, too.
    """

    stride = 1

    def __init__(self, problem: Problem, grid: Grid, rows: RowSets) -> None:
        assert grid.count is not None
        self._problem, self._rows, self._count = problem, rows, grid.count
        m, n = problem.X.shape
        t, settings = problem.Y.shape[1], problem.full_settings
        steps = alpha_grid(np.ones(1), self._count, grid.alpha_min_ratio or default_ratio((m, n)))[
            0
        ]
        growth = MOST_GROWTH if grid.alpha_min_ratio is None and self._count > 1 else 1
        self._spacing = float(steps[1] / steps[0]) if self._count > 1 else 1.0
        self._steps: FloatArray = self._spacing ** np.arange(float(growth * self._count))
        self.shape = (t, 1, len(self._steps))
        everyone = RowSets(m, (*rows.sets, *problem.all_rows.sets))
        threads = settings.n_threads if m * n > FEW_ENTRIES else 1
        self._descent = Descent(
            problem.X, problem.Y, everyone, problem.terms, settings.tol, threads
        )
        self._all = len(rows)
        shape = (len(rows), t, len(self._steps))
        expected = shape[0] * t * self._count
        self._ledger = ExactLedger(shape, n, settings.tol, settings.callback, expected)
        # Solutions on all rows at the penalties of the folds, for the fit at the one that is best.
        self._everywhere = ExactLedger((1, *shape[1:]), n, settings.tol, None)
        self._on_all_rows: list[list[Solved]] = [[] for _ in range(t)]
        self._alphas: list[FloatArray] = [np.empty(0)] * t
        self._largest = np.zeros(t)
        # Responses that are fitted exactly at their last penalty on all rows.
        self._exact: set[int] = set()
        self._begun = perf_counter()
        self.stopped = False

    def groups(self) -> Iterator[list[Line]]:
        """Responses, as many as chains are held at a time."""
        size = len(self._alphas)
        if not self._descent.shares_gram:
            size = max(1, CHAINS_AT_ONCE // (len(self._rows) + 1))
        for first in range(0, len(self._alphas), size):
            lines = [(response, 0) for response in range(first, len(self._alphas))[:size]]
            for response, _ in lines:
                self._largest[response] = self._descent.chain(self._all, response).largest_lambda()
            yield lines

    def stage(self, place: int, lines: list[Line]) -> IntArray:
        """The next penalties, more of them where each costs little."""
        size = STAGE
        if len(lines) > MANY_RESPONSES or (self._descent.shares_gram and place == 0):
            size = LONG_STAGE
        elif self._descent.shares_gram:
            active = [len(self._on_all_rows[response][-1].support) for response, _ in lines]
            if 2 * max(active) < place:
                # A penalty with so few features costs less than the round that judges it.
                size = max(size, place // 2)
        end = self._count if place < self._count else len(self._steps)
        return np.arange(place, min(place + size, end))

    def solve(self, at: Any, metrics: tuple[Any, ...]) -> Scores:
        """Scores (folds, p) of the next penalties of some responses."""
        responses, places = dict.fromkeys(at[0].tolist()), np.unique(at[2])
        fresh = self._next_penalties(list(responses), places)
        keys = [(fold, response) for response in responses for fold in range(len(self._rows))]
        numbers = [places] * len(self._alphas)
        try:
            self._descent.solve(keys, fresh, numbers, self._ledger)
        except StopSolve:
            self._stop()
        models = {response: range(places[0], places[-1] + 1) for response in responses}
        scores: Scores = {name: np.empty((len(self._rows), len(at[0]))) for name in metrics}
        for fold, row_set in enumerate(self._rows):
            predicted = self._ledger.fitted(fold, models, self._problem.X, row_set.test)
            weights = self._problem.weights
            share = None if weights is None else weights[row_set.test]
            for number, response in enumerate(responses):
                part = slice(number * len(places), (number + 1) * len(places))
                y = self._problem.Y[row_set.test, response]
                for metric, values in scores.items():
                    values[fold, part] = score(metric, y, predicted[:, part], share)
        return scores

    def _next_penalties(self, responses: list[int], places: IntArray) -> list[FloatArray]:
        """Penalties at the next lambdas; none of those that are not asked for."""
        steps = self._steps[places]
        found: dict[tuple[int, int], Descended] = self._descent.descend(
            {
                (self._all, response): self._largest[response] * steps
                for response in responses
                if self._largest[response] > 0 and response not in self._exact
            }
        )
        fresh: list[FloatArray] = [np.empty(0)] * len(self._alphas)
        for response in responses:
            before, solved = self._alphas[response], self._on_all_rows[response]
            penalties, more = found.get((self._all, response), (np.empty(0), []))
            solved += more
            known = np.concatenate([before, penalties])
            self._everywhere.begin(0, response, self._descent.chain(self._all, response).target)
            for number in range(len(before), len(known)):
                if number > 0 and known[number] > SLOWEST * known[number - 1]:
                    known[number] = SLOWEST * known[number - 1]
                else:
                    self._everywhere.record(0, response, number, solved[number])
            missing = len(steps) - len(penalties)
            if missing:
                # No feature ever enters, so any penalty will do; or smaller ones change nothing.
                self._exact.add(response)
                known = _extended(known, len(known) + missing, self._spacing)
                if not solved:
                    chain = self._descent.chain(self._all, response)
                    solved.append(chain.solve(float(known[0])))
                solved += solved[-1:] * (len(known) - len(solved))
            self._alphas[response], fresh[response] = known, known[len(before) :]
        return fresh

    def _stop(self) -> None:
        """End the search because the callback stopped it; unsolved problems hold w = 0."""
        self.stopped = True
        for key in product(range(len(self._rows)), range(len(self._alphas))):
            if not self._ledger.begun(*key):
                self._ledger.begin(*key, self._descent.chain(*key).target)

    def ended(self, line: Line) -> bool:
        """Whether smaller penalties change nothing: no feature enters, or all fits are exact."""
        response = line[0]
        exact = response in self._exact and all(
            self._descent.chain(fold, response).fits_exactly for fold in range(len(self._rows))
        )
        return exact or self._largest[response] == 0

    def close(self, lines: list[Line], place: int) -> None:
        """Free what the chains of some responses hold, which end before a place."""
        for response, _ in lines:
            self._ledger.leave_out(response, place)
            for row_set in range(self._all + 1):
                self._descent.forget(row_set, response)

    def path(self, count: int) -> Path:
        """The models of `count` penalties."""
        alphas = np.array([_extended(part, count, self._spacing) for part in self._alphas])
        return exact_path(self._ledger.solution(self._begun, count), alphas, self._problem.terms)

    def on_all_rows(self, path: Path) -> Path:
        """The models of all rows at the penalties of a path; INTERRUPTED where none is known."""
        alphas = path.alphas[:, 0]
        solution = self._everywhere.solution(self._begun, alphas.shape[1])
        return exact_path(solution, alphas, self._problem.terms)


def _extended(alphas: FloatArray, count: int, spacing: float) -> FloatArray:
    """Penalties (count,) that go on below the last as they are spaced."""
    rest = spacing ** np.arange(1, count - len(alphas) + 1)
    last = alphas[-1] if len(alphas) else 1.0 / spacing
    return np.concatenate([alphas, last * rest])
