"""The primal objective of a batch, term by term, and what its robust term guards against."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from sketchlasso.kernels.rows import rows_times_factor
from sketchlasso.linalg.threads import map_slices
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.formulas import objective, response_length
from sketchlasso.types import Coefficients, FloatArray, IntArray, SparseRows


def _rows_of(coef: Coefficients) -> SparseRows:
    """Coefficients by rows; SciPy takes long to wrap those that are already so."""
    rows: SparseRows = coef if isinstance(coef, sparse.csr_array) else sparse.csr_array(coef)
    return rows


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


def _penalty_terms(batch: Batch, rows: SparseRows, owner: IntArray) -> FloatArray:
    """Alpha f_j |w_j| of the stored entries; infinite where an excluded feature is not zero."""
    terms: FloatArray = batch.alpha[owner] * np.abs(rows.data) * _factors_at(batch, rows, owner)
    return terms


def _factors_at(batch: Batch, rows: SparseRows, owner: IntArray) -> FloatArray:
    """Penalty factors at the non-zero coefficients; exactly 0 where a stored value is 0."""
    shared = batch.penalty_factor.ndim == 1
    factor = (
        batch.penalty_factor[rows.indices] if shared else batch.penalty_factor[owner, rows.indices]
    )
    if batch.excluded is not None:
        left_out = batch.excluded
        instance = np.repeat(np.arange(batch.n_instances), np.diff(left_out.indptr))
        n = batch.n_features
        barred = np.isin(owner * n + rows.indices, instance * n + left_out.indices)
        factor = np.where(barred, np.inf, factor)
    return np.where(rows.data == 0, 0.0, factor)


def primal_value(batch: Batch, coef: Coefficients, n_threads: int = 1) -> FloatArray:
    """Objective of every instance at given coefficients.

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
    rows = _rows_of(coef)
    return _objective(batch, rows, loss_value(batch, residual(batch, rows, n_threads)))


def penalties(batch: Batch, coef: Coefficients) -> FloatArray:
    """What the objective (B,) adds to the loss: its robust term and its penalty."""
    return _objective(batch, _rows_of(coef), np.zeros(batch.n_instances))


def _objective(batch: Batch, rows: SparseRows, loss: FloatArray) -> FloatArray:
    size = batch.n_instances
    owner = np.repeat(np.arange(size), np.diff(rows.indptr))
    value: FloatArray = objective(
        loss,
        np.sqrt(np.bincount(owner, weights=rows.data**2, minlength=size)),
        np.bincount(owner, weights=_penalty_terms(batch, rows, owner), minlength=size),
        batch.radius,
        batch.loss == "squared",
    )
    return value


def null_value(batch: Batch) -> FloatArray:
    """Objective (B,) at w = 0."""
    return loss_value(batch, batch.c)


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
    return radius * np.outer(_direction(residual), _direction(coef))


def _direction(x: FloatArray) -> FloatArray:
    """X / ||x||, or the first unit vector where x is zero: any direction is worst then."""
    length = float(np.linalg.norm(x))
    if length > 0:
        return x / length
    unit = np.zeros_like(x)
    unit[0] = 1.0
    return unit
