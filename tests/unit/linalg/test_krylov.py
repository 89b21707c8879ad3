import numpy as np
import pytest
from tests.matrices import decaying, with_singular_values

from sketchlasso.data import DataMatrix
from sketchlasso.linalg.krylov import gaussian, krylov_space


def space_of(X, block, dimension, seed=0):
    rng = np.random.default_rng(seed)
    A = DataMatrix.of(X)
    return krylov_space(A, gaussian(rng, A.shape[0], block, A), dimension, rng)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.5, 2.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_basis_is_orthonormal_and_gram_is_that_of_A(rate, dtype):
    X = decaying(80, 120, rate, np.random.default_rng(1)).astype(dtype)
    space = space_of(X, 7, 40)
    eps = np.finfo(dtype).eps
    assert space.basis.dtype == dtype
    assert np.abs(space.basis.T @ space.basis - np.eye(40)).max() < 100 * eps
    projected = X.T.astype(float) @ space.basis
    assert np.abs(projected.T @ projected - space.gram).max() < 1000 * eps


@pytest.mark.parametrize("values", [np.ones(30), np.r_[np.ones(3), np.zeros(27)], np.zeros(30)])
def test_exhausted_space_is_refilled(values):
    X = with_singular_values(30, 50, values, np.random.default_rng(2))
    space = space_of(X, 4, 30)
    assert np.abs(space.basis.T @ space.basis - np.eye(30)).max() < 1e-13
    assert space.largest_singular_value() == pytest.approx(values.max(), abs=1e-7)


def test_dimension_never_exceeds_the_side():
    assert space_of(np.eye(5, 9), 3, 100).basis.shape == (5, 5)


def test_leading_vectors_are_singular_vectors():
    rng = np.random.default_rng(3)
    X = with_singular_values(60, 90, [9.0, 5.0, 3.0, *np.full(57, 0.1)], rng)
    leading = space_of(X, 6, 36).leading(3)
    exact = np.linalg.svd(X)[0][:, :3]
    assert np.abs(np.abs(leading.T @ exact) - np.eye(3)).max() < 1e-7
