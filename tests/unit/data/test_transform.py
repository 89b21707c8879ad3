import numpy as np
import pytest
from scipy import sparse

from sketchlasso.data import ColumnTransform
from sketchlasso.data.transform import near_zero


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_both_scales_predict_alike(center, scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 4))
    means, scales = rng.standard_normal(4), rng.random(4) + 0.5
    transform = ColumnTransform(means if center else None, scales if scale else None)
    A = (X - (means if center else 0)) / (scales if scale else 1)
    coef = sparse.csr_array(rng.standard_normal((3, 4)) * (rng.random((3, 4)) < 0.6))
    original = transform.unscale(coef)
    assert np.allclose(A @ coef.T, X @ original.T - transform.shift(original))


def test_coefficients_of_scaled_responses_go_both_ways():
    rng = np.random.default_rng(1)
    scales, units = rng.random(4) + 0.5, np.array([2.0, 8.0, 0.5])
    coef = rng.standard_normal((3, 4)) * (rng.random((3, 4)) < 0.6)
    wanted = coef / scales * units[:, None]
    for given in (coef, sparse.csr_array(coef)):
        original = ColumnTransform(scales=scales).unscale(given, units)
        back = ColumnTransform(scales=scales).scale(original, units)
        assert sparse.issparse(original) == sparse.issparse(given)
        np.testing.assert_allclose(sparse.csr_array(original).toarray(), wanted, rtol=1e-14)
        np.testing.assert_allclose(sparse.csr_array(back).toarray(), coef, rtol=1e-14)
    one = ColumnTransform(scales=scales).unscale(coef[0], 4.0)
    np.testing.assert_allclose(one, 4.0 * coef[0] / scales, rtol=1e-14)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_constants_are_taken_off_columns_far_from_zero_without_rounding(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5)) * [1, 1, 1, 0, 1]
    X += [0, 1e9, -1e12, 0.1, 3]
    near, offsets = near_zero(kind(X))
    near = near if isinstance(near, np.ndarray) else near.toarray()
    assert (near + offsets == X).all()
    assert (np.abs(near).max(axis=0) < 10).all()
    assert offsets[[0, 4]].tolist() == [0, 0] and (near[:, 3] == 0).all()


@pytest.mark.parametrize("X", [np.eye(4), np.zeros((3, 2)), np.ones((3, 0)), np.eye(3) > 0])
def test_other_matrices_are_left_alone(X):
    assert near_zero(X)[0] is X
