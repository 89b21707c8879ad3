"""Orthonormal bases of block Krylov spaces, and bounds on spectral norms from them.

A Krylov space K_q = span(G, (AA')G, ..., (AA')^(q-1) G) yields a Ritz value lam <= sigma^2,
sigma = ||A||_2, a lower bound. The probability that the random start G (N x r, standard normal)
makes it much too low gives an upper bound. Scale so that sigma = 1 and suppose
lam < 1 - e. With g = G a / ||a||, a = G'v, v the leading left singular vector, every polynomial
p of degree q - 1 then has

    p(1)^2 e (v'g)^2  <  max over 0 <= x <= 1-e of p(x)^2 (1 - e - x)  *  ||g - v v'g||^2

Take p(x) = U_{2q-2}(sqrt(x / (1-e))), Chebyshev of the second kind (even, so a polynomial of
degree q - 1 in x): the maximum is (1-e), and p(1)^2 e = (1-e) sinh^2((2q-1) phi) with
cosh phi = 1 / sqrt(1-e). As (v'g)^2 / ||g||^2 is Beta(r/2, (N-1)/2) distributed,

    P( sigma > cosh(phi) sqrt(lam) )  <=  P( Beta(r/2, (N-1)/2) < 1 / cosh^2((2q-1) phi) )

which is solved for phi. This is the argument of Kuczynski and Wozniakowski (SIAM J. Matrix Anal.
Appl. 13, 1992) with the exact distribution and several starting vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import linalg, special

from sketchlasso.linalg.factor import (
    LOST_DIRECTION,
    column_lengths,
    multiply_in_place,
    orthonormal_basis,
    random_directions,
    subtract_product,
    triangular_factor,
)
from sketchlasso.types import RealArray

# Starting vectors of a norm bound: a failure probability of 1e-6 costs one step more than 1e-3, and
# a product with eight columns costs a sparse matrix little more than one with a single column.
BLOCK = 8
# Largest factor between the bound and the Ritz value it is built on.
LARGEST_OVERESTIMATE = 1.1


class LinearMap(Protocol):
    """A matrix A of shape (m, n), given by its products."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, (m, n)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the products, float32 or float64."""

    def matmat(self, V: RealArray) -> RealArray:
        """Return A V, of shape (m, t), for V of shape (n, t)."""

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return A'U, of shape (n, t), for U of shape (m, t)."""

    def gram_matmat(self, V: RealArray) -> RealArray:
        """Return A'A V, of shape (n, t), for V of shape (n, t)."""

    def dense(self) -> RealArray:
        """Return a matrix with the singular values of A, for maps with one short side."""


@dataclass(frozen=True, eq=False)
class KrylovSpace:
    """An orthonormal basis B of one side of A and the Gram matrix B'A A'B (or B'A'A B) on it."""

    basis: RealArray  # (N, d)
    gram: RealArray  # (d, d): symmetric positive semidefinite up to rounding

    def leading(self, count: int) -> RealArray:
        """Return the Ritz vectors (N, count) of the largest eigenvalues, largest first."""
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


def short_side_gram(A: LinearMap) -> Callable[[RealArray], RealArray]:
    """Return the product with A A', or with A'A where A has more rows than columns."""
    if A.shape[0] > A.shape[1]:
        return A.gram_matmat
    return lambda U: A.matmat(A.rmatmat(U))


def krylov_space(
    multiply: Callable[[RealArray], RealArray],
    start: RealArray,
    dimension: int,
    rng: np.random.Generator,
) -> KrylovSpace:
    """Return the span of start, K start, K^2 start, ... up to a dimension, at most N.

    K (N, N) is the symmetric matrix that `multiply` multiplies with, and `start` (N, b) is
    overwritten. Every new block is orthogonalised twice against the whole basis, which therefore
    stays orthonormal to rounding. If the space is exhausted before the dimension is reached
    (repeated singular values, low rank), random directions replace the missing ones.
    """
    size = len(start)
    dimension = min(dimension, size)
    basis = np.empty((size, dimension), dtype=start.dtype)
    gram = np.zeros((dimension, dimension), dtype=start.dtype)
    block = start
    del start
    shares = basis[:, :0].T @ block
    done = 0
    while done < dimension:
        width = min(block.shape[1], dimension - done)
        new = _new_directions(basis[:, :done], block[:, :width], shares[:, :width], rng)
        basis[:, done : done + width] = new
        del block, new
        block = multiply(basis[:, done : done + width])
        done += width
        # Column block of B'KB; the part above the diagonal is all that is needed.
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
    image: RealArray,
) -> tuple[RealArray, RealArray]:
    """Extend an orthonormal basis U (m, h) by `count` columns, at most m - h.

    They span the Krylov space of (I - UU')A from the columns of `start` (m, b), which is
    overwritten; random directions replace missing ones as in :func:`krylov_space`. The `image`
    (n, h) is A'U.

    Returns Q (m, h + count), orthonormal with U first, and P = A'Q (n, h + count), whose new
    columns the steps compute anyway.
    """
    held = U.shape[1]
    # By columns while they are added one by one.
    Q = np.empty((A.shape[0], held + count), dtype=A.dtype, order="F")
    P = np.empty((A.shape[1], held + count), dtype=A.dtype, order="F")
    Q[:, :held], P[:, :held] = U, image
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
    return np.ascontiguousarray(Q), np.ascontiguousarray(P)


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


def overestimate(size: int, block: int, steps: int, failure_probability: float) -> float:
    """Return the factor cosh(phi) >= 1 that turns a Ritz value's root into an upper bound.

    The Krylov space has `steps` blocks q from `block` r standard normal starting vectors of length
    `size` N. The factor times the estimate falls short of the norm with the given probability at
    most.
    """
    if size <= block:
        return 1.0
    share = special.betaincinv(block / 2, (size - 1) / 2, failure_probability)
    return float(np.cosh(np.arccosh(share**-0.5) / (2 * steps - 1)))


def norm_bound(
    A: LinearMap,
    rng: np.random.Generator,
    *,
    failure_probability: float,
    dense_limit: int = 0,
) -> tuple[float, float]:
    """Bound the spectral norm of A (m, n) from above, rounding aside; A must not depend on `rng`.

    Where min(m, n) is no larger than `dense_limit`, or no larger than the Krylov space would be,
    the norm is computed from the entries instead. Returns the bound and the probability that it is
    too small, which is 0 then.
    """
    size, steps = min(A.shape), 1
    while overestimate(size, BLOCK, steps, failure_probability) > LARGEST_OVERESTIMATE:
        steps += 1
        if steps * BLOCK >= size:
            break
    if size <= max(dense_limit, steps * BLOCK):
        return float(linalg.svdvals(A.dense(), check_finite=False)[0]), 0.0
    start = gaussian(rng, size, BLOCK, A)
    space = krylov_space(short_side_gram(A), start, steps * BLOCK, rng)
    factor = overestimate(size, BLOCK, steps, failure_probability)
    return factor * space.largest_singular_value(), failure_probability
