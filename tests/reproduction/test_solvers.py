"""The solvers that only the reproduction measures: they prove the optimum of the Newton method."""

import numpy as np
import pytest
from reproduction.barrier import solve_barrier
from reproduction.contenders import clarabel_answer, clarabel_on_sketch
from reproduction.first_order import solve_first_order
from tests.regimes import make_problem

import sketchlasso as sl
from sketchlasso.problem import certify_batch
from sketchlasso.solvers import Settings, solve

REGIMES = {
    "robust": {},
    "no robust term": {"radius": 0.0},
    "large robust term": {"radius": 10.0},
    "everything within reach": {"s": 0.0},
    "interpolation": {"s": 0.0, "radius": 0.0, "share": 1e-2},
    "large response": {"scale": 1e6},
    "zero is optimal": {"share": 1.5},
    "few features": {"p": 8, "k": 8},
}


@pytest.mark.parametrize("method", [solve_barrier, solve_first_order])
@pytest.mark.parametrize("regime", REGIMES)
def test_the_gap_is_proved_and_the_optimum_that_of_newton(method, regime):
    batch = make_problem(**REGIMES[regime])
    found, newton = method(batch, tol=1e-6), solve(batch, settings=Settings(tol=1e-9))
    assert found.relative_gap <= 1e-6 and found.steps > 0 and found.seconds > 0
    primal = certify_batch(batch, found.coef[None], np.zeros((1, batch.rank))).primal[0]
    assert newton.dual[0] * (1 - 1e-12) <= primal <= newton.primal[0] * (1 + 2e-6)


def test_the_steps_of_the_barrier_hardly_grow_with_the_features():
    assert solve_barrier(make_problem(p=2000, k=30)).steps <= 40


@pytest.mark.parametrize(("radius", "intercept"), [(0.0, False), (0.7, False), (0.0, True)])
def test_the_generic_solver_solves_the_same_problem(radius, intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    y = X[:, 0] + rng.standard_normal(60) + 2.0
    made = sl.sketch(X, method="exact", center=intercept, radius=0)
    problems = sl.build_problems(made, y, alphas=[2.0], radii=[radius], fit_intercept=intercept)
    ours = sl.solve(problems.batch, settings=sl.Settings(tol=1e-10))
    full = clarabel_answer(X, y, 2.0, radius=radius, intercept=intercept)
    sketched = clarabel_on_sketch(problems.batch)
    assert full["objective"] == pytest.approx(ours.primal[0], rel=1e-6)
    assert sketched["objective"] == pytest.approx(ours.primal[0], rel=1e-6)
