"""Problems on which other square-root LASSO solvers stop: small residuals and interpolation."""

import numpy as np
import pytest
from tests.properties.test_newton import assert_certified

from sketchlasso import Settings, build_problems, sketch, solve


@pytest.mark.parametrize("seed", range(10))
def test_20_by_60_problems_down_to_a_twentieth_of_alpha_max(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 60)), rng.normal(size=20)
    found = sketch(X, method="exact", radius=0.0)
    problems = build_problems(found, y, alphas=20, alpha_min_ratio=0.05, fit_intercept=False)
    solution = solve(problems.batch, settings=Settings(tol=1e-6))
    assert solution.solved.all()
    assert_certified(problems.batch, solution, 1e-6, 1e-9)
    assert np.linalg.norm(X @ solution.coef[[-1]].toarray()[0] - y) < 1e-4 * np.linalg.norm(y)


@pytest.mark.parametrize("radius", [0.0, 1e-3])
def test_riboflavin_down_to_a_hundredth_of_alpha_max(radius, real_file):
    stored = np.load(real_file("microarray/riboflavin.npz"))
    X = (stored["X"] - stored["X"].mean(axis=0)) / stored["X"].std(axis=0)
    found = sketch(X, method="exact", radius=radius)
    problems = build_problems(found, stored["y"], alphas=50, alpha_min_ratio=0.01)
    solution = solve(problems.batch, settings=Settings(tol=1e-6))
    assert solution.solved.all(), solution.message()
    assert_certified(problems.batch, solution, 1e-6, 1e-9)
