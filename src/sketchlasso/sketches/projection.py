"""Random projections of X: its columns (projection), or its Gram matrix (nystrom)."""

from __future__ import annotations

import numpy as np

from sketchlasso.data import DataMatrix
from sketchlasso.linalg.factor import orthonormal_basis
from sketchlasso.linalg.krylov import gaussian
from sketchlasso.linalg.operator import LinearMap
from sketchlasso.sketches.factors import Factors, factors_from_right
from sketchlasso.sketches.options import Distribution, SketchOptions
from sketchlasso.types import RealArray

__all__ = ["nystrom", "projection"]

OVERSAMPLING = 10


def projection(
    A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator
) -> Factors:
    """Sketch from Q = orth(A Omega), P = A'Q: two passes."""
    extra = OVERSAMPLING if options.oversampling is None else options.oversampling
    width = min(rank + extra, *A.shape)
    return factors_from_right(
        A, _random_matrix(options.distribution, A.shape[1], width, A, rng), rank
    )


def nystrom(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch from the Nystroem approximation of K = A A' with a random test matrix Omega.

    With V = orth(A'Omega) that approximation, K Omega (Omega'K Omega)^+ Omega'K, is (A V)(A V)':
    the Gram matrix of A V V'. Working with A V instead of K avoids squaring the singular values.
    Three passes. With unit vectors for Omega (landmark samples) it is ``method="sampling"``.
    """
    extra = OVERSAMPLING if options.oversampling is None else options.oversampling
    width = min(rank + extra, *A.shape)
    rows = A.rmatmat(_random_matrix(options.distribution, A.shape[0], width, A, rng))
    return factors_from_right(A, orthonormal_basis(rows, overwrite=True), rank)


def _random_matrix(
    distribution: Distribution | None,
    rows: int,
    columns: int,
    like: LinearMap,
    rng: np.random.Generator,
) -> RealArray:
    """Return a random matrix (rows, columns) whose range meets every direction.

    ``"gaussian"`` (also for None) has standard normal entries; ``"sparse"`` has entries +1 and
    -1 in a share 1/sqrt(rows) of the places, at least eight a column, and 0 elsewhere (Li,
    Hastie and Church, "Very sparse random projections", KDD 2006).
    """
    if distribution != "sparse":
        return gaussian(rng, rows, columns, like)
    omega = np.zeros((rows, columns), dtype=like.dtype)
    count = min(rows, max(8, int(np.ceil(np.sqrt(rows)))))
    for column in range(columns):
        places = rng.choice(rows, count, replace=False, shuffle=False)
        omega[places, column] = rng.choice([-1.0, 1.0], count)
    return omega
