"""Clusters of subspaces: planted ones are found, weights are solutions, bad input is refused."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator
from tests.oracles import full_problem_reference
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError
from sketchlasso.inference import SparseSubspaceClustering


def planted(groups=3, size=30, dimension=2, n=12, noise=0.01, seed=0):
    """Points near subspaces, and the subspace of each."""
    rng = np.random.default_rng(seed)
    pieces = [
        rng.standard_normal((size, dimension)) @ rng.standard_normal((dimension, n))
        for _ in range(groups)
    ]
    X = np.concatenate(pieces)
    return X + noise * rng.standard_normal(X.shape), np.repeat(np.arange(groups), size)


@pytest.mark.filterwarnings("ignore")
def test_check_estimator_finds_nothing():
    outcomes = check_estimator(SparseSubspaceClustering(), on_skip=None, on_fail=None)
    assert len(outcomes) > 30
    for outcome in outcomes:
        reason = str(outcome["exception"])
        skipped = outcome["status"] == "skipped" and "SCIPY_ARRAY_API" in reason
        assert outcome["status"] == "passed" or skipped, (outcome["check_name"], reason)


@pytest.mark.parametrize("n", [12, 200])
def test_planted_subspaces_are_found(n):
    X, truth = planted(n=n)
    found = SparseSubspaceClustering(3, random_state=0).fit(X)
    assert adjusted_rand_score(truth, found.labels_) == 1.0
    assert found.relative_gap_.max() <= 1e-6
    # Almost all weight lies inside the subspaces.
    weights = np.abs(found.coef_.toarray())
    inside = truth[:, None] == truth[None, :]
    assert weights[inside].sum() > 0.95 * weights.sum()
    assert (np.diag(weights) == 0).all()


def test_weights_are_those_of_an_independent_solver():
    pytest.importorskip("cvxpy")
    X, _ = planted(size=8, noise=0.1, seed=1)
    found = SparseSubspaceClustering(3, penalty=0.4, tol=1e-10, random_state=0).fit(X)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for i in (0, 11, 23):
        factor = np.ones(24)
        factor[i] = np.inf
        alpha = 0.4 * np.abs(np.delete(unit, i, axis=0) @ unit[i]).max()
        w, _ = full_problem_reference(unit.T, unit[i], alpha, penalty_factor=factor)
        np.testing.assert_allclose(found.coef_[[i]].toarray()[0], w, atol=1e-5)


def test_lengths_and_signs_of_points_do_not_matter():
    X, _ = planted(seed=2)
    rng = np.random.default_rng(0)
    lengths = np.exp(rng.uniform(-5, 5, len(X))) * rng.choice([-1.0, 1.0], len(X))
    plain = SparseSubspaceClustering(3, random_state=0).fit(X)
    scaled = SparseSubspaceClustering(3, random_state=0).fit(X * lengths[:, None])
    np.testing.assert_allclose(
        np.abs(scaled.coef_.toarray()), np.abs(plain.coef_.toarray()), atol=1e-6
    )
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)


def test_affinities_are_symmetric_and_keep_the_strongest():
    X, _ = planted(noise=0.3, seed=3)
    found = SparseSubspaceClustering(3, n_neighbors=2, random_state=0).fit(X)
    affinity = found.affinity_matrix_.toarray()
    np.testing.assert_array_equal(affinity, affinity.T)
    weights = np.abs(found.coef_.toarray())
    expected = np.zeros_like(weights)
    for i, row in enumerate(weights):
        strongest = np.argsort(-row)[:2]
        expected[i, strongest] = row[strongest] / row.max()
    np.testing.assert_allclose(affinity, expected + expected.T)
    everything = SparseSubspaceClustering(3, n_neighbors=None, random_state=0).fit(X)
    assert everything.affinity_matrix_.nnz > found.affinity_matrix_.nnz


def test_copies_and_points_at_the_origin_are_allowed():
    X, truth = planted(seed=4)
    X = np.concatenate([X, X[:2], np.zeros((2, X.shape[1]))])
    found = SparseSubspaceClustering(3, random_state=0).fit(X)
    assert adjusted_rand_score(truth, found.labels_[: len(truth)]) > 0.9
    assert found.labels_[0] == found.labels_[len(truth)]
    assert found.coef_[-2:].nnz == 0
    assert found.relative_gap_.max() <= 1e-6


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"n_clusters": 0},
            "n_clusters must be a whole number from 1 to the n_samples=90 points, not 0.",
        ),
        (
            {"n_clusters": 91},
            "n_clusters must be a whole number from 1 to the n_samples=90 points, not 91.",
        ),
        ({"n_clusters": 2.5}, "points, not 2.5."),
        ({"penalty": 1.0}, "penalty must be a share strictly between 0 and 1, not 1.0."),
        ({"penalty": "low"}, "penalty must be a share strictly between 0 and 1, not 'low'."),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number >= 1 or None, not 0."),
    ],
)
def test_bad_parameters_get_one_sentence(options, says):
    fit = SparseSubspaceClustering(**options).fit
    assert says in refusal(InvalidInputError, fit, planted()[0])
