"""The first-order method: gaps in every regime, its proximal steps, its extrapolation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.regimes import REGIMES, assert_optimal, drive, make_instance

from sketchlasso.problem import primal_value
from sketchlasso.solvers.algorithms.conic import Conic
from sketchlasso.solvers.algorithms.first_order import (
    FirstOrder,
    _Anderson,
    _dual_step,
    _Rotated,
    _shrink,
)
from sketchlasso.solvers.algorithms.protocol import as_batch


@pytest.mark.parametrize("regime", REGIMES)
def test_reaches_a_small_gap_in_every_regime(regime):
    instance = make_instance(**REGIMES[regime])
    run = drive(FirstOrder, instance, tol=1e-7)
    assert_optimal(run, drive(Conic, instance, tol=1e-8, rounds=1), instance, tol=1e-7)
    assert run.steps <= 5000


@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_a_few_thousand_iterations_suffice_for_moderate_problems(radius):
    instance = make_instance(p=400, k=40, radius=radius)
    assert drive(FirstOrder, instance, tol=1e-6, rounds=10).gap <= 1e-6


@pytest.mark.parametrize("regime", ["interpolation", "no penalty at all", "squared"])
def test_survives_being_called_too_often(regime):
    instance = make_instance(**REGIMES[regime])
    assert drive(FirstOrder, instance, tol=-1.0, rounds=30).gap <= 1e-9


def test_the_best_point_never_gets_worse():
    instance = make_instance(radius=0.0)
    batch, solver = as_batch(instance), FirstOrder(instance, np.zeros(120), np.zeros(12))
    values = [primal_value(batch, solver.improve()[0][None])[0] for _ in range(5)]
    assert values == sorted(values, reverse=True)


def test_starting_at_the_solution_stays_there():
    instance = make_instance()
    run = drive(FirstOrder, instance, tol=1e-10)
    w, _, _ = FirstOrder(instance, run.w, run.u).improve()
    np.testing.assert_allclose(w, run.w, atol=1e-6)


@pytest.mark.parametrize("regime", ["plain", "squared", "non-negative"])
def test_shrink_is_the_prox_of_the_penalty(regime):
    instance = make_instance(p=5, k=3, share=0.4, **REGIMES[regime])
    problem = _Rotated.of(instance)
    x, tau = np.array([1.0, -0.6, 0.2, 0.9, -0.1]), 0.7
    found = _shrink(problem, tau, x)

    def value(w):
        ridge = (
            0.5 * problem.radius**2 * w @ w
            if problem.squared
            else (problem.radius * np.linalg.norm(w))
        )
        return tau * (ridge + problem.thresholds @ np.abs(w)) + 0.5 * np.sum((w - x) ** 2)

    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-3, 1e-5):
        for other in found + size * rng.normal(size=(50, 5)):
            assert (
                value(np.maximum(other, 0.0) if problem.positive else other) >= value(found) - 1e-14
            )


@pytest.mark.parametrize("s", [0.0, 0.3])
@pytest.mark.parametrize("size", [0.1, 3.0])
def test_dual_step_maximises_its_concave_function(s, size):
    metric, a = np.array([0.5, 1.0, 2.0]), size * np.array([1.0, -0.5, 0.3])
    u = _dual_step(metric, a, s)

    def value(x):
        return x @ a - 0.5 * metric @ x**2 + s * np.sqrt(max(1.0 - x @ x, 0.0))

    best = minimize(
        lambda x: -value(x),
        0.1 * u,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: 1.0 - x @ x},
        options={"ftol": 1e-14},
    )
    assert np.linalg.norm(u) <= 1.0 + 1e-12
    assert value(u) >= -best.fun - 1e-9


def test_rotation_keeps_the_fit_and_splits_off_what_is_out_of_reach():
    instance = make_instance(p=8, k=30)
    problem = _Rotated.of(instance)
    w = np.random.default_rng(0).normal(size=8)
    true = np.sum((instance.c - instance.R.T @ (problem.length * w)) ** 2) + instance.s**2
    rotated = np.sum((problem.c - problem.R.T @ w) ** 2) + problem.s**2
    assert problem.length**2 * rotated == pytest.approx(true)
    assert problem.R.shape == (8, 8)


def test_extrapolation_solves_an_affine_fixed_point():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A *= 0.95 / np.linalg.norm(A, 2)
    b = rng.normal(size=6)
    memory, x = _Anderson(6), np.zeros(6)
    for _ in range(25):
        x = memory.extrapolate(A @ x + b, A @ x + b - x)
    np.testing.assert_allclose(x, np.linalg.solve(np.eye(6) - A, b), rtol=1e-6)


def test_extrapolation_along_a_drift_is_bounded():
    memory, x = _Anderson(2), np.zeros(2)
    for _ in range(30):
        x = memory.extrapolate(x + np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    assert 0.0 <= x[0] <= 30 * 301.0
