"""The sketched answer against an independent conic solver on the full data."""

import numpy as np
import pytest
from tests.oracles import full_problem_reference

from sketchlasso import Settings, build_problems, sketch, solve
from sketchlasso.engine import linear_models


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(40, 15), (15, 40)])
@pytest.mark.parametrize("radius", [0.0, 0.5])
@pytest.mark.parametrize("loss", ["sqrt", "squared"])
def test_at_full_rank_the_sketched_optimum_is_the_full_one(seed, shape, radius, loss):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    found = sketch(X, method="exact")
    factor = np.ones(shape[1])
    factor[0], factor[1] = 0.0, 2.0
    problems = build_problems(
        found,
        y,
        alphas=3,
        alpha_min_ratio=0.1,
        radii=radius,
        fit_intercept=False,
        penalty_factor=factor,
        positive=seed % 2 == 1,
        loss=loss,
    )
    solution = solve(problems.batch, settings=Settings(tol=1e-8))
    assert solution.solved.all()
    for b, alpha in enumerate(problems.batch.alpha):
        w, value = full_problem_reference(
            X, y, alpha, radius, penalty_factor=factor, positive=seed % 2 == 1, loss=loss
        )
        assert solution.primal[b] == pytest.approx(value, rel=1e-6, abs=1e-7)
        fitted = X @ solution.coef[[b]].toarray().ravel()
        np.testing.assert_allclose(fitted, X @ w, atol=2e-3 * np.linalg.norm(y))


def test_a_sketch_whose_rank_is_the_rank_of_the_data_is_exact():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 8)) @ rng.normal(size=(8, 30))
    y = X[:, 0] + rng.normal(size=60)
    found = sketch(X, rank=8, random_state=0, radius=0.0)
    problems = build_problems(found, y, alphas=3, alpha_min_ratio=0.1, fit_intercept=False)
    solution = solve(problems.batch, settings=Settings(tol=1e-8))
    for b, alpha in enumerate(problems.batch.alpha):
        _, value = full_problem_reference(X, y, alpha)
        assert solution.primal[b] == pytest.approx(value, rel=1e-6)


def test_the_intercept_of_an_instance_equals_centring_the_data():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(40, 12)) + 3.0, rng.normal(size=40) + 5.0
    found = sketch(X, method="exact")
    inside = build_problems(found, y, alphas=4)
    centred = sketch(X - X.mean(axis=0), method="exact")
    outside = build_problems(centred, y - y.mean(), alphas=inside.batch.alpha, fit_intercept=False)
    one = solve(inside.batch, settings=Settings(tol=1e-9))
    other = solve(outside.batch, settings=Settings(tol=1e-9))
    np.testing.assert_allclose(one.primal, other.primal, rtol=1e-7)
    np.testing.assert_allclose(one.coef.toarray(), other.coef.toarray(), atol=1e-4)
    models = linear_models(inside, one.coef, found.transform, X)
    np.testing.assert_allclose(models.intercept, y.mean() - one.coef @ X.mean(axis=0))
