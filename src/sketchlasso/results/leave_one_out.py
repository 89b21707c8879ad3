"""Leave-one-out for every observation: predictions, residuals and influence in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import build_problems, leave_one_out_rows
from sketchlasso.instances.build import check_response
from sketchlasso.results.models import rows_of
from sketchlasso.sketch import Sketch
from sketchlasso.solve import Iterates, Settings, Solution, Solver, solve
from sketchlasso.types import FloatArray, IntArray

__all__ = ["LeaveOneOut", "leave_one_out"]

# The gap of the undeleted solution in a deleted problem is about (1 / m)^2.
FINE = 1e-9


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What the model says of every row when it has not seen that row.

    Attributes
    ----------
    rows : ndarray of shape (r,)
        The rows that were left out, one at a time.
    predictions, residuals : ndarray of shape (r,)
        Prediction of each left-out row by the model without it, and y minus it.
    coefficient_shift : ndarray of shape (r,)
        ||w without the row - w|| / ||w||, on the sketch's scale.
    features_gained, features_lost : ndarray of shape (r,)
        Features that enter and leave the support without the row.
    full : Solution
        The problem with all rows.
    solution : Solution
        The r problems.
    """

    rows: IntArray
    predictions: FloatArray
    residuals: FloatArray
    coefficient_shift: FloatArray
    features_gained: IntArray
    features_lost: IntArray
    full: Solution
    solution: Solution


def leave_one_out(
    sketch: Sketch,
    X: Any,
    y: ArrayLike,
    *,
    alpha: float,
    radius: float | None = None,
    rows: IntArray | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    nonnegative: bool = False,
    solver: Solver = "newton",
    settings: Settings | None = None,
) -> LeaveOneOut:
    """Solve the problem without each row in turn, each started from the problem with all rows.

    Parameters
    ----------
    sketch : Sketch
        Of X, without looking at y.
    X : array or sparse matrix of shape (m, n)
        The data that were sketched.
    y : array-like of shape (m,)
    alpha : float
    radius : float, optional
        The sketch's own by default.
    rows : ndarray, optional
        Leave out these rows only.
    fit_intercept : bool
    penalty_factor : array-like of shape (n,), optional
    nonnegative : bool
    solver : str
    settings : Settings, optional
        By default a gap of 1e-9: one row among many moves the solution so little that the
        solution with all rows would pass for the answer at a coarser gap.

    Returns
    -------
    LeaveOneOut
    """
    settings = settings or Settings(tol=FINE)
    Y = check_response(y, sketch.n_samples)
    if Y.shape[1] != 1:
        raise InvalidInputError(
            f"y has {Y.shape[1]} columns; leave-one-out takes one response, so call it per column"
        )
    options: dict[str, Any] = {
        "alphas": [alpha],
        "radii": radius,
        "fit_intercept": fit_intercept,
        "penalty_factor": penalty_factor,
        "nonnegative": nonnegative,
    }
    entries = rows_of(X)
    full = solve(build_problems(sketch, Y, **options).batch, solver, settings)
    row_sets = leave_one_out_rows(sketch.n_samples, rows)
    left_out = np.concatenate([row_set.test for row_set in row_sets])
    problems = build_problems(sketch, Y, rows=row_sets, **options)
    start = Iterates(
        _repeat_row(full.coef, len(left_out)),
        np.repeat(full.dual_point, len(left_out), axis=0),
        np.zeros(len(left_out), dtype=np.intp),
    )
    solution = solve(problems.batch, solver, settings, warm=start)
    solution.warn_if_unsolved()
    predictions = _predict_left_out(
        solution.coef, problems.y_mean, sketch, entries, left_out, fit_intercept
    )
    shift, gained, lost = _influence(full.coef, solution.coef)
    return LeaveOneOut(
        rows=left_out,
        predictions=predictions,
        residuals=Y[left_out, 0] - predictions,
        coefficient_shift=shift,
        features_gained=gained,
        features_lost=lost,
        full=full,
        solution=solution,
    )


def _predict_left_out(
    coef: Any, y_mean: FloatArray, sketch: Sketch, X: Any, left_out: IntArray, fit_intercept: bool
) -> FloatArray:
    """x_i'v_i + d_i for every left-out row i, with the intercept of the other rows.

    The other rows have the mean (sum of all rows - x_i) / (m - 1), so no fold is touched.
    """
    if sketch.column_scales is not None:
        coef = sparse.csr_array(coef @ sparse.diags_array(1.0 / sketch.column_scales))
    own = _row_products(X, left_out, coef)
    if not fit_intercept:
        means = sketch.column_means
        return own if means is None else own - coef @ means
    total = coef @ np.asarray(X.sum(axis=0)).ravel()
    others = (total - own) / (X.shape[0] - 1)
    return y_mean + own - others


def _repeat_row(row: Any, count: int) -> Any:
    """A sparse row (1, n) as `count` equal rows."""
    return sparse.csr_array(
        (
            np.tile(row.data, count),
            np.tile(row.indices, count),
            len(row.data) * np.arange(count + 1),
        ),
        shape=(count, row.shape[1]),
    )


def _row_products(X: Any, rows: IntArray, B: Any) -> FloatArray:
    """Inner products (r,) of the given rows of X with the rows of a sparse B (r, n)."""
    if not isinstance(X, np.ndarray):
        return np.asarray(B.multiply(X[rows]).sum(axis=1)).ravel()
    owner = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
    products = B.data * X[rows[owner], B.indices]
    return np.bincount(owner, weights=products, minlength=B.shape[0]).astype(np.float64)


def _influence(full: Any, others: Any) -> tuple[FloatArray, IntArray, IntArray]:
    """How far coefficients and support move, per row of `others`."""
    w = full.toarray().ravel()
    owner = np.repeat(np.arange(others.shape[0]), np.diff(others.indptr))
    there = w[others.indices]
    square, length = float(w @ w), float(np.linalg.norm(w))

    def per_row(values: Any) -> FloatArray:
        sums = np.bincount(owner, weights=values, minlength=others.shape[0])
        return sums.astype(np.float64)

    # Differences on the common support, then what only one of the two has.
    moved = per_row((others.data - there) ** 2) + square - per_row(there**2)
    shift = np.sqrt(np.maximum(moved, 0.0))
    common = per_row((there != 0) & (others.data != 0))
    gained = per_row(others.data != 0) - common
    lost = np.count_nonzero(w) - common
    relative = shift / length if length > 0 else np.where(shift > 0, np.inf, 0.0)
    return relative, gained.astype(np.intp), lost.astype(np.intp)
