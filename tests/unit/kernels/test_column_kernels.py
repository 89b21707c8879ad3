"""The compiled loops of the exact solver agree with plain NumPy twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sketchlasso.kernels.columns import add_columns, column_moments, columns_dot_block, gram_rows
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


def test_moves_and_column_sums():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 9)) * (rng.random((20, 9)) < 0.4)
    by_columns, by_rows = sparse.csc_array(X), sparse.csr_array(X)
    parts = by_columns.data, by_columns.indices, by_columns.indptr
    chosen, values = np.array([4, 1, 7]), np.array([0.5, 0.0, -2.0])
    total = np.zeros(20)
    add_columns(*parts, chosen, values, total)
    np.testing.assert_allclose(total, X[:, chosen] @ values)
    block, lines = rng.normal(size=(20, 2)), np.empty((3, 2))
    columns_dot_block(*parts, chosen, block, lines)
    np.testing.assert_allclose(lines, X[:, chosen].T @ block)
    a, sums = block[:, 0].copy(), np.empty((3, 3))
    column_moments(*parts, chosen, a, sums)
    x = X[:, chosen]
    np.testing.assert_allclose(sums, np.stack([a @ x, a**2 @ x**2, a**2 @ x], axis=1))
    place = np.full(9, -1, dtype=np.int32)
    place[chosen] = np.arange(3)
    rows = by_rows.data, by_rows.indices, by_rows.indptr
    for weights in (np.empty(0), rng.random(20)):
        grams = np.empty((2, 3))
        gram_rows(*parts, *rows, np.array([7, 0]), place, weights, grams)
        scaled = X if len(weights) == 0 else X * weights[:, None]
        np.testing.assert_allclose(grams, scaled[:, [7, 0]].T @ X[:, chosen])
