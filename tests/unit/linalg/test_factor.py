import numpy as np
import pytest
from tests.matrices import decaying

from sketchlasso.linalg.factor import orthonormal_basis, singular_form, triangular_factor


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0, 3.0])
def test_basis_is_orthonormal_and_spans(dtype, rate):
    A = decaying(200, 12, rate, np.random.default_rng(0)).astype(dtype)
    Q = orthonormal_basis(A)
    eps = np.finfo(dtype).eps
    assert Q.dtype == dtype
    assert np.abs(Q.T @ Q - np.eye(12)).max() < 100 * eps
    assert np.linalg.norm(A - Q @ (Q.T @ A), 2) < 100 * eps


def test_singular_columns_still_give_a_basis():
    A = np.zeros((30, 4))
    A[:, 1] = 1.0
    Q = orthonormal_basis(A)
    assert np.abs(Q.T @ Q - np.eye(4)).max() < 1e-13
    assert triangular_factor(A) is None
    assert triangular_factor(np.ones((30, 2))) is None


def test_random_directions_complete_the_basis_of_dependent_columns():
    # Rounding would complete it by unit vectors here, and a sketch would see nothing else of X.
    A = np.zeros((300, 6))
    A[0] = 10.0 ** np.arange(-3, 3)
    Q = orthonormal_basis(A, rng=np.random.default_rng(0))
    assert np.abs(Q.T @ Q - np.eye(6)).max() < 1e-13
    # Of every column, measured by its own length: they differ by five decades.
    missed = np.linalg.norm(A - Q @ (Q.T @ A), axis=0)
    assert (missed < 1e-14 * np.linalg.norm(A, axis=0)).all()
    assert np.count_nonzero(np.abs(Q[1:]).max(axis=1) > 1e-4) == 299


def test_triangular_factor_is_that_of_qr():
    A = np.random.default_rng(0).standard_normal((50, 6)) * 10.0 ** np.arange(6)
    R = triangular_factor(A)
    assert np.allclose(R.T @ R, A.T @ A, rtol=1e-12)
    assert np.allclose(R, np.triu(R))


@pytest.mark.parametrize("rate", [0.1, 4.0])
def test_singular_form_keeps_the_product(rate):
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((40, 8)))[0]
    P = decaying(30, 8, rate, rng)
    U, B, values = singular_form(Q, P)
    assert np.allclose(U @ B.T, Q @ P.T, atol=1e-14)
    assert np.allclose(U.T @ U, np.eye(8), atol=1e-13)
    assert np.allclose(values, np.exp(-rate * np.arange(8)), atol=1e-14)
    assert np.allclose(B.T @ B, np.diag(values**2), atol=1e-13)


def test_singular_form_truncates_to_the_largest():
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.standard_normal((40, 8)))[0]
    P = decaying(30, 8, 0.5, rng)
    U, B, values = singular_form(Q, P, 3)
    assert U.shape == (40, 3)
    assert B.shape == (30, 3)
    assert values.shape == (3,)
    assert np.linalg.norm(Q @ P.T - U @ B.T, 2) == pytest.approx(np.exp(-1.5))
