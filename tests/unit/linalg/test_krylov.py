import numpy as np
import pytest
from tests.matrices import decaying, with_singular_values

from sketchlasso.data import DataMatrix
from sketchlasso.linalg.krylov import (
    LARGEST_OVERESTIMATE,
    gaussian,
    krylov_space,
    norm_bound,
    overestimate,
    short_side_gram,
)


def space_of(X, block, dimension, seed=0):
    rng = np.random.default_rng(seed)
    A = DataMatrix.of(X)
    return krylov_space(short_side_gram(A), gaussian(rng, len(X), block, A), dimension, rng)


@pytest.mark.parametrize("rate", [0.0, 0.5, 2.0])
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
    space = space_of(X, 4, 100)
    assert np.abs(space.basis.T @ space.basis - np.eye(30)).max() < 1e-13
    assert space.largest_singular_value() == pytest.approx(values.max(), abs=1e-7)


def test_one_start_vector_is_within_the_published_bound():
    # Kuczynski and Wozniakowski: P(lam < (1-e) sigma^2) <= 1.648 sqrt(N) exp(-sqrt(e)(2q-1)).
    size, steps, failure = 10_000, 12, 1e-3
    published = (np.log(1.648 * np.sqrt(size) / failure) / (2 * steps - 1)) ** 2
    assert 1 - overestimate(size, 1, steps, failure) ** -2 <= published


@pytest.mark.parametrize(("block", "steps"), [(1, 3), (4, 2)])
@pytest.mark.parametrize("failure", [0.05, 0.3])
def test_bound_fails_no_more_often_than_stated(block, steps, failure):
    # The polynomial of the proof is sharp for one large singular value over a spread of others.
    size, trials = 60, 1500
    factor = overestimate(size, block, steps, failure)
    others = np.cos(np.linspace(0, np.pi / 2, size - 1)) / factor
    K, rng = np.diag(np.r_[1.0, others] ** 2), np.random.default_rng(0)
    missed = 0
    for _ in range(trials):
        start = rng.standard_normal((size, block))
        space = krylov_space(K.__matmul__, start, steps * block, rng)
        missed += factor * space.largest_singular_value() < 1.0
    assert 0 < missed / trials <= failure + 3 * np.sqrt(failure / trials)


@pytest.mark.parametrize("shape", [(200, 300), (300, 200), (40, 400)])
@pytest.mark.parametrize("rate", [0.0, 0.001, 0.1])
def test_bound_is_tight_and_exact_on_a_small_side(shape, rate):
    A = DataMatrix.of(decaying(*shape, rate, np.random.default_rng(1)))
    bound, failure = norm_bound(A, np.random.default_rng(2), failure_probability=1e-6)
    if min(shape) < 100:
        assert (bound, failure) == (pytest.approx(1.0), 0.0)
    else:
        assert 1 <= bound <= LARGEST_OVERESTIMATE + 1e-12 and failure == 1e-6
