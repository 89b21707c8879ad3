"""Solutions for one or many penalties on all rows, with the certificate of the full problem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from numpy.typing import ArrayLike

from sketchlasso.data import as_responses, as_rows, spread
from sketchlasso.instances import check_weights
from sketchlasso.problem.terms import Terms
from sketchlasso.results.fitting import Path, Task, fit_all
from sketchlasso.results.radius_policy import RadiusLike
from sketchlasso.sketches import Sketch
from sketchlasso.solvers import Settings, Solver

__all__ = ["sqrt_lasso_path"]


@spread
def sqrt_lasso_path(
    X: Any,
    y: ArrayLike,
    sketch: Sketch | None = None,
    *,
    alphas: int | ArrayLike = 100,
    alpha_min_ratio: float | None = None,
    radius: RadiusLike | Sequence[RadiusLike] | None = None,
    refine: Literal["exact"] | None = None,
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

    with X ~ Q P' the sketch; or, with ``sketch=None`` or ``refine="exact"``, the full problem

    ::

        minimise over w, b   ||X w + b - y||_2 + alpha * sum_j f_j |w_j|

    Parameters
    ----------
    X : array, sparse matrix, BlockMatrix or dask array of shape (m, n)
    y : array-like of shape (m,) or (m, t)
    sketch : Sketch, optional
        Of X. Without one the full problem is solved, without any approximation.
    alphas, alpha_min_ratio
        See :func:`cross_validate`.
    radius : float, str, RadiusPolicy or a sequence of them, optional
        See `radii` of :func:`cross_validate`.
    refine : {"exact"}, optional
        Solve the full problem, from the sketched solution.
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
    >>> path = sl.sqrt_lasso_path(X, y, alphas=[2.0])
    >>> path.models.coef.indices
    array([0, 1])
    >>> bool(path.full_gap[0] <= 1e-4)
    True
    """
    entries = as_rows(X)
    Y = as_responses(y, entries.shape[0])
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
    return fit_all(task, sketch, radius, task.all_rows, refine)
