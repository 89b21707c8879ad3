"""Sampling: the sketch spans a few rows or columns of X, drawn by length or by leverage."""

from __future__ import annotations

import numpy as np

from sketchlasso.data import DataMatrix
from sketchlasso.linalg.factor import orthonormal_basis
from sketchlasso.linalg.krylov import gaussian
from sketchlasso.linalg.operator import LinearMap, Transposed
from sketchlasso.sketches.factors import Factors, factors_from_left, factors_from_right
from sketchlasso.sketches.options import Axis, SketchOptions, Weights
from sketchlasso.types import FloatArray, IntArray, RealArray

__all__ = ["sampling"]

OVERSAMPLING = 10


def sampling(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch from sampled rows (the default) or columns, drawn without replacement.

    Rank + oversampling of them are drawn (oversampling: half the rank and ten more), and the
    best sketch of the rank within their span is kept. Probabilities are proportional to squared
    lengths (Drineas, Kannan and Mahoney, SIAM J. Comput. 36, 2006) or to leverage scores: the
    squared row lengths of an orthonormal basis of the leading singular directions, taken here
    from one step of subspace iteration (Mahoney, "Randomized algorithms for matrices", 2011).
    """
    axis = options.axis or "rows"
    extra = rank // 2 + OVERSAMPLING if options.oversampling is None else options.oversampling
    count = min(rank + extra, *A.shape)
    scores = _scores(A, axis, options.weights or "length", rank, rng)
    chosen = _draw(scores, count, rng)
    if axis == "columns":
        return factors_from_left(A, _span(A, chosen, rng), rank)
    return factors_from_right(A, _span(Transposed(A), chosen, rng), rank)


def _scores(
    A: DataMatrix, axis: Axis, weights: Weights, rank: int, rng: np.random.Generator
) -> FloatArray:
    if weights == "length":
        return A.row_lengths() if axis == "rows" else A.column_lengths()
    side: LinearMap = A if axis == "rows" else Transposed(A)
    block = side.matmat(side.rmatmat(gaussian(rng, side.shape[0], rank, side)))
    basis = orthonormal_basis(block, overwrite=True)
    return np.asarray(np.einsum("ij,ij->i", basis, basis), dtype=np.float64)


def _draw(scores: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Draw places one after another with probabilities proportional to their scores."""
    # The smallest of exponential / score is distributed as one such draw, the next as the
    # next; places of score zero come last.
    clocks = np.full(len(scores), np.inf)
    positive = scores > 0
    clocks[positive] = rng.exponential(size=int(positive.sum())) / scores[positive]
    return np.argsort(clocks, kind="stable")[:count]


def _span(A: LinearMap, chosen: IntArray, rng: np.random.Generator) -> RealArray:
    """Return an orthonormal basis of the chosen columns of A and, where they depend, of others."""
    picks = np.zeros((A.shape[1], len(chosen)), dtype=A.dtype)
    picks[chosen, np.arange(len(chosen))] = 1.0
    return orthonormal_basis(A.matmat(picks), overwrite=True, rng=rng)
