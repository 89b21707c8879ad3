"""Gram matrices that grow, downdate and notice when a downdate is not to be trusted."""

import numpy as np
import pytest
from scipy import sparse

import sketchlasso.exact.columns as columns_module
from sketchlasso.exact.columns import TrainingRows, as_columns
from sketchlasso.exact.follow import Follower, Restricted
from sketchlasso.exact.knots import FIRST_ROOM, TotalGram, TrainingGram
from sketchlasso.exact.restricted import improve, newton_step
from sketchlasso.instances.rows import NO_ROWS, RowSet

M, N = 40, 12


def make(seed=0, density=0.5, mean=0.0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(M, N)) + mean) * (rng.random((M, N)) < density)


def expected(X, weights, fit_intercept):
    if fit_intercept:
        X = X - weights @ X / weights.sum()
    return (X * weights[:, None]).T @ X


@pytest.mark.parametrize("chosen", [[], [7], [7, 2], [2, 7, 4, 0, 5, 1], [3]])
def test_sums_of_columns_are_the_same_wherever_the_columns_are_kept(chosen):
    X, values = make(), np.arange(1.0, len(chosen) + 1.0)
    columns = as_columns(X, True)
    kept = np.array([7, 2, 4, 0, 5, 1])
    columns.gram(kept[:3], kept)  # copies these side by side
    total = columns.combine(np.array(chosen, dtype=np.intp), values)
    np.testing.assert_allclose(total, X[:, chosen] @ values, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("more", [0, 100])
def test_folds_share_a_matrix_of_many_columns_and_leave_it_as_it_is(kind, more):
    # So many that the first lines become the matrix, without a copy.
    n = FIRST_ROOM + 20
    X = np.random.default_rng(0).normal(size=(M, n + more)) + 3.0
    columns = as_columns(kind(X), True)
    total = TotalGram(columns)
    before = total.lines(np.arange(n), np.arange(n)).copy()
    for first in range(2):
        removed = np.arange(first, M, 5)
        weights = np.ones(M)
        weights[removed] = 0.0
        training = TrainingRows(columns, RowSet(removed, removed), True)
        gram = TrainingGram(training, total, columns.rows(removed))
        assert gram.include(np.arange(n)) == n
        assert gram.include(np.arange(n + more)) == more
        whole = expected(X, weights, True)
        np.testing.assert_allclose(gram.buffer[: n + more, : n + more], whole, atol=1e-11)
    np.testing.assert_array_equal(total.lines(np.arange(n), np.arange(n)), before)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_grows_to_the_gram_matrix_of_the_training_rows(kind, fit_intercept, weighted):
    X = make(mean=3.0)
    removed = np.arange(0, M, 5)
    weights = np.ones(M) if not weighted else np.random.default_rng(1).random(M)
    weights[removed] = 0.0
    row_set = RowSet(removed, removed, weights.copy() if weighted else None)
    columns = as_columns(kind(X), fit_intercept)
    training = TrainingRows(columns, row_set, fit_intercept)
    total = None if weighted else TotalGram(columns)
    gram = TrainingGram(training, total, None if weighted else columns.rows(removed))
    assert gram.include(np.array([3, 1])) == 2
    assert gram.include(np.array([1, 7, 0])) == 2
    assert gram.include(np.arange(N)) == N - 4
    order = gram.columns
    whole = expected(X, weights, fit_intercept)[np.ix_(order, order)]
    np.testing.assert_allclose(gram.buffer[:N, :N], whole, atol=1e-12)
    assert (order[gram.place[np.arange(N)]] == np.arange(N)).all()


def test_pairs_of_entries_and_dense_lines_agree(monkeypatch):
    columns = as_columns(sparse.csr_array(make()), False)
    new, chosen, weights = np.array([2, 5]), np.array([5, 2, 9]), np.random.default_rng(0).random(M)
    for given in (None, weights):
        monkeypatch.setattr(columns_module, "PAIR_COST", 0.0)
        pairs = columns.gram(new, chosen, given)
        monkeypatch.setattr(columns_module, "PAIR_COST", 1e9)
        np.testing.assert_allclose(columns.gram(new, chosen, given), pairs, atol=1e-13)


def test_a_column_that_lives_in_the_held_out_rows_is_summed_afresh():
    X = make()
    X[:, 4] = 1e-7 * np.random.default_rng(2).normal(size=M)
    X[:8, 4] = 1e6
    removed = np.arange(8)
    columns = as_columns(sparse.csr_array(X), False)
    training = TrainingRows(columns, RowSet(removed, removed), False)
    gram = TrainingGram(training, TotalGram(columns), columns.rows(removed))
    gram.include(np.arange(N))
    # Downdated entries of this column would keep none of these digits.
    np.testing.assert_allclose(gram.buffer[:N, :N], X[8:].T @ X[8:], rtol=1e-9, atol=1e-13)


def test_a_constant_column_is_empty_once_centred():
    X = make()
    X[:, 2] = 5.0
    columns = as_columns(X, True)
    gram = TrainingGram(TrainingRows(columns, RowSet(NO_ROWS, NO_ROWS), True), None, None)
    gram.include(np.arange(N))
    assert (gram.buffer[2, :N] == 0).all() and (gram.buffer[:N, 2] == 0).all()


def test_columns_of_large_mean_keep_their_digits():
    X = make(density=1.0) + 1e6
    columns = as_columns(X, True)
    gram = TrainingGram(TrainingRows(columns, RowSet(NO_ROWS, NO_ROWS), True), None, None)
    gram.include(np.arange(N))
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(gram.buffer[:N, :N], centred.T @ centred, atol=1e-8)


def restricted(seed, alpha, positive=False):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(M, N)), rng.normal(size=M)
    y = y + X[:, 0] - X[:, 1]
    return (X, y), Restricted(
        X.T @ X, X.T @ y, np.zeros(N), np.full(N, alpha), float(y @ y), positive
    )


@pytest.mark.parametrize("positive", [False, True])
def test_newton_ends_on_its_support_in_one_step(positive):
    (X, y), problem = restricted(0, 1.5, positive)
    improve(problem, 1e-3, Follower())
    objective = problem.objective
    assert newton_step(problem)
    assert problem.objective <= objective
    improve(problem, 1e-13, Follower())
    residual = y - X @ problem.w
    support = problem.w != 0
    slopes = X.T @ residual / np.linalg.norm(residual)
    np.testing.assert_allclose(slopes[support], 1.5 * np.sign(problem.w[support]), atol=1e-9)
    assert problem.square == pytest.approx(residual @ residual)


def test_newton_declines_where_it_cannot_help():
    _, problem = restricted(1, 100.0)
    assert not newton_step(problem)  # no support
    problem.w[:3] = 1.0
    problem.q[:] = 0.0
    problem.thresholds[:] = 0.0
    assert not newton_step(problem)  # nothing to gain
