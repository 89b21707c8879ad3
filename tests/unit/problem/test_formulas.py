"""Objective, dual, penalties and certificates against plain twins and known answers."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from scipy import sparse
from tests import twins
from tests.oracles import optimality_residual
from tests.problems import Recipe, recipes

from sketchlasso.problem import (
    Batch,
    alpha_max,
    certify_batch,
    dual_value,
    feasible_dual,
    primal_value,
    reduce_statistics,
    worst_case_perturbation,
)
from sketchlasso.problem.dual import null_model
from sketchlasso.problem.reduction import ProjectedOut
from sketchlasso.solvers import Settings, solve


@settings(max_examples=60, deadline=None)
@given(recipes(max_n=60, max_k=12))
def test_primal_and_dual_agree_with_their_twins(recipe: Recipe):
    batch = recipe.batch()
    rng = np.random.default_rng(recipe.seed)
    w = rng.normal(size=(batch.n_instances, batch.n_features)) * (
        rng.random((batch.n_instances, batch.n_features)) < 0.3
    )
    if recipe.positive:
        w = np.abs(w)
    w[:, np.isinf(batch.penalty_factor)] = 0.0
    u = 0.1 * rng.normal(size=batch.c.shape)
    expected = [twins.primal(batch, b, w[b]) for b in range(len(w))]
    np.testing.assert_allclose(primal_value(batch, w), expected, rtol=1e-6)
    np.testing.assert_allclose(primal_value(batch, sparse.csr_array(w)), expected, rtol=1e-6)
    point, *_ = feasible_dual(batch, u)
    expected = [twins.dual(batch, b, point[b]) for b in range(len(w))]
    np.testing.assert_allclose(dual_value(batch, point), expected, rtol=1e-5, atol=1e-6)
    found = certify_batch(batch, w, u)
    assert (found.gap >= 0).all()
    assert (found.dual <= found.primal * (1 + 1e-6) + 1e-9).all()


def test_an_excluded_feature_that_is_used_costs_infinity():
    P = np.eye(3)
    excluded = sparse.csr_array(np.array([[0, 1, 0]]))
    batch = Batch.build(P, np.ones(3), 0.0, alpha=1.0, excluded=excluded)
    assert np.isinf(primal_value(batch, np.array([[0.0, 1.0, 0.0]]))[0])
    assert np.isfinite(primal_value(batch, np.array([[1.0, 0.0, 0.0]]))[0])


@settings(max_examples=60, deadline=None)
@given(recipes(max_n=100, max_k=15, dtypes=("float64",)))
@example(
    Recipe(
        seed=2,
        n=2,
        k=2,
        radius=0.1,
        s=3.0,
        shares=(1.2, 0.7, 0.1, 0.001),
        duplicated=False,
        zero_rows=False,
        factors=True,
        rooted=True,
        positive=False,
        loss="sqrt",
        dtype="float64",
    )
)
def test_alpha_max_is_where_the_penalised_coefficients_appear(recipe: Recipe):
    """Zero is optimal above it and not just below it, for every radius."""
    batch = recipe.batch()
    largest = alpha_max(batch)[0]
    assume(largest > 1e-8 * np.linalg.norm(batch.P))  # else no coefficient ever appears
    options = {
        "radius": recipe.radius,
        "penalty_factor": batch.penalty_factor,
        "positive": recipe.positive,
        "loss": recipe.loss,
        "roots": None if batch.roots is None else batch.roots[:1],
    }
    near = Batch.build(
        batch.P, batch.c[0], recipe.s, alpha=largest * np.array([1.001, 0.98]), **options
    )
    solution = solve(near, settings=Settings(tol=1e-9))
    penalised = batch.penalty_factor > 0
    coef = np.abs(solution.coef.toarray()[:, penalised])
    assert coef[0].max() <= 1e-4 * max(coef[1].max(), 1e-12)
    assert solution.solved.all()
    # Not through the solution below it: zero may be within the solver's tolerance there.
    distance = optimality_residual(near, null_model(near).coef)
    assert distance[0] <= 1e-4 * distance[1]
    # A radius shrinks every step where features without a penalty have small coefficients.
    shrunk = recipe.radius > 0 and not penalised.all()
    assert distance[1] >= (1e-5 if shrunk else 0.005) * largest


def test_alpha_max_depends_on_the_radius_and_vanishes_for_a_large_one():
    rng = np.random.default_rng(0)
    P, c = rng.normal(size=(30, 5)), rng.normal(size=5)
    values = alpha_max(Batch.build(P, c, 1.0, alpha=1.0, radius=[0.0, 0.1, 1.0, 1e3]))
    assert values[0] == pytest.approx(np.abs(P @ c).max() / np.sqrt(c @ c + 1))
    assert (np.diff(values) < 0).all()
    assert values[-1] == 0.0


def test_no_penalty_is_needed_where_the_unpenalised_features_fit_exactly():
    """What rounding leaves of the residual has a direction, but means nothing."""
    rng = np.random.default_rng(3)
    P, factor = rng.normal(size=(20, 4)), np.ones(20)
    factor[[1, 5, 9, 13]] = 0.0
    targets = rng.normal(size=(8, 4))
    batch = Batch.build(P, targets, 0.0, alpha=1.0, penalty_factor=factor)
    np.testing.assert_array_equal(alpha_max(batch), 0.0)
    noisy = Batch.build(P, targets, 1e-3, alpha=1.0, penalty_factor=factor)
    assert (alpha_max(noisy) < 1e-9).all()


def test_projecting_out_and_recovering_solves_least_squares():
    rng = np.random.default_rng(2)
    rows, c, root = rng.normal(size=(3, 6)), rng.normal(size=6), rng.normal(size=(6, 6))
    reduced = ProjectedOut.of(root, c, rows)
    np.testing.assert_allclose(rows @ reduced.c, 0, atol=1e-12)
    np.testing.assert_allclose(rows @ reduced.root.T, 0, atol=1e-12)
    np.testing.assert_allclose(rows @ (c - rows.T @ reduced.recover(c)), 0, atol=1e-12)


@pytest.mark.parametrize("rank", [4, 2])
def test_reduction_keeps_the_fit_of_every_coefficient_and_comes_back(rank):
    """||QP'w - y||^2 = ||c - R'w||^2 + s^2, for regular and for singular K."""
    rng = np.random.default_rng(rank)
    m, n, k = 30, 12, 4
    Q = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, k))
    P, y = rng.normal(size=(n, k)), rng.normal(size=m)
    found = reduce_statistics((Q.T @ Q)[None], (Q.T @ y)[None, :, None], np.array([[y @ y]]))
    root, c, s = found[0][0], found[1][0, 0], found[2][0, 0]
    R = P @ root
    for _ in range(5):
        w = rng.normal(size=n)
        full = np.sum((Q @ (P.T @ w) - y) ** 2)
        small = np.sum((c - R.T @ w) ** 2) + s**2
        assert small == pytest.approx(full, rel=1e-9)
    np.testing.assert_allclose(root @ root.T, Q.T @ Q, atol=1e-9 * np.linalg.norm(Q.T @ Q))
    np.testing.assert_allclose(root @ c, Q.T @ y, atol=1e-8)
    assert c @ c + s**2 == pytest.approx(y @ y)


def test_worst_case_perturbation_attains_the_robust_bound_and_nothing_exceeds_it():
    rng = np.random.default_rng(4)
    X, w, y, radius = rng.normal(size=(15, 8)), rng.normal(size=8), rng.normal(size=15), 0.7
    bound = np.linalg.norm(X @ w - y) + radius * np.linalg.norm(w)
    worst = worst_case_perturbation(X @ w - y, w, radius)
    assert np.linalg.norm(worst, 2) == pytest.approx(radius)
    assert np.linalg.norm(worst) == pytest.approx(radius)
    assert np.linalg.norm((X + worst) @ w - y) == pytest.approx(bound)
    for _ in range(50):
        other = rng.normal(size=(15, 8))
        other *= radius / np.linalg.norm(other, 2)
        assert np.linalg.norm((X + other) @ w - y) <= bound + 1e-12
    assert np.linalg.norm(worst_case_perturbation(np.zeros(3), np.zeros(2), 0.3), 2) == 0.3
