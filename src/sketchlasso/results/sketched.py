"""Problems on sketches, for all rows or with rows held out, and their solutions as models of X.

A sketch made without y serves all row sets, in one batch. One made with y is made again for every
row set, from its training rows and their responses alone; the part that does not depend on y is
shared. Radii are numbers before anything is solved: see :mod:`sketchlasso.results.radius`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import BlockMatrix, ColumnTransform
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import (
    ProblemSet,
    RowSet,
    RowSets,
    all_rows,
    penalty_grid,
    problems_of,
    weighted_rows,
    weights_of,
)
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.linalg.threads import map_items
from sketchlasso.problem.terms import check_alphas, default_ratio
from sketchlasso.results.path import Grid, LinearModels, Path, Points, Problem
from sketchlasso.results.radius import (
    RadiusPolicy,
    radius_policies,
    realised_error,
    search_radii,
)
from sketchlasso.results.scores import Metric, held_out_scores
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.response import RowsBase, extend_rows, rows_base
from sketchlasso.solvers import Iterates, Settings, Solution, Status, solve_or_raise
from sketchlasso.solvers.settings import SharedProgress
from sketchlasso.types import FloatArray, IntArray, SparseRows

# With a realised radius the l2 term shrinks with the penalty, and good penalties are small.
REALISED_RATIO = 1e-3
# The realised radius needs the error of a model to a few digits, and may be far from the typical.
RADIUS_TOL = 1e-3
EVALUATIONS = 8
# Features in use serve penalties down to this share of the smallest asked for.
AHEAD = 0.3


@dataclass(frozen=True, eq=False)
class SketchedRows:
    """A sketch of some rows of the data, and the row sets to be solved on it."""

    sketch: Sketch
    rows: IntArray | None  # (r,): rows of the data that the sketch's rows are; None for all
    row_sets: RowSets  # in the numbering of the sketch's rows


def sketched_rows(
    problem: Problem,
    sketch: Sketch,
    rows: RowSets,
    policies: Sequence[RadiusPolicy],
    bases: Sequence[RowsBase] | None = None,
) -> list[SketchedRows]:
    """The sketches on which the row sets are solved, none made from held-out responses."""
    plain = len(rows) == 1 and not len(rows[0].removed) and rows[0].weights is None
    if plain or not sketch.response_rank:
        bound = any(policy.kind == "spectral" for policy in policies)
        return [
            SketchedRows(sketch.with_spectral_radius(problem.X) if bound else sketch, None, rows)
        ]
    bases = fold_bases(problem.X, sketch, rows) if bases is None else bases
    return [
        sketch_training_rows(problem, sketch, row_set, policies, base)
        for row_set, base in zip(rows, bases, strict=True)
    ]


def fold_bases(X: Any, sketch: Sketch, rows: RowSets) -> list[RowsBase]:
    """The parts of the sketches of all training rows that do not depend on the response."""
    trains = [row_set.training(rows.n_samples)[0] for row_set in rows]
    return [rows_base(sketch, X[train], train) for train in trains]


def sketch_training_rows(
    problem: Problem,
    sketch: Sketch,
    row_set: RowSet,
    policies: Sequence[RadiusPolicy],
    base: RowsBase | None = None,
) -> SketchedRows:
    """The sketch of one row set, made from its training rows and their responses alone."""
    train, weights = row_set.training(len(problem.Y))
    bound = any(policy.kind == "spectral" for policy in policies)
    made = extend_rows(
        rows_base(sketch, problem.X[train], train) if base is None else base,
        sketch,
        problem.Y[train],
        weights=weights,
        radius="spectral" if bound else "realised",
        random_state=sketch.seed,
    )
    local = all_rows(len(train)) if weights is None else weighted_rows(weights)
    return SketchedRows(made, train, local)


def grid_on(
    problem: Problem, grid: Grid, sketch: Sketch, policies: Sequence[RadiusPolicy]
) -> FloatArray:
    """Penalties (t, radii, a): those given, or automatic ones of the problem on all rows."""
    t = problem.Y.shape[1]
    if grid.count is None:
        given = check_alphas(grid.alphas)
        return np.broadcast_to(given, (t, len(policies), len(given)))
    if any(policy.kind == "spectral" for policy in policies):
        sketch = sketch.with_spectral_radius(problem.X)
    # At a realised radius the first features enter where they would without any radius.
    levels = [policy.level(sketch) for policy in policies]
    ratio: ArrayLike | None = grid.alpha_min_ratio
    if ratio is None:
        usual = default_ratio(sketch.shape)
        ratio = [REALISED_RATIO if policy.kind == "realised" else usual for policy in policies]
    return penalty_grid(
        sketch,
        problem.Y,
        problem.terms,
        grid.count,
        ratio,
        radii=np.array(levels),
        rows=problem.all_rows,
    )


def linear_models(
    problems: ProblemSet, coef: SparseRows, transform: ColumnTransform, X: Any
) -> LinearModels:
    """Models on the original scale; intercepts from the real training rows of X.

        intercept = mean(y) - mean(X v)    over the training rows, with their weights

    Parameters
    ----------
    problems : ProblemSet
    coef : csr_array of shape (B, n)
        On the scale of the sketch.
    transform : ColumnTransform
        What the sketch did to the columns.
    X : array, sparse matrix or BlockMatrix of shape (m, n), or None
        The data that were sketched, neither centred nor scaled. They are not needed for a sketch
        that centres, on all rows with weights of one.
    """
    if X is not None and X.shape != (problems.rows.n_samples, coef.shape[1]):
        raise InvalidInputError(
            f"X has shape {X.shape} but the problems were built for "
            f"({problems.rows.n_samples}, {coef.shape[1]}); pass the X that was sketched"
        )
    original = transform.unscale(coef)
    if knows_means(problems, transform):
        # Means of all rows are those that the sketch has subtracted.
        return LinearModels(original, problems.y_mean - transform.shift(original))
    return LinearModels(original, problems.y_mean - _training_means(problems, original, X))


def knows_means(problems: ProblemSet, transform: ColumnTransform) -> bool:
    """Whether a sketch has the column means that intercepts need, if there are any."""
    return not problems.fit_intercept or (transform.means is not None and _all_train(problems.rows))


def _training_means(problems: ProblemSet, coef: SparseRows, X: Any) -> FloatArray:
    """Mean (B,) of X v over the training rows of every instance; at most one pass over X."""
    blocks, sets = BlockMatrix.of(X), problems.rows
    total = blocks.sum(axis=0)
    if _all_train(sets):
        return np.asarray(coef @ (total / len(blocks)))
    chosen = [
        (row_set.removed, None) if row_set.weights is None else row_set.training(len(blocks))
        for row_set in sets
    ]
    sums = (blocks.T @ weights_of(chosen, len(blocks))).T
    means = np.empty(coef.shape[0])
    for number, instances in enumerate(np.split(np.arange(len(means)), len(sets))):
        weights, removed = sets[number].weights, sets[number].removed
        if weights is None:
            mean = (total - sums[number]) / (len(blocks) - len(removed))
        else:
            mean = sums[number] / weights.sum()
        means[instances] = coef[instances] @ mean
    return means


def _all_train(sets: RowSets) -> bool:
    """Whether every row set has all rows, each with a weight of one."""
    return all(row_set.weights is None and len(row_set.removed) == 0 for row_set in sets)


class _Part:
    """The problems of one sketch, each with the radius that it keeps, and their solutions.

    Realised radii are found at the penalties `middle` (t,) of the responses.
    """

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        made: SketchedRows,
        policies: Sequence[RadiusPolicy],
        middle: FloatArray,
    ) -> None:
        self.sketch, self.solver, self.settings = made.sketch, problem.solver, settings
        self.row_sets, self.seconds = made.row_sets, 0.0
        Y = problem.Y if made.rows is None else problem.Y[made.rows]
        X = problem.X if made.rows is None else problem.X[made.rows]
        self.base = problems_of(
            self.sketch,
            Y,
            problem.terms,
            alphas=np.repeat(middle[:, None, None], len(policies), axis=1),
            radii=[policy.level(self.sketch) for policy in policies],
            rows=made.row_sets,
        )
        realised = np.array([policy.factor * (policy.kind == "realised") for policy in policies])
        if realised.any():
            factor = realised[self.base.radius_index]
            radius = np.where(factor > 0, factor * self._realised_radius(X), self.radius)
            self.base = replace(self.base, batch=replace(self.base.batch, radius=radius))
        # Only intercepts need X: its means over training rows that the sketch does not know.
        self.X = None if knows_means(self.base, self.sketch.transform) else X
        # Of every path, by place: the coefficients and the dual point of what is solved.
        self._solved: dict[int, dict[int, tuple[IntArray, FloatArray, FloatArray]]] = {}
        self._features, self._floor = np.empty(0, dtype=np.intp), np.inf

    @property
    def radius(self) -> FloatArray:
        """Radii of all paths: row sets x responses x radii."""
        return self.base.batch.radius

    def _realised_radius(self, X: Any) -> FloatArray:
        """The realised radius of the row set and response of every path."""
        A, first = self.sketch.view(X), np.flatnonzero(self.base.radius_index == 0)
        batch = self.base.batch.take(first)
        settings = replace(self.settings, tol=max(self.settings.tol, RADIUS_TOL), callback=None)
        warm: Iterates | None = None

        def error_at(radius: FloatArray) -> FloatArray:
            nonlocal warm
            found = solve_or_raise(replace(batch, radius=radius), self.solver, settings, warm)
            warm = Iterates(found.coef, found.dual_point, np.zeros_like(found.steps))
            self.seconds += found.seconds
            return realised_error(self.sketch, A, self.base, found.coef, first)

        typical = self.sketch.typical_error(A)
        if typical == 0:
            return np.zeros_like(self.radius)
        found = search_radii(np.full(len(first), typical), error_at, EVALUATIONS)
        return np.repeat(found, self.base.shape[2])

    def solve(self, at: Points, alphas: FloatArray) -> tuple[LinearModels, Solution, FloatArray]:
        """Models, solutions and radii of points with penalties (p,) for every row set.

        Row sets vary slowest. Each problem starts from the next larger penalty that is solved.
        """
        (response, radius, place), (sets, t, radii, _) = at, self.base.shape
        path = (np.arange(sets)[:, None] * (t * radii) + response * radii + radius).ravel()
        places = np.tile(place, sets)
        batch = replace(self.base.batch.take(path), alpha=np.tile(alphas, sets))
        features, warm = self._reachable(batch.alpha.min()), self._start(path, places)
        if warm is not None:
            warm = replace(warm, coef=sparse.csr_array(warm.coef[:, features]))
        factor = np.ascontiguousarray(batch.penalty_factor[..., features])
        found = solve_or_raise(
            replace(batch, P=self._P, penalty_factor=factor),
            self.solver,
            self.settings,
            warm,
            path if warm is None else None,
        )
        rows: Any = found.coef
        coef: Any = sparse.csr_array(
            (rows.data, features[rows.indices], rows.indptr), (len(path), batch.n_features)
        )
        for row, (number, here) in enumerate(zip(path.tolist(), places.tolist(), strict=True)):
            part = slice(coef.indptr[row], coef.indptr[row + 1])
            solved = coef.indices[part], coef.data[part], found.dual_point[row]
            self._solved.setdefault(number, {})[here] = solved
        problems = replace(
            self.base,
            batch=batch,
            shape=(sets, 1, 1, len(place)),
            y_mean=self.base.y_mean[path],
            left_out=self.base.left_out[path],
        )
        return linear_models(problems, coef, self.sketch.transform, self.X), found, batch.radius

    def _start(self, path: IntArray, places: IntArray) -> Iterates | None:
        """The solutions at the next larger penalties; None where there are none for some."""
        rows = []
        for number, place in zip(path.tolist(), places.tolist(), strict=True):
            solved = self._solved.get(number, {})
            larger = max((other for other in solved if other < place), default=None)
            if larger is None:
                return None
            rows.append(solved[larger])
        return Iterates(
            stack_rows([row[:2] for row in rows], self.base.batch.n_features),
            np.stack([row[2] for row in rows]),
            np.zeros(len(rows), dtype=np.intp),
        )

    def _reachable(self, alpha: float) -> IntArray:
        """Features that a dual point can bring to a penalty or somewhat smaller ones.

        |a_j'u| <= ||a_j||, as dual points are no longer than 1. Most words of a text are too rare.
        """
        if alpha >= self._floor:
            return self._features
        batch, self._floor = self.base.batch, AHEAD * alpha
        length = np.linalg.norm(np.asarray(batch.P, dtype=np.float64), axis=1)
        if batch.roots is not None:
            length *= max(np.linalg.norm(root, 2) for root in batch.roots)
        factor = np.atleast_2d(batch.penalty_factor).min(axis=0)
        with np.errstate(invalid="ignore"):  # 0 times inf
            reached = np.flatnonzero(length > self._floor * factor)
        # A batch has at least one feature.
        self._features = reached if len(reached) else np.array([np.argmax(length)])
        self._P = np.ascontiguousarray(batch.P[self._features])
        return self._features


def radius_on(problem: Problem, part: SketchedRows, policy: RadiusPolicy, alpha: float) -> float:
    """The radius of a policy on the rows of a sketch, at a penalty."""
    settings = problem.settings or Settings()
    return float(_Part(problem, settings, part, [policy], np.array([alpha])).radius[0])


class SketchedPaths:
    """Problems of a grid on a sketch, for every row set, solved a few points at a time.

    The grid goes on to `growth` times its length. `bases` are the parts of the row sets' sketches
    that do not depend on the response. Points that are never solved are LEFT_OUT.
    """

    def __init__(
        self,
        problem: Problem,
        grid: Grid,
        sketch: Sketch,
        rows: RowSets,
        *,
        searching: bool = False,
        growth: int = 1,
        bases: Sequence[RowsBase] | None = None,
    ) -> None:
        self._problem, self._rows = problem, rows
        self.policies = radius_policies(grid.radii, sketch, search=searching)
        self.alphas = grid_on(problem, grid, sketch, self.policies)
        expected, middle = len(rows) * self.alphas.size, (self.alphas.shape[2] - 1) // 2
        if growth > 1:
            step, more = self.alphas[..., -1:] / self.alphas[..., -2:-1], self.alphas.shape[2]
            longer = self.alphas[..., -1:] * step ** np.arange(1, (growth - 1) * more + 1)
            self.alphas = np.concatenate([self.alphas, longer], axis=-1)
        settings = problem.settings or Settings()
        self.progress = SharedProgress(settings.callback, expected)
        made = sketched_rows(problem, sketch, rows, self.policies, bases)
        # Solves of a few points each have less to do at once than there are cores.
        self._threads = min(settings.n_threads, len(made)) if settings.device == CPU else 1
        if self._threads > 1:
            settings = replace(settings, n_threads=1)
        # A realised radius is the same wherever it is the first one that is asked for.
        first = next((i for i, one in enumerate(self.policies) if one.kind == "realised"), 0)
        part = partial(self._part, problem, settings, self.alphas[:, first, middle])
        self._parts = map_items(part, made, self._threads)
        self._scales = sketch.column_scales
        self.shape = (len(rows), *self.alphas.shape)
        self._numbers = np.arange(len(rows) * self.alphas.size).reshape(self.shape)
        size = self._numbers.size
        # What is known of every point; NaN for those that are never solved.
        self._known: dict[str, Any] = {
            "n_iter": np.zeros(size, dtype=np.intp),
            "status": np.full(size, int(Status.LEFT_OUT)),
            **{name: np.full(size, np.nan) for name in ("primal", "dual", "null", "radius")},
        }
        self._intercept, self._seconds = np.full(size, np.nan), 0.0
        self._coef: list[tuple[IntArray, SparseRows]] = []

    def _part(
        self, problem: Problem, settings: Settings, middle: FloatArray, made: SketchedRows
    ) -> _Part:
        settings = replace(settings, callback=self.progress.part())
        return _Part(problem, settings, made, self.policies, middle)

    def solve(self, at: Points) -> LinearModels:
        """Models of every row set at some points, row sets slowest."""
        solved = map_items(lambda part: part.solve(at, self.alphas[at]), self._parts, self._threads)
        sets = np.cumsum([len(part.row_sets) for part in self._parts])[:-1]
        parts = np.split(self._numbers[:, *at], sets)
        for numbers, (models, found, radius) in zip(map(np.ravel, parts), solved, strict=True):
            self._coef.append((numbers, models.coef))
            self._intercept[numbers] = models.intercept
            self._known["n_iter"][numbers], self._known["radius"][numbers] = found.steps, radius
            for name in ("primal", "dual", "null", "status"):
                self._known[name][numbers] = getattr(found, name)
            self._seconds += found.seconds
        return LinearModels(
            sparse.csr_array(sparse.vstack([models.coef for models, *_ in solved])),
            np.concatenate([models.intercept for models, *_ in solved]),
        )

    def scored(self, at: Points, metrics: tuple[Metric, ...]) -> dict[Metric, FloatArray]:
        """Scores (folds, p) of some points on the held-out rows."""
        X, Y, weights = self._problem.X, self._problem.Y, self._problem.weights
        return held_out_scores(X, Y, weights, self.solve(at), at[0], self._rows, metrics)

    def groups(self) -> list[list[int]]:
        """All responses at once."""
        return [list(range(self.shape[1]))]

    def stage(self, place: int, responses: list[int]) -> IntArray:
        """One penalty at a time."""
        del responses
        return np.array([place])

    def ended(self, response: int) -> bool:
        """Whether smaller penalties of a response change nothing, which is not known"""
        del response
        return False

    def close(self, response: int, place: int) -> None:
        """Nothing is held for single responses."""

    @property
    def interrupted(self) -> bool:
        """Whether a callback has stopped a solve."""
        return bool((self._known["status"] == Status.INTERRUPTED).any())

    def path(self, count: int) -> Path:
        """What was solved of the first `count` penalties."""
        if not self.interrupted:
            self.progress.end()
        wanted = self._numbers[..., :count].ravel()
        solved = np.concatenate([numbers for numbers, _ in self._coef])
        row = np.full(self._numbers.size, -1)
        row[solved] = np.arange(len(solved))
        # Points that were never solved have the row of zeros at the end.
        empty = sparse.csr_array((1, self._problem.X.shape[1]))
        stacked: Any = sparse.vstack([*(coef for _, coef in self._coef), empty], format="csr")
        return Path(
            models=LinearModels(stacked[row[wanted]], self._intercept[wanted]),
            alphas=self.alphas[..., :count],
            radii=self.policies,
            **{name: values[wanted] for name, values in self._known.items()},
            terms=self._problem.terms.scaled(self._scales),
            proved=False,
            seconds=self._seconds + sum(part.seconds for part in self._parts),
            column_scales=self._scales,
        )


def fit_sketched(
    problem: Problem, grid: Grid, sketch: Sketch, rows: RowSets, *, searching: bool = False
) -> Path:
    """Fit every point of a grid on every row set."""
    solver = SketchedPaths(problem, grid, sketch, rows, searching=searching)
    solver.solve(every_point(solver.alphas))
    return solver.path(solver.alphas.shape[2])


def every_point(alphas: FloatArray) -> Points:
    """All points of a grid (responses, radii, alphas)."""
    response, radius, place = (axis.ravel() for axis in np.indices(alphas.shape, dtype=np.intp))
    return response, radius, place
