"""How sketches are made: iterations, random projections, sampling, a stream of rows, the exact one.

Each method takes A (m, n), a rank and a source of randomness. The iterations multiply by A and A'
in turn. They differ in what they keep:

- ``power`` keeps the last block only, as the paper does (subspace iteration);
- ``krylov`` keeps every block and is as wide as the sketch: few passes over X;
- ``randomized`` keeps every block and is narrow: few products for the same accuracy, at more
  passes. Its Krylov space has dimension rank + oversampling, reached in n_iter blocks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, svds

from sketchlasso.data import BlockMatrix, ColumnTransform, DataMatrix
from sketchlasso.data.entries import is_sparse
from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.factor import orthonormal_basis, signs_of, subtract_product
from sketchlasso.linalg.krylov import gaussian, krylov_space, short_side_gram
from sketchlasso.sketches.factors import Factors, factors_from_left, factors_from_right
from sketchlasso.types import IntArray, RealArray

# Below this smaller side, or where the sketch keeps a third of it, LAPACK decomposes all of A:
# the dense copy is then no larger than the working memory of a sketch.
SMALL_SIDE = 64


def power(
    A: DataMatrix, rank: int, rng: np.random.Generator, *, n_iter: int = 8, oversampling: int = 0
) -> Factors:
    """Sketch by subspace iteration, orthonormalising after every product (paper, section 2).

    Where X is tall and in blocks both products are one pass, and orthonormalised after it.
    """
    V = gaussian(rng, A.shape[1], min(rank + oversampling, *A.shape), A)
    for _ in range(n_iter):
        if A.keeps_rows:
            V = orthonormal_basis(A.gram_matmat(V), overwrite=True)
        else:
            Q = orthonormal_basis(A.matmat(V), overwrite=True)
            V = orthonormal_basis(A.rmatmat(Q), overwrite=True)
    return factors_from_right(A, V, rank)


def krylov(
    A: DataMatrix, rank: int, rng: np.random.Generator, *, n_iter: int = 2, oversampling: int = 10
) -> Factors:
    """Sketch from the block Krylov space of a random start as wide as the sketch.

    C. Musco and C. Musco, "Randomized block Krylov methods for stronger and faster approximate
    singular value decomposition", NIPS 2015.
    """
    width = rank + oversampling
    return _from_krylov_space(A, rank, width, (n_iter + 1) * width, rng)


def randomized(
    A: DataMatrix,
    rank: int,
    rng: np.random.Generator,
    *,
    n_iter: int = 10,
    oversampling: int | None = None,
) -> Factors:
    """Sketch from the Krylov space of a narrow random start, by Rayleigh-Ritz.

    With n_iter=1 this is the randomized range finder of Halko, Martinsson and Tropp (SIAM
    Review 53, 2011); more and narrower blocks of the same total width cost the same products
    and gain accuracy. Measured on text at ranks 10 to 100, the defaults leave a smaller error than
    sixteen passes of subspace iteration with rank + 10 columns, for half the products.
    """
    extra = 2 * rank + 40 if oversampling is None else oversampling
    dimension = min(rank + extra, *A.shape)
    return _from_krylov_space(A, rank, -(-dimension // n_iter), dimension, rng)


def _from_krylov_space(
    A: DataMatrix, rank: int, width: int, dimension: int, rng: np.random.Generator
) -> Factors:
    """Sketch from a Krylov space on the smaller side of A: its basis is the largest array here.

    Random numbers are drawn for every feature, never for every sample: a tall A may be spread
    over many machines.
    """
    wide = A.shape[0] <= A.shape[1]
    multiply = A.matmat if wide else A.gram_matmat
    # The start has no name here, so that its memory is free as soon as it is used up.
    space = krylov_space(
        short_side_gram(A), multiply(gaussian(rng, A.shape[1], width, A)), dimension, rng
    )
    vectors = space.leading(rank)
    del space
    return factors_from_left(A, vectors, rank) if wide else factors_from_right(A, vectors, rank)


def projection(
    A: DataMatrix, rank: int, rng: np.random.Generator, *, oversampling: int = 10
) -> Factors:
    """Sketch from Q = orth(A Omega), P = A'Q: two passes."""
    width = min(rank + oversampling, *A.shape)
    return factors_from_right(A, gaussian(rng, A.shape[1], width, A), rank)


def nystrom(
    A: DataMatrix, rank: int, rng: np.random.Generator, *, oversampling: int = 10
) -> Factors:
    """Sketch from the Nystroem approximation of K = A A' with a random test matrix Omega.

    With V = orth(A'Omega) that approximation, K Omega (Omega'K Omega)^+ Omega'K, is (A V)(A V)':
    the Gram matrix of A V V'. Working with A V instead of K avoids squaring the singular values.
    Three passes. With unit vectors for Omega (landmark samples) it is ``method="sampling"``.
    """
    width = min(rank + oversampling, *A.shape)
    rows = A.rmatmat(gaussian(rng, A.shape[0], width, A))
    return factors_from_right(A, orthonormal_basis(rows, overwrite=True), rank)


def sampling(
    A: DataMatrix, rank: int, rng: np.random.Generator, *, oversampling: int | None = None
) -> Factors:
    """Sketch from rows drawn without replacement, in proportion to their squared lengths.

    Rank + oversampling of them are drawn (oversampling: half the rank and ten more), and the
    best sketch of the rank within their span is kept (Drineas, Kannan and Mahoney, SIAM J.
    Comput. 36, 2006).
    """
    size, scores = A.shape[0], A.row_lengths()
    # The smallest of exponential / score is distributed as one draw, the next as the next;
    # rows of score zero come last.
    clocks = np.full(size, np.inf)
    positive = scores > 0
    clocks[positive] = rng.exponential(size=int(positive.sum())) / scores[positive]
    extra = rank // 2 + 10 if oversampling is None else oversampling
    drawn = np.argsort(clocks, kind="stable")[: min(rank + extra, *A.shape)]
    # Random directions where the rows are dependent.
    return factors_from_right(
        A, orthonormal_basis(_rows_of(A, drawn), overwrite=True, rng=rng), rank
    )


def _rows_of(A: DataMatrix, numbers: IntArray) -> RealArray:
    """Some rows of A, as columns (n, r)."""
    picks = np.zeros((A.shape[0], len(numbers)))
    picks[numbers, np.arange(len(numbers))] = 1.0
    return A.rmatmat(picks)


def frequent_directions(
    A: DataMatrix, rank: int, rng: np.random.Generator, *, oversampling: int = 10
) -> Factors:
    """Sketch by Liberty's Frequent Directions (KDD 2013), deterministic.

    The running B (n, l), l = rank + oversampling, takes in a block of rows at a time, and every
    squared singular value is lowered by the (l+1)-st, so that

        0  <=  A'A - B B'  <=  ||A - A_k||_F^2 / (l - k)    for every k < l

    The leading left singular vectors V of B span the rows of the sketch, and Q = orth(A V). B goes
    from block to block, and the tiles it takes in do not depend on how X is cut.
    """
    del rng
    count = min(rank + oversampling, *A.shape)
    B = np.zeros((A.shape[1], 0), dtype=A.dtype)
    tile = 8 * count if A.blocks.sparse else count
    A.meter.count()
    transform = A.block_transform
    B, rest = A.blocks.run_chain(_take_in_tiles, (B, None), (transform, count, tile))
    if rest is not None:
        B = _take_in(B, rest, transform, count)
    if B.shape[1] < rank:
        B = np.hstack([B, np.zeros((len(B), rank - B.shape[1]), dtype=B.dtype)])
    V = linalg.svd(B, full_matrices=False, check_finite=False)[0][:, :rank]
    return factors_from_right(A, np.ascontiguousarray(V), rank)


def _take_in_tiles(
    entries: Any, state: tuple[RealArray, Any], transform: ColumnTransform, count: int, tile: int
) -> tuple[RealArray, Any]:
    """Take in the full tiles that the rows left over and those of one more block make.

    The state is the running B (n, l), and the rows that did not fill a tile yet, or None.
    """
    B, rest = state
    if rest is not None:
        join = sparse.vstack if is_sparse(entries) else np.vstack
        entries = join([rest, entries])
    entries = sparse.csr_array(entries) if is_sparse(entries) else entries
    start = 0
    while start + tile <= entries.shape[0]:
        B = _take_in(B, entries[start : start + tile], transform, count)
        start += tile
    # A copy, so that the whole block is not kept for the sake of its last rows.
    return B, entries[start:].copy() if start < entries.shape[0] else None


def _take_in(B: RealArray, entries: Any, transform: ColumnTransform, count: int) -> RealArray:
    """Return the best `count` directions of [B'; entries], shrunk by the next one's size.

    In double precision: the Gram matrix squares the sizes of directions, and in single precision
    those 1e-4 times as long as the longest would vanish.
    """
    kind = B.dtype
    block = DataMatrix(BlockMatrix.of(entries), transform).in_double()
    B = B.astype(np.float64, copy=False)
    width, rows = B.shape[1], block.shape[0]
    gram = np.empty((width + rows, width + rows))
    cross = block.matmat(B)
    gram[:width, :width] = B.T @ B
    gram[width:, :width] = cross
    gram[:width, width:] = cross.T
    gram[width:, width:] = block.row_gram()
    values, vectors = linalg.eigh(gram, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    lowered = values[:count] - (max(values[count], 0.0) if len(values) > count else 0.0)
    # Rounding may leave a direction without weight; it is dropped, not divided by.
    used = (lowered > 0) & (values[:count] > np.finfo(np.float64).eps * values[0])
    weights = np.sqrt(lowered[used] / values[:count][used])
    directions = vectors[:, :count][:, used] * weights
    shrunk = block.rmatmat(directions[width:])
    subtract_product(shrunk, B, -directions[:width])
    return shrunk.astype(kind, copy=False)


def exact(A: DataMatrix, rank: int, rng: np.random.Generator) -> Factors:
    """Sketch by the singular value decomposition itself.

    With rank = min(m, n) the sketch is A, and the radius is 0. With a smaller rank the radius is
    the next singular value; where A is too large to be decomposed whole, ARPACK finds the
    leading vectors to working accuracy, and the radius is estimated as for other methods.
    """
    if min(A.shape) > max(3 * rank, SMALL_SIDE):
        return _by_arpack(A, rank, rng)
    if A.keeps_rows:
        # By way of its triangle: Q stays where the blocks are.
        n = A.shape[1]
        whole = factors_from_right(A, np.eye(n, dtype=A.dtype), n)
        return replace(whole, residual_norm=0.0).truncate(rank)
    U, values, Vt = linalg.svd(A.dense(), full_matrices=False, check_finite=False)
    # At full rank what remains is rounding, which belongs to X's own accuracy.
    next_value = float(values[rank]) if rank < len(values) else 0.0
    P = Vt[:rank].T * values[:rank]
    signs = signs_of(P)
    return Factors(U[:, :rank] * signs, P * signs, values[:rank], next_value)


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
