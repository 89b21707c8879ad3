"""Clarabel behind the same interface: the oracle of the Newton method in every regime."""

import builtins
import sys

import numpy as np
import pytest
from tests import twins
from tests.oracles import full_problem_reference, instance_reference
from tests.regimes import REGIMES, make_problem

import sketchlasso as sl
from sketchlasso.errors import MissingExtraError
from sketchlasso.solvers import Settings, solve

pytest.importorskip("clarabel")
TIGHT = Settings(tol=1e-8)
SMALL = ["plain", "interpolation", "unpenalised features", "non-negative", "squared, free"]


@pytest.mark.parametrize("regime", REGIMES)
def test_both_solvers_prove_the_same_optimum_in_every_regime(regime):
    batch = make_problem(**REGIMES[regime])
    newton, conic = solve(batch, settings=TIGHT), solve(batch, "conic", TIGHT)
    for found in (newton, conic):
        assert found.solved.all(), found.message()
        w = found.coef.toarray()[0]
        assert not batch.positive or (w >= 0).all()
        assert found.primal[0] == pytest.approx(twins.primal(batch, 0, w), rel=1e-12)
    slack = newton.gap + conic.gap + 1e-12 * newton.null
    assert abs(newton.primal - conic.primal) <= slack
    assert (newton.dual <= conic.primal + slack).all() and (
        conic.dual <= newton.primal + slack
    ).all()
    assert conic.solver == "conic" and conic.steps[0] > 0


@pytest.mark.parametrize("regime", SMALL)
def test_agrees_with_the_modelling_language(regime):
    batch = make_problem(p=40, k=8, **REGIMES[regime])
    value = instance_reference(batch)[1]
    assert solve(batch, "conic", TIGHT).primal[0] == pytest.approx(value, rel=1e-7, abs=1e-9)


def test_agrees_on_the_original_samples():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 12)), rng.normal(size=30)
    sketch = sl.sketch(X, method="exact", radius=0.2)
    batch = sl.build_problems(sketch, y, alphas=[0.3], fit_intercept=False).batch
    w, value = full_problem_reference(X, y, alpha=0.3, radius=0.2)
    found = solve(batch, "conic", TIGHT)
    assert found.primal[0] == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(found.coef.toarray()[0], w, atol=1e-5)


@pytest.mark.parametrize("regime", ["plain", "no robust term", "interpolation", "squared"])
def test_zeros_of_the_solution_are_exact(regime):
    batch = make_problem(**REGIMES[regime])
    conic, newton = solve(batch, "conic"), solve(batch, settings=Settings(tol=1e-9))
    assert conic.n_nonzero[0] <= 1.1 * newton.n_nonzero[0] + 1
    assert not solve(make_problem(share=1.5), "conic").n_nonzero.any()


def test_instances_without_features_have_the_zero_solution():
    c, none = np.array([3.0, 4.0]), np.full(2, np.inf)
    for loss in ("sqrt", "squared"):
        batch = sl.engine.Batch.build(np.eye(2), c, 12.0, alpha=1.0, penalty_factor=none, loss=loss)
        for solver in ("newton", "conic"):
            found = solve(batch, solver)
            assert found.solved.all() and found.n_nonzero[0] == 0


def test_estimators_take_it_too():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 20))
    y = X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=60)
    options = {"sketch": "randomized", "rank": 8, "alpha": 1.0, "random_state": 0, "radius": 0.5}
    ours = sl.SqrtLasso(**options).fit(X, y)
    theirs = sl.SqrtLasso(solver="conic", **options).fit(X, y)
    np.testing.assert_allclose(theirs.coef_, ours.coef_, atol=1e-4)


def test_missing_package_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "clarabel":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "clarabel", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"sketchlasso\[conic\]"):
        solve(make_problem(), "conic")
