"""The precision matrix: formulas by hand, limits, positive definiteness, choice of the penalty."""

import re

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance, log_likelihood
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import check_estimator

from sketchlasso.errors import GridEdgeWarning, InvalidInputError, UnusableColumnsError
from sketchlasso.graphs import links_of
from sketchlasso.inference import SparsePrecision, nodewise
from sketchlasso.inference.precision import positive_definite


def chain(m=300, n=8, seed=0):
    """Rows whose graph is a chain: every column depends on the one before alone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    for j in range(1, n):
        X[:, j] += 0.8 * X[:, j - 1]
    return 5.0 + X * np.geomspace(0.1, 100.0, n)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        SparsePrecision(),
        SparsePrecision(0.5, rule="or"),
        SparsePrecision("ebic", alphas=4),
        SparsePrecision("cv", alphas=3, cv=3),
        SparsePrecision("stars", alphas=3, n_subsamples=3),
    ],
    ids=repr,
)
def test_check_estimator_finds_nothing(estimator):
    outcomes = check_estimator(estimator, on_skip=None, on_fail=None)
    assert len(outcomes) > 25
    for outcome in outcomes:
        reason = str(outcome["exception"])
        skipped = outcome["status"] == "skipped" and "SCIPY_ARRAY_API" in reason
        assert outcome["status"] == "passed" or skipped, (outcome["check_name"], reason)


def test_without_a_penalty_it_is_the_inverse_of_the_covariance():
    X = chain(m=200, n=6)
    found = SparsePrecision(1e-6, tol=1e-9).fit(X)
    plain = EmpiricalCovariance().fit(X)
    size = np.sqrt(np.outer(np.diag(plain.precision_), np.diag(plain.precision_)))
    np.testing.assert_allclose(found.precision_ / size, plain.precision_ / size, atol=1e-6)
    np.testing.assert_allclose(found.covariance_, plain.covariance_, rtol=1e-4)
    np.testing.assert_allclose(found.location_, plain.location_)
    assert found.score(X) == pytest.approx(plain.score(X), rel=1e-8)
    np.testing.assert_allclose(found.mahalanobis(X), plain.mahalanobis(X), rtol=1e-5)
    assert found.error_norm(plain.covariance_) <= 1e-8 * np.sum(plain.covariance_**2)
    assert found.shrinkage_ == 0.0


@pytest.mark.parametrize("rule", ["and", "or"])
def test_entries_are_those_of_the_regressions(rule):
    X = chain(m=60, n=12, seed=3)
    alpha = 0.1 * np.sqrt(60)
    found = SparsePrecision(alpha, rule=rule, tol=1e-9).fit(X)
    regressions = nodewise(X, alpha, tol=1e-9)
    diagonal = 60 / np.sum(regressions.residuals(X) ** 2, axis=0)
    np.testing.assert_allclose(np.diag(found.precision_), diagonal, rtol=1e-9)
    theta = -regressions.coef.toarray() * diagonal[:, None]
    assert ((theta == 0) != (theta.T == 0)).any()  # the rules differ
    for j in range(12):
        for k in range(j):
            pair = sorted([theta[j, k], theta[k, j]], key=abs)
            expected = pair[1] if rule == "or" else pair[0] * (pair[0] * pair[1] > 0)
            expected *= 1.0 - found.shrinkage_
            assert found.precision_[j, k] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert np.linalg.eigvalsh(found.precision_).min() > 0
    np.testing.assert_allclose(found.precision_ @ found.covariance_, np.eye(12), atol=1e-8)


def test_a_chain_is_found_with_its_names_and_signs():
    pd = pytest.importorskip("pandas")
    X = chain()
    names = [f"gene {letter}" for letter in "abcdefgh"]
    found = SparsePrecision().fit(pd.DataFrame(X, columns=names))
    graph = links_of(found.graph())
    assert graph.edges.tolist() == [[j, j + 1] for j in range(7)]
    assert graph.names == tuple(names)
    assert (graph.weights > 0).all()
    partial = -found.precision_ / np.sqrt(
        np.outer(np.diag(found.precision_), np.diag(found.precision_))
    )
    np.testing.assert_allclose(graph.weights, partial[graph.edges[:, 0], graph.edges[:, 1]])
    assert list(SparsePrecision().fit(X).graph())[:2] == ["x0", "x1"]
    assert list(found.graph(list("abcdefgh"))) == list("abcdefgh")


def test_units_change_the_matrix_as_they_must():
    X = chain(m=100, n=6, seed=1)
    units = np.array([1e-3, 1.0, 1e4, 2.0, 0.5, 1e6])
    found, other = SparsePrecision().fit(X), SparsePrecision().fit(X * units)
    np.testing.assert_allclose(other.precision_, found.precision_ / np.outer(units, units), 1e-6)
    assert set(other.graph().edges) == set(found.graph().edges)


def test_partial_correlations_shrink_just_enough_to_be_positive_definite():
    edges = np.array([[0, 1], [0, 2], [1, 2]])
    diagonal = np.array([4.0, 9.0, 1.0, 2.0])
    precision, shrinkage = positive_definite(diagonal, edges, np.array([0.8, 0.8, 0.8]))
    scale = np.sqrt(np.diag(precision))
    smallest = np.linalg.eigvalsh(precision / np.outer(scale, scale)).min()
    assert smallest == pytest.approx(1e-3)
    assert shrinkage == pytest.approx(1.0 - 0.999 / 1.6)  # 1.6 is the largest eigenvalue
    np.testing.assert_allclose(np.diag(precision), diagonal)
    assert np.count_nonzero(np.triu(precision, 1)) == 3
    whole, shrinkage = positive_definite(diagonal, edges, np.array([0.4, 0.3, -0.4]))
    assert shrinkage == 0.0
    assert whole[0, 1] == pytest.approx(-0.4 * 6.0)


def test_cross_validation_compares_likelihoods_of_rows_held_out():
    X = chain(m=60, n=5, seed=4)
    alphas = np.array([3.0, 1.0, 0.2])
    with pytest.warns(GridEdgeWarning, match=r"the smallest of its penalties \(0.2\)"):
        found = SparsePrecision("cv", alphas=alphas[::-1], cv=KFold(3)).fit(X)
    np.testing.assert_array_equal(found.alphas_, alphas)
    scores = []
    for train, test in KFold(3).split(X):
        row = []
        for alpha in alphas:
            own = SparsePrecision(alpha * np.sqrt(len(train) / 60)).fit(X[train])
            rest = X[test] - X[train].mean(axis=0)
            row.append(log_likelihood(rest.T @ rest / len(test), own.precision_))
        scores.append(row)
    np.testing.assert_allclose(found.criterion_, np.mean(scores, axis=0), rtol=1e-6)
    assert found.alpha_ == alphas[np.argmax(found.criterion_)]


def test_the_extended_bic_is_that_of_refitted_neighbourhoods():
    X = chain(m=80, n=5, seed=5)
    alphas = np.array([4.0, 2.0, 0.5])
    with pytest.warns(GridEdgeWarning, match=r"the largest of its penalties \(4\)"):
        found = SparsePrecision("ebic", alphas=alphas, gamma=0.7).fit(X)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = []
    for alpha in alphas:
        regressions = nodewise(X, alpha)
        value = 0.0
        for j in range(5):
            chosen = regressions.coef[[j]].indices
            w = np.linalg.lstsq(standard[:, chosen], standard[:, j], rcond=None)[0]
            rest = standard[:, j] - standard[:, chosen] @ w
            value += 80 * np.log(rest @ rest / 80)
            value += len(chosen) * (np.log(80) + 1.4 * np.log(4))
        expected.append(value)
    np.testing.assert_allclose(found.criterion_, expected, rtol=1e-8)
    assert found.alpha_ == alphas[np.argmin(expected)]
    assert list(found.graph().edges) == [(f"x{j}", f"x{j + 1}") for j in range(4)]


def test_stability_ends_the_search_and_repeats_with_its_seed():
    X = chain(m=100, n=12, seed=6)
    options = {"alphas": 12, "n_subsamples": 10, "threshold": 0.03}
    found = SparsePrecision("stars", random_state=1, **options).fit(X)
    known = found.criterion_[~np.isnan(found.criterion_)]
    assert (np.diff(known) >= 0).all()
    assert known[0] <= 0.03 < known[-1]
    assert np.isnan(found.criterion_[-1])  # the rest of the path was not needed
    index = np.flatnonzero(found.alphas_ == found.alpha_)[0]
    assert found.criterion_[index] <= 0.03 < found.criterion_[index + 1]
    again = SparsePrecision("stars", random_state=1, **options).fit(X)
    np.testing.assert_array_equal(again.criterion_, found.criterion_)
    np.testing.assert_array_equal(again.precision_, found.precision_)


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
def test_penalties_that_fit_exactly_are_not_chosen():
    X = chain(m=20, n=40, seed=7)
    for choice in ("ebic", "cv"):
        found = SparsePrecision(choice, alphas=np.geomspace(4.0, 1e-3, 8)).fit(X)
        assert not np.isfinite(found.criterion_[-1])
        assert np.isfinite(found.precision_).all()


@pytest.mark.parametrize("choice", ["ebic", "cv", "stars"])
@pytest.mark.parametrize("m", [100, 12])
def test_no_penalty_is_chosen_for_columns_that_others_determine(choice, m):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, 15))
    X[:, 14] = 3.0 - 2.0 * X[:, 2]
    with pytest.raises(UnusableColumnsError, match="columns 2, 14 are exact combinations") as seen:
        SparsePrecision(choice).fit(X)
    assert seen.value.columns == (14,)
    if m > 15:
        X[:, 14] = X[:, 2] + X[:, 5]
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(X, columns=[*"abcdefghijklmno"])
        with pytest.raises(UnusableColumnsError, match="columns c, f, o are exact combinations"):
            SparsePrecision(choice).fit(frame)


def test_an_interrupted_fit_leaves_nothing_behind():
    def interrupt(progress):
        raise KeyboardInterrupt

    X = chain()
    found = SparsePrecision().fit(X)
    with pytest.raises(KeyboardInterrupt):
        found.set_params(verbose=interrupt).fit(X)
    with pytest.raises(NotFittedError):
        found.graph()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alpha": "best"}, "a finite number > 0, not 'best'."),
        ({"alpha": [1.0, 2.0]}, "alpha must be one penalty, not an array of shape (2,)."),
        ({"rule": "xor"}, "rule must be 'or' or 'and', not 'xor'."),
        ({"alpha": "cv", "alphas": [1.0]}, "at least two"),
        ({"alpha": "ebic", "gamma": 2.0}, "gamma must be a number from 0 to 1, not 2.0."),
        ({"alpha": "stars", "threshold": 0.0}, "threshold must be a number in (0, 0.5], not 0.0."),
    ],
)
def test_bad_parameters_get_one_sentence(options, says):
    with pytest.raises(InvalidInputError, match=re.escape(says)):
        SparsePrecision(**options).fit(chain())


def test_columns_without_a_finite_precision_are_refused():
    X = chain(m=40, n=5)
    with pytest.raises(InvalidInputError, match="column 3 of X is constant"):
        SparsePrecision().fit(np.where(np.arange(5) == 3, 0.1, X))
    with pytest.raises(InvalidInputError, match="column 1 of X is fitted exactly by others"):
        SparsePrecision().fit(np.column_stack([X, X[:, 1]]))
