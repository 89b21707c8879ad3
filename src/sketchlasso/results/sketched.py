"""Problems on sketches, for all rows or with rows held out, and their solutions as models of X.

A sketch made without y serves all row sets, in one batch. One made with y is made again for every
row set, from its training rows and their responses alone; the part that does not depend on y is
shared. Radii are numbers before anything is solved: see :mod:`sketchlasso.results.radius`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.instances import (
    RowSet,
    RowSets,
    all_rows,
    penalty_grid,
    problems_of,
    weighted_rows,
)
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.linalg.threads import map_items
from sketchlasso.problem.terms import check_alphas, default_ratio
from sketchlasso.results.models import knows_means, models_of
from sketchlasso.results.path import Fits, Grid, Path, Problem, join_fits, sketched_path
from sketchlasso.results.progress import SharedProgress
from sketchlasso.results.radius import (
    RadiusPolicy,
    radius_policies,
    realised_error,
    search_radii,
)
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.response import RowsBase, extend_rows, rows_base
from sketchlasso.sketches.sketch import check_sketch_of
from sketchlasso.solvers import Iterates, Settings, solve_or_raise
from sketchlasso.types import FloatArray, IntArray

# Points of a grid: numbers of their responses, radii and penalties, each (p,).
Points: TypeAlias = "tuple[IntArray, IntArray, IntArray]"

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
    levels = [policy.level(sketch, 0.0) for policy in policies]
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


class _Part:
    """The problems of one sketch, each with the radius that it keeps, and their solutions."""

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        part: SketchedRows,
        policies: Sequence[RadiusPolicy],
        alphas: FloatArray,
        growth: int,
    ) -> None:
        self.sketch, self.solver, self.settings = part.sketch, problem.solver, settings
        Y = problem.Y if part.rows is None else problem.Y[part.rows]
        X = problem.X if part.rows is None else problem.X[part.rows]
        levels = [policy.level(self.sketch, 0.0) for policy in policies]
        self.base = problems_of(
            self.sketch, Y, problem.terms, alphas=alphas[..., :1], radii=levels, rows=part.row_sets
        )
        factor = np.array(
            [policy.factor if policy.kind == "realised" else 0.0 for policy in policies]
        )
        self.alphas, self.seconds = alphas, 0.0
        if factor.any():
            follows = np.flatnonzero(factor)
            # In the middle of the grid, as it is before it goes on.
            place = (alphas.shape[2] // growth - 1) // 2
            realised = self._realised_radius(X, alphas[:, follows[0], place])
            radius = np.where(
                factor[self.base.radius_index] > 0,
                factor[self.base.radius_index] * realised,
                self.base.batch.radius,
            )
            self.base = replace(self.base, batch=replace(self.base.batch, radius=radius))
        # Only intercepts need X: its means over training rows that the sketch does not know.
        self.X = None if knows_means(self.base, self.sketch.transform) else X
        # By number of instance and place: coefficients and dual point.
        self._found: dict[int, dict[int, tuple[IntArray, FloatArray, FloatArray]]] = {}
        self._lengths = np.linalg.norm(np.asarray(self.base.batch.P, dtype=np.float64), axis=1)
        if self.base.batch.roots is not None:
            self._lengths *= max(np.linalg.norm(root, 2) for root in self.base.batch.roots)
        self._features: IntArray | None = None
        self._floor = np.inf

    def _realised_radius(self, X: Any, alphas: FloatArray) -> FloatArray:
        """The realised radius (B,) of every row set and response, at a penalty (t,) of each."""
        A = self.sketch.view(X)
        radii = self.base.shape[2]
        first = np.flatnonzero(self.base.radius_index == 0)
        batch = replace(self.base.batch.take(first), alpha=alphas[self.base.response[first]])
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
            return np.zeros(self.base.batch.n_instances)
        x, _ = search_radii(np.full(len(first), typical), error_at, EVALUATIONS)
        return np.repeat(np.exp(x), radii)

    def solve(self, at: Points) -> Fits:
        """Solve points of the grid for every row set, which vary slowest, from those before."""
        (response, radius, place), (sets, t, radii, _) = at, self.base.shape
        path = (np.arange(sets)[:, None] * (t * radii) + response * radii + radius).ravel()
        places = np.tile(place, sets)
        batch = replace(self.base.batch.take(path), alpha=np.tile(self.alphas[at], sets))
        warm = self._start(path, places)
        features = self._reachable(batch.alpha.min())
        if warm is not None:
            warm = replace(warm, coef=sparse.csr_array(warm.coef[:, features]))
        found = solve_or_raise(
            replace(
                batch,
                P=self._P,
                penalty_factor=np.ascontiguousarray(batch.penalty_factor[..., features]),
            ),
            self.solver,
            self.settings,
            warm,
            path if warm is None else None,
        )
        coef: Any = found.coef
        coef = sparse.csr_array(
            (coef.data, features[coef.indices], coef.indptr), (len(path), batch.n_features)
        )
        for row, (number, here) in enumerate(zip(path.tolist(), places.tolist(), strict=True)):
            part = slice(coef.indptr[row], coef.indptr[row + 1])
            self._found.setdefault(number, {})[here] = (
                coef.indices[part],
                coef.data[part],
                found.dual_point[row],
            )
        problems = replace(
            self.base,
            batch=batch,
            shape=(sets, 1, 1, len(place)),
            y_mean=self.base.y_mean[path],
            left_out=self.base.left_out[path],
        )
        seconds, self.seconds = found.seconds + self.seconds, 0.0
        return Fits(
            models=models_of(problems, coef, self.sketch.transform, self.X),
            primal=found.primal,
            dual=found.dual,
            null=found.null,
            n_iter=found.steps,
            status=found.status,
            radius=batch.radius,
            seconds=seconds,
        )

    def _start(self, path: IntArray, places: IntArray) -> Iterates | None:
        """The solutions at the next larger penalties; None where there are none for some."""
        rows = []
        for number, place in zip(path.tolist(), places.tolist(), strict=True):
            solved = self._found.get(number, {})
            larger = [other for other in solved if other < place]
            if not larger:
                return None
            rows.append(solved[max(larger)])
        return Iterates(
            stack_rows([row[:2] for row in rows], self.base.batch.n_features),
            np.stack([row[2] for row in rows]),
            np.zeros(len(rows), dtype=np.intp),
        )

    def _reachable(self, alpha: float) -> IntArray:
        """Features that a dual point can bring to a penalty or somewhat smaller ones.

        |a_j'u| <= ||a_j||, as dual points are no longer than 1. Most words of a text are too rare.
        """
        if alpha >= self._floor and self._features is not None:
            return self._features
        batch = self.base.batch
        length = self._lengths
        self._floor = AHEAD * alpha
        factor = np.atleast_2d(batch.penalty_factor).min(axis=0)
        with np.errstate(invalid="ignore"):  # 0 times inf
            reached = np.flatnonzero(length > self._floor * factor)
        # A batch has at least one feature.
        self._features = reached if len(reached) else np.array([np.argmax(length)])
        self._P = np.ascontiguousarray(batch.P[self._features])
        return self._features


def radius_on(problem: Problem, part: SketchedRows, policy: RadiusPolicy, alpha: float) -> float:
    """The radius of a policy on the rows of a sketch, at a penalty."""
    alphas = np.full((1, 1, 1), alpha)
    made = _Part(problem, problem.settings or Settings(), part, [policy], alphas, 1)
    return float(made.base.batch.radius[0])


class OnSketch:
    """Solves points of a grid on a sketch, for every row set."""

    def __init__(
        self,
        problem: Problem,
        grid: Grid,
        sketch: Sketch,
        rows: RowSets,
        *,
        searching: bool,
        growth: int = 1,
        bases: Sequence[RowsBase] | None = None,
    ) -> None:
        check_sketch_of(sketch, problem.X, problem.Y)
        self.policies = radius_policies(grid.radii, sketch, search=searching)
        grids = grid_on(problem, grid, sketch, self.policies)
        if growth > 1:
            step, more = grids[..., -1:] / grids[..., -2:-1], (growth - 1) * grids.shape[2]
            more_alphas = grids[..., -1:] * step ** np.arange(1, more + 1)
            grids = np.concatenate([grids, more_alphas], axis=-1)
        self.alphas = grids
        self._problem, self._sketch = problem, sketch
        settings = problem.settings or Settings()
        expected = len(rows) * grids.size // growth
        self.bar = SharedProgress(settings.callback, expected)
        parts = sketched_rows(problem, sketch, rows, self.policies, bases)
        # Solves of a few points each have less to do at once than there are cores.
        self._aside = min(settings.n_threads, len(parts)) if settings.device == CPU else 1
        # Features that cannot matter are left out here, so that the solver need not look for any.
        settings = replace(settings, screening=False)
        if self._aside > 1:
            settings = replace(settings, n_threads=1)
        self._growth = growth
        make = partial(self._part, settings)
        self._parts = map_items(make, parts, self._aside)

    def _part(self, settings: Settings, part: SketchedRows) -> _Part:
        settings = replace(settings, callback=self.bar.part())
        return _Part(self._problem, settings, part, self.policies, self.alphas, self._growth)

    def solve(self, at: Points) -> Fits:
        """Models of every row set at some points, row sets slowest."""
        return join_fits(map_items(lambda part: part.solve(at), self._parts, self._aside))

    def path(self, fits: Fits, alphas: FloatArray) -> Path:
        """Fits of all points with penalties (responses, radii, alphas)."""
        return sketched_path(fits, alphas, self.policies, self._problem, self._sketch)


def fit_sketched(
    problem: Problem, grid: Grid, sketch: Sketch, rows: RowSets, *, searching: bool = False
) -> Path:
    """Fit every point of a grid on every row set."""
    solver = OnSketch(problem, grid, sketch, rows, searching=searching)
    points = tuple(axis.ravel() for axis in np.indices(solver.alphas.shape, dtype=np.intp))
    return solver.path(solver.solve(points), solver.alphas)  # type: ignore[arg-type]
