"""Nystroem: the Gram matrix of the samples, known through a few random combinations."""

from __future__ import annotations

import numpy as np

from sketchlasso.data import DataMatrix
from sketchlasso.linalg.factor import orthonormal_basis
from sketchlasso.sketches.factors import Factors, factors_from_right
from sketchlasso.sketches.options import SketchOptions
from sketchlasso.sketches.projection import OVERSAMPLING, random_matrix

__all__ = ["nystrom"]


def nystrom(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch from the Nystroem approximation of K = A A' with a random test matrix Omega.

    With V = orth(A'Omega) that approximation, K Omega (Omega'K Omega)^+ Omega'K, is (A V)(A V)':
    the Gram matrix of A V V'. Working with A V instead of K avoids squaring the singular values.
    Three passes. With unit vectors for Omega (landmark samples) it is ``method="sampling"``.
    """
    extra = OVERSAMPLING if options.oversampling is None else options.oversampling
    width = min(rank + extra, *A.shape)
    rows = A.rmatmat(random_matrix(options.distribution, A.shape[0], width, A, rng))
    return factors_from_right(A, orthonormal_basis(rows, overwrite=True), rank)
