"""Square roots of small positive semidefinite matrices, and orthonormal bases."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from sketchlasso.types import FloatArray, RealArray

__all__ = [
    "column_lengths",
    "divide_by_triangle",
    "orthonormal_basis",
    "psd_root",
    "singular_form",
    "solve_root",
    "triangular_factor",
]

# Eigenvalues below this share of the largest are rounding noise of a k x k Gram matrix.
RELATIVE_EIGENVALUE_FLOOR = 1e-13
# Squared Cholesky pivots of unit columns, in units of eps, below which Householder takes over.
SMALLEST_PIVOT = 1e5


def psd_root(K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return L and its pseudo-inverse L+, with K = L L'.

    Cholesky where K is safely positive definite; otherwise eigenvectors with the tiny
    eigenvalues set to zero, so that directions without data carry no weight.

    Parameters
    ----------
    K : ndarray of shape (k, k)
        Symmetric positive semidefinite up to rounding.

    Returns
    -------
    L : ndarray of shape (k, k)
    L_inverse : ndarray of shape (k, k)
    """
    K = 0.5 * (K + K.T)
    diagonal = np.diag(K)
    if diagonal.min(initial=np.inf) > 0:
        try:
            L = linalg.cholesky(K, lower=True, check_finite=False)
        except linalg.LinAlgError:
            pass
        else:
            if np.diag(L).min() ** 2 > RELATIVE_EIGENVALUE_FLOOR * diagonal.max() * 100:
                eye = np.eye(len(K))
                return L, linalg.solve_triangular(L, eye, lower=True, check_finite=False)
    values, vectors = linalg.eigh(K, check_finite=False)
    keep = values > RELATIVE_EIGENVALUE_FLOOR * max(values.max(initial=0.0), 0.0)
    roots = np.sqrt(np.where(keep, values, 0.0))
    inverses = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
    return vectors * roots, (vectors * inverses).T


def solve_root(L_inverse: FloatArray, g: FloatArray) -> FloatArray:
    """Return c = L+ g for g of shape (k,) or (k, t)."""
    return L_inverse @ g


def column_lengths(A: RealArray) -> RealArray:
    """Return the lengths (k,) of the columns of A (m, k), without a temporary of A's size."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", A, A)))


def triangular_factor(A: RealArray) -> RealArray | None:
    """Return the upper triangular R of A = Q R by Cholesky, for A (m, k) far from singular.

    One product A'A in place of k dependent Householder steps: several times faster on tall A,
    at a loss of orthogonality in A R^-1 of eps times the squared condition number of A with its
    columns scaled to length one. None where that would leave less than half the digits.
    """
    lengths = column_lengths(A)
    if not lengths.min(initial=np.inf) > 0:
        return None
    correlations = (A.T @ A) / np.outer(lengths, lengths)
    # NumPy's own LAPACK, as for the products around it: switching to SciPy's would leave two
    # pools of threads waiting for each other.
    try:
        R = np.linalg.cholesky(correlations).T
    except np.linalg.LinAlgError:
        return None
    if np.diag(R).min() ** 2 < SMALLEST_PIVOT * np.finfo(A.dtype).eps:
        return None
    return np.asarray(R * lengths)


def divide_by_triangle(A: RealArray, R: RealArray) -> RealArray:
    """Return A R^-1 for A (m, k) and upper triangular R (k, k) far from singular."""
    return A @ np.linalg.inv(R)


def orthonormal_basis(A: RealArray, rounds: int = 2) -> RealArray:
    """Return an orthonormal basis (m, k) of the columns of A (m, k), m >= k.

    Cholesky in two rounds (the second removes what the first lost), or Householder where A is
    close to singular. One round is enough for columns that are nearly orthonormal already.
    """
    Q = A
    for _ in range(rounds):
        R = triangular_factor(Q)
        if R is None:
            return linalg.qr(A, mode="economic", check_finite=False)[0]
        Q = divide_by_triangle(Q, R)
    return Q


def singular_form(
    Q: RealArray, P: RealArray, rank: int | None = None
) -> tuple[RealArray, RealArray, RealArray]:
    """Rotate a pair with orthonormal Q so that Q P' is written by its singular values.

    P = V R with V orthonormal and R = U S W' give P W = V U S and Q P' = (Q W)(P W)', so only
    the d x d factor R is ever decomposed.

    Parameters
    ----------
    Q : ndarray of shape (m, d)
        Orthonormal columns.
    P : ndarray of shape (n, d)
        At least as many rows as columns.
    rank : int, optional
        Number k of singular values to keep; all d when left out.

    Returns
    -------
    Q : ndarray of shape (m, k)
        Left singular vectors of Q P'.
    P : ndarray of shape (n, k)
        Right singular vectors times the singular values.
    singular_values : ndarray of shape (k,)
        Largest first.
    """
    fast = triangular_factor(P)
    R = np.asarray(np.linalg.qr(P, mode="r")) if fast is None else fast
    _, values, Wt = linalg.svd(R, check_finite=False)
    W = np.ascontiguousarray(Wt[:rank].T)
    return Q @ W, P @ W, values[:rank]
