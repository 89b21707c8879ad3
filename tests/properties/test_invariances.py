"""Units, rotations, order and starting points do not change the solution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.problems import Recipe, recipes

from sketchlasso.problem import Batch, alpha_max
from sketchlasso.solvers import Iterates, Settings, solve

TIGHT = Settings(tol=1e-9)


def plain(seed, n=60, k=10, s=0.5):
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n, k))
    c = P.T @ (rng.normal(size=n) * (rng.random(n) < 0.1)) + 0.2 * rng.normal(size=k)
    return P, c, s


def path(P, c, s, radius, **options):
    largest = alpha_max(Batch.build(P, c, s, alpha=1.0, radius=radius, **options))[0]
    alpha = largest * np.geomspace(0.9, 0.02, 6)
    return Batch.build(P, c, s, alpha=alpha, radius=radius, **options)


@pytest.mark.parametrize("radius", [0.0, 0.5])
@pytest.mark.parametrize("t", [1e-3, 7.0, 1e4])
def test_scaling_the_response_scales_the_solution_at_the_same_penalty(radius, t):
    P, c, s = plain(0)
    batch = path(P, c, s, radius)
    scaled = Batch.build(P, t * c, t * s, alpha=batch.alpha, radius=radius)
    one, other = solve(batch, settings=TIGHT), solve(scaled, settings=TIGHT)
    np.testing.assert_allclose(other.primal, t * one.primal, rtol=2e-9)
    np.testing.assert_allclose(
        other.coef.toarray() / t, one.coef.toarray(), atol=2e-4 * abs(one.coef).max()
    )


@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_rotating_the_sketch_changes_nothing(radius):
    P, c, s = plain(1)
    rotation = np.linalg.qr(np.random.default_rng(9).normal(size=(10, 10)))[0]
    batch = path(P, c, s, radius)
    turned = Batch.build(P @ rotation, c @ rotation, s, alpha=batch.alpha, radius=radius)
    rooted = Batch.build(P @ rotation, c, s, alpha=batch.alpha, radius=radius, roots=rotation.T)
    values = [solve(b, settings=TIGHT).primal for b in (batch, turned, rooted)]
    np.testing.assert_allclose(values[1], values[0], rtol=2e-9)
    np.testing.assert_allclose(values[2], values[0], rtol=2e-9)


def test_permuting_features_permutes_coefficients():
    P, c, s = plain(2)
    order = np.random.default_rng(0).permutation(len(P))
    batch = path(P, c, s, 0.3)
    moved = Batch.build(P[order], c, s, alpha=batch.alpha, radius=0.3)
    one, other = solve(batch, settings=TIGHT), solve(moved, settings=TIGHT)
    np.testing.assert_allclose(other.coef.toarray(), one.coef.toarray()[:, order], atol=1e-4)


def test_l1_norm_does_not_grow_with_the_penalty():
    P, c, s = plain(3)
    norms = np.abs(solve(path(P, c, s, 0.2), settings=TIGHT).coef.toarray()).sum(axis=1)
    assert (np.diff(norms) >= -1e-6).all()


def test_the_robust_optimum_is_never_below_the_non_robust_one():
    P, c, s = plain(4)
    batch = path(P, c, s, 0.0)
    robust = Batch.build(P, c, s, alpha=batch.alpha, radius=0.4)
    assert (solve(robust).primal >= solve(batch).dual).all()


@settings(max_examples=40, deadline=None)
@given(recipes(max_n=150, max_k=20), st.integers(0, 2**31))
def test_any_warm_start_leads_to_the_same_value(recipe: Recipe, seed):
    batch = recipe.batch()
    tol = 1e-6 if recipe.dtype == "float64" else 1e-4
    rng = np.random.default_rng(seed)
    cold = solve(batch, settings=Settings(tol=tol))
    order = rng.permutation(batch.n_instances)
    shuffled = Iterates(cold.coef[order], cold.dual_point[order], cold.steps)
    warm = solve(batch, settings=Settings(tol=tol), warm=shuffled)
    assert warm.solved.all()
    slack = 2 * tol * np.maximum(cold.primal, 1e-6 * cold.null)
    assert (np.abs(warm.primal - cold.primal) <= slack).all()


@settings(max_examples=30, deadline=None)
@given(recipes(max_n=150, max_k=20))
def test_batched_equals_one_by_one(recipe: Recipe):
    """Within the gaps; the bits also depend on how memory happens to be aligned."""
    batch = recipe.batch()
    options = Settings(tol=1e-6 if recipe.dtype == "float64" else 1e-4, n_threads=1)
    together = solve(batch, settings=options)
    rounding = 1e-13 if recipe.dtype == "float64" else 3e-6
    for b in range(batch.n_instances):
        alone = solve(batch.take(np.array([b])), settings=options)
        assert alone.status[0] == together.status[b]
        slack = alone.gap[0] + together.gap[b] + rounding * together.null[b]
        assert abs(alone.primal[0] - together.primal[b]) <= slack
