"""The compiled loops of the exact solver agree with plain NumPy twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sketchlasso.kernels.columns import column_moments
from sketchlasso.kernels.gram_solver import best_step


@given(st.floats(0.0, 5.0), st.floats(-1.0, 1.0), st.floats(0.01, 4.0), st.floats(0.0, 3.0))
def test_the_best_step_beats_its_neighbours(length, share, norm, threshold):
    rho = share * length * np.sqrt(norm)  # Cauchy-Schwarz bounds it

    def cost(w):
        return np.sqrt(max(length**2 - 2 * rho * w + norm * w * w, 0.0)) + threshold * w

    best = best_step(length**2, rho, norm, threshold)
    assert best >= 0
    for w in best + np.concatenate([np.geomspace(1e-6, 10, 30), -np.geomspace(1e-6, 10, 30), [0]]):
        assert w < 0 or cost(best) <= cost(w) + 1e-7 * (1 + length)


def test_moments_of_columns():
    rng = np.random.default_rng(1)
    X, a = rng.normal(size=(20, 9)) * (rng.random((20, 9)) < 0.4), rng.normal(size=20)
    columns, chosen, sums = sparse.csc_array(X), np.array([4, 1, 7]), np.empty((3, 3))
    column_moments(columns.data, columns.indices, columns.indptr, chosen, a, sums)
    x = X[:, chosen]
    np.testing.assert_allclose(sums, np.stack([a @ x, a**2 @ x**2, a**2 @ x], axis=1))
