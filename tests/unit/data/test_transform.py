import numpy as np
import pytest
from scipy import sparse

from sketchlasso.data import ColumnTransform


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
    assert transform.is_identity == (not center and not scale)
