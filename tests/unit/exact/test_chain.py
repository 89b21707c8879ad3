"""Chains: the walk along knots proposes, all columns are looked at, the other solver finishes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import lars_path

from sketchlasso import certify, splitter_rows
from sketchlasso.exact import chain as chain_module
from sketchlasso.exact import exact_alpha_max, solve_exact
from sketchlasso.exact.descent import Descent
from sketchlasso.exact.knots import KnotWalk, Stretch
from sketchlasso.exact.walk import Walk
from sketchlasso.problem.terms import Terms


def make(m=80, n=60, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = X[:, :6] @ rng.standard_normal(6) + noise * rng.standard_normal(m)
    return X, y


def chain_of(X, y, tol=1e-9):
    return Descent(X, y, None, Terms(), tol).chain(0, 0)


def forbid_walk(monkeypatch):
    def refuse(*_):
        raise AssertionError("the walk along knots was not enough")

    monkeypatch.setattr(Walk, "solve", refuse)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_the_walk_along_knots_alone_solves_a_path(monkeypatch, whole, stored):
    forbid_walk(monkeypatch)
    monkeypatch.setattr("sketchlasso.exact.descent.WHOLE_COLUMNS", 10_000 if whole else 0)
    X, y = make()
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.1, 0.05, 30)
    found = solve_exact(stored(X), y, alphas, rows=splitter_rows(3, X), tol=1e-9)
    assert found.solved.all()
    for fold, part in enumerate(splitter_rows(3, X)):
        train = part.train(len(y))
        coef = found.coef[30 * fold : 30 * (fold + 1)]
        assert (certify(X[train], y[train], coef, alphas).relative_gap <= 1e-9).all()


@pytest.mark.parametrize("few", [0, 500])
def test_gram_matrices_of_folds_may_be_summed_or_downdated(monkeypatch, few):
    forbid_walk(monkeypatch)
    monkeypatch.setattr("sketchlasso.exact.descent.FEW_ROWS", few)
    monkeypatch.setattr("sketchlasso.exact.descent.WHOLE_COLUMNS", 0)
    X, y = make()
    folds = splitter_rows(3, X)
    descent = Descent(X, y, folds, Terms(), 1e-9)
    assert (descent.chain(0, 0)._gram._total is None) == (few > 0)
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(0.9, 0.1, 10)
    found = solve_exact(X, y, alphas, rows=folds, tol=1e-9)
    train = folds[0].train(len(y))
    assert (certify(X[train], y[train], found.coef[:10], alphas).relative_gap <= 1e-9).all()


def test_few_columns_at_work_suffice_on_wide_data(monkeypatch):
    forbid_walk(monkeypatch)
    X, y = make(m=60, n=5000)
    chain = Descent(X, y, None, Terms(), 1e-8).chain(0, 0)
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(0.95, 0.6, 12)
    found = chain.advance(alphas)
    assert len(chain._gram.columns) < 1500
    for solved, alpha in zip(found, alphas, strict=True):
        coef = np.zeros(5000)
        coef[solved.support] = solved.values
        assert certify(X, y, coef, alpha).relative_gap[0] <= 1e-8


@pytest.mark.parametrize("factors", [False, True])
@pytest.mark.parametrize(("seed", "n"), [(0, 300), (7, 60), (9, 300)])
def test_the_walk_along_knots_reaches_the_exact_fit_and_ends_there(monkeypatch, seed, n, factors):
    """Also past faces that explain all of y until a column leaves; no other solver is needed."""

    def refuse(*_):
        raise AssertionError("the walk along knots was not enough")

    monkeypatch.setattr(Walk, "_advance", refuse)
    monkeypatch.setattr(Walk, "_last_resort", refuse)
    X, y = make(m=20, n=n, noise=0.3, seed=seed)
    factor = np.random.default_rng(seed).uniform(0.5, 2.0, n) if factors else np.ones(n)
    terms = Terms(penalty_factor=factor)
    chain = Descent(X, y, None, terms, 1e-8).chain(0, 0)
    alphas = exact_alpha_max(X, y, terms=terms)[0] * np.geomspace(0.95, 0.01, 60)
    left = []
    for solved, alpha in zip(chain.advance(alphas), alphas, strict=True):
        coef = np.zeros(n)
        coef[solved.support] = solved.values
        proved = certify(X, y, coef, alpha, penalty_factor=factor)
        assert proved.relative_gap[0] <= 1e-8
        left.append(np.std(y - X @ coef) / np.std(y))
    assert left[0] > 0.5 and max(left[-5:]) < 1e-12


def test_a_long_path_at_once_costs_what_its_stages_do(monkeypatch):
    # Columns that enter at the last penalties only once slowed down every knot.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 1000)) / np.sqrt(1.0 + np.arange(1000))
    y = X[:, :50] @ rng.standard_normal(50) + rng.standard_normal(400)
    monkeypatch.setattr("sketchlasso.exact.descent.WHOLE_COLUMNS", 0)
    costs = []

    class Counted(KnotWalk):
        def find(self, penalties, squared):
            stretch = super().find(penalties, squared)
            costs[-1] += stretch.knots * len(self._gram.columns)
            return stretch

    monkeypatch.setattr(chain_module, "KnotWalk", Counted)
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(0.95, 0.03, 70)
    for stages in (1, 7):
        costs.append(0)
        chain = chain_of(X, y)
        for part in np.split(alphas, stages):
            chain.advance(part)
    assert 0 < costs[0] <= 1.2 * costs[1]


def test_stages_lead_where_one_stretch_does():
    X, y = make()
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.0, 0.05, 24)
    at_once = chain_of(X, y).advance(alphas)
    staged = chain_of(X, y)
    parts = [solved for part in np.split(alphas, 4) for solved in staged.advance(part)]
    for one, other in zip(at_once, parts, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=1e-12)


def test_a_walk_begins_again_at_any_solution():
    X, y = make()
    descent = Descent(X, y, None, Terms(), 1e-9)
    gram = descent.chain(0, 0)._gram
    lambdas = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() * np.geomspace(0.9, 0.05, 12)
    walk = KnotWalk(descent.target(0, 0), gram, whole=True)
    whole = walk.find(lambdas, squared=True)
    assert len(whole) == 12 and len(whole.points[5][0]) > 2
    walk.move_to(whole, 5)
    rest = walk.find(lambdas[6:], squared=True)
    np.testing.assert_allclose(rest.squares, whole.squares[6:], rtol=1e-12)
    for (support, values), (other, others) in zip(rest.points, whole.points[6:], strict=True):
        places = np.argsort(support), np.argsort(other)
        np.testing.assert_array_equal(support[places[0]], other[places[1]])
        np.testing.assert_allclose(values[places[0]], others[places[1]], atol=1e-12)


@pytest.mark.parametrize("last", [0.0, 1e-7])
def test_no_walk_begins_with_columns_that_depend_on_each_other(last):
    X, y = make()
    X[:, 1] = X[:, 0] + last * X[:, 2]
    descent = Descent(X, y, None, Terms(), 1e-9)
    walk = KnotWalk(descent.target(0, 0), descent.chain(0, 0)._gram, whole=True)
    columns = np.array([0, 1])
    start = Stretch([(columns, np.ones(2))], *np.ones((5, 1)), knots=0)
    walk.move_to(start, 0)
    assert len(walk.find(np.array([0.5]), squared=True)) == 0


def test_knots_are_those_of_lars():
    X, y = make(n=30)
    Z, c = X - X.mean(axis=0), y - y.mean()
    knots, _, path = lars_path(Z, c, method="lasso")
    levels = len(y) * knots[1:8] * 0.999
    penalties, found = chain_of(X, y).descend(levels)
    for level, alpha, solved in zip(levels, penalties, found, strict=True):
        coef = np.zeros(30)
        coef[solved.support] = solved.values
        length = np.linalg.norm(c - Z @ coef)
        assert alpha * length == pytest.approx(level, rel=1e-9)
        expected = np.array([np.interp(level, len(y) * knots[::-1], row[::-1]) for row in path])
        np.testing.assert_allclose(coef, expected, atol=1e-9 * np.abs(expected).max())


def test_where_the_walk_ends_the_other_solver_goes_on(monkeypatch):
    monkeypatch.setattr("sketchlasso.exact.knots.MOST_ACTIVE", 5)
    X, y = make()
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.0, 0.05, 20)
    found = solve_exact(X, y, alphas, tol=1e-7)
    assert found.solved.all() and found.n_nonzero.max() > 20
    assert (certify(X, y, found.coef, alphas).relative_gap <= 1e-7).all()


def test_duplicated_columns_do_not_stop_the_path():
    X, y = make()
    X = np.hstack([X, X[:, :10], -X[:, 5:15]])
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.0, 0.05, 20)
    found = solve_exact(X, y, alphas, tol=1e-7)
    assert found.solved.all()
    assert (certify(X, y, found.coef, alphas).relative_gap <= 1e-7).all()


def test_an_exact_fit_ends_the_descent():
    X, y = make(m=20, n=60, noise=0.1)
    chain = chain_of(X, y, tol=1e-6)
    levels = chain.largest_lambda() * np.geomspace(1.0, 1e-9, 60)
    penalties, found = chain.descend(levels)
    assert 5 < len(found) == len(penalties) < 60
    assert (np.diff(penalties) < 0).all()


def test_a_gap_from_the_gram_matrix_is_not_trusted_below_its_digits(monkeypatch):
    looks = []
    original = chain_module.Chain._residuals

    def counted(self, points):
        looks.append(len(points))
        return original(self, points)

    monkeypatch.setattr(chain_module.Chain, "_residuals", counted)
    X, y = make(noise=1e-4)
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.0, 0.3, 10)
    solve_exact(X, y, alphas, tol=1e-4)
    assert not looks
    found = solve_exact(X, y, alphas, tol=1e-11)
    assert looks and found.solved.all()


@pytest.mark.parametrize("squared", [False, True])
def test_a_face_solved_on_its_columns_has_more_digits_than_the_gram_matrix(squared):
    X, y = make(noise=3e-5)
    chain = chain_of(X, y, tol=1e-5)
    target = chain.target
    alpha = 0.3 * chain.largest_lambda() / target.null
    rough = chain.advance(np.array([alpha]))[0]
    primal = rough.primal

    def gap_along(residual):
        return 1.0 - target.dual(target.bounds.along(residual[:, None]), alpha) / primal

    length = np.linalg.norm(target.on_face(rough.support, rough.values, alpha, False).residual)
    penalty = alpha * length if squared else alpha
    face = target.on_face(rough.support, rough.values, penalty, squared)
    point = target.point(face.support, face.values)
    np.testing.assert_allclose(face.residual, point.residual, atol=1e-13 * target.null)
    before = gap_along(target.point(rough.support, rough.values).residual)
    assert gap_along(face.residual) <= 1e-11 < before
    assert target.certificate(point, alpha).relative_gap <= 1e-11


def test_a_face_of_dependent_columns_or_other_signs_is_none():
    X, y = make()
    target = chain_of(np.column_stack([X, X[:, 0]]), y).target
    assert target.on_face(np.array([0, 60]), np.array([0.1, 0.1]), 1.0, squared=False) is None
    wrong = -np.sign(X[:, :1].T @ y)
    assert target.on_face(np.array([0]), wrong, 0.1, squared=False) is None
