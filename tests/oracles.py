"""Reference answers from a generic modelling language, independent of the package's formulas."""

from __future__ import annotations

import warnings

import numpy as np

from sketchlasso.problem import Batch

TOLERANCE = 1e-10


def full_problem_reference(
    X: np.ndarray,
    y: np.ndarray,
    alpha: float,
    radius: float = 0.0,
    penalty_factor: np.ndarray | None = None,
    positive: bool = False,
    loss: str = "sqrt",
) -> tuple[np.ndarray, float]:
    """Solve the whole problem on X (m, n), y (m,) with cvxpy and Clarabel.

        minimise  ||Xw - y||_2 + radius ||w||_2 + alpha sum_j f_j |w_j|
        or        ||Xw - y||^2/2 + radius^2 ||w||^2/2 + alpha sum_j f_j |w_j|

    Returns the coefficients (n,) and the value that cvxpy reports. The factor inf excludes a
    feature.
    """
    import cvxpy as cp

    n = X.shape[1]
    factor = np.ones(n) if penalty_factor is None else np.asarray(penalty_factor, dtype=float)
    excluded = np.isinf(factor)
    w = cp.Variable(n, nonneg=positive)
    l1 = cp.sum(cp.multiply(alpha * np.where(excluded, 0.0, factor), cp.abs(w)))
    if loss == "sqrt":
        value = cp.norm(X @ w - y, 2) + radius * cp.norm(w, 2) + l1
    else:
        value = 0.5 * cp.sum_squares(X @ w - y) + 0.5 * radius**2 * cp.sum_squares(w) + l1
    problem = cp.Problem(cp.Minimize(value), [w[excluded] == 0] if excluded.any() else [])
    with warnings.catch_warnings():
        # "Solution may be inaccurate" is no failure: callers compare within a tolerance.
        warnings.simplefilter("ignore")
        problem.solve(
            solver=cp.CLARABEL,
            tol_gap_abs=TOLERANCE,
            tol_gap_rel=TOLERANCE,
            tol_feas=TOLERANCE,
            tol_ktratio=TOLERANCE,
        )
    return np.asarray(w.value), float(problem.value)


def instance_reference(batch: Batch, instance: int = 0) -> tuple[np.ndarray, float]:
    """Solve one instance of a batch as a full problem of k + 1 samples.

    The rows of X are the columns of R = P L and a zero row, and y = (c, s), so that
    ||Xw - y||^2 = ||c - R'w||^2 + s^2.
    """
    root = batch.root(instance)
    R = batch.P.astype(float) if root is None else batch.P.astype(float) @ root
    return full_problem_reference(
        np.vstack([R.T, np.zeros((1, len(R)))]),
        np.append(batch.c[instance], batch.s[instance]),
        float(batch.alpha[instance]),
        float(batch.radius[instance]),
        batch.factor_row(instance),
        batch.positive,
        batch.loss,
    )
