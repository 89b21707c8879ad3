"""Orthonormal bases of block Krylov spaces, with the Gram matrix of A on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sketchlasso.linalg.factor import (
    LOST_DIRECTION,
    column_lengths,
    multiply_in_place,
    orthonormal_basis,
    random_directions,
    subtract_product,
    triangular_factor,
)
from sketchlasso.linalg.operator import LinearMap, outer_product
from sketchlasso.types import RealArray


@dataclass(frozen=True, eq=False)
class KrylovSpace:
    """An orthonormal basis B and the Gram matrix B'A A'B on it."""

    basis: RealArray  # (m, d)
    gram: RealArray  # (d, d): symmetric positive semidefinite up to rounding

    def leading(self, count: int) -> RealArray:
        """Return the Ritz vectors (m, count) of the largest eigenvalues, largest first."""
        vectors = linalg.eigh(self.gram, check_finite=False)[1]
        return self.basis @ np.ascontiguousarray(vectors[:, ::-1][:, :count])

    def largest_singular_value(self) -> float:
        """Return the largest Ritz value's root: a lower bound on ||A||_2."""
        values = linalg.eigvalsh(self.gram, check_finite=False)
        return float(np.sqrt(max(values[-1], 0.0)))


def gaussian(rng: np.random.Generator, rows: int, columns: int, like: LinearMap) -> RealArray:
    """Return standard normal entries (rows, columns) in the floating type of a map."""
    dtype = np.float32 if like.dtype == np.float32 else np.float64
    return rng.standard_normal((rows, columns), dtype=dtype)


def krylov_space(
    A: LinearMap,
    start: RealArray,
    dimension: int,
    rng: np.random.Generator,
) -> KrylovSpace:
    """Return the span of start, (AA')start, (AA')^2 start, ... up to a dimension, at most m.

    A is (m, n) and `start` (m, b), which is overwritten. Every new block is orthogonalised twice
    against the whole basis, which therefore stays orthonormal to rounding. If the space is
    exhausted before the dimension is reached (repeated singular values, low rank), random
    directions replace the missing ones.
    """
    m = A.shape[0]
    dimension = min(dimension, m)
    basis = np.empty((m, dimension), dtype=A.dtype)
    gram = np.zeros((dimension, dimension), dtype=A.dtype)
    block = start
    del start
    shares = basis[:, :0].T @ block
    done = 0
    while done < dimension:
        width = min(block.shape[1], dimension - done)
        new = _new_directions(basis[:, :done], block[:, :width], shares[:, :width], rng)
        basis[:, done : done + width] = new
        del block, new
        block = outer_product(A, basis[:, done : done + width])
        done += width
        # Column block of B'AA'B; the part above the diagonal is all that is needed.
        shares = basis[:, :done].T @ block
        gram[:done, done - width : done] = shares
    upper = np.triu(gram, 1)
    return KrylovSpace(basis, upper + upper.T + np.diag(np.diag(gram)))


def extend_basis(
    A: LinearMap,
    U: RealArray,
    start: RealArray,
    count: int,
    rng: np.random.Generator,
    image: RealArray | None = None,
) -> tuple[RealArray, RealArray]:
    """Extend an orthonormal basis U (m, h) by `count` columns, at most m - h.

    They span the Krylov space of (I - UU')A from the columns of `start` (m, b), which is
    overwritten; random directions replace missing ones as in :func:`krylov_space`. `image` (n, h)
    is A'U where it is known.

    Returns Q (m, h + count), orthonormal with U first, and P = A'Q (n, h + count), whose new
    columns the steps compute anyway.
    """
    held = U.shape[1]
    # By columns while they are added one by one.
    Q = np.empty((A.shape[0], held + count), dtype=A.dtype, order="F")
    P = np.empty((A.shape[1], held + count), dtype=A.dtype, order="F")
    Q[:, :held], P[:, :held] = U, A.rmatmat(U) if image is None else image
    block, done = start, held
    while done < held + count:
        known, new = slice(0, done), slice(done, min(done + block.shape[1], held + count))
        block = block[:, : new.stop - new.start]
        Q[:, new] = _new_directions(Q[:, known], block, Q[:, known].T @ block, rng)
        P[:, new] = A.rmatmat(Q[:, new])
        done = new.stop
        if done < held + count:
            # The next step projects this off Q, so U need not be subtracted from A.
            block = A.matmat(P[:, new])
    Q = np.ascontiguousarray(Q)
    return Q, np.ascontiguousarray(P)


def _new_directions(
    basis: RealArray, block: RealArray, shares: RealArray, rng: np.random.Generator
) -> RealArray:
    """Return orthonormal columns spanning the block off the basis; overwrites the block.

    The shares (d, b) are basis'block.
    """
    floor = LOST_DIRECTION * np.finfo(block.dtype).eps * column_lengths(block).max()
    subtract_product(block, basis, shares)
    R = triangular_factor(block)
    if R is not None and np.diag(R).min() > floor:
        multiply_in_place(block, np.linalg.inv(R))
    else:
        block, R = linalg.qr(block, mode="economic", check_finite=False)
        lost = np.abs(np.diag(R)) <= floor
        block[:, lost] = random_directions(rng, len(block), int(lost.sum()))
    # Cancellation in the first round amplified rounding errors; now that all columns have length
    # one, a second round removes them.
    subtract_product(block, basis, basis.T @ block)
    return np.ascontiguousarray(orthonormal_basis(block, rounds=1, overwrite=True))
