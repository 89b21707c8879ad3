"""Plain NumPy twins of the formulas and kernels: slow, obvious, independent."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from sketchlasso.problem import Batch


def soft(x: np.ndarray, threshold: np.ndarray, positive: bool) -> np.ndarray:
    over = np.maximum((x if positive else np.abs(x)) - threshold, 0.0)
    return over if positive else np.sign(x) * over


def matrices(batch: Batch, b: int) -> tuple[np.ndarray, np.ndarray]:
    """R (n, k) and thresholds (n,) of one instance, excluded features with inf."""
    R = batch.P.astype(float)
    if batch.roots is not None:
        R = R @ batch.roots[batch.root_of[b]]
    factor = batch.penalty_factor if batch.penalty_factor.ndim == 1 else batch.penalty_factor[b]
    thresholds = np.array([np.inf if np.isinf(f) else f * batch.alpha[b] for f in factor])
    if batch.excluded is not None:
        thresholds[batch.excluded[[b]].toarray().ravel() != 0] = np.inf
    return R, thresholds


def primal(batch: Batch, b: int, w: np.ndarray) -> float:
    R, thresholds = matrices(batch, b)
    square = np.sum((batch.c[b] - R.T @ w) ** 2) + batch.s[b] ** 2
    support = w != 0
    l1 = float(thresholds[support] @ np.abs(w[support]))
    if batch.loss == "sqrt":
        return float(np.sqrt(square) + batch.radius[b] * np.linalg.norm(w) + l1)
    return float(square / 2 + batch.radius[b] ** 2 * (w @ w) / 2 + l1)


def dual(batch: Batch, b: int, u: np.ndarray) -> float:
    c, s = batch.c[b], batch.s[b]
    if batch.loss == "sqrt":
        return float(c @ u + s * np.sqrt(max(1 - u @ u, 0.0)))
    value = c @ u - u @ u / 2 + s**2 / 2
    if batch.radius[b] > 0:
        R, thresholds = matrices(batch, b)
        over = soft(R @ u, thresholds, batch.positive)
        value -= over @ over / (2 * batch.radius[b] ** 2)
    return float(value)


def violation(batch: Batch, b: int, u: np.ndarray) -> float:
    """How far u is outside the dual's domain, relative to the size of what is constrained."""
    R, thresholds = matrices(batch, b)
    seen = R @ u
    over = float(np.linalg.norm(soft(seen, thresholds, batch.positive)))
    scale = float(np.linalg.norm(R, axis=1).max(initial=0.0) * np.linalg.norm(u)) + 1e-300
    outside = 0.0
    if batch.loss == "sqrt":
        outside = max(float(np.linalg.norm(u)) - 1.0, 0.0)
    elif batch.radius[b] > 0:
        return 0.0
    return max(outside, max(over - batch.radius[b], 0.0) / scale)


def feasible_scale(
    seen: np.ndarray, thresholds: np.ndarray, radius: float, positive: bool, largest: float
) -> float:
    def excess(a: float) -> float:
        return float(np.linalg.norm(soft(a * seen, thresholds, positive))) - radius

    if excess(largest) <= 0:
        return largest
    if radius == 0:
        sizes = seen if positive else np.abs(seen)
        return float(min(largest, np.min(thresholds[sizes > 0] / sizes[sizes > 0])))
    return float(optimize.brentq(excess, 0.0, largest, xtol=1e-15))
