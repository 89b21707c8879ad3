"""Sketches that know the response: what is exact in them, and what they refuse."""

import numpy as np
import pytest
from scipy import sparse
from tests.matrices import decaying, sparse_counts, spectral_error

from sketchlasso import extend_sketch, load_sketch, sketch
from sketchlasso.sketches.response import extend_rows, response_share, rows_base

M, N = 120, 90


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def dense(X, found):
    """X as the sketch sees it."""
    A = np.asarray(X.todense() if sparse.issparse(X) else X, dtype=np.float64)
    if found.column_means is not None:
        A = A - found.column_means
    return A if found.column_scales is None else A / found.column_scales


def check_projection(X, found, tolerance=1e-10):
    A, k = dense(X, found), found.rank
    Q, P = np.asarray(found.Q, np.float64), np.asarray(found.P, np.float64)
    assert np.abs(Q.T @ Q - np.eye(k)).max() < tolerance
    assert np.abs(P - A.T @ Q).max() < tolerance * np.abs(A).sum()
    values = np.linalg.svd(P, compute_uv=False)
    np.testing.assert_allclose(found.singular_values, values, atol=tolerance * values[0])


def in_span(found, vector, tolerance=1e-8):
    Q = np.asarray(found.Q, np.float64)
    rest = vector - Q @ (Q.T @ vector)
    return np.linalg.norm(rest) <= tolerance * np.linalg.norm(vector)


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
@pytest.mark.parametrize("transform", [{}, {"center": True}, {"center": True, "scale": True}])
def test_the_gradient_at_zero_is_exact(kind, transform, rng):
    X = sparse_counts(M, N, rng, 0.3, "csr")
    data = {"dense": X.toarray(), "csr": X, "csc": X.tocsc()}[kind]
    y = rng.standard_normal(M) + 3.0
    found = sketch(data, y, method="response", rank=12, random_state=0, **transform)
    check_projection(X, found)
    assert found.response_rank == response_share(12)
    A = dense(X, found)
    for start in (y - y.mean(),) if transform else (y, y - y.mean(), np.ones(M)):
        assert in_span(found, start)
        np.testing.assert_allclose(found.P @ (found.Q.T @ start), A.T @ start, atol=1e-8)


def test_krylov_directions_follow_the_response(rng):
    X, y = decaying(M, N, 0.05, rng), rng.standard_normal(M)
    found = sketch(X, y, method="response", rank=10, response_rank=4, center=True, random_state=0)
    plain = sketch(X, rank=6, center=True, random_state=0, radius=0.0)
    A = dense(X, found)
    np.testing.assert_allclose(found.Q[:, :6] @ found.Q[:, :6].T, plain.Q @ plain.Q.T, atol=1e-6)
    # What U has missed: the Krylov space of the matrix with U taken out.
    U = found.Q[:, :6]
    B = A - U @ (U.T @ A)
    vector = y - y.mean() - U @ (U.T @ (y - y.mean()))
    for _ in range(4):
        assert in_span(found, vector)
        vector = B @ (B.T @ vector)


def test_several_responses_share_the_directions(rng):
    X, Y = decaying(M, N, 0.02, rng), rng.standard_normal((M, 3))
    found = sketch(X, Y, method="response", rank=14, response_rank=6, center=True, random_state=0)
    check_projection(X, found)
    assert all(in_span(found, column) for column in (Y - Y.mean(axis=0)).T)


@pytest.mark.parametrize(
    "method", ["power", "krylov", "nystrom", "sampling", "frequent_directions"]
)
def test_any_sketch_can_be_extended(method, rng):
    X, y = decaying(M, N, 0.05, rng), rng.standard_normal(M)
    base = sketch(X, rank=8, method=method, random_state=0)
    found = extend_sketch(base, X, y, directions=5, radius="spectral", random_state=1)
    check_projection(X, found)
    assert (found.rank, found.response_rank) == (13, 5)
    assert found.method == f"{method}+response"
    assert found.matches(X)
    assert base.rank == 8
    assert spectral_error(X, found) <= found.radius <= 1.2 * spectral_error(X, found)
    other = extend_sketch(found, X, rng.standard_normal(M), directions=5, random_state=1)
    np.testing.assert_allclose(found.Q[:, :8], other.Q[:, :8], atol=1e-10)


def test_rows_know_only_themselves(rng):
    X, y = decaying(M, N, 0.05, rng), rng.standard_normal(M)
    full = sketch(X, y, method="response", rank=12, center=True, random_state=0)
    rows = np.flatnonzero(rng.random(M) < 0.7)
    own = extend_rows(rows_base(full, X[rows], rows), full, y[rows], random_state=0)
    check_projection(X[rows], own)
    np.testing.assert_allclose(own.column_means, X[rows].mean(axis=0))
    assert own.response_rank == full.response_rank
    assert in_span(own, y[rows] - y[rows].mean())
    other = y.copy()
    other[np.setdiff1d(np.arange(M), rows)] *= -7.0
    second = sketch(X, other, method="response", rank=12, center=True, random_state=0)
    again = extend_rows(rows_base(second, X[rows], rows), second, other[rows], random_state=0)
    np.testing.assert_allclose(own.P, again.P, atol=1e-12)


def test_weighted_rows_have_an_exact_weighted_gradient(rng):
    X, y = decaying(M, N, 0.05, rng), rng.standard_normal(M)
    full = sketch(X, y, method="response", rank=12, center=True, random_state=0)
    weights = rng.integers(1, 5, M).astype(float)
    base = rows_base(full, X, np.arange(M))
    own = extend_rows(base, full, y, weights=weights, random_state=0)
    start = weights * (y - weights @ y / weights.sum())
    np.testing.assert_allclose(own.P @ (own.Q.T @ start), dense(X, own).T @ start, atol=1e-9)


@pytest.mark.parametrize("shape", [(20, 90), (90, 20), (20, 20)])
def test_a_complete_sketch_loses_nothing_and_has_not_looked_at_y(shape, rng):
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    found = sketch(X, y, method="response", rank=20, random_state=0)
    assert spectral_error(X, found) < 1e-12
    assert found.response_rank == 0
    assert found.radius == 0.0


def test_float32_stays_float32(rng):
    X = decaying(M, N, 0.05, rng).astype(np.float32)
    found = sketch(X, rng.standard_normal(M), method="response", rank=12, random_state=0)
    assert found.P.dtype == found.Q.dtype == np.float32
    check_projection(X, found, 1e-4)


def test_it_is_saved_whole(tmp_path, rng):
    X, y = decaying(M, N, 0.05, rng), rng.standard_normal(M)
    found = sketch(X, y, method="response", rank=12, random_state=0)
    found.save(tmp_path / "sketch")
    loaded = load_sketch(tmp_path / "sketch")
    assert loaded.response_rank == found.response_rank
    assert loaded.radius_kind == "realised"
    assert "4 + 8 from the response" not in loaded.summary()
    assert (
        f"{12 - found.response_rank} + {found.response_rank} from the response" in loaded.summary()
    )


def test_the_radius_is_an_estimate_of_what_random_coefficients_realise(rng):
    X, y = decaying(M, N, 0.02, rng), rng.standard_normal(M)
    found = sketch(X, y, method="response", rank=12, random_state=0)
    W = rng.standard_normal((N, 4000))
    error = np.linalg.norm(X @ W - found.Q @ (found.P.T @ W), axis=0) / np.linalg.norm(W, axis=0)
    assert found.radius == pytest.approx(np.sqrt(np.mean(error**2)), rel=0.02)


def test_rows_are_embedded_by_least_squares(rng):
    X, y = decaying(M, N, 0.05, rng), rng.standard_normal(M)
    found = sketch(X, y, method="response", rank=12, center=True, random_state=0)
    new = rng.standard_normal((5, N))
    best = np.linalg.lstsq(found.P, (new - found.column_means).T, rcond=None)[0].T
    np.testing.assert_allclose(found.embed(new), best, atol=1e-8)
