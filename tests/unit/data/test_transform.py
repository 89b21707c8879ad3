import numpy as np
import pytest

from sketchlasso.data import ColumnTransform


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("shape", [(4,), (3, 4)])
def test_both_scales_predict_alike_and_the_way_back_is_exact(center, scale, shape, rng):
    X = rng.standard_normal((9, 4))
    means, scales = rng.standard_normal(4), rng.random(4) + 0.5
    transform = ColumnTransform(means if center else None, scales if scale else None)
    A = (X - (means if center else 0)) / (scales if scale else 1)
    coef, intercept = rng.standard_normal(shape), rng.standard_normal(shape[:-1])
    back, shifted = transform.to_original(coef, intercept)
    assert np.allclose(A @ coef.T + intercept, X @ back.T + shifted)
    again, same = transform.to_sketched(back, shifted)
    assert np.allclose(again, coef)
    assert np.allclose(same, intercept)
    assert transform.is_identity == (not center and not scale)
