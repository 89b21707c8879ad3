"""Leave-one-out for every observation: predictions, residuals and influence in one call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.data import BlockMatrix, as_responses, as_rows
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import RowSet, all_rows, leave_one_out_rows, problems_of
from sketchlasso.problem.terms import Terms
from sketchlasso.results.left_out import FINE
from sketchlasso.results.path import Problem
from sketchlasso.results.radius import RadiusLike, RadiusPolicy, radius_policies
from sketchlasso.results.reprs import Screen, Shown, left_out_screen
from sketchlasso.results.sketched import SketchedRows, radius_on, sketch_training_rows
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.sketch import check_sketch, check_sketch_of
from sketchlasso.solvers import Iterates, Settings, Solver, solve_or_raise
from sketchlasso.types import FloatArray, IntArray

CROSS_FIT_GROUPS = 10  # groups of rows for which a sketch that has seen y is made again


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOut(Shown):
    """Predictions for every row by the model without that row, and the row's influence.

    Attributes
    ----------
    rows : ndarray of shape (r,)
        The rows that were left out, one at a time.
    predictions, residuals : ndarray of shape (r,)
        Prediction of each left-out row by the model without it, and y minus it.
    coefficient_shift : ndarray of shape (r,)
        ||w without the row - w|| / ||w||, on the sketch's scale; if w = 0, then 1 where the other
        is not.
    features_gained, features_lost : ndarray of shape (r,)
        Features that enter and leave the support without the row.
    radius : ndarray of shape (r,)
        Radius of every problem.
    relative_gap, status : ndarray of shape (r,)
    scales_of_all_rows : bool
        Whether the sketch has divided columns by their standard deviations over all rows, which the
        problems without a row then share. A prediction thus depends on its own row of X, through
        the scales, but never on its own response.
    seconds : float
        Spent in the solver.
    """

    rows: IntArray
    predictions: FloatArray
    residuals: FloatArray
    coefficient_shift: FloatArray
    features_gained: IntArray
    features_lost: IntArray
    radius: FloatArray
    relative_gap: FloatArray
    status: IntArray
    scales_of_all_rows: bool
    seconds: float

    def _screen(self) -> Screen:
        return left_out_screen(self)


def leave_one_out(
    sketch: Sketch,
    X: Any,
    y: ArrayLike,
    *,
    alpha: float,
    radius: RadiusLike | None = None,
    rows: IntArray | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    positive: bool = False,
    solver: Solver = "newton",
    settings: Settings | None = None,
) -> LeaveOneOut:
    """Solve the problem without each row in turn, each started from the problem with all rows.

    A sketch made without y serves every row. With a sketch that has seen y, the response of a
    row would affect the model that predicts it. Such a sketch is therefore made again for ten
    groups of rows: the directions for a group start from the responses outside it, and the rows
    of the group are expressed in them by least squares. The prediction of a row then never
    depends on its own response, and all other rows are used for training.

    Means and intercepts are those of the other rows. Column scales are not: a sketch made with
    ``scale=True`` has the standard deviations of all rows, and `scales_of_all_rows` says so.
    ``SqrtLasso(standardize=True).calibrate(X, y)`` computes them again without each row.

    Parameters
    ----------
    sketch : Sketch
        Of X.
    X : array, sparse matrix, BlockMatrix or dask array of shape (m, n)
        The data that were sketched.
    y : array-like of shape (m,)
    alpha : float
    radius : float, str or RadiusPolicy, optional
        See `radii` of :func:`cross_validate`. A rule is evaluated once, on all rows (on the
        rows outside the group if the sketch is made again), and its radius is then kept.
    rows : ndarray, optional
        Leave out these rows only.
    fit_intercept : bool
    penalty_factor : array-like of shape (n,), optional
    positive : bool
    solver : str
    settings : Settings, optional
        By default a gap of 1e-9: one row among many changes the solution so little that a
        coarser gap would accept the solution with all rows as the answer.

    Returns
    -------
    LeaveOneOut
    """
    check_sketch(sketch, 'for the full problem pass sketch(X, method="exact", center=True)')
    entries = as_rows(X)
    Y = as_responses(y, sketch.n_samples, squared=True)
    check_sketch_of(sketch, entries, Y)
    if Y.shape[1] != 1:
        raise InvalidInputError(
            f"y has {Y.shape[1]} columns; leave-one-out takes one response, so call it per column"
        )
    policies = radius_policies(radius, sketch)
    if len(policies) != 1:
        raise InvalidInputError(f"{len(policies)} radii were given; leave-one-out takes one")
    terms = Terms(fit_intercept, penalty_factor, positive)
    problem = Problem(entries, Y, None, terms, settings or Settings(tol=FINE), solver)
    wanted = leave_one_out_rows(sketch.n_samples, rows)
    left_out = np.concatenate([row_set.test for row_set in wanted])
    parts, places = [], []
    for made, level, members in _sketches(problem, alpha, sketch, policies[0], left_out):
        parts.append(_leave_out(problem, alpha, made, level, left_out[members]))
        places.append(members)
    order = np.argsort(np.concatenate(places))
    joined = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])[order]
        for field in fields(LeaveOneOut)
        if field.name not in ("seconds", "scales_of_all_rows")
    }
    seconds = sum(part.seconds for part in parts)
    scaled = sketch.column_scales is not None
    return LeaveOneOut(**joined, scales_of_all_rows=scaled, seconds=seconds)


def _sketches(
    problem: Problem, alpha: float, sketch: Sketch, policy: RadiusPolicy, left_out: IntArray
) -> Iterator[tuple[Sketch, float, IntArray]]:
    """Sketches of all rows, their radii, and which of the left-out rows each may judge."""
    if policy.kind == "spectral":
        sketch = sketch.with_spectral_radius(problem.X)
    if not sketch.response_rank:
        everything = SketchedRows(sketch, None, all_rows(sketch.n_samples))
        yield sketch, radius_on(problem, everything, policy, alpha), np.arange(len(left_out))
        return
    group = np.random.default_rng(sketch.seed).permutation(sketch.n_samples) % CROSS_FIT_GROUPS
    for number in range(CROSS_FIT_GROUPS):
        members = np.flatnonzero(group[left_out] == number)
        if members.size == 0:
            continue
        outside, inside = np.flatnonzero(group != number), np.flatnonzero(group == number)
        part = sketch_training_rows(problem, sketch, RowSet(inside, inside), [policy])
        own, level = part.sketch, radius_on(problem, part, policy, alpha)
        Q = np.empty((sketch.n_samples, own.rank), dtype=own.dtype)
        Q[outside], Q[inside] = own.Q, own.embed(problem.X[inside])
        # It has not seen the responses of the group, and no others are left out of it.
        yield replace(own, Q=Q, response_rank=0), level, members


def _leave_out(
    problem: Problem, alpha: float, sketch: Sketch, radius: float, left_out: IntArray
) -> LeaveOneOut:
    """Delete each of some rows from problems over one sketch."""
    posed = partial(problems_of, sketch, problem.Y, problem.terms, alphas=[alpha], radii=radius)
    full = solve_or_raise(posed().batch, problem.solver, problem.settings)
    problems = posed(rows=leave_one_out_rows(sketch.n_samples, left_out))
    # Every deletion starts from the solution with all rows.
    start = Iterates(full.coef, full.dual_point, np.zeros_like(full.steps))
    start = start.take(np.zeros(len(left_out), dtype=np.intp))
    solution = solve_or_raise(problems.batch, problem.solver, problem.settings, warm=start)
    solution.warn_if_unsolved()
    predictions = _predict_left_out(
        solution.coef, problems.y_mean, sketch, problem.X, left_out, problems.fit_intercept
    )
    shift, gained, lost = _influence(full.coef, solution.coef)
    return LeaveOneOut(
        rows=left_out,
        predictions=predictions,
        residuals=problem.Y[left_out, 0] - predictions,
        coefficient_shift=shift,
        features_gained=gained,
        features_lost=lost,
        radius=problems.batch.radius,
        relative_gap=solution.relative_gap,
        status=solution.status,
        scales_of_all_rows=sketch.column_scales is not None,
        seconds=full.seconds + solution.seconds,
    )


def _predict_left_out(
    coef: Any, y_mean: FloatArray, sketch: Sketch, X: Any, left_out: IntArray, fit_intercept: bool
) -> FloatArray:
    """x_i'v_i + d_i for every left-out row i, with the intercept of the other rows.

    The other rows have the mean (sum of all rows - x_i) / (m - 1), so no fold is touched.
    """
    coef = sketch.transform.unscale(coef)
    blocks = BlockMatrix.of(X)
    own = blocks.row_products(left_out, coef)
    if not fit_intercept:
        return own - sketch.transform.shift(coef)
    others = (coef @ blocks.sum(axis=0) - own) / (len(blocks) - 1)
    return y_mean + own - others


def _influence(full: Any, others: Any) -> tuple[FloatArray, IntArray, IntArray]:
    """How far coefficients and support move, per row of `others`."""
    w, size = full.toarray().ravel(), others.shape[0]
    owner = np.repeat(np.arange(size), np.diff(others.indptr))
    there, length = w[others.indices], float(np.linalg.norm(w))
    # Differences where the others are non-zero, then what only the full model has.
    moved = np.bincount(owner, (others.data - there) ** 2 - there**2, size) + length**2
    shift = np.sqrt(np.maximum(moved, 0.0))
    common = np.bincount(owner, (there != 0) & (others.data != 0), size).astype(np.intp)
    gained = np.bincount(owner, others.data != 0, size).astype(np.intp) - common
    # Where the model with all rows is empty, every feature of the others is new.
    relative = shift / length if length > 0 else np.where(shift > 0, 1.0, 0.0)
    return relative, gained, np.count_nonzero(w) - common
