"""Matrices of low rank, with entries over many decades: Q stays orthonormal, radii hold."""

import numpy as np
import pytest
from scipy import sparse
from tests.matrices import decaying, spectral_error

from sketchlasso.data import DataMatrix
from sketchlasso.sketches import extend_sketch, sketch
from sketchlasso.sketches.factors import Factors
from sketchlasso.sketches.radius import frobenius_radius, spectral_radius

METHODS = [
    "power", "randomized", "krylov", "projection", "sampling", "nystrom",
    "frequent_directions", "exact", "response",
]  # fmt: skip


def scattered(seed, m=300, n=200, k=40, decades=3):
    """A few entries, no two in one row or column, of very different sizes."""
    rng = np.random.default_rng(seed)
    X = np.zeros((m, n))
    places = rng.permutation(m)[:k], rng.permutation(n)[:k]
    X[places] = 10.0 ** rng.uniform(-decades, decades, k)
    return X, rng.standard_normal(m)


def off_orthonormal(found):
    Q = np.asarray(found.Q, dtype=np.float64)
    return float(np.linalg.norm(Q.T @ Q - np.eye(found.rank), 2))


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_the_radius_holds_where_the_rank_asked_for_exceeds_that_of_X(method, center):
    for seed in range(2):
        X, y = scattered(seed)
        given = (y,) if method == "response" else ()
        found = sketch(
            X, *given, rank=50, method=method, center=center, radius="spectral", random_state=0
        )
        assert off_orthonormal(found) < 1e-12
        # At full rank the radius of "exact" is 0 by definition.
        slack = 1e-13 * np.linalg.norm(X) if found.radius == 0 else 0.0
        assert spectral_error(X, found) <= found.radius + slack
        assert found.radius <= 1e-8 * np.linalg.norm(X)


def test_added_directions_are_orthonormal_to_those_that_were_there():
    X, y = scattered(0)
    base = sketch(X, rank=40, center=True, random_state=0)
    assert off_orthonormal(extend_sketch(base, X, y, directions=20, random_state=0)) < 1e-12


def test_a_basis_that_is_not_orthonormal_is_not_taken_for_one():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 200))
    Q = np.linalg.qr(rng.standard_normal((300, 20)))[0]
    Q[:, 1] = Q[:, 0]
    A = DataMatrix.of(X)
    factors = Factors(Q, X.T @ Q, np.linalg.svd(X.T @ Q)[1])
    error = X - Q @ factors.P.T
    assert frobenius_radius(A, factors).value >= np.linalg.norm(error)
    assert spectral_radius(A, factors, rng).value >= np.linalg.norm(error, 2)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("method", ["randomized", "exact"])
def test_radii_in_single_precision_are_not_far_above_the_norm(method, kind):
    rng = np.random.default_rng(0)
    X = decaying(1000, 150, 0.15, rng).astype(np.float32)
    stored = sparse.csr_array(X) if kind == "csr" else X
    for rank in (40, 80, 110):
        found = sketch(stored, rank=rank, method=method, random_state=0)
        error = spectral_error(X, found)
        assert error <= found.radius <= 1.2 * error


@pytest.mark.parametrize("longer", [1.0, 1e3, 1e4, 1e5])
def test_frequent_directions_keep_short_directions_in_single_precision(longer):
    X = decaying(400, 80, 0.8, np.random.default_rng(0))
    X[:, 7] *= longer
    found = sketch(
        X.astype(np.float32), rank=20, method="frequent_directions", center=False, random_state=0
    )
    error = spectral_error(X, found)
    assert error <= 2e-6 * np.linalg.norm(X, 2)
