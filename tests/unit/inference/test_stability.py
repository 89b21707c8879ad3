"""Stability selection: what is selected, how often, and what is refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sketchlasso as sl
from sketchlasso.errors import DuplicateColumnWarning, InvalidInputError
from sketchlasso.inference import StabilitySelection, error_control
from sketchlasso.inference.checks import copied_columns
from sketchlasso.instances import complementary_pairs
from sketchlasso.io import BlockMatrix
from sketchlasso.results.entering import first_to_enter
from sketchlasso.results.path import Grid, Problem
from sketchlasso.solvers import Settings


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((90, 40)) * np.exp(rng.standard_normal(40)) + 3.0
    signal = (X[:, [3, 17, 30]] - 3.0) / X[:, [3, 17, 30]].std(axis=0)
    return X, signal @ [2.0, -2.0, 1.5] + rng.standard_normal(90)


@pytest.fixture(scope="module")
def fitted(made):
    return StabilitySelection(n_pairs=20, random_state=1).fit(*made)


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks([StabilitySelection(n_pairs=5, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_true_features_are_selected(fitted):
    np.testing.assert_array_equal(fitted.get_support(indices=True), [3, 17, 30])
    assert (fitted.cutoff_, fitted.q_) == (0.75, error_control(40, n_pairs=20).q)
    assert fitted.pfer_ <= 1.0


def test_frequencies_count_the_first_features_of_every_half(made, fitted):
    """Recounted by single fits on each half, down a finer grid of penalties."""
    X, y = made
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    seed = int(np.random.RandomState(1).randint(2**31 - 1))
    counts = np.zeros(40)
    for row_set in complementary_pairs(90, 20, seed):
        train = row_set.train(90)
        path = sl.sqrt_lasso_path(
            Z[train], y[train], alphas=fitted.alphas_, settings=sl.Settings(tol=1e-10)
        )
        coef = path.models.coef.toarray()
        first = np.where(coef.any(axis=0), (coef != 0).argmax(axis=0), len(coef))
        at_entry = np.abs(coef[np.minimum(first, len(coef) - 1), np.arange(40)])
        order = np.lexsort((-at_entry, first))[: fitted.q_]
        counts[order[first[order] < len(coef)]] += 1
    np.testing.assert_allclose(fitted.frequencies_, counts / 40, atol=1e-12)


def test_paths_rise_to_the_frequencies(fitted):
    path = fitted.stability_path_
    assert path.shape == (len(fitted.alphas_), 40)
    assert (np.diff(path, axis=0) >= 0).all()
    np.testing.assert_array_equal(path[-1], fitted.frequencies_)
    assert (np.diff(fitted.alphas_) < 0).all()
    assert path.sum(axis=1).max() <= fitted.q_ + 1e-9


def test_sparse_data_and_threads_change_nothing(made, fitted):
    X, y = made
    again = clone(fitted).set_params(n_jobs=1).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(again.frequencies_, fitted.frequencies_, atol=1e-12)


def test_units_change_nothing(made, fitted):
    X, y = made
    again = clone(fitted).fit(X * 2.0**300, y * 2.0**-200)
    np.testing.assert_array_equal(again.frequencies_, fitted.frequencies_)
    plain = clone(fitted).set_params(standardize=False).fit(X, y)
    large = clone(plain).fit(X * 2.0**300, y)
    np.testing.assert_array_equal(plain.frequencies_, large.frequencies_)
    np.testing.assert_allclose(large.alphas_, plain.alphas_ * 2.0**300, rtol=1e-12)


def test_a_cutoff_off_the_grid_needs_the_next_half_sample(made):
    found = StabilitySelection(n_pairs=10, cutoff=0.9, random_state=0).fit(*made)
    found.frequencies_ = np.arange(41) / 40
    found.n_pairs, found.n_features_in_ = 20, 41
    assert found.get_support().sum() == 5  # 36 to 40 of 40 half-samples
    found.cutoff_ = 0.901
    assert found.get_support().sum() == 4


def test_positive_leaves_negative_effects_out(made):
    found = StabilitySelection(n_pairs=20, positive=True, random_state=1).fit(*made)
    assert found.frequencies_[17] == 0 and found.get_support()[[3, 30]].all()


def test_constant_columns_are_no_features(made, fitted):
    X, y = made
    wider = np.column_stack([X, np.full((90, 60), 7.0)])
    again = clone(fitted).fit(wider, y)
    assert again.q_ == fitted.q_
    np.testing.assert_array_equal(again.frequencies_[:40], fitted.frequencies_)
    assert not again.frequencies_[40:].any()


def test_duplicate_columns_are_named(made):
    pandas = pytest.importorskip("pandas")
    X, y = made
    table = pandas.DataFrame(X, columns=[f"gene {j}" for j in range(40)])
    table["copy"] = 5.0 - 2.0 * X[:, 3]
    with pytest.warns(DuplicateColumnWarning, match="columns gene 3, copy of X are equal up"):
        StabilitySelection(n_pairs=5, random_state=0).fit(table, y)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_duplicates_are_found_and_near_ones_are_not(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 30)) * (rng.random((50, 30)) < 0.4)
    assert copied_columns(kind(X)) == []
    X[:, 20] = X[:, 4] + 1e-4 * rng.standard_normal(50)
    assert copied_columns(kind(X)) == []
    X[:, 25] = -3.0 * X[:, 7]
    assert [group.tolist() for group in copied_columns(kind(X))] == [[7, 25]]
    X[:, 7] = 1.0
    assert copied_columns(kind(X)) == []


def test_fewer_features_enter_than_asked_for():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    y = X[:, :1] + rng.standard_normal((30, 1))
    problem = Problem(X, y, settings=Settings(tol=1e-8))
    alphas, entered = first_to_enter(problem, Grid(5, 0.9), complementary_pairs(30, 3, 0), 4)
    assert min(map(len, entered)) < 4 and len(alphas) <= 5


def test_ctrl_c_leaves_nothing_fitted(made):
    def interrupt(progress):
        if progress.solved == 3:
            raise KeyboardInterrupt

    selector = StabilitySelection(n_pairs=5, random_state=0, verbose=interrupt)
    with pytest.raises(KeyboardInterrupt):
        selector.fit(*made)
    assert not hasattr(selector, "frequencies_") and not hasattr(selector, "n_features_in_")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"q": 39}, "an integer from 1 to 23 is accepted for 40 features"),
        ({"cutoff": 0.4}, r"cutoff=0\.4 was given"),
        ({"cutoff": 0.8, "q": 3, "pfer": 1}, "leave one out"),
    ],
)
def test_bad_parameters(made, options, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        StabilitySelection(**options).fit(*made)


def test_bad_data(made):
    X, y = made
    with pytest.raises(InvalidInputError, match=r"9 samples, .*at least 10 are needed"):
        StabilitySelection().fit(X[:9], y[:9])
    with pytest.raises(InvalidInputError, match="y is 1 on every row"):
        StabilitySelection().fit(X, np.ones(90))
    with pytest.raises(InvalidInputError, match="every column of X is constant"):
        StabilitySelection().fit(np.ones((90, 3)), y)
    with pytest.raises(InvalidInputError, match="X in blocks was given"):
        StabilitySelection().fit(BlockMatrix.from_arrays([X[:40], X[40:]]), y)
