"""What the paper proves about solutions: features that are zero, and how many need not be.

**Safe rules** (section 3). As |a_j'u| <= ||a_j|| for the rows a_j of R and dual points u, a feature
whose row is short enough is zero at the optimum. A gap-safe rule knows a feasible u and its gap.

**Cardinality.** Without the robust term the objective sees w only through P'w and the weighted l1
norm. Let S be the support of w and r = rank(P_S) <= k. If |S| > r, some theta != 0 on S has
P_S' theta = 0. Along w + t theta the fit does not move and, until a coefficient reaches zero, the
penalty is linear in t with slope  sum_S f_j sign(w_j) theta_j.  One of theta and -theta has slope
<= 0; following it to the first zero removes a feature and does not raise the penalty. A direction
that never meets a zero lets every |w_j| it moves grow: its slope is <= 0 only if those f_j are all
0, and then the opposite direction is as cheap and does meet one. Repeating this leaves linearly
independent rows, at most r of them. (The paper's proof reaches the same theta through A'mu = s; its
sum of d_j and the sign of its last display are misprinted.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from sketchlasso.errors import InvalidInputError
from sketchlasso.problem.batch import Batch
from sketchlasso.types import BoolArray, FloatArray, IntArray


def safe_rule(batch: Batch, instance: int, margin: float = 0.0) -> BoolArray:
    """Features (n,) of an instance with ||a_j|| <= alpha f_j - margin: they are zero.

    A margin of zero is enough, as w_j = mu S(a_j'u). The paper's rule has the radius as its margin,
    and removes less. Optimal points of the squared loss are as long as ||c|| instead of 1.
    """
    lengths = np.linalg.norm(batch.rows(instance, np.arange(batch.n_features)), axis=1)
    reach = 1.0 if batch.loss == "sqrt" else float(np.linalg.norm(batch.c[instance]))
    return np.asarray(reach * lengths <= batch.thresholds(instance) - margin)


def gap_safe_rule(batch: Batch, instance: int, u: FloatArray, gap: float) -> BoolArray:
    """Features (n,) with |a_j'u| + ||a_j|| * distance < alpha f_j at a feasible u (k,).

    The dual objective is s-strongly concave (1-strongly for the squared loss): the optimal dual
    point lies within distance sqrt(2 gap / s) of u.
    """
    rows = batch.rows(instance, np.arange(batch.n_features))
    modulus = float(batch.s[instance]) if batch.loss == "sqrt" else 1.0
    if modulus == 0:
        return np.isinf(batch.thresholds(instance))
    distance = np.sqrt(2.0 * gap / modulus)
    reach = np.abs(rows @ u) + np.linalg.norm(rows, axis=1) * distance
    return np.asarray(reach < batch.thresholds(instance))


def sparsify(
    P: ArrayLike,
    coef: ArrayLike,
    penalty_factor: ArrayLike | None = None,
    positive: bool = False,
) -> FloatArray:
    """Coefficients of equal fit, no larger penalty and at most rank(P) <= k non-zeros.

    For an optimal `coef` of the non-robust model (radius 0) the result is optimal too. No
    coefficient changes its sign, so non-negative coefficients stay non-negative. The moves are the
    "push" steps of a simplex crossover: r independent rows form a basis, each other feature j of
    the support is pushed once, with theta = e_j - sum_B d_i e_i and P_j = sum_B d_i P_i, and ends
    at zero or takes the place of the basic feature that did. They cost O(|S| k^2).

    Parameters
    ----------
    P : array-like of shape (n, k)
        Factor of the sketch; the fit depends on P'w alone.
    coef : array-like of shape (n,)
        Any coefficients w.
    penalty_factor : array-like of shape (n,), optional
        f in the penalty sum_j f_j |w_j|; 1 by default. Unpenalised features (0) count
        towards the bound like the others; excluded ones (inf) must be zero in `coef`.
    positive : bool
        Require `coef` >= 0.

    Returns
    -------
    sparse_coef : ndarray of shape (n,)
        P'w as in `coef` up to rounding, sum_j f_j |w_j| not larger, non-zeros <= rank(P).
    """
    rows, w = np.asarray(P, dtype=np.float64), np.array(coef, dtype=np.float64)
    factor = np.ones(len(w)) if penalty_factor is None else np.asarray(penalty_factor, float)
    if rows.ndim != 2 or w.shape != rows.shape[:1] or factor.shape != w.shape:
        raise InvalidInputError(
            f"P has shape {rows.shape}, coef {w.shape} and penalty_factor {factor.shape}; pass "
            "(n, k), (n,) and (n,)."
        )
    if not (np.isfinite(rows).all() and np.isfinite(w).all() and (factor >= 0).all()):
        raise InvalidInputError(
            "P and coef must be finite and penalty_factor >= 0; clean the data first."
        )
    if np.isinf(factor[w != 0]).any() or (positive and (w < 0).any()):
        raise InvalidInputError(
            "coef must be zero where penalty_factor is inf, and >= 0 with positive=True."
        )
    support = np.flatnonzero(w)
    if support.size == 0:
        return w
    # Pivoted QR: columns `order` of P_S' in orthonormal coordinates are those of T (r, |S|),
    # and the first r of them are a well-conditioned basis of the rest.
    triangle, order = linalg.qr(rows[support].T, mode="r", pivoting=True)[:2]
    diagonal = np.abs(np.diag(triangle))
    tolerance = max(triangle.shape) * np.finfo(np.float64).eps * diagonal.max(initial=0.0)
    rank = int(np.sum(diagonal > tolerance))
    if rank == support.size:
        return w
    T, support = np.asarray(triangle[:rank], dtype=np.float64), support[order]
    before, weights = w[support], factor[support]
    after, basis = _push_all(T, before.copy(), weights)
    # Least squares on the final support undoes drift.
    used = basis[after[basis] != 0.0]
    refined = np.zeros_like(after)
    refined[used] = linalg.lstsq(T[:, used], T @ before)[0]
    same_signs = bool(np.all(np.sign(refined) == np.sign(after)))
    allowed = max(float(weights @ np.abs(before)), float(weights @ np.abs(after)))
    fine = same_signs and float(weights @ np.abs(refined)) <= allowed * (1.0 + 1e-12)
    w[support] = refined if fine else after
    return w


def _push_all(T: FloatArray, w: FloatArray, weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """Push every non-basic feature once; returns w (|S|,) and the final basis (r,)."""
    rank, size = T.shape
    basis = np.arange(rank)
    for j in range(rank, size):
        d = np.asarray(np.linalg.solve(T[:, basis], T[:, j]), dtype=np.float64)
        sign, step, leaving = _first_zero(w, weights, basis, d, j)
        w[j] += sign * step
        w[basis] -= sign * step * d
        if leaving < 0:
            w[j] = 0.0
            continue
        w[basis[leaving]] = 0.0
        basis[leaving] = j
    return w, basis


def _first_zero(
    w: FloatArray, weights: FloatArray, basis: IntArray, d: FloatArray, j: int
) -> tuple[float, float, int]:
    """Cheaper direction along theta, distance to its first zero, and who reaches it.

    Returns the sign of theta, the step >= 0 and the position in the basis of the feature
    that becomes zero, or -1 for feature j itself.
    """
    held = w[basis]
    slope = weights[j] * np.sign(w[j]) - float(weights[basis] * np.sign(held) @ d)
    moved = np.abs(d) > 1e-11 * np.abs(d).max(initial=0.0)
    stuck = moved & (held == 0.0)
    if stuck.any():
        # A basic zero cannot move at no cost: it leaves at once, j stays as it is.
        return 1.0, 0.0, int(np.argmax(np.where(stuck, np.abs(d), -1.0)))
    preferred = -1.0 if slope > 0 else 1.0
    for sign in (preferred, -preferred):
        # Basic feature i moves as held_i - sign * t * d_i, feature j as w_j + sign * t.
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(moved & (sign * d * held > 0), held / (sign * d), np.inf)
        leaving = int(np.argmin(ratios)) if ratios.size else -1
        step = float(ratios[leaving]) if ratios.size else np.inf
        if sign * w[j] < 0 and abs(w[j]) <= step:
            return sign, abs(float(w[j])), -1
        if np.isfinite(step):
            return sign, step, leaving
    raise AssertionError("one of theta and -theta must meet a zero")  # pragma: no cover
