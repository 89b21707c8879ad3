"""Square roots of small positive semidefinite matrices, and orthonormal bases."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from sketchlasso.types import FloatArray, RealArray

# A column whose part outside the span of the others is below this share of its length, in units of
# eps, depends on them up to rounding.
LOST_DIRECTION = 100.0
# Rows handled at a time by products in place.
ROWS = 4096


def psd_root(K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return L and its pseudo-inverse L+, with K = L L', all of shape (k, k).

    K is symmetric and positive semidefinite up to rounding. L comes from its eigenvectors, with
    tiny eigenvalues set to zero so that directions without data have no weight.
    """
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    large = values > 1e-13 * max(values.max(initial=0.0), 0.0)
    roots = np.sqrt(np.where(large, values, 0.0))
    inverses = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
    return vectors * roots, (vectors * inverses).T


def column_lengths(A: RealArray) -> RealArray:
    """Return the lengths (k,) of the columns of A (m, k), without a temporary of A's size."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", A, A)))


def triangular_factor(A: RealArray) -> RealArray | None:
    """Return the upper triangular R of A = Q R by Cholesky, for A (m, k) far from singular.

    One product A'A instead of k dependent Householder steps: several times faster on tall A. It
    costs orthogonality in A R^-1 of eps times the squared condition number of A with columns of
    length one. None if that would leave less than half the digits.
    """
    lengths = column_lengths(A)
    if not lengths.min(initial=np.inf) > 0:
        return None
    correlations = (A.T @ A) / np.outer(lengths, lengths)
    # NumPy's LAPACK, as for the products around it: with SciPy's, two pools of threads would wait
    # for each other.
    try:
        R = np.linalg.cholesky(correlations).T
    except np.linalg.LinAlgError:
        return None
    # The pivots may all be far above the smallest singular value; the inverse shows it.
    with np.errstate(over="ignore"):
        inverse = np.linalg.norm(np.linalg.inv(R))
    if not inverse**2 * 1e5 * np.finfo(A.dtype).eps < 1.0:
        return None
    return np.asarray(R * lengths)


def multiply_in_place(A: RealArray, T: RealArray) -> None:
    """Replace A (m, k) by A T for T (k, k), some rows at a time."""
    for start in range(0, len(A), ROWS):
        rows = slice(start, start + ROWS)
        A[rows] = A[rows] @ T


def subtract_product(C: RealArray, A: RealArray, B: RealArray) -> None:
    """Subtract A B from C in place, some rows at a time, for A (m, d) and B (d, k)."""
    for start in range(0, len(C), ROWS):
        rows = slice(start, start + ROWS)
        C[rows] -= A[rows] @ B


def orthonormal_basis(
    A: RealArray,
    rounds: int = 2,
    *,
    overwrite: bool = False,
    rng: np.random.Generator | None = None,
) -> RealArray:
    """Return an orthonormal basis (m, k) of the columns of A (m, k), m >= k.

    Cholesky in two rounds (the second removes what the first lost), or Householder where A is
    close to singular. One round is enough for columns that are nearly orthonormal already.
    With `overwrite` the basis may reuse A's memory. If columns depend on each other, random
    directions from `rng` complete the basis; without `rng`, rounding determines them.
    """
    Q = A if overwrite else A.copy()
    for _ in range(rounds):
        R = triangular_factor(Q)
        if R is not None:
            multiply_in_place(Q, np.linalg.inv(R))
            continue
        floor = LOST_DIRECTION * np.finfo(Q.dtype).eps * column_lengths(Q)
        # A' = R Q' takes place in A's memory, since A is stored by rows; A = Q R needs a copy.
        R, rows = linalg.rq(Q.T, mode="economic", overwrite_a=True, check_finite=False)
        Q = np.asarray(rows.T)
        lost = np.abs(np.diag(R)) <= floor
        if rng is None or not lost.any():
            return Q
        Q[:, lost] = random_directions(rng, len(Q), int(lost.sum()))
        return orthonormal_basis(Q, overwrite=True)
    return Q


def random_directions(rng: np.random.Generator, size: int, count: int) -> FloatArray:
    """Return (size, count) random columns of length about one."""
    return rng.standard_normal((size, count)) / np.sqrt(size)


def singular_form(P: RealArray, rank: int | None = None) -> tuple[RealArray, RealArray, RealArray]:
    """Return W (d, k), P W (n, k) and the singular values (k,) of Q P', for orthonormal Q (m, d).

    Then Q P' = (Q W)(P W)' with the singular vectors in Q W. P = V R with V orthonormal and
    R = U S W' give P W = V U S, so only R (d, d) is decomposed; n >= d. k is the rank, d by
    default.
    """
    _, values, Wt = linalg.svd(_square_factor(P), check_finite=False)
    W = np.ascontiguousarray(Wt[:rank].T)
    P = P @ W
    signs = signs_of(P)
    P *= signs
    return W * signs, P, values[:rank]


def signs_of(P: RealArray) -> RealArray:
    """Return the signs (k,) that make the largest entry of every column of P (n, k) positive."""
    return np.where(P.max(axis=0) < -P.min(axis=0), -1, 1).astype(P.dtype)


def thin_singular_values(P: RealArray) -> RealArray:
    """Return the singular values (k,) of P (n, k), largest first, padded by zeros if n < k."""
    values = np.zeros(P.shape[1], dtype=P.dtype)
    own = linalg.svdvals(_square_factor(P), check_finite=False)
    values[: len(own)] = own
    return values


def _square_factor(P: RealArray) -> RealArray:
    """Return R of P = V R with orthonormal V."""
    fast = triangular_factor(P)
    return np.asarray(np.linalg.qr(P, mode="r")) if fast is None else fast
