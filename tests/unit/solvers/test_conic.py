"""The Clarabel adapter: optimal in every regime, one solve, honest about a missing extra."""

import builtins
import sys

import numpy as np
import pytest
from tests.oracles import full_problem_reference, instance_reference
from tests.regimes import REGIMES, drive, make_instance

from sketchlasso.errors import MissingExtraError
from sketchlasso.solvers.algorithms import conic, make_algorithm
from sketchlasso.solvers.algorithms.conic import TOLERANCES, Conic
from sketchlasso.solvers.algorithms.protocol import as_batch

SMALL = ["plain", "interpolation", "unpenalised features", "non-negative", "squared, free"]


@pytest.mark.parametrize("regime", REGIMES)
def test_reaches_a_tiny_gap_in_every_regime(regime):
    instance = make_instance(**REGIMES[regime])
    run = drive(Conic, instance, tol=1e-8, rounds=1)
    assert run.gap <= 1e-8
    assert not instance.positive or (run.w >= 0).all()


@pytest.mark.parametrize("regime", SMALL)
def test_agrees_with_the_modelling_language(regime):
    instance = make_instance(p=40, k=8, **REGIMES[regime])
    run = drive(Conic, instance, tol=1e-8, rounds=1)
    value = instance_reference(as_batch(instance))[1]
    assert run.primal == pytest.approx(value, rel=1e-7, abs=1e-9)


def test_agrees_on_the_original_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 12)), rng.normal(size=30)
    Q, triangle = np.linalg.qr(X)
    instance = make_instance(p=12, k=12)
    reduced = type(instance)(
        triangle.T,
        Q.T @ y,
        float(np.sqrt(y @ y - np.sum((Q.T @ y) ** 2))),
        0.2,
        np.full(12, 0.3),
        False,
        "sqrt",
    )
    w, value = full_problem_reference(X, y, alpha=0.3, radius=0.2)
    run = drive(Conic, reduced, tol=1e-8, rounds=1)
    assert run.primal == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(run.w, w, atol=1e-5)


def test_solves_once_and_repeats_the_answer():
    instance = make_instance()
    solver = Conic(instance, np.zeros(120), np.zeros(12))
    w, u, steps = solver.improve()
    again_w, again_u, again_steps = solver.improve()
    assert steps > 0 and again_steps == 0
    np.testing.assert_array_equal(w, again_w)
    np.testing.assert_array_equal(u, again_u)


def test_no_other_tolerance_is_tried_after_a_success(monkeypatch):
    tried, run = [], conic._run

    def recorded(clarabel, programme, tolerance):
        tried.append(tolerance)
        return run(clarabel, programme, tolerance)

    monkeypatch.setattr(conic, "_run", recorded)
    drive(Conic, make_instance(), tol=1e-8, rounds=1)
    assert tried == [TOLERANCES[0]]


def test_missing_package_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "clarabel":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "clarabel", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"sketchlasso\[conic\]"):
        make_algorithm("conic")
