"""Whole paths on X itself: knots, ties, exact fits, folds, sizes of Gram matrices, interruption."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso, lars_path
from tests.oracles import full_problem_reference

from sketchlasso import certify, splitter_rows
from sketchlasso.exact import Descent, exact_alpha_max, solve_exact
from sketchlasso.problem.terms import Terms


def make(m=80, n=60, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = X[:, :6] @ rng.standard_normal(6) + noise * rng.standard_normal(m)
    return X, y


def check(X, y, found, alphas, tol, **options):
    """Solved by the own proof, which an independent one does not contradict."""
    assert found.solved.all(), found.message()
    again = certify(X, y, found.coef, alphas, **options)
    np.testing.assert_allclose(again.primal, found.primal, rtol=1e-8, atol=1e-9 * found.null[0])
    assert (again.dual <= found.primal * (1 + 1e-9) + 1e-9 * found.null[0]).all()
    assert (found.relative_gap <= tol).all()


# With memory for the Gram matrix of all columns, or none.
@pytest.fixture(params=["whole", "growing"])
def gram(request, monkeypatch):
    if request.param == "growing":
        monkeypatch.setattr("sketchlasso.exact.solve.WHOLE_BYTES", 0)
    return request.param


@pytest.mark.parametrize("stored", [np.asarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("n", [60, 400])
def test_folds_of_a_path_are_solved_as_the_rows_they_train_on(gram, stored, n):
    X, y = make(n=n)
    folds = splitter_rows(3, X)
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.1, 0.05, 30)
    found = solve_exact(stored(X), y, alphas, rows=folds, tol=1e-9)
    assert found.solved.all(), found.message()
    for fold, part in enumerate(folds):
        train = part.train(len(y))
        coef = found.coef[30 * fold : 30 * (fold + 1)]
        assert (certify(X[train], y[train], coef, alphas).relative_gap <= 2e-9).all()


def test_overlapping_and_weighted_row_sets_are_solved_as_such(gram):
    X, y = make()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 80)
    half = (np.arange(40), np.arange(40, 80)), (np.arange(20, 80), np.arange(40))
    for rows in (splitter_rows(half, X), splitter_rows(3, X).weighted(weights)):
        found = solve_exact(X, y, [4.0, 1.0], rows=rows, tol=1e-9)
        assert found.solved.all(), found.message()
        for number, part in enumerate(rows):
            used = part.all_weights(80)
            coef = found.coef[2 * number : 2 * number + 2]
            again = certify(X, y, coef, [4.0, 1.0], sample_weight=used)
            assert (again.relative_gap <= 2e-9).all()


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_paths_full_of_ties_are_solved(fit_intercept, positive):
    options = {"fit_intercept": fit_intercept, "positive": positive}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        m, n = rng.integers(3, 12, 2)
        X = rng.integers(-2, 3, (m, n)).astype(float)
        X[:, rng.integers(0, n)] = X[:, 0]
        y = rng.integers(-3, 4, m).astype(float)
        alphas = max(exact_alpha_max(X, y, terms=Terms(**options))[0], 0.1)
        alphas = alphas * np.geomspace(1.1, 0.01, 15)
        found = solve_exact(X, y, alphas, tol=1e-6, terms=Terms(**options))
        check(X, y, found, alphas, 1e-6, **options)
        mean = fit_intercept * np.ones(m) / m
        Z, z = X - mean @ X, y - mean @ y
        for number in (5, 10):
            _, best = full_problem_reference(Z, z, alphas[number], 0.0, positive=positive)
            slack = 2e-6 * max(best, 1e-2 * found.null[0])
            assert found.dual[number] - slack <= best <= found.primal[number] + slack
            assert found.primal[number] <= best + slack


@pytest.mark.parametrize("factors", [False, True])
@pytest.mark.parametrize(("seed", "n"), [(0, 300), (7, 60), (9, 300)])
def test_a_path_goes_through_the_exact_fit_and_stays_there(gram, seed, n, factors):
    X, y = make(m=20, n=n, noise=0.3, seed=seed)
    factor = np.random.default_rng(seed).uniform(0.5, 2.0, n) if factors else np.ones(n)
    terms = Terms(penalty_factor=factor)
    alphas = exact_alpha_max(X, y, terms=terms)[0] * np.geomspace(0.95, 0.01, 60)
    found = solve_exact(X, y, alphas, tol=1e-8, terms=terms)
    check(X, y, found, alphas, 1e-8, penalty_factor=factor)
    left = [np.std(y - X @ w) / np.std(y) for w in found.coef.toarray()]
    assert left[0] > 0.5 and max(left[-5:]) < 1e-8
    np.testing.assert_allclose(found.coef[[-1]].toarray(), found.coef[[-2]].toarray(), atol=1e-8)


def test_knots_are_those_of_lars():
    X, y = make(n=30)
    Z, c = X - X.mean(axis=0), y - y.mean()
    knots, _, path = lars_path(Z, c, method="lasso")
    levels = len(y) * knots[1:8] * 0.999
    penalties, found = Descent(X, y, None, Terms(), 1e-9).chain(0, 0).descend(levels)
    for level, alpha, solved in zip(levels, penalties, found, strict=True):
        coef = np.zeros(30)
        coef[solved.support] = solved.values
        assert alpha * np.linalg.norm(c - Z @ coef) == pytest.approx(level, rel=1e-9)
        expected = np.array([np.interp(level, len(y) * knots[::-1], row[::-1]) for row in path])
        np.testing.assert_allclose(coef, expected, atol=1e-9 * np.abs(expected).max())


def test_matched_penalties_give_scikit_learns_lasso(gram):
    X, y = make(m=120, n=200)
    alphas = exact_alpha_max(X, y)[0] * np.array([0.7, 0.4, 0.2])
    found = solve_exact(X, y, alphas, tol=1e-10)
    for row, alpha in enumerate(alphas):
        coef = found.coef[[row]].toarray().ravel()
        length = np.linalg.norm(y - X @ coef - found.intercept[row])
        model = Lasso(alpha=alpha * length / len(y), tol=1e-12, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(coef, model.coef_, atol=1e-6)
        assert found.intercept[row] == pytest.approx(model.intercept_, abs=1e-6)


def test_a_long_path_in_stages_is_the_path_at_once(gram):
    X, y = make(m=100, n=300)
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.0, 0.05, 24)
    at_once = Descent(X, y, None, Terms(), 1e-9).chain(0, 0).advance(alphas)
    staged = Descent(X, y, None, Terms(), 1e-9).chain(0, 0)
    parts = [solved for part in np.split(alphas, 6) for solved in staged.advance(part)]
    for one, other in zip(at_once, parts, strict=True):
        assert one.primal == pytest.approx(other.primal, rel=2e-9)


@pytest.mark.parametrize("limit", ["MOST_ACTIVE", "MOST_KNOTS", "KNOTS_AT_A_TIME"])
def test_limits_of_a_walk_change_no_solution(monkeypatch, gram, limit):
    monkeypatch.setattr(f"sketchlasso.exact.path.{limit}", 5)
    X, y = make()
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.0, 0.05, 20)
    found = solve_exact(X, y, alphas, tol=1e-7)
    assert found.n_nonzero.max() > 20
    check(X, y, found, alphas, 1e-7)


def test_columns_that_come_near_their_thresholds_late_are_not_missed():
    # Each column is hidden behind the one before, so that it comes from far below its threshold.
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((150, 400)), axis=1)
    y = X[:, ::40] @ rng.standard_normal(10) + 0.1 * rng.standard_normal(150)
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(0.9, 1e-3, 5)
    check(X, y, solve_exact(X, y, alphas, tol=1e-6), alphas, 1e-6)


def test_an_exact_fit_ends_the_descent():
    X, y = make(m=20, n=60, noise=0.1)
    chain = Descent(X, y, None, Terms(), 1e-6).chain(0, 0)
    penalties, found = chain.descend(chain.largest_lambda() * np.geomspace(1.0, 1e-9, 60))
    assert 5 < len(found) == len(penalties) < 60
    assert (np.diff(penalties) < 0).all()


def test_threads_change_no_digit():
    X, Y = make(m=300, n=250)[0], np.column_stack([make(m=300, n=250, seed=s)[1] for s in range(3)])
    for data in (X, sparse.csr_array(X * (np.abs(X) > 1))):
        alphas = exact_alpha_max(data, Y)[:, None] * np.geomspace(0.9, 0.05, 10)
        one, two = (
            solve_exact(data, Y, alphas, rows=splitter_rows(4, X), n_threads=count)
            for count in (1, 2)
        )
        np.testing.assert_array_equal(one.coef.toarray(), two.coef.toarray())
        np.testing.assert_array_equal(one.dual, two.dual)


def test_large_sparse_models_are_solved_without_a_gram_matrix(monkeypatch):
    monkeypatch.setattr("sketchlasso.exact.path.MOST_ACTIVE_SPARSE", 40)
    monkeypatch.setattr("sketchlasso.exact.path.FEW_ROWS", 0)
    monkeypatch.setattr("sketchlasso.exact.working_set.FEW_COLUMNS", 60)
    monkeypatch.setattr("sketchlasso.exact.gram.MOST_COLUMNS", 250)
    monkeypatch.setattr("sketchlasso.exact.solve.WHOLE_BYTES", 0)
    rng = np.random.default_rng(0)
    X = sparse.random_array((900, 1500), density=0.02, rng=rng, format="csr")
    y = X @ (rng.standard_normal(1500) * (rng.random(1500) < 0.3)) + 0.3 * rng.standard_normal(900)
    for positive in (False, True):
        terms = Terms(positive=positive)
        alphas = exact_alpha_max(X, y, terms=terms)[0] * np.geomspace(1.0, 0.15, 12)
        found = solve_exact(X, y, alphas, tol=1e-6, terms=terms)
        assert found.n_nonzero.max() > 250
        check(X, y, found, alphas, 1.1e-6, positive=positive)


def test_sparse_models_with_nearly_as_many_features_as_rows_are_solved():
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 3000), density=0.004, rng=rng, format="csr")
    y = X @ (rng.standard_normal(3000) * (rng.random(3000) < 0.1)) + rng.standard_normal(600)
    alphas = exact_alpha_max(X, y)[0] * np.geomspace(1.0, 0.03, 15)
    found = solve_exact(X, y, alphas, tol=1e-6)
    assert found.solved.all() and found.n_nonzero.max() > 400


ENDLESS = """
import numpy as np, sketchlasso.exact.path as path
from sketchlasso.exact import solve_exact
walk = path.walk_gram
def endless(*args):
    walk(*args)
    return 0, 1, 0, path.MORE
solve_exact(np.eye(6), np.arange(6.0), [0.5])
path.walk_gram, path.MOST_KNOTS = endless, 10**12
rng = np.random.default_rng(0)
print("begun", flush=True)
solve_exact(rng.standard_normal((60, 30)), rng.standard_normal((60, 4)), [0.5], n_threads={threads})
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_path_of_any_number_of_knots(threads):
    code = ENDLESS.format(threads=threads)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0 and errors.rstrip().endswith("KeyboardInterrupt")
