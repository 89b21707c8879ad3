"""Reference answers from a generic modelling language, independent of the package's formulas."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from sketchlasso.problem import Batch
from sketchlasso.problem.dual import correlate
from sketchlasso.problem.formulas import loss_value, residual, soft_threshold

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


def optimality_residual(batch: Batch, coef: Any, u: np.ndarray | None = None) -> np.ndarray:
    """Euclidean distance (B,) of R u from the subdifferential of the penalty at w.

    At the optimum of the square-root problem, with u = (c - R'w) / rho,

        (R u)_j = radius w_j/||w|| + alpha f_j sign(w_j)    where w_j != 0
        |(R u)_j| <= alpha f_j                               where w_j = 0, w != 0
        ||S(R u)||_2 <= radius                               where w = 0

    Parameters
    ----------
    batch : Batch
    coef : ndarray or csr_array of shape (B, n)
    u : ndarray of shape (B, k), optional
        Dual point; needed for instances that interpolate (rho = 0), where the residual does
        not define it.

    Returns
    -------
    ndarray of shape (B,)
    """
    w = np.asarray(coef if isinstance(coef, np.ndarray) else coef.toarray())
    if u is None:
        remainder = residual(batch, coef)
        loss = loss_value(batch, remainder) if batch.loss == "sqrt" else np.ones(len(w))
        u = remainder / np.where(loss > 0, loss, 1.0)[:, None]
    seen = correlate(batch, u).astype(np.float64)
    distance = np.empty(batch.n_instances)
    for b in range(batch.n_instances):
        distance[b] = _distance(batch, b, w[b], seen[b])
    return distance


def _distance(batch: Batch, b: int, w: np.ndarray, seen: np.ndarray) -> float:
    thresholds = batch.thresholds(b)
    length = float(np.linalg.norm(w))
    radius = float(batch.radius[b])
    if length == 0.0 and batch.loss == "sqrt":
        over = soft_threshold(seen, thresholds, batch.positive)
        return max(float(np.linalg.norm(over)) - radius, 0.0)
    pull = radius * w / length if batch.loss == "sqrt" else radius**2 * w
    rest = seen - pull
    with np.errstate(invalid="ignore"):
        on_support = rest - thresholds * np.sign(w)
    off_support = soft_threshold(rest, thresholds, batch.positive)
    return float(np.linalg.norm(np.where(w != 0, on_support, off_support)))
