"""Solve a task on a sketch and return models of X, also with rows held out.

A sketch made without y serves all row sets, in one batch. One made with y is made again for every
row set, from its training rows and their responses alone; the part that does not depend on y is
shared.
Each of these sketches (`SketchedRows`) is laid out as problems (`SketchedProblems`) and solved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import DataMatrix
from sketchlasso.instances import (
    ProblemSet,
    RowSet,
    RowSets,
    all_rows,
    penalty_grid,
    problems_of,
    weighted_rows,
)
from sketchlasso.problem.terms import default_ratio
from sketchlasso.results.fitting import Fits, Path, Task
from sketchlasso.results.models import LinearModels, linear_models
from sketchlasso.results.radius_policy import RadiusPolicy
from sketchlasso.results.realised import realised_error, settle_radii
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.response import RowsBase, extend_rows, rows_base
from sketchlasso.solvers import Settings, Solution, solve_or_raise
from sketchlasso.types import BoolArray, FloatArray, IntArray

# With a realised radius the l2 term shrinks with the penalty, and good penalties are small.
REALISED_RATIO = 1e-3
# A response is in the span of a sketch if at most this share of it, due to rounding, lies outside.
HELD = 1e-6
# Arrays of fits with one number per instance.
NUMBERS = ("primal", "dual", "relative_gap", "n_iter", "status", "radius")


@dataclass(frozen=True, eq=False)
class SketchedRows:
    """A sketch of some rows of the data, and the row sets to be solved on it."""

    sketch: Sketch
    rows: IntArray | None  # (r,): rows of the data that the sketch's rows are; None for all
    row_sets: RowSets  # in the numbering of the sketch's rows


@dataclass(frozen=True, eq=False)
class SketchedProblems:
    """The problems of one sketch, and what it takes to settle their radii."""

    sketch: Sketch
    A: DataMatrix  # (r, n): the rows of the data that the sketch is of, centred and scaled
    X: Any  # the same as they are
    problems: ProblemSet  # of B instances, with radii to start from
    factor: FloatArray  # (B,): multiple of the realised error that is wanted
    follows: BoolArray  # (B,): whether the radius of an instance follows the realised error

    def error(self, coef: Any, instances: IntArray) -> FloatArray:
        """The wanted multiple (b,) of the realised error of coefficients (b, n) of instances."""
        error = realised_error(self.sketch, self.A, self.problems, coef, instances)
        return self.factor[instances] * error

    def fits(self, problems: ProblemSet, solution: Solution, seconds: float) -> Fits:
        """Solutions of problems on these rows as models of X; `seconds` went into solving."""
        return Fits(
            models=linear_models(problems, solution.coef, self.sketch.transform, self.X),
            primal=solution.primal,
            dual=solution.dual,
            relative_gap=solution.relative_gap,
            n_iter=solution.steps,
            status=solution.status,
            radius=problems.batch.radius,
            seconds=seconds,
        )


def fit_sketched(
    task: Task, sketch: Sketch, policies: tuple[RadiusPolicy, ...], rows: RowSets
) -> Path:
    """Fit a task on every row set, for all policies and penalties at once."""
    grids = grids_of(task, sketch, policies)
    parts, grid = [], None
    for part in sketched_rows(task, sketch, rows, policies):
        problems, fits = solve_sketched(task, part, policies, grids)
        parts.append(fits)
        grid = problems.fold_out(problems.batch.alpha)[0]
    assert grid is not None
    return sketched_path(join_fits(parts), grid, policies, task, sketch)


def sketched_rows(
    task: Task, sketch: Sketch, rows: RowSets, policies: Sequence[RadiusPolicy]
) -> Iterator[SketchedRows]:
    """The sketches on which the row sets are solved, none made from held-out responses."""
    plain = len(rows) == 1 and not len(rows[0].removed) and rows[0].weights is None
    if not sketch.response_rank or (plain and _holds(sketch, task.Y)):
        yield SketchedRows(_with_bound(sketch, task.X, policies), None, rows)
        return
    for row_set in rows:
        yield sketch_training_rows(task, sketch, row_set, policies)


def _holds(sketch: Sketch, Y: FloatArray) -> bool:
    """Whether these responses (m, t) are in the span of a sketch of all rows, made from them."""
    centred = Y - Y.mean(axis=0)
    Q = np.asarray(sketch.Q)
    missed = np.linalg.norm(centred - Q @ (Q.T @ centred), axis=0)
    return bool((missed <= HELD * np.linalg.norm(centred, axis=0)).all())


def _with_bound(sketch: Sketch, X: Any, policies: Sequence[RadiusPolicy]) -> Sketch:
    """The sketch with a spectral radius, where a policy is a multiple of it."""
    bound = any(policy.kind == "spectral" for policy in policies)
    return sketch.with_spectral_radius(X) if bound else sketch


def sketch_training_rows(
    task: Task,
    sketch: Sketch,
    row_set: RowSet,
    policies: Sequence[RadiusPolicy],
    base: RowsBase | None = None,
) -> SketchedRows:
    """The sketch of one row set, made from its training rows and their responses alone.

    `base` is the part of it that other responses share, where that is known.
    """
    train, weights = row_set.training(len(task.Y))
    bound = any(policy.kind == "spectral" for policy in policies)
    own = extend_rows(
        rows_base(sketch, task.X[train], train) if base is None else base,
        sketch,
        task.Y[train],
        weights=weights,
        radius="spectral" if bound else "realised",
        random_state=sketch.seed,
    )
    local = all_rows(len(train)) if weights is None else weighted_rows(weights)
    return SketchedRows(own, train, local)


def grids_of(task: Task, sketch: Sketch, policies: Sequence[RadiusPolicy]) -> FloatArray | Any:
    """Penalties (t, policies, a): those given, or automatic ones of the problem on all rows."""
    if task.count is None:
        return task.alphas
    sketch = _with_bound(sketch, task.X, policies)
    # At a realised radius the first features enter where they would without any radius.
    levels = np.array([_level(policy, sketch, realised=0.0) for policy in policies])
    ratio: ArrayLike | None = task.alpha_min_ratio
    if ratio is None:
        usual = default_ratio(sketch.shape)
        ratio = [REALISED_RATIO if policy.kind == "realised" else usual for policy in policies]
    return penalty_grid(
        sketch, task.Y, task.terms, task.count, ratio, radii=levels, rows=task.all_rows
    )


def _level(policy: RadiusPolicy, sketch: Sketch, realised: float) -> float:
    """The radius of a policy, given that of one that follows the realised error."""
    if policy.kind == "realised":
        return realised
    return policy.factor if policy.kind == "given" else policy.factor * sketch.radius


def lay_out(
    task: Task, part: SketchedRows, policies: Sequence[RadiusPolicy], alphas: ArrayLike
) -> SketchedProblems:
    """The problems of the row sets of one sketch, for penalties (a,) or (t, radii, a).

    The search for realised radii starts near that of the task, or at the typical error.
    """
    sketch, Y = part.sketch, task.Y
    X = task.X if part.rows is None else task.X[part.rows]
    A = sketch.view(X)
    realised = np.array([policy.kind == "realised" for policy in policies])
    start = sketch.typical_error(A) if realised.any() and task.near is None else 0.0
    levels = [_level(policy, sketch, task.near or policy.factor * start) for policy in policies]
    problems = problems_of(
        sketch,
        Y if part.rows is None else Y[part.rows],
        task.terms,
        alphas=alphas,
        radii=levels,
        rows=part.row_sets,
    )
    return SketchedProblems(
        sketch=sketch,
        A=A,
        X=X,
        problems=problems,
        factor=np.array([policy.factor for policy in policies])[problems.radius_index],
        follows=realised[problems.radius_index] & (problems.batch.radius > 0),
    )


def solve_sketched(
    task: Task, part: SketchedRows, policies: Sequence[RadiusPolicy], alphas: ArrayLike
) -> tuple[ProblemSet, Fits]:
    """Solve the problems of :func:`lay_out`, radii settled as the policies ask."""
    settings = task.settings or Settings()
    laid = lay_out(task, part, policies, alphas)
    problems, warm, spent = laid.problems, None, 0.0
    if laid.follows.any():
        radius, warm, spent = settle_radii(
            problems, laid.error, laid.follows, task.solver, settings
        )
        problems = replace(problems, batch=replace(problems.batch, radius=radius))
    chain = problems.chain if warm is None else None
    solution = solve_or_raise(problems.batch, task.solver, settings, warm, chain)
    solution.warn_if_unsolved()
    return problems, laid.fits(problems, solution, solution.seconds + spent)


def join_fits(parts: Sequence[Fits]) -> Fits:
    """Fits of several parts one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Fits(
        models=LinearModels(
            coef=sparse.csr_array(sparse.vstack([part.models.coef for part in parts])),
            intercept=np.concatenate([part.models.intercept for part in parts]),
        ),
        seconds=sum(part.seconds for part in parts),
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in NUMBERS},
    )


def sketched_path(
    fits: Fits, alphas: FloatArray, radii: tuple[RadiusPolicy, ...], task: Task, sketch: Sketch
) -> Path:
    """Fits on a sketch with their penalties (responses, radii, alphas)."""
    return Path(
        **vars(fits),
        alphas=alphas,
        radii=radii,
        terms=task.full_terms(sketch),
        proved=False,
    )
