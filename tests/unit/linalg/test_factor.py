import numpy as np
import pytest
from tests.matrices import decaying

from sketchlasso.linalg.factor import orthonormal_basis, singular_form


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rate", [0.0, 0.3, 3.0])
def test_basis_is_orthonormal_and_spans(dtype, rate):
    A = decaying(200, 12, rate, np.random.default_rng(0)).astype(dtype)
    Q = orthonormal_basis(A)
    eps = np.finfo(dtype).eps
    assert Q.dtype == dtype
    assert np.abs(Q.T @ Q - np.eye(12)).max() < 100 * eps
    assert np.linalg.norm(A - Q @ (Q.T @ A), 2) < 100 * eps


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


@pytest.mark.parametrize("rate", [0.1, 4.0])
def test_singular_form_keeps_the_product_and_truncates_to_the_largest(rate):
    rng = np.random.default_rng(1)
    Q, P = np.linalg.qr(rng.standard_normal((40, 8)))[0], decaying(30, 8, rate, rng)
    W, B, values = singular_form(P)
    assert np.allclose(Q @ W @ B.T, Q @ P.T, atol=1e-14)
    assert np.allclose(values, np.exp(-rate * np.arange(8)), atol=1e-14)
    assert np.allclose(B.T @ B, np.diag(values**2), atol=1e-13)
    W, B, values = singular_form(P, 3)
    assert (W.shape, B.shape, values.shape) == ((8, 3), (30, 3), (3,))
    assert np.linalg.norm(P.T - W @ B.T, 2) == pytest.approx(np.exp(-3 * rate))
