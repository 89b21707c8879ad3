"""Solve problems over a sketch and return models of X, also with rows held out.

A sketch that has not seen y serves all row sets, in one batch. One that has is made anew for
every row set, from its training rows and their responses alone; the unsupervised part is shared.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.instances import (
    ProblemSet,
    RowSet,
    RowSets,
    all_rows,
    penalty_grid,
    problems_of,
    weighted_rows,
)
from sketchlasso.problem.terms import Terms, default_ratio
from sketchlasso.results.models import LinearModels, linear_models
from sketchlasso.results.radius_policy import RadiusPolicy
from sketchlasso.results.realised import RealisedError, settle_radii
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.response import RowsBase, extend_rows, rows_base
from sketchlasso.solvers import Settings, Solution, Solver, solve_or_raise
from sketchlasso.types import BoolArray, FloatArray, IntArray

__all__ = [
    "Fits",
    "FoldBases",
    "SketchedProblems",
    "SketchedRows",
    "grids_of",
    "join_fits",
    "lay_out",
    "sketch_training_rows",
    "sketched_rows",
    "solve_sketched",
]

# With a realised radius the l2 term shrinks with the penalty, and good penalties are small.
REALISED_RATIO = 1e-3
# A response of which no more than this share lies outside a sketch is in it, but for rounding.
HELD = 1e-6


@dataclass(frozen=True, eq=False)
class Fits:
    """Solved instances as models of X, one row per instance.

    Attributes
    ----------
    models : LinearModels
    primal, dual, relative_gap : ndarray of shape (B,)
        Of the problem that was solved: the sketched one, or the full one after refinement.
    n_iter : ndarray of shape (B,)
        Inner iterations spent.
    status : ndarray of shape (B,)
        Values of :class:`Status`.
    radius : ndarray of shape (B,)
        Radius that every instance was solved with.
    seconds : float
        Spent in the solver, the search for radii included.
    """

    models: LinearModels
    primal: FloatArray
    dual: FloatArray
    relative_gap: FloatArray
    n_iter: IntArray
    status: IntArray
    radius: FloatArray
    seconds: float


@dataclass(frozen=True, eq=False)
class SketchedRows:
    """A sketch of some rows of the data, and the row sets to be solved on it.

    Attributes
    ----------
    sketch : Sketch
    rows : ndarray of shape (r,) or None
        Rows of the data that the sketch's rows are; None for all.
    row_sets : RowSets
        In the numbering of the sketch's rows.
    """

    sketch: Sketch
    rows: IntArray | None
    row_sets: RowSets

    def select(self, values: Any) -> Any:
        """Rows of X or Y that belong to the sketch."""
        return values if self.rows is None else values[self.rows]


def sketched_rows(
    sketch: Sketch, X: Any, Y: FloatArray, rows: RowSets, policies: Sequence[RadiusPolicy]
) -> Iterator[SketchedRows]:
    """The sketches on which the row sets are solved, none of which has seen what it must not."""
    bound = any(policy.kind == "spectral" for policy in policies)
    plain = len(rows) == 1 and not len(rows[0].removed) and rows[0].weights is None
    if not sketch.response_rank or (plain and _holds(sketch, Y)):
        yield SketchedRows(sketch.with_spectral_radius(X) if bound else sketch, None, rows)
        return
    for row_set in rows:
        yield sketch_training_rows(sketch, X, Y, row_set, policies)


def _holds(sketch: Sketch, Y: FloatArray) -> bool:
    """Whether the directions of a sketch of all rows started from these responses (m, t)."""
    centred = Y - Y.mean(axis=0)
    Q = np.asarray(sketch.Q)
    missed = np.linalg.norm(centred - Q @ (Q.T @ centred), axis=0)
    return bool((missed <= HELD * np.linalg.norm(centred, axis=0)).all())


class FoldBases:
    """What the sketches of several responses have in common, fold by fold, made when needed."""

    def __init__(self) -> None:
        self._made: dict[int, RowsBase] = {}
        self._lock = threading.Lock()

    def of(self, fold: int, sketch: Sketch, X: Any, row_set: RowSet) -> RowsBase:
        """The base of the training rows of a fold; `sketch` is that of any response."""
        with self._lock:
            if fold not in self._made:
                train, _ = row_set.training(X.shape[0])
                self._made[fold] = rows_base(sketch, X[train], train)
            return self._made[fold]


def sketch_training_rows(
    sketch: Sketch,
    X: Any,
    Y: FloatArray,
    row_set: RowSet,
    policies: Sequence[RadiusPolicy],
    base: RowsBase | None = None,
) -> SketchedRows:
    """The sketch of one row set, made from its training rows and their responses alone.

    `base` is the part of it that other responses share, where that is known.
    """
    train, weights = row_set.training(len(Y))
    bound = any(policy.kind == "spectral" for policy in policies)
    own = extend_rows(
        rows_base(sketch, X[train], train) if base is None else base,
        sketch,
        Y[train],
        weights=weights,
        radius="spectral" if bound else "realised",
        random_state=sketch.seed,
    )
    local = all_rows(len(train)) if weights is None else weighted_rows(weights)
    return SketchedRows(own, train, local)


def grids_of(
    sketch: Sketch,
    X: Any,
    Y: FloatArray,
    policies: Sequence[RadiusPolicy],
    alphas: Any,
    ratio: float | None,
    terms: Terms,
    rows: RowSets,
) -> FloatArray | Any:
    """Penalties (t, policies, a): those given, or automatic ones of the problem on all rows."""
    if not isinstance(alphas, int | np.integer):
        return alphas
    if any(policy.kind == "spectral" for policy in policies):
        sketch = sketch.with_spectral_radius(X)
    # At a realised radius the first features enter where they would without any radius.
    levels = np.array(
        [0.0 if policy.kind == "realised" else _level(policy, sketch) for policy in policies]
    )
    usual = default_ratio(sketch.shape)
    ratios = [REALISED_RATIO if policy.kind == "realised" else usual for policy in policies]
    given = ratios if ratio is None else ratio
    return penalty_grid(sketch, Y, terms, int(alphas), given, radii=levels, rows=rows)


def _level(policy: RadiusPolicy, sketch: Sketch) -> float:
    return policy.factor if policy.kind == "given" else policy.factor * sketch.radius


@dataclass(frozen=True, eq=False)
class SketchedProblems:
    """The problems of one sketch, and what it takes to settle their radii.

    Attributes
    ----------
    part : SketchedRows
    X : array or sparse matrix of shape (r, n)
        The rows of the data that the sketch is of.
    problems : ProblemSet
        Of B instances, with radii to start from.
    error : RealisedError
    factor : ndarray of shape (B,)
        Multiple of the realised error that is wanted.
    follows : ndarray of shape (B,)
        Whether the radius of an instance follows the realised error.
    """

    part: SketchedRows
    X: Any
    problems: ProblemSet
    error: RealisedError
    factor: FloatArray
    follows: BoolArray

    def fits(self, problems: ProblemSet, solution: Solution, seconds: float) -> Fits:
        """Solutions of problems on these rows as models of X; `seconds` went into solving."""
        return Fits(
            models=linear_models(problems, solution.coef, self.part.sketch.transform, self.X),
            primal=solution.primal,
            dual=solution.dual,
            relative_gap=solution.relative_gap,
            n_iter=solution.steps,
            status=solution.status,
            radius=problems.batch.radius,
            seconds=seconds,
        )


def lay_out(
    part: SketchedRows,
    X: Any,
    Y: FloatArray,
    policies: Sequence[RadiusPolicy],
    terms: Terms,
    alphas: ArrayLike,
    near: float | None = None,
) -> SketchedProblems:
    """The problems of the row sets of one sketch.

    Parameters
    ----------
    part : SketchedRows
    X : array or sparse matrix of shape (m, n)
        All rows of the data.
    Y : ndarray of shape (m, t)
    policies : sequence of RadiusPolicy
    terms : Terms
    alphas : array-like of shape (a,) or (t, radii, a)
    near : float, optional
        Where the search for realised radii starts; at the typical error of the sketch by default.
    """
    own, target = part.select(X), part.select(Y)
    A = part.sketch.view(own)
    realised = np.array([policy.kind == "realised" for policy in policies])
    start = part.sketch.typical_error(A) if realised.any() and near is None else 0.0
    levels = [
        (near or policy.factor * start)
        if policy.kind == "realised"
        else _level(policy, part.sketch)
        for policy in policies
    ]
    problems = problems_of(
        part.sketch, target, terms, alphas=alphas, radii=levels, rows=part.row_sets
    )
    return SketchedProblems(
        part=part,
        X=own,
        problems=problems,
        error=RealisedError(part.sketch, A, problems),
        factor=np.array([policy.factor for policy in policies])[problems.radius_index],
        follows=realised[problems.radius_index] & (problems.batch.radius > 0),
    )


def solve_sketched(
    part: SketchedRows,
    X: Any,
    Y: FloatArray,
    policies: Sequence[RadiusPolicy],
    terms: Terms,
    alphas: ArrayLike,
    solver: Solver = "newton",
    settings: Settings | None = None,
    near: float | None = None,
) -> tuple[ProblemSet, Fits]:
    """Solve the row sets of one sketch, radii settled as the policies ask.

    Parameters
    ----------
    part, X, Y, policies, terms, alphas, near
        See :func:`lay_out`.
    solver : str
    settings : Settings, optional
    """
    settings = settings or Settings()
    laid = lay_out(part, X, Y, policies, terms, alphas, near)
    problems, warm, spent = laid.problems, None, 0.0
    if laid.follows.any():
        radius, warm, spent = settle_radii(
            problems, laid.error, laid.factor, laid.follows, solver, settings
        )
        problems = replace(problems, batch=replace(problems.batch, radius=radius))
    chain = problems.chain if warm is None else None
    solution = solve_or_raise(problems.batch, solver, settings, warm, chain)
    solution.warn_if_unsolved()
    return problems, laid.fits(problems, solution, solution.seconds + spent)


def join_fits(parts: Sequence[Fits]) -> Fits:
    """Fits of several parts one after the other."""
    if len(parts) == 1:
        return parts[0]
    numbers = ("primal", "dual", "relative_gap", "n_iter", "status", "radius")
    return Fits(
        models=LinearModels(
            coef=sparse.csr_array(sparse.vstack([part.models.coef for part in parts])),
            intercept=np.concatenate([part.models.intercept for part in parts]),
        ),
        seconds=sum(part.seconds for part in parts),
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in numbers},
    )
