"""The compiled loops of the exact solver agree with plain NumPy twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse

from sketchlasso.kernels.columns import add_columns, column_moments, columns_dot_block, gram_rows
from sketchlasso.kernels.coordinate import best_coefficient, gram_gap, gram_sweeps
from sketchlasso.kernels.faces import add_gram_rows


def plain_sweep(X, y, w, thresholds, positive):
    """One sweep on the residual itself, each coefficient by a scalar search."""
    w = w.copy()
    for j in range(X.shape[1]):
        rest = y - X @ w + X[:, j] * w[j]

        def cost(v, rest=rest, j=j):
            return np.linalg.norm(rest - X[:, j] * v) + thresholds[j] * abs(v)

        reach = 10 * np.linalg.norm(rest) / np.linalg.norm(X[:, j])
        sides = [(0.0, reach)] if positive else [(-reach, 0.0), (0.0, reach)]
        options = {"xatol": 1e-12}
        found = [
            optimize.minimize_scalar(cost, bounds=side, method="bounded", options=options).x
            for side in sides
        ]
        w[j] = min([0.0, *found], key=cost)
    return w


@given(
    st.floats(0.0, 5.0),
    st.floats(-1.0, 1.0),
    st.floats(0.01, 4.0),
    st.floats(0.0, 3.0),
    st.booleans(),
)
def test_the_best_coefficient_beats_its_neighbours(length, share, norm, threshold, positive):
    rho = share * length * np.sqrt(norm)  # Cauchy-Schwarz bounds it

    def cost(w):
        return np.sqrt(max(length**2 - 2 * rho * w + norm * w * w, 0.0)) + threshold * abs(w)

    best = best_coefficient(length**2, rho, norm, threshold, positive)
    assert not positive or best >= 0
    for w in best + np.concatenate([np.geomspace(1e-6, 10, 30), -np.geomspace(1e-6, 10, 30), [0]]):
        if w >= 0 or not positive:
            assert cost(best) <= cost(w) + 1e-7 * (1 + length)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_sweep_in_gram_form_is_a_sweep_on_the_residual(seed, positive):
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(30, 8)), rng.normal(size=30), rng.normal(size=8) * 0.1
    w = np.abs(w) if positive else w
    thresholds = np.full(8, 0.8)
    thresholds[0] = 0.0
    G = np.full((11, 11), np.nan)  # room to grow must not be read
    G[:8, :8] = X.T @ X
    found, q = w.copy(), X.T @ (y - X @ w)
    square, gap, sweeps = gram_sweeps(
        G, q, found, thresholds, float(np.sum((y - X @ w) ** 2)), positive, 0.0, 1
    )
    assert sweeps == 1
    np.testing.assert_allclose(found, plain_sweep(X, y, w, thresholds, positive), atol=1e-6)
    residual = y - X @ found
    assert square == pytest.approx(residual @ residual)
    np.testing.assert_allclose(q, X.T @ residual, atol=1e-10)
    primal, absolute = gram_gap(G, q, found, thresholds, square, positive)
    assert primal == pytest.approx(np.linalg.norm(residual) + thresholds @ np.abs(found))
    assert gap == pytest.approx(absolute / primal)


def test_the_gap_of_the_columns_bounds_their_suboptimality():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 8)), rng.normal(size=30)
    thresholds, w = np.full(8, 0.7), np.zeros(8)
    G, q, square = X.T @ X, X.T @ y, float(y @ y)
    before, gap = gram_gap(G, q, w, thresholds, square, False)
    square, small, _ = gram_sweeps(G, q, w, thresholds, square, False, 1e-10, 1000)
    after = np.sqrt(square) + thresholds @ np.abs(w)
    assert small <= 1e-10
    assert 0 <= before - after <= gap


def test_an_empty_column_loses_its_coefficient():
    G, q, w = np.diag([1.0, 0.0]), np.array([0.3, 0.0]), np.array([0.0, 5.0])
    gram_sweeps(G, q, w, np.full(2, 0.1), 1.0, False, 0.0, 1)
    assert w[1] == 0.0


def test_moves_and_column_sums():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 9)) * (rng.random((20, 9)) < 0.4)
    by_columns, by_rows = sparse.csc_array(X), sparse.csr_array(X)
    parts = by_columns.data, by_columns.indices, by_columns.indptr
    chosen, values = np.array([4, 1, 7]), np.array([0.5, 0.0, -2.0])
    G, q = X.T @ X, rng.normal(size=9)
    out = q.copy()
    add_gram_rows(G, chosen, values, out)
    np.testing.assert_allclose(out, q + G[:, chosen] @ values)
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
