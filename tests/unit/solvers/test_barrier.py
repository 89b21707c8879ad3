"""The barrier method: gaps in every regime, exact derivatives, the matrix inversion lemma."""

import warnings

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from tests.oracles import instance_reference
from tests.regimes import REGIMES, assert_optimal, drive, make_instance

from sketchlasso.solvers.algorithms.barrier import Barrier
from sketchlasso.solvers.algorithms.cone_barrier import (
    DyadicHessian,
    ScaledInstance,
    barrier_hessian,
    cones_at,
)
from sketchlasso.solvers.algorithms.conic import Conic
from sketchlasso.solvers.algorithms.protocol import as_batch

CURVED = {
    "sqrt": {},
    "free features": {"free": 3},
    "no robust term": {"radius": 0.0},
    "squared": {"loss": "squared"},
    "non-negative": {"positive": True},
}


@pytest.mark.parametrize("regime", REGIMES)
def test_reaches_a_tiny_gap_in_every_regime(regime):
    instance = make_instance(**REGIMES[regime])
    run = drive(Barrier, instance, tol=1e-8)
    assert_optimal(run, drive(Conic, instance, tol=1e-8, rounds=1), instance, tol=1e-8)
    assert run.steps <= 60


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_a_generic_solver(seed):
    instance = make_instance(seed, p=60)
    run = drive(Barrier, instance, tol=1e-9)
    assert run.primal == pytest.approx(instance_reference(as_batch(instance))[1], rel=1e-8)


def test_coefficients_that_are_rounding_become_exact_zeros():
    instance = make_instance(radius=0.0)
    assert np.count_nonzero(drive(Barrier, instance, tol=1e-8).w) <= instance.R.shape[1]
    nothing = make_instance(share=1.5)
    assert not drive(Barrier, nothing, tol=1e-8).w.any()


@pytest.mark.parametrize("regime", ["interpolation", "no penalty at all", "non-negative"])
def test_survives_being_called_too_often(regime):
    instance = make_instance(**REGIMES[regime])
    assert drive(Barrier, instance, tol=-1.0, rounds=60).gap <= 1e-9


def test_reaches_the_gap_with_thousands_of_features():
    instance = make_instance(p=2000, k=30, radius=0.0)
    assert drive(Barrier, instance, tol=1e-8).gap <= 1e-8


def test_a_zero_response_has_the_zero_solution():
    instance = make_instance(scale=0.0, share=0.0)
    assert not drive(Barrier, instance, tol=1e-8).w.any()


def gradient(problem, mu, w):
    central = cones_at(problem, mu, w, problem.c - problem.R.T @ w).central
    return central.v + central.d - problem.R @ central.u


def barrier_value(problem, mu, w):
    """The barrier function with explicit heights, straight from its definition."""
    r = problem.c - problem.R.T @ w
    cones = cones_at(problem, mu, w, r)
    square = r @ r + problem.s**2

    def cone(weight, height, squared_length):
        return weight * height - mu * np.log(height**2 - squared_length)

    value = 0.5 * square if problem.squared else cone(1.0, cones.loss_height, square)
    if problem.squared:
        value += 0.5 * problem.radius**2 * (w @ w)
    elif problem.radius > 0:
        value += cone(problem.radius, cones.ridge_height, w @ w)
    lam = problem.thresholds
    if problem.positive:
        return value + lam @ w - mu * np.sum(np.log(w))
    some = lam > 0
    return value + np.sum(cone(lam[some], cones.heights[some], w[some] ** 2))


@pytest.fixture(params=CURVED)
def point(request):
    instance = make_instance(p=9, k=4, share=0.3, **CURVED[request.param])
    rng = np.random.default_rng(1)
    w = rng.normal(size=9)
    return ScaledInstance.of(instance), 0.05, np.abs(w) if instance.positive else w


def test_gradient_is_that_of_the_barrier_function(point):
    problem, mu, w = point
    numeric = approx_fprime(w, lambda x: barrier_value(problem, mu, x), 1e-7)
    np.testing.assert_allclose(gradient(problem, mu, w), numeric, atol=2e-5)


def test_hessian_at_central_multipliers_is_the_derivative_of_the_gradient(point):
    problem, mu, w = point
    r = problem.c - problem.R.T @ w
    cones = cones_at(problem, mu, w, r)
    hessian = barrier_hessian(problem, cones, cones.central, w, r)
    dense = np.diag(hessian.delta) + hessian.X @ np.linalg.solve(hessian.core_inverse, hessian.X.T)
    numeric = approx_fprime(w, lambda x: gradient(problem, mu, x), 1e-7)
    np.testing.assert_allclose(dense, numeric, atol=1e-4)


def test_structured_solve_inverts_the_hessian(point):
    problem, mu, w = point
    r = problem.c - problem.R.T @ w
    cones = cones_at(problem, mu, w, r)
    hessian = barrier_hessian(problem, cones, cones.central, w, r)
    core = np.linalg.inv(hessian.core_inverse)
    b = np.arange(1.0, 10.0)
    dw, y = hessian.solve(b)
    penalised = problem.thresholds > 0
    residual = hessian.delta * dw + hessian.X @ (core @ (hessian.X.T @ dw)) - b
    np.testing.assert_allclose(residual[penalised], 0.0, atol=1e-9)
    np.testing.assert_allclose(y, core @ (hessian.X.T @ dw), rtol=1e-6)


def test_a_singular_newton_system_is_solved_without_a_warning():
    # The capacitance is [[1, 1], [1, 1]]: its second pivot is zero to the last digit.
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    hessian = DyadicHessian(np.ones(2), np.eye(2), swap, np.zeros(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dw, y = hessian.solve(np.ones(2))
    np.testing.assert_allclose(dw + y, np.ones(2), atol=1e-12)
    np.testing.assert_allclose(dw, swap @ y, atol=1e-12)
