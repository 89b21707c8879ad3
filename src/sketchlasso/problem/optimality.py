"""The penalties at which zero is optimal, and the best model without penalised features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from sketchlasso.kernels.dense import smallest_penalty
from sketchlasso.linalg.rows import stack_rows
from sketchlasso.linalg.threads import map_slices
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import correlate
from sketchlasso.problem.formulas import (
    magnitude,
    null_dual,
    radius_left,
    response_length,
)
from sketchlasso.types import FloatArray, RealArray, SparseRows

CHUNK_ENTRIES = 2**23
ROUNDING = 16 * np.finfo(np.float64).eps


def alpha_max(batch: Batch) -> FloatArray:
    """lambda_max (B,) of every instance: it depends on the radius.

    With no unpenalised feature, zero is optimal exactly when

        || S(R c / sqrt(||c||^2 + s^2)) ||_2 <= radius

    so alpha_max is the root of a decreasing convex function. Unpenalised features are
    fitted first. The batch's own `alpha` plays no role. For the squared loss the radius
    does not matter: alpha_max = max_j |R c|_j / f_j.

    Parameters
    ----------
    batch : Batch

    Returns
    -------
    ndarray of shape (B,)
    """
    # A bounded number of instances at a time: correlations are (instances, n).
    step = max(1, CHUNK_ENTRIES // batch.n_features)
    found = []
    for start in range(0, batch.n_instances, step):
        part = batch.take(slice(start, start + step))
        null = null_model(part)
        found.append(largest_penalties(part, correlate(part, null.dual), spent=null.spent))
    return np.concatenate(found)


def largest_penalties(
    batch: Batch, correlation: RealArray, n_threads: int = 1, spent: FloatArray | float = 0.0
) -> FloatArray:
    """alpha_max (B,) from the correlations (B, n) of the null model's dual points.

    `spent` (B,) is what unpenalised features use up of radius^2; without any it is zero.
    """
    left = radius_left(batch.radius, spent)
    if batch.loss == "squared":
        left = np.zeros_like(left)
    largest = np.zeros(batch.n_instances)

    def find(part: slice) -> None:
        buffer = np.empty((2, batch.n_features))
        for b in range(part.start, part.stop):
            factor = batch.penalty_factor
            factor = factor if factor.ndim == 1 else factor[b]
            # The correlation of an excluded feature is zero already.
            largest[b] = smallest_penalty(correlation[b], factor, batch.positive, left[b], buffer)

    map_slices(find, batch.n_instances, n_threads)
    return largest


@dataclass(frozen=True, eq=False)
class NullModel:
    """The best model that uses unpenalised features only."""

    coef: SparseRows  # (B, n)
    dual: FloatArray  # (B, k): its dual point, optimal as long as alpha >= alpha_max
    spent: FloatArray  # (B,): share of radius^2 that they use up in the dual constraint


def null_model(batch: Batch) -> NullModel:
    """Fit the unpenalised features of every instance; w = 0 where there are none."""
    remainder = batch.c.copy()
    pieces = [(np.empty(0, dtype=np.intp), np.empty(0))] * batch.n_instances
    rows: dict[int, FloatArray] = {}
    some_free = bool((batch.penalty_factor == 0).any())
    for b in range(batch.n_instances) if some_free else ():
        free = np.flatnonzero(batch.factor_row(b) == 0)
        if free.size:
            rows[b] = R = batch.rows(b, free)
            coef = _fit_unpenalised(batch, b, R)
            pieces[b] = (free, coef)
            remainder[b] -= R.T @ coef
            # What rounding leaves of an exact fit points nowhere: no penalty is needed at all.
            size = np.linalg.norm(batch.c[b]) + np.linalg.norm(R) * np.linalg.norm(coef)
            if np.linalg.norm(remainder[b]) <= ROUNDING * size:
                remainder[b] = 0.0
    dual = null_dual(remainder, batch.s) if batch.loss == "sqrt" else remainder
    spent = np.zeros(batch.n_instances)
    for b, R in rows.items():
        spent[b] = np.sum(magnitude(R @ dual[b], batch.positive) ** 2)
    return NullModel(stack_rows(pieces, batch.n_features), dual, spent)


def _fit_unpenalised(batch: Batch, b: int, R: FloatArray) -> FloatArray:
    """Minimise the loss plus the ridge term over a few unpenalised coefficients.

    The optimum is a ridge solution whose ridge t satisfies t = radius * loss / ||w||
    (t = radius^2 for the squared loss), a scalar equation with one sign change.
    """
    c, s, radius = batch.c[b], float(batch.s[b]), float(batch.radius[b])

    def ridge(t: float) -> FloatArray:
        stacked = np.vstack([R.T, np.sqrt(t) * np.eye(len(R))])
        target = np.concatenate([c, np.zeros(len(R))])
        if batch.positive:
            return np.asarray(optimize.nnls(stacked, target)[0])
        return np.asarray(np.linalg.lstsq(stacked, target, rcond=None)[0])

    if batch.loss == "squared" or radius == 0.0:
        return ridge(radius**2)

    def imbalance(log_t: float) -> float:
        w = ridge(float(np.exp(log_t)))
        loss = float(response_length((c - R.T @ w)[None], s)[0])
        return float(np.exp(log_t)) * float(np.linalg.norm(w)) - radius * loss

    seen = magnitude(R @ c, batch.positive)
    if np.linalg.norm(seen) <= radius * response_length(c[None], s)[0]:
        return np.zeros(len(R))
    scale = np.log(np.sum(R**2) + 1e-300)
    low = scale - 60.0
    if imbalance(low) >= 0:
        return ridge(float(np.exp(low)))
    # Very large ridges lose w to rounding: take the largest that still shows the sign change.
    for high in scale + np.array([30.0, 20.0, 10.0, 5.0, 0.0, -10.0, -20.0]):
        if imbalance(float(high)) > 0:
            return ridge(float(np.exp(optimize.brentq(imbalance, low, float(high), xtol=1e-14))))
    return np.zeros(len(R))
