"""Whole paths without a radius, where the optimum may fit exactly and move linearly."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import lars_path
from tests.problems import Recipe, recipes

from sketchlasso.problem import Batch, alpha_max
from sketchlasso.solvers import Iterates, Settings, solve

SHARES = tuple(np.geomspace(1.1, 1e-3, 12))


def chain_of(batch):
    """Instances with one root differ in alpha only."""
    return batch.root_of


@settings(max_examples=60)
@given(recipes(max_n=80, max_k=20), st.booleans())
def test_chains_without_a_radius_end_solved_whatever_the_start(recipe: Recipe, chained: bool):
    batch = replace(recipe, radius=0.0, shares=SHARES, dtype="float64").batch()
    chain = chain_of(batch) if chained else None
    solution = solve(batch, settings=Settings(tol=1e-9), chain=chain)
    assert solution.solved.all(), solution.message()
    again = solve(batch, settings=Settings(tol=1e-6), chain=chain, warm=_mixed_up(solution))
    assert again.solved.all(), again.message()


def _mixed_up(solution):
    order = np.arange(len(solution.primal))[::-1]
    return Iterates(solution.coef[order], solution.dual_point[order], 0 * order)


@pytest.mark.parametrize("seed", range(5))
def test_the_squared_loss_follows_least_angle_regression(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((30, 50)), rng.standard_normal(30)
    knots, _, expected = lars_path(X, y, method="lasso", alpha_min=1e-3)
    inside = 30 * 0.5 * (knots[1:] + knots[:-1])
    batch = Batch.build(X.T, y, 0.0, alpha=inside, loss="squared")
    found = solve(batch, settings=Settings(tol=1e-12), chain=np.zeros(len(inside), dtype=int))
    assert found.solved.all()
    middle = 0.5 * (expected[:, 1:] + expected[:, :-1]).T
    np.testing.assert_allclose(found.coef.toarray(), middle, atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_below_interpolation_the_coefficients_stay(seed):
    rng = np.random.default_rng(seed)
    R, c = rng.standard_normal((60, 20)), rng.standard_normal(20)
    largest = alpha_max(Batch.build(R, c, 0.0, alpha=1.0))[0]
    batch = Batch.build(R, c, 0.0, alpha=largest * np.geomspace(1e-2, 1e-6, 6))
    solution = solve(batch, settings=Settings(tol=1e-8), chain=np.zeros(6, dtype=int))
    assert solution.solved.all(), solution.message()
    coef = solution.coef.toarray()
    np.testing.assert_allclose(R.T @ coef[0], c, atol=1e-10)
    np.testing.assert_allclose(coef[1:], coef[:1].repeat(5, axis=0), atol=1e-10)


def test_every_column_of_a_wide_table_on_the_others():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 120)) + 0.5 * rng.standard_normal((40, 1))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    alphas = np.sqrt(40) * np.geomspace(0.642, 0.0642, 20)
    P, size = X.T, 120 * 20
    left_out = np.repeat(np.arange(120), 20)
    batch = Batch.build(
        P,
        P[left_out],
        0.0,
        alpha=np.tile(alphas, 120),
        excluded=sparse.csr_array((np.ones(size), (np.arange(size), left_out)), shape=(size, 120)),
    )
    solution = solve(batch, settings=Settings(tol=1e-6), chain=left_out)
    assert solution.solved.all(), solution.message()
    assert not solution.coef[np.arange(size), left_out].any()
