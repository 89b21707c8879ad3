"""Paths of penalties on all rows, and cross-validation, which judges them on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from sketchlasso.data import as_responses, as_rows, spread
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import RowSets, check_weights, splitter_rows
from sketchlasso.problem.terms import Terms
from sketchlasso.results.choices import CrossValidation, judged
from sketchlasso.results.exact_search import search_exact
from sketchlasso.results.fitting import Path, Task, fit_exact
from sketchlasso.results.held_out import judge
from sketchlasso.results.radius_policy import RadiusLike, given_radius, radius_policies
from sketchlasso.results.scores import Metric, check_metric
from sketchlasso.results.sketched import fit_sketched
from sketchlasso.results.staged import can_stage, search
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.matching import check_sketch_of
from sketchlasso.solvers import Settings, Solver


@spread
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
        Penalties, or how many to space evenly in log scale from alpha_max down. On a sketch, 24
        or more automatic penalties are searched in stages if `radii` is not given: points
        that cannot be chosen have status LEFT_OUT and NaN for numbers, and the grid is
        extended if its last penalty is the best.
    alpha_min_ratio : float, optional
        Smallest over largest automatic penalty; 1e-3 with a realised radius and where m >= n,
        else 1e-2.
    radii : float, str, RadiusPolicy or a sequence of them, optional
        What to try: numbers, ``"spectral"``, ``"realised"``, multiples as ``"0.3*spectral"``.
        By default the number the sketch was given, else 0.1, 0.3, 1 and 3 times the realised
        radius.
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
    for metric in metrics:
        check_metric(metric, Y)
    target = Y[:, 0] if Y.shape[1] == 1 else None
    rows = cv if isinstance(cv, RowSets) else splitter_rows(cv, len(Y), target, groups)
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, len(Y))
        rows = rows.weighted(weights)
    task = Task(
        entries,
        Y,
        weights=weights,
        alphas=alphas,
        alpha_min_ratio=alpha_min_ratio,
        terms=Terms(fit_intercept, penalty_factor, positive),
        solver=solver,
        settings=settings,
    )
    return searched(task, sketch, radii, rows, metrics)


def searched(
    task: Task,
    sketch: Sketch | None,
    radii: RadiusLike | Sequence[RadiusLike] | None,
    rows: RowSets,
    metrics: tuple[Metric, ...],
) -> CrossValidation:
    """Fit a task on every fold, and score the fits: see :func:`cross_validate`."""
    if any(len(row_set.test) == 0 for row_set in rows):
        raise InvalidInputError("a fold holds out no row; every fold needs rows to be judged on")
    if sketch is None and radii is None and task.count is not None:
        return search_exact(task, rows, metrics)
    if radii is None and isinstance(sketch, Sketch) and can_stage(task, sketch, rows):
        return search(task, sketch, rows, metrics)
    fits = fit_all(task, sketch, radii, rows)
    return judged(task.X, fits, judge(task, fits, rows, metrics), rows)


def fit_all(
    task: Task,
    sketch: Sketch | None,
    radii: RadiusLike | Sequence[RadiusLike] | None,
    rows: RowSets,
) -> Path:
    """Fit a task on every row set and for every penalty: see :func:`sqrt_lasso_path`."""
    if sketch is None:
        return fit_exact(task, rows, given_radius(radii))
    check_sketch_of(sketch, task.X)
    judged = any(len(row_set.test) for row_set in rows)
    policies = radius_policies(radii, sketch, search=judged)
    return fit_sketched(task, sketch, policies, rows)


@spread
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
    alphas, alpha_min_ratio
        See :func:`cross_validate`.
    radius : float, str, RadiusPolicy or a sequence of them, optional
        See `radii` of :func:`cross_validate`; without a sketch one number, 0 by default.
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
    task = Task(
        entries,
        Y,
        weights=weights,
        alphas=alphas,
        alpha_min_ratio=alpha_min_ratio,
        terms=Terms(fit_intercept, penalty_factor, positive),
        solver=solver,
        settings=settings,
    )
    return fit_all(task, sketch, radius, task.all_rows)
