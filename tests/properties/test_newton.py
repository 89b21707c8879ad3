"""The default solver reaches its gap in every regime, as recomputed here from scratch."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests import twins
from tests.oracles import optimality_residual
from tests.problems import Recipe, recipes

from sketchlasso.problem import certify_batch, gap_safe_rule, safe_rule
from sketchlasso.solvers import Settings, solve

FEASIBLE = {"float64": 1e-9, "float32": 3e-6}


def assert_certified(batch, solution, tol, feasible):
    for b in range(batch.n_instances):
        w = solution.coef[[b]].toarray().ravel()
        u = solution.dual_point[b]
        assert twins.violation(batch, b, u) <= feasible
        primal = twins.primal(batch, b, w)
        assert (
            primal - twins.dual(batch, b, u) <= tol * max(primal, 1e-6 * solution.null[b]) * 1.001
        )
        assert solution.gap[b] >= 0
        assert not batch.positive or (w >= 0).all()


@settings(max_examples=200, deadline=None)
@given(recipes())
def test_every_regime_reaches_its_gap(recipe: Recipe):
    batch = recipe.batch()
    tol = 1e-6 if recipe.dtype == "float64" else 1e-4
    solution = solve(batch, settings=Settings(tol=tol))
    assert solution.solved.all(), solution.message()
    assert_certified(batch, solution, tol, FEASIBLE[recipe.dtype])


@settings(max_examples=40, deadline=None)
@given(recipes(max_n=120, max_k=20, offsets=(0.1, 3.0), dtypes=("float64",)))
def test_tight_solutions_satisfy_the_optimality_conditions(recipe: Recipe):
    """Not for s = 0, where an exact fit has no gradient, nor in single precision."""
    batch = recipe.batch()
    solution = solve(batch, settings=Settings(tol=1e-11))
    scale = np.linalg.norm(batch.P) * (1 + np.linalg.norm(batch.c, axis=1))
    assert (optimality_residual(batch, solution.coef) <= 1e-4 * scale).all()


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("loss", ["sqrt", "squared"])
def test_rules_never_remove_a_non_zero(seed, loss):
    rng = np.random.default_rng(seed)
    recipe = Recipe(
        seed=seed,
        n=int(rng.integers(20, 300)),
        k=int(rng.integers(2, 30)),
        radius=float(rng.choice([0.0, 0.1, 1.0])),
        s=float(rng.choice([0.5, 3.0])),
        shares=(0.95, 0.7, 0.4, 0.2, 0.05),
        rooted=bool(rng.random() < 0.5),
        loss=loss,
    )
    batch = recipe.batch()
    tight = solve(batch, settings=Settings(tol=1e-10))
    assert tight.solved.all()
    assert_rules_are_safe(batch, tight)


def assert_rules_are_safe(batch, tight):
    crude = solve(batch, settings=Settings(tol=1e-2))
    certificate = certify_batch(batch, crude.coef, crude.dual_point)
    for b in range(batch.n_instances):
        support = tight.coef[[b]].toarray().ravel() != 0
        paper = safe_rule(batch, b, batch.radius[b])
        static = safe_rule(batch, b)
        gap_safe = gap_safe_rule(batch, b, certificate.point[b], certificate.gap[b])
        assert not (paper & ~static).any()
        for rule in (paper, static, gap_safe):
            assert not (rule & support).any()
