"""Large sparse models solved from their columns, without a Gram matrix."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from sketchlasso import certify
from sketchlasso.engine import weighted_rows
from sketchlasso.exact import columnwise, exact_alpha_max, solve_exact
from sketchlasso.exact.chain import Chain
from sketchlasso.exact.columnwise import ColumnSolver
from sketchlasso.exact.descent import Descent
from sketchlasso.exact.knots import TrainingGram
from sketchlasso.exact.walk import Walk
from sketchlasso.kernels.columns import column_sweeps
from sketchlasso.kernels.coordinate import gram_sweeps
from sketchlasso.problem.terms import Terms


def sparse_data(seed, m, n, noise, dependent=False):
    """Columns of different sizes, one of them empty and one constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) * np.exp(rng.normal(size=n)) * (rng.random((m, n)) < 0.2)
    if dependent:
        X[:, n // 2 :] = X[:, : n - n // 2]
        X[:, 0] = X[:, 1] + X[:, 2]
    X[:, 3], X[:, 4] = 0.0, 2.0
    truth = rng.normal(size=n) * (rng.random(n) < 0.3)
    return sparse.csr_array(X), X @ truth + noise * rng.normal(size=m) + 1.0


def target_of(X, y, weights=None, **options):
    rows = None if weights is None else weighted_rows(weights)
    return Descent(X, y, rows, Terms(**options), 1e-8).target(0, 0)


@given(
    st.integers(0, 2**31),
    st.integers(10, 50),
    st.integers(6, 90),
    st.sampled_from([0.0, 0.1, 3.0]),
    *[st.booleans()] * 5,
)
# An exact fit by dependent columns: the solver with a Gram matrix must take over.
@example(1125, 34, 34, 0.0, True, False, False, True, False)
@settings(max_examples=40, deadline=None)
def test_every_regime_is_solved(
    seed, m, n, noise, dependent, weighted, factors, fit_intercept, positive
):
    X, y = sparse_data(seed, m, n, noise, dependent)
    rng = np.random.default_rng(seed)
    options = {"fit_intercept": fit_intercept, "positive": positive}
    weights = rng.integers(0, 3, m) * 1.5 + (np.arange(m) < 4) if weighted else None
    if factors:
        options["penalty_factor"] = rng.choice([0.5, 1.0, 3.0, np.inf], n)
        options["penalty_factor"][rng.integers(0, n, 2)] = 0.0
    rows = None if weights is None else weighted_rows(weights)
    terms = Terms(**options)
    largest = max(exact_alpha_max(X, y, rows=rows, terms=terms)[0], 1e-3)
    alphas = largest * np.array([0.7, 0.3, 0.1, 0.02])
    usual = solve_exact(X, y, alphas, rows=rows, terms=terms, tol=1e-6)
    with pytest.MonkeyPatch.context() as patch:
        # From the first non-zero coefficient on, and not after a walk along the knots.
        patch.setattr(columnwise, "EVEN", -1)
        patch.setattr(columnwise, "PATIENCE", 1e9)
        patch.setattr("sketchlasso.exact.knots.MOST_ACTIVE", 0)
        found = solve_exact(X, y, alphas, rows=rows, terms=terms, tol=1e-6)
    assert found.solved.all(), found.message()
    again = certify(X, y, found.coef, alphas, sample_weight=weights, **options)
    assert (again.relative_gap <= 1e-5).all()
    np.testing.assert_allclose(found.primal, usual.primal, rtol=1.1e-6, atol=2e-12 * usual.null[0])


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_rounds_reach_tight_gaps_with_dependent_columns(fit_intercept, positive, monkeypatch):
    monkeypatch.setattr(columnwise, "PATIENCE", 1e9)
    X, y = sparse_data(0, 120, 90, 3.0, dependent=True)
    weights = np.random.default_rng(0).integers(1, 4, 120) / 2.0
    factor = np.linspace(0.5, 2.0, 90)
    factor[[5, 7]] = 0.0, np.inf
    options = {"fit_intercept": fit_intercept, "positive": positive, "penalty_factor": factor}
    target = target_of(X, y, weights, **options)
    solver = ColumnSolver(target, target.training.columns)
    point = target.point(np.empty(0, dtype=np.intp), np.empty(0))
    for share in (0.5, 0.2, 0.05):
        alpha = share * target.alpha_max()
        point, values = solver.solve(point, alpha, 1e-9, 100)
        assert values.relative_gap <= 1e-9
        w = np.zeros(90)
        w[point.support] = point.values
        assert certify(X, y, w, alpha, sample_weight=weights, **options).relative_gap <= 1.1e-9
    assert len(point.support) > 8


@pytest.mark.parametrize("positive", [False, True])
def test_sweeps_agree_with_those_on_the_gram_matrix(positive):
    X, y = sparse_data(1, 60, 20, 1.0)
    weights = np.random.default_rng(1).integers(0, 3, 60) * 0.5
    target = target_of(X, y, weights, positive=positive)
    Z = target.training.view.columns(np.arange(20))
    G = Z.T @ Z
    G[4] = G[:, 4] = 0.0
    thresholds = 0.02 * target.alpha_max() * np.linspace(0.0, 2.0, 20)
    start = target.point(np.array([4, 6, 8]), np.array([1.0, 0.5, 0.25]))  # 4 is constant
    w = np.zeros(20)
    w[start.support] = start.values
    twin, q = w.copy(), start.seen.copy()
    square, _, _ = gram_sweeps(G, q, twin, thresholds, start.square, positive, 0.0, 3)
    columns = X.tocsc()
    training = target.training
    found = column_sweeps(
        columns.data,
        columns.indices,
        columns.indptr,
        np.arange(20),
        np.diagonal(G).copy(),
        training.means,
        training.weights,
        training.weight,
        thresholds,
        positive,
        3,
        w,
        start.residual.copy(),
        start.square,
    )
    np.testing.assert_allclose(w, twin, atol=1e-10)
    assert found == pytest.approx(square, rel=1e-10)
    assert np.count_nonzero(w) > 5


def rare_words(m=3000, n=5000, entries=6):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, m, (n, entries)).ravel()
    columns = np.repeat(np.arange(n), entries)
    X = sparse.csr_array((rng.random(n * entries) + 0.5, (rows, columns)), shape=(m, n))
    return X, np.sign(rng.normal(size=m))


def test_large_sparse_models_take_few_products_and_no_gram_matrix():
    X, y = rare_words()
    target = target_of(X, y)
    gram = TrainingGram(target.training, None, None)
    chain = Chain(target, gram, 1e-6, 100, whole=False, knots=False)
    alphas = target.alpha_max() * np.array([0.6, 0.5, 0.45, 0.4, 0.35, 0.3])
    first = chain.advance(alphas[:2])
    held = len(gram.columns)
    found = first + chain.advance(alphas[2:])
    coef = sparse.lil_array((len(found), X.shape[1]))
    for row, one in enumerate(found):
        coef[row, one.support] = one.values
    assert (certify(X, y, coef.tocsr(), alphas).relative_gap <= 1.1e-6).all()
    # The model grows, but the Gram matrix does not.
    assert len(found[-1].support) > 2 * len(first[-1].support)
    assert len(gram.columns) == held
    # Two products with the columns of the support per step.
    assert max(one.steps for one in found[2:]) <= 150


def test_the_support_is_expected_to_grow_on_the_way_to_a_small_penalty():
    X, y = rare_words()
    target = target_of(X, y)
    gram = TrainingGram(target.training, None, None)
    walk = Walk(target, gram, 1e-4, 100)
    walk.solve(0.55 * target.alpha_max())
    assert not walk.by_columns.pays(walk.point, 1.0)
    held = len(gram.columns)
    values, _, _ = walk.solve(0.3 * target.alpha_max())
    assert values.relative_gap <= 1e-4
    assert len(walk.point.support) > 2 * held
    assert len(gram.columns) == held


def test_the_support_grows_to_all_features_at_most():
    """A column of 1e300 makes the first penalty 1e300 times the next: its square overflowed."""
    X, y = sparse_data(4, 40, 12, 1.0)
    target = target_of(X, y)
    walk = Walk(target, TrainingGram(target.training, None, None), 1e-4, 100)
    walk.solve(0.5 * target.alpha_max())
    solver = walk.by_columns
    assert solver.pays(walk.point, 1e300) == solver.pays(walk.point, 12.0)


def test_a_solve_that_takes_too_long_goes_on_with_a_gram_matrix(monkeypatch):
    monkeypatch.setattr(columnwise, "EVEN", -1)
    monkeypatch.setattr(columnwise, "PATIENCE", 0)
    monkeypatch.setattr("sketchlasso.exact.knots.MOST_ACTIVE", 0)
    X, y = sparse_data(2, 80, 60, 1.0)
    alphas = exact_alpha_max(X, y)[0] * np.array([0.5, 0.2, 0.05])
    found = solve_exact(X, y, alphas, tol=1e-8)
    assert found.solved.all(), found.message()
    assert (certify(X, y, found.coef, alphas).relative_gap <= 1.1e-8).all()


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_only_sparse_columns_are_solved_without_a_gram_matrix(stored):
    X, y = sparse_data(3, 30, 20, 1.0)
    target = target_of(stored(X.toarray()), y)
    walk = Walk(target, TrainingGram(target.training, None, None), 1e-6, 100)
    assert (walk.by_columns is None) == (stored is np.asarray)
