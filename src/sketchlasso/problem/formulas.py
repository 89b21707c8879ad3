"""The formulas of the problem: over NumPy arrays and PyTorch tensors alike, then of a batch.

Arrays have one row per instance: c and u (b, k), correlations R u and thresholds (b, n), all else
(b,). The compiled twins in :mod:`sketchlasso.kernels` serve one instance at a time;
`tests/unit/kernels/test_twins.py` compares them.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.kernels.newton import NEGLIGIBLE
from sketchlasso.kernels.rows import rows_times_factor
from sketchlasso.linalg.threads import map_slices
from sketchlasso.problem.batch import Batch
from sketchlasso.types import Coefficients, FloatArray, SparseRows


def _namespace(array: Any) -> Any:
    """NumPy or PyTorch, whichever the array belongs to."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def magnitude(seen: Any, positive: bool) -> Any:
    """What of correlations counts against their thresholds: |R u|, or (R u)_+ where w >= 0."""
    xp = _namespace(seen)
    return xp.clip(seen, 0.0, None) if positive else xp.abs(seen)


def soft_threshold(x: Any, threshold: Any, positive: bool = False) -> Any:
    """sign(x) (|x| - threshold)_+, or (x - threshold)_+ where coefficients are non-negative."""
    xp = _namespace(x)
    over = (x if positive else xp.abs(x)) - threshold
    xp.clip(over, 0.0, None, out=over)
    return over if positive else xp.sign(x) * over


def response_length(c: Any, s: Any) -> Any:
    """sqrt(||c||^2 + s^2) (b,): the square-root loss at w = 0, or at a residual c."""
    xp = _namespace(c)
    return xp.sqrt(xp.sum(c * c, axis=1) + s * s)


def null_dual(c: Any, s: Any) -> Any:
    """Dual points c / sqrt(||c||^2 + s^2) (b, k) of w = 0 for the square-root loss."""
    length = response_length(c, s)
    return c / _namespace(c).where(length > 0, length, 1.0)[:, None]


def objective(loss: Any, length: Any, l1: Any, radius: Any, squared: bool = False) -> Any:
    """Objective (b,) from its parts: the loss, ||w||_2 and sum_j alpha f_j |w_j|."""
    ridge = radius * length
    return loss + (0.5 * ridge * ridge if squared else ridge) + l1


def dual_objective(inner: Any, square: Any, s: Any, squared: bool = False) -> Any:
    """Dual objective (b,) from inner = c'u and square = ||u||^2.

    For the squared loss it lacks the term of the radius.
    """
    if squared:
        return inner - 0.5 * square + 0.5 * s * s
    xp = _namespace(square)
    return inner + s * xp.sqrt(xp.clip(1.0 - square, 0.0, None))


def relative_gap(primal: Any, dual: Any, null: Any) -> Any:
    """(primal - dual) / primal, never negative, of arrays of one shape; NaN where one of them is.

    Where the optimum itself is zero up to rounding (unpenalised features that fit y
    exactly, y = 0), the gap is measured against a negligible share of the objective at zero.
    """
    xp = _namespace(primal)
    scale = xp.maximum(primal, NEGLIGIBLE * null)
    gap = xp.clip(primal - dual, 0.0, None)
    # Not scale > 0: NaN would count as an optimum of zero, and its gap as closed.
    return gap / xp.where(scale != 0, scale, float("inf"))


def best_on_ray(inner: Any, length: Any, s: Any, squared: bool = False) -> Any:
    """Scaling (b,) of u that maximises the dual objective when its constraint is ignored.

    a inner + s sqrt(1 - a^2 length^2) is largest at (inner/length) / sqrt((inner/length)^2 + s^2)
    / length; for the squared loss a inner - a^2 length^2/2 is largest at inner / length^2.
    """
    xp = _namespace(length)
    points = (length > 0) & (inner > 0)
    safe = xp.where(points, length, 1.0)
    along = xp.where(points, inner, 1.0) / safe
    best = along / safe if squared else along / xp.sqrt(along * along + s * s) / safe
    return xp.where(points, best, 0.0)


def feasible_scale(size: Any, thresholds: Any, radius: Any, largest: Any, slack: float) -> Any:
    """Largest a (b,) in [0, `largest`] with ||(a size - thresholds)_+|| <= radius (1 + slack).

    The norm is convex and increasing in a, so Newton's method from the right descends to the
    root. Rounding can hide its last steps; then a shrinks by a few units in the last place, and
    by more until the norm is in order. `size` (b, n) is the :func:`magnitude` of R u.
    """
    xp = _namespace(size)
    rigid = radius <= 0
    with np.errstate(all="ignore"):
        # At the root no single term exceeds the radius; without a radius this is the answer.
        reach = (thresholds + xp.clip(radius, 0.0, None)[:, None]) / size
        reach = xp.where(size * largest[:, None] > thresholds, reach, float("inf"))
        scale = xp.minimum(largest, xp.amin(reach, axis=1))
        least = 2.0 * xp.finfo(scale.dtype).eps + 0.0 * scale
        for _ in range(200):  # Newton takes a few; the others are left to rounding
            over = scale[:, None] * size - thresholds
            xp.clip(over, 0.0, None, out=over)
            norm = xp.linalg.norm(over, axis=1)
            # Not norm > radius: a norm that overflows must prove nothing.
            beyond = ~(norm <= radius * (1.0 + slack)) & ~rigid
            if not bool(beyond.any()):
                return scale
            step, shortest = (norm - radius) * norm / xp.sum(over * size, axis=1), least * scale
            hidden = ~(step > shortest)
            step = xp.where(hidden, shortest, step)
            least = xp.where(hidden, 2.0 * least, least)
            scale = xp.where(beyond, xp.clip(scale - step, 0.0, None), scale)
    # No scale was shown to be feasible: zero always is.
    return xp.where(beyond, 0.0, scale)


def residual(batch: Batch, coef: Coefficients, n_threads: int = 1) -> FloatArray:
    """C - R'w (B, k) for coefficients (B, n)."""
    rows = _rows_of(coef)
    product = np.empty((batch.n_instances, batch.rank))

    def multiply(part: slice) -> None:
        rows_times_factor(
            rows.indptr, rows.indices, rows.data, batch.P, part.start, part.stop, product
        )

    map_slices(multiply, batch.n_instances, n_threads)
    return batch.c - batch.lower(product)


def loss_value(batch: Batch, remainder: FloatArray) -> FloatArray:
    """Loss (B,) of a residual (B, k): its length with s, or half its square."""
    length: FloatArray = response_length(remainder, batch.s)
    return length if batch.loss == "sqrt" else 0.5 * length * length


def null_value(batch: Batch) -> FloatArray:
    """Objective (B,) at w = 0."""
    return loss_value(batch, batch.c)


def primal_value(batch: Batch, coef: Coefficients, n_threads: int = 1) -> FloatArray:
    """Objective of every instance at given coefficients; infinite where an excluded one is used.

    ::

        sqrt(||c - R'w||^2 + s^2) + radius ||w||_2 + alpha sum_j f_j |w_j|

    Parameters
    ----------
    batch : Batch
    coef : ndarray or csr_array of shape (B, n)
    n_threads : int

    Returns
    -------
    ndarray of shape (B,)
    """
    rows, size = _rows_of(coef), batch.n_instances
    owner = np.repeat(np.arange(size), np.diff(rows.indptr))
    shared = batch.penalty_factor.ndim == 1
    place = rows.indices if shared else (owner, rows.indices)
    factor = batch.penalty_factor[place]
    if batch.excluded is not None:
        excluded, n = batch.excluded, batch.n_features
        instance = np.repeat(np.arange(size), np.diff(excluded.indptr))
        barred = np.isin(owner * n + rows.indices, instance * n + excluded.indices)
        factor = np.where(barred, np.inf, factor)
    # A stored zero costs nothing, whatever its factor.
    costs = batch.alpha[owner] * np.abs(rows.data) * np.where(rows.data == 0, 0.0, factor)
    value: FloatArray = objective(
        loss_value(batch, residual(batch, rows, n_threads)),
        np.sqrt(np.bincount(owner, weights=rows.data**2, minlength=size)),
        np.bincount(owner, weights=costs, minlength=size),
        batch.radius,
        batch.loss == "squared",
    )
    return value


def _rows_of(coef: Coefficients) -> SparseRows:
    """Coefficients by rows; SciPy takes long to wrap those that are already so."""
    rows: SparseRows = coef if isinstance(coef, sparse.csr_array) else sparse.csr_array(coef)
    return rows


def worst_case_perturbation(residual: FloatArray, coef: FloatArray, radius: float) -> FloatArray:
    """The matrix D with ||D|| <= radius that hurts the fit of `coef` most.

        max over ||D|| <= radius of ||(X + D) w - y||  =  ||X w - y|| + radius ||w||

    attained at D = radius * u v' with u = (Xw - y)/||Xw - y|| and v = w/||w||, of norm
    `radius` in the spectral and in the Frobenius sense. (The paper prints ||D|| = 1.)

    Parameters
    ----------
    residual : ndarray of shape (m,)
        Xw - y.
    coef : ndarray of shape (n,)
        w.
    radius : float
        Bound on ||D||, >= 0.

    Returns
    -------
    D : ndarray of shape (m, n)
    """
    units = []
    for vector in (residual, coef):
        length = float(np.linalg.norm(vector))
        # Where it is zero any direction is worst.
        units.append(vector / length if length > 0 else np.eye(1, len(vector))[0])
    return radius * np.outer(*units)
