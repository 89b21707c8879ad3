"""The exact solver against an independent conic solver, and where other solvers stop."""

import numpy as np
import pytest
from scipy import sparse
from tests.oracles import full_problem_reference

from sketchlasso import certify
from sketchlasso.engine import weighted_rows
from sketchlasso.exact import exact_alpha_max, solve_exact
from sketchlasso.problem.terms import Terms


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shape", [(60, 25), (30, 80)])
def test_the_optimum_is_clarabels(seed, shape):
    rng = np.random.default_rng(seed)
    m, n = shape
    X = rng.normal(size=shape) + 0.5
    X *= rng.random(shape) < (0.3 if seed % 2 else 1.0)
    y = X[:, :4] @ rng.normal(size=4) + rng.normal(size=m) + 2.0
    fit_intercept, weighted, positive = seed % 3 > 0, seed % 4 > 1, seed in (2, 5, 7)
    factor = np.ones(n)
    if seed > 2:
        factor[0], factor[1], factor[2] = 0.0, 2.5, np.inf
    weights = rng.random(m) + 0.1 if weighted else np.ones(m)
    options = {
        "fit_intercept": fit_intercept,
        "penalty_factor": factor,
        "positive": positive,
    }
    rows = weighted_rows(weights)
    largest = exact_alpha_max(X, y, rows=rows, terms=Terms(**options))[0]
    alphas = largest * np.array([0.7, 0.2, 0.03])
    given = sparse.csc_array(X) if seed % 2 else X
    found = solve_exact(given, y, alphas, rows=rows, tol=1e-8, terms=Terms(**options))
    assert found.solved.all(), found.message()
    root = np.sqrt(weights)[:, None]
    mean = weights / weights.sum() if fit_intercept else np.zeros(m)
    Z, z = root * (X - mean @ X), root[:, 0] * (y - mean @ y)
    for b, alpha in enumerate(alphas):
        _, value = full_problem_reference(Z, z, alpha, penalty_factor=factor, positive=positive)
        assert found.primal[b] == pytest.approx(value, rel=1e-6)
        assert found.dual[b] <= value * (1 + 1e-7)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_20_by_60_problems_down_to_a_twentieth_of_alpha_max(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 60)), rng.normal(size=20)
    options = {"fit_intercept": fit_intercept}
    alphas = exact_alpha_max(X, y, terms=Terms(**options))[0] * np.geomspace(1.0, 0.05, 20)
    found = solve_exact(X, y, alphas, tol=1e-6, terms=Terms(**options))
    assert found.solved.all(), found.message()
    again = certify(X, y, found.coef, alphas, **options)
    assert (again.relative_gap <= 1e-6).all()
    residual = y - X @ found.coef[[-1]].toarray()[0] - found.intercept[-1]
    assert np.linalg.norm(residual) < 1e-4 * np.linalg.norm(y)


def test_an_interpolating_optimum_is_clarabels():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(20, 60)), rng.normal(size=20)
    found = solve_exact(X, y, [0.2], terms=Terms(fit_intercept=False), tol=1e-8)
    _, value = full_problem_reference(X, y, 0.2)
    assert found.primal[0] == pytest.approx(value, rel=1e-7)


def test_riboflavin_down_to_a_hundredth_of_alpha_max(real_file):
    stored = np.load(real_file("microarray/riboflavin.npz"))
    X, y = stored["X"], stored["y"]
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.0, 0.01, 50)
    found = solve_exact(X, y, alphas, tol=1e-6)
    assert found.solved.all(), found.message()
    assert (certify(X, y, found.coef, alphas).relative_gap <= 1e-6).all()
