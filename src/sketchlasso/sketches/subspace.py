"""Sketches from products with X: iterations, random projections, sampling; and the exact one.

The iterations multiply by A and A' in turn. They differ in what they keep:

- ``power`` keeps the last block only, as the paper does (subspace iteration);
- ``krylov`` keeps every block and is as wide as the sketch: few passes over X;
- ``randomized`` keeps every block and is narrow: few products for the same accuracy, at more
  passes. Its Krylov space has dimension rank + oversampling, reached in n_iter blocks.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, svds

from sketchlasso.data import DataMatrix
from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.factor import orthonormal_basis
from sketchlasso.linalg.krylov import gaussian, krylov_space
from sketchlasso.linalg.operator import LinearMap, Transposed, as_dense, smaller_side_first
from sketchlasso.sketches.factors import Factors, factors_from_left, factors_from_right
from sketchlasso.sketches.options import Axis, Distribution, SketchOptions, Weights
from sketchlasso.types import FloatArray, IntArray, RealArray

# Default number of columns beyond the rank.
OVERSAMPLING = 10
POWER_ITERATIONS = 8
KRYLOV_ITERATIONS = 2
# Measured on text matrices at ranks 10 to 100: a smaller spectral error than sixteen passes of
# subspace iteration with rank + 10 columns, for half the products.
RANDOMIZED_ITERATIONS = 10
RANDOMIZED_OVERSAMPLING = 40
# Below this smaller side, or where the sketch keeps a third of it, LAPACK decomposes all of A:
# the dense copy is then no larger than the working memory of a sketch.
SMALL_SIDE = 64


def power(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch by subspace iteration, orthonormalising after every product (paper, section 2).

    Where X is tall and in blocks both products are one pass, and orthonormalised after it.
    """
    n_iter = POWER_ITERATIONS if options.n_iter is None else options.n_iter
    width = min(rank + options.extra_columns(0), *A.shape)
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
    width = rank + options.extra_columns(OVERSAMPLING)
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
    extra = options.extra_columns(2 * rank + RANDOMIZED_OVERSAMPLING)
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

    Random numbers are drawn for every feature, never for every sample: a tall A may be spread
    over many machines.
    """
    numbers = gaussian(rng, A.shape[1], width, A)
    if A.shape[0] <= A.shape[1]:
        return A.matmat(numbers)
    return A.gram_matmat(numbers)


def projection(
    A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator
) -> Factors:
    """Sketch from Q = orth(A Omega), P = A'Q: two passes."""
    width = min(rank + options.extra_columns(OVERSAMPLING), *A.shape)
    start = _random_matrix(options.distribution, A.shape[1], width, A, rng)
    return factors_from_right(A, start, rank)


def nystrom(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch from the Nystroem approximation of K = A A' with a random test matrix Omega.

    With V = orth(A'Omega) that approximation, K Omega (Omega'K Omega)^+ Omega'K, is (A V)(A V)':
    the Gram matrix of A V V'. Working with A V instead of K avoids squaring the singular values.
    Three passes. With unit vectors for Omega (landmark samples) it is ``method="sampling"``.
    """
    width = min(rank + options.extra_columns(OVERSAMPLING), *A.shape)
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
    -1 in a share 1/sqrt(rows) of the places, at least eight per column, and 0 elsewhere (Li,
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


def sampling(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch from sampled rows (the default) or columns, drawn without replacement.

    Rank + oversampling of them are drawn (oversampling: half the rank and ten more), and the
    best sketch of the rank within their span is kept. Probabilities are proportional to squared
    lengths (Drineas, Kannan and Mahoney, SIAM J. Comput. 36, 2006) or to leverage scores: the
    squared row lengths of an orthonormal basis of the leading singular directions, taken here
    from one step of subspace iteration (Mahoney, "Randomized algorithms for matrices", 2011).
    """
    axis = options.axis or "rows"
    count = min(rank + options.extra_columns(rank // 2 + OVERSAMPLING), *A.shape)
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
    """Return an orthonormal basis of the chosen columns of A, random where these are dependent."""
    picks = np.zeros((A.shape[1], len(chosen)), dtype=A.dtype)
    picks[chosen, np.arange(len(chosen))] = 1.0
    return orthonormal_basis(A.matmat(picks), overwrite=True, rng=rng)


def exact(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch by the singular value decomposition itself.

    With rank = min(m, n) the sketch is A, and the radius is 0. With a smaller rank the radius is
    the next singular value; where A is too large to be decomposed whole, ARPACK finds the
    leading vectors to working accuracy, and the radius is estimated as for other methods.
    """
    del options
    if min(A.shape) > max(3 * rank, SMALL_SIDE):
        return _by_arpack(A, rank, rng)
    if A.keeps_rows:
        # By way of its triangle: Q stays where the blocks are.
        n = A.shape[1]
        whole = factors_from_right(A, np.eye(n, dtype=A.dtype), n)
        return replace(whole, residual_norm=0.0).truncate(rank)
    return _by_lapack(A, rank)


def _by_lapack(A: DataMatrix, rank: int) -> Factors:
    U, values, Vt = linalg.svd(as_dense(A), full_matrices=False, check_finite=False)
    # At full rank what remains is rounding, which belongs to X's own accuracy.
    next_value = float(values[rank]) if rank < len(values) else 0.0
    P = Vt[:rank].T * values[:rank]
    return Factors(U[:, :rank], P, values[:rank], residual_norm=next_value)


def _by_arpack(A: DataMatrix, rank: int, rng: np.random.Generator) -> Factors:
    operator = LinearOperator(
        dtype=A.dtype,
        shape=A.shape,
        matvec=lambda v: A.matmat(v.reshape(-1, 1))[:, 0],
        rmatvec=lambda u: A.rmatmat(u.reshape(-1, 1))[:, 0],
        matmat=A.matmat,
        rmatmat=A.rmatmat,
    )
    if not A.matmat(gaussian(rng, A.shape[1], 1, A)).any():
        # ARPACK fails on zeros, such as a constant matrix less its means.
        return factors_from_left(A, orthonormal_basis(gaussian(rng, A.shape[0], rank, A)), rank)
    start = gaussian(rng, min(A.shape), 1, A)[:, 0]
    try:
        U, _, _ = svds(operator, k=rank, v0=start, return_singular_vectors="u")
    except ArpackError as unfinished:
        raise InvalidInputError(
            f"method='exact' did not converge for rank={rank!r} on X of shape {A.shape}; use "
            "method='randomized' or another rank."
        ) from unfinished
    return factors_from_left(A, orthonormal_basis(U), rank)
