"""Matrices with known spectra, for the tests of the sketches."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def with_singular_values(m, n, values, rng):
    """A dense (m, n) matrix with the given singular values and random singular vectors."""
    values = np.asarray(values, dtype=float)
    U = np.linalg.qr(rng.standard_normal((m, len(values))))[0]
    V = np.linalg.qr(rng.standard_normal((n, len(values))))[0]
    return (U * values) @ V.T


def decaying(m, n, rate, rng):
    """Singular values exp(-rate j); rate 0 is flat."""
    return with_singular_values(m, n, np.exp(-rate * np.arange(min(m, n))), rng)


def scattered(m, n, density, rng):
    """A sparse (m, n) matrix with uniform entries at random places.

    SciPy's own changed the name of its argument for the source of randomness.
    """
    count = round(density * m * n)
    places = np.unique(rng.integers(m * n, size=count))
    values = rng.random(len(places))
    return sparse.csr_array((values, np.divmod(places, n)), shape=(m, n))


def sparse_counts(m, n, rng, density=0.1, kind="csr"):
    """A sparse (m, n) matrix of positive entries with columns of very different sizes."""
    X = sparse.random_array((m, n), density=density, format="csr", rng=rng)
    X = X @ sparse.diags_array(1.0 / (1.0 + np.arange(n)) ** 0.7)
    return X.asformat(kind)


def spectral_error(X, found):
    """||A - QP'||_2 by a dense SVD, A being X centred and scaled as the sketch says."""
    A = np.asarray(X.todense() if sparse.issparse(X) else X, dtype=np.float64)
    if found.column_means is not None:
        A = A - found.column_means
    if found.column_scales is not None:
        A = A / found.column_scales
    Q, P = found.Q.astype(np.float64), found.P.astype(np.float64)
    return np.linalg.norm(A - Q @ P.T, 2)
