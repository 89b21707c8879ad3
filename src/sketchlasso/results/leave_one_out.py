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

    Returns
    -------
    LeaveOneOut
    """
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
    count = len(left_out)
    start = Iterates(
        sparse.csr_array(sparse.vstack([full.coef] * count, format="csr")),
        np.repeat(full.dual_point, count, axis=0),
        np.zeros(count, dtype=np.intp),
    )
    solution = solve(problems.batch, solver, settings, warm=start)
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
    own = _row_products(X[left_out], coef)
    if not fit_intercept:
        means = sketch.column_means
        return own if means is None else own - coef @ means
    total = coef @ np.asarray(X.sum(axis=0)).ravel()
    others = (total - own) / (X.shape[0] - 1)
    return y_mean + own - others


def _row_products(A: Any, B: Any) -> FloatArray:
    """Inner products (r,) of matching rows of A and a sparse B."""
    return np.asarray(B.multiply(A).sum(axis=1)).ravel()


def _influence(full: Any, others: Any) -> tuple[FloatArray, IntArray, IntArray]:
    """How far coefficients and support move, per row of `others`."""
    everywhere = sparse.csr_array(sparse.vstack([full] * others.shape[0], format="csr"))
    moved = others - everywhere
    length = float(np.sqrt(np.sum(full.data**2)))
    shift = np.sqrt(np.asarray((moved * moved).sum(axis=1)).ravel())
    here = others.astype(bool).astype(np.intp)
    there = everywhere.astype(bool).astype(np.intp)
    common = np.asarray(here.multiply(there).sum(axis=1)).ravel()
    gained = np.asarray(here.sum(axis=1)).ravel() - common
    lost = np.asarray(there.sum(axis=1)).ravel() - common
    relative = shift / length if length > 0 else np.where(shift > 0, np.inf, 0.0)
    return relative, gained.astype(np.intp), lost.astype(np.intp)
