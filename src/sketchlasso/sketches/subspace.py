"""Methods that walk towards the leading singular vectors: power, randomized, krylov.

All three multiply by A and A' in turn. They differ in what they keep:

- ``power`` keeps the last block only, as the paper does (subspace iteration);
- ``krylov`` keeps every block and is as wide as the sketch: few passes over X;
- ``randomized`` keeps every block and is narrow: few products for the same accuracy, at more
  passes. Its Krylov space has dimension rank + oversampling, reached in n_iter blocks.
"""

from __future__ import annotations

import numpy as np

from sketchlasso.data import DataMatrix
from sketchlasso.linalg.factor import orthonormal_basis
from sketchlasso.linalg.krylov import gaussian, krylov_space
from sketchlasso.linalg.operator import smaller_side_first
from sketchlasso.sketches.factors import Factors, factors_from_left, factors_from_right
from sketchlasso.sketches.options import SketchOptions
from sketchlasso.types import RealArray

__all__ = ["krylov", "power", "randomized"]

POWER_ITERATIONS = 8
KRYLOV_ITERATIONS = 2
KRYLOV_OVERSAMPLING = 10
# Measured on text matrices at ranks 10 to 100: a smaller spectral error than sixteen passes of
# subspace iteration with rank + 10 columns, for half the products.
RANDOMIZED_ITERATIONS = 10
RANDOMIZED_OVERSAMPLING = 40


def power(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch by subspace iteration, orthonormalising after every product (paper, section 2).

    Where X is tall and in blocks both products are one pass, and orthonormalised after it.
    """
    n_iter = POWER_ITERATIONS if options.n_iter is None else options.n_iter
    width = min(rank + (options.oversampling or 0), *A.shape)
    V = gaussian(rng, A.shape[1], width, A)
    for _ in range(n_iter):
        if A.keeps_rows:
            V = orthonormal_basis(A.gram_matmat(V), overwrite=True)
        else:
            Q = orthonormal_basis(A.matmat(V), overwrite=True)
            V = orthonormal_basis(A.rmatmat(Q), overwrite=True)
    return factors_from_right(A, V, rank)


def krylov(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch from the block Krylov space of a random start as wide as the sketch.

    C. Musco and C. Musco, "Randomized block Krylov methods for stronger and faster approximate
    singular value decomposition", NIPS 2015.
    """
    n_iter = KRYLOV_ITERATIONS if options.n_iter is None else options.n_iter
    extra = KRYLOV_OVERSAMPLING if options.oversampling is None else options.oversampling
    width = rank + extra
    return _from_krylov_space(A, rank, width, (n_iter + 1) * width, rng)


def randomized(
    A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator
) -> Factors:
    """Sketch from the Krylov space of a narrow random start, by Rayleigh-Ritz.

    With n_iter=1 this is the randomized range finder of Halko, Martinsson and Tropp (SIAM
    Review 53, 2011); more and narrower blocks of the same total width cost the same products
    and gain accuracy.
    """
    n_iter = RANDOMIZED_ITERATIONS if options.n_iter is None else options.n_iter
    extra = options.oversampling
    if extra is None:
        extra = 2 * rank + RANDOMIZED_OVERSAMPLING
    dimension = min(rank + extra, *A.shape)
    return _from_krylov_space(A, rank, -(-dimension // n_iter), dimension, rng)


def _from_krylov_space(
    A: DataMatrix, rank: int, width: int, dimension: int, rng: np.random.Generator
) -> Factors:
    # The basis is the largest array of the sketch: it lives on the smaller side of A.
    side = smaller_side_first(A)
    space = krylov_space(side, _random_start(A, width, rng), dimension, rng)
    vectors = space.leading(rank)
    del space
    finish = factors_from_left if side is A else factors_from_right
    return finish(A, vectors, rank)


def _random_start(A: DataMatrix, width: int, rng: np.random.Generator) -> RealArray:
    """Return random combinations of A's columns, or of its rows where those are longer.

    Random numbers are drawn for every feature, never for every sample: a tall A may lie in many
    places.
    """
    numbers = gaussian(rng, A.shape[1], width, A)
    if A.shape[0] <= A.shape[1]:
        return A.matmat(numbers)
    return A.gram_matmat(numbers)
