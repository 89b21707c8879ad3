"""The reduced form of singular statistics."""

import numpy as np
import pytest
from scipy import linalg

from sketchlasso.problem.reduction import reduce_statistics


@pytest.mark.parametrize("weight", [1.0, 1e-1, 1e-2, 2.3e-3, 1e-3, 1e-4])
def test_a_null_vector_with_little_weight_on_the_last_coordinate_is_found(weight):
    """The last Cholesky pivot of such a K is far above its smallest eigenvalue."""
    rng = np.random.default_rng(0)
    k = 30
    null = rng.standard_normal(k)
    null[-1] = 0.0
    null *= np.sqrt(1.0 - weight**2) / np.linalg.norm(null)
    null[-1] = weight
    basis = linalg.null_space(null[None])
    K = basis @ basis.T
    g = K @ rng.standard_normal(k)
    yy = float(g @ g)
    roots, targets, left = reduce_statistics(K[None], g[None, :, None], np.array([[yy]]))
    # g is orthogonal to the null vector, so c'c is yy, and no part of c is rounding that
    # was divided by the root of rounding.
    root, c = roots[0], targets[0, 0]
    np.testing.assert_allclose(root @ root.T, K, atol=1e-14)
    reached = np.linalg.lstsq(root.T @ basis, c, rcond=1e-10)[0]
    assert np.linalg.norm(root.T @ basis @ reached - c) <= 1e-12 * np.sqrt(yy)
    assert left[0, 0] == 0.0
