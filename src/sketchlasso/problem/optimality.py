"""Distance of a solution from its optimality conditions."""

from __future__ import annotations

import numpy as np

from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import correlate
from sketchlasso.problem.formulas import soft_threshold
from sketchlasso.problem.objective import loss_value, residual
from sketchlasso.types import Coefficients, FloatArray

__all__ = ["optimality_residual"]


def optimality_residual(
    batch: Batch, coef: Coefficients, u: FloatArray | None = None
) -> FloatArray:
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


def _distance(batch: Batch, b: int, w: FloatArray, seen: FloatArray) -> float:
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
