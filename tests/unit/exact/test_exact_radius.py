"""The robust problem on X itself: any radius, alone and in batches, weighted and non-negative."""

import numpy as np
import pytest
from scipy import sparse
from tests.oracles import full_problem_reference

from sketchlasso.engine import weighted_rows
from sketchlasso.exact import exact_alpha_max, solve_exact
from sketchlasso.problem.terms import Terms


def centred(X, y, weights, fit_intercept):
    root = np.sqrt(weights)[:, None]
    mean = weights / weights.sum() if fit_intercept else np.zeros(len(y))
    return root * (X - mean @ X), root[:, 0] * (y - mean @ y)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shape", [(60, 25), (30, 80)])
@pytest.mark.parametrize("radius", [1e-3, 0.3, 3.0])
def test_the_optimum_is_clarabels(seed, shape, radius):
    rng = np.random.default_rng(seed)
    m, n = shape
    X = rng.normal(size=shape) + 0.5
    X *= rng.random(shape) < (0.3 if seed % 2 else 1.0)
    y = X[:, :4] @ rng.normal(size=4) + rng.normal(size=m) + 2.0
    positive, fit_intercept = seed in (2, 5, 7), seed % 3 > 0
    factor = np.ones(n)
    if seed > 2:
        factor[:3] = 0.0, 2.5, np.inf
    weights = rng.random(m) + 0.1 if seed % 4 > 1 else np.ones(m)
    terms = Terms(fit_intercept, factor, positive)
    rows, stored = weighted_rows(weights), sparse.csr_array(X) if seed % 2 else X
    alphas = exact_alpha_max(X, y, rows=rows, terms=terms)[0] * np.array([0.7, 0.2, 0.03])
    found = solve_exact(stored, y, alphas, radius=radius, rows=rows, tol=1e-8, terms=terms)
    assert found.solved.all(), found.message()
    Z, z = centred(X, y, weights, fit_intercept)
    for b, alpha in enumerate(alphas):
        w, value = full_problem_reference(
            Z, z, alpha, radius, penalty_factor=factor, positive=positive
        )
        assert found.primal[b] == pytest.approx(value, rel=1e-6)
        assert found.dual[b] <= value * (1 + 1e-7)
        np.testing.assert_allclose(
            found.coef[[b]].toarray()[0], w, atol=2e-3 * np.abs(w).max() + 1e-6
        )


def test_the_largest_radius_leaves_nothing():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 30)), rng.normal(size=50)
    assert exact_alpha_max(X, y, radius=1e3)[0] == 0.0
    assert solve_exact(X, y, [1e-3], radius=1e3).coef.nnz == 0


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("scale", [0.05, 0.5, 1.05])
def test_nothing_penalised_enters_from_alpha_max_on_with_unpenalised_features(positive, scale):
    """`scale` is the radius, relative to the one from which unpenalised features are zero, too."""
    rng = np.random.default_rng(5)
    X, free = rng.normal(size=(60, 12)), [0, 1, 2]
    y = X[:, :5] @ [1.0, 2.0, -0.5, 1.0, -1.0] + rng.normal(size=60)
    Z, z = centred(X, y, np.ones(60), True)
    seen = Z[:, free].T @ z / np.linalg.norm(z)
    radius = scale * np.linalg.norm(np.maximum(seen, 0) if positive else seen)
    terms = Terms(True, np.where(np.isin(np.arange(12), free), 0.0, 1.0), positive)
    top = exact_alpha_max(X, y, radius=radius, terms=terms)[0]
    above, below = solve_exact(
        X, y, top * np.array([1.01, 0.97]), radius=radius, terms=terms, tol=1e-10
    ).coef.toarray()
    assert np.abs(above[3:]).max() <= 1e-7 < 1e-4 < np.abs(below[3:]).max()
    assert (np.abs(above[:3]).max() > 1e-9) == (scale < 1)


def test_a_radius_is_the_worst_error_of_x():
    """The optimum bounds the loss of its own coefficients for every error of X up to the radius."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 10)), rng.normal(size=40)
    found = solve_exact(X, y, [0.1], radius=0.7, terms=Terms(False), tol=1e-9)
    w = found.coef.toarray()[0]
    worst = found.primal[0] - 0.1 * np.abs(w).sum()
    for _ in range(20):
        error = rng.normal(size=X.shape)
        error *= 0.7 / np.linalg.norm(error, 2)
        assert np.linalg.norm((X + error) @ w - y) <= worst * (1 + 1e-9)
    r = y - X @ w
    error = -0.7 * np.outer(r, w) / np.linalg.norm(r) / np.linalg.norm(w)
    assert np.linalg.norm((X + error) @ w - y) == pytest.approx(worst, rel=1e-9)
