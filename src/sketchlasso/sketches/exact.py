"""The exact truncated singular value decomposition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, svds

from sketchlasso.data import DataMatrix
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.linalg.factor import orthonormal_basis
from sketchlasso.linalg.krylov import gaussian
from sketchlasso.linalg.operator import as_dense
from sketchlasso.sketches.factors import Factors, factors_from_left, factors_from_right
from sketchlasso.sketches.options import SketchOptions

# Below this smaller side, or where the sketch keeps a third of it, LAPACK decomposes all of A:
# the dense copy is then no larger than the working memory of a sketch.
SMALL_SIDE = 64


def exact(A: DataMatrix, rank: int, options: SketchOptions, rng: np.random.Generator) -> Factors:
    """Sketch by the singular value decomposition itself.

    With rank = min(m, n) the sketch is A, and the radius is 0. With a smaller rank the radius is
    the next singular value; where A is too large to be decomposed whole, ARPACK finds the
    leading vectors to working accuracy, and the radius is estimated as for other methods.
    """
    del options
    if min(A.shape) <= max(3 * rank, SMALL_SIDE):
        return _in_blocks(A, rank) if A.keeps_rows else _by_lapack(A, rank)
    return _by_arpack(A, rank, rng)


def _by_lapack(A: DataMatrix, rank: int) -> Factors:
    U, values, Vt = linalg.svd(as_dense(A), full_matrices=False, check_finite=False)
    # At full rank what remains is rounding, which belongs to X's own accuracy.
    next_value = float(values[rank]) if rank < len(values) else 0.0
    P = Vt[:rank].T * values[:rank]
    return Factors(U[:, :rank], P, values[:rank], residual_norm=next_value)


def _in_blocks(A: DataMatrix, rank: int) -> Factors:
    """Decompose tall A in blocks by way of its triangle: Q stays where the blocks are."""
    n = A.shape[1]
    whole = factors_from_right(A, np.eye(n, dtype=A.dtype), n)
    return replace(whole, residual_norm=0.0).truncate(rank)


def _by_arpack(A: DataMatrix, rank: int, rng: np.random.Generator) -> Factors:
    operator = LinearOperator(
        dtype=A.dtype,
        shape=A.shape,
        matvec=lambda v: A.matmat(v.reshape(-1, 1))[:, 0],
        rmatvec=lambda u: A.rmatmat(u.reshape(-1, 1))[:, 0],
        matmat=A.matmat,
        rmatmat=A.rmatmat,
    )
    start = gaussian(rng, min(A.shape), 1, A)[:, 0]
    try:
        U, _, _ = svds(operator, k=rank, v0=start, return_singular_vectors="u")
    except ArpackNoConvergence as unfinished:
        raise InvalidInputError(
            Argument("method", "exact"),
            " did not converge for ",
            Argument("rank", rank),
            f" on X of shape {A.shape}; use ",
            Argument("method", "randomized"),
            " or another rank.",
        ) from unfinished
    return factors_from_left(A, orthonormal_basis(U), rank)
