"""Why the robust term is there: the worst perturbation of the data it guards against."""

from __future__ import annotations

import numpy as np

from sketchlasso.types import FloatArray

__all__ = ["worst_case_perturbation"]


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
