"""Weights are repetition or relative, weight 0 is deletion; factors free or exclude a feature."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from sketchlasso import (
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
    pivotal_alpha,
    sketch,
)

M, N = 50, 14


def make(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, N)) + 2.0
    y = X[:, 0] - 2 * X[:, 3] + rng.standard_normal(M)
    weights = rng.integers(0, 4, size=M).astype(float)
    return X, y, weights, np.repeat(np.arange(M), weights.astype(int))


def folds(rows):
    """Three folds by the row's own number, so that copies stay together."""
    return [(np.flatnonzero(rows % 3 != k), np.flatnonzero(rows % 3 == k)) for k in range(3)]


SINGLE = [
    SqrtLasso(tol=1e-10, alpha=1.5),
    SqrtLasso(tol=1e-10, standardize=True, alpha=1.0),
    SqrtLasso(tol=1e-10, fit_intercept=False, alpha=1.0),
    SqrtLasso(tol=1e-10, relaxed=True, alpha=2.0),
    SqrtLasso(tol=1e-10, positive=True, alpha=0.5),
]


@pytest.mark.parametrize("model", SINGLE, ids=repr)
def test_weights_are_repetition(model):
    X, y, weights, rows = make()
    weighted = model.fit(X, y, sample_weight=weights)
    coef, intercept, alpha = weighted.coef_, weighted.intercept_, weighted.alpha_
    repeated = model.fit(X[rows], y[rows])
    assert repeated.alpha_ == pytest.approx(alpha, rel=1e-10)
    np.testing.assert_allclose(repeated.coef_, coef, rtol=1e-5, atol=1e-6)
    assert repeated.intercept_ == pytest.approx(intercept, abs=1e-5)


RELATIVE = [
    SqrtLasso(),
    SqrtLasso(alpha="rigorous"),
    SqrtLasso(alpha="rigorous-robust"),
    SqrtLasso(relaxed=True, standardize=False),
    SqrtLasso(sketch="exact", radius="realised"),
    SqrtLasso(sketch="exact", radius="0.1*spectral"),
    SqrtLassoClassifier(),
    SqrtLassoCV(alphas=10),
    SqrtLassoClassifierCV(alphas=10),
]


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("model", RELATIVE, ids=repr)
def test_weights_times_any_number_lead_to_the_same_model(model):
    X, y, _, _ = make()
    weights = np.random.default_rng(1).uniform(0.2, 3.0, M)
    y = y > np.median(y) if is_classifier(model) else y
    model = clone(model).set_params(tol=1e-10)
    as_given = clone(model).fit(X, y, sample_weight=weights)
    assert np.any(as_given.coef_)
    for factor in (1.0 / weights.sum(), 1e-12, 1e6):
        scaled = clone(model).fit(X, y, sample_weight=factor * weights)
        np.testing.assert_allclose(scaled.coef_, as_given.coef_, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(scaled.alpha_, as_given.alpha_ * np.sqrt(factor), rtol=1e-8)


def test_named_penalties_outweigh_noise_of_weighted_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40))
    weights = rng.exponential(size=300) ** 2
    centred = X - weights @ X / weights.sum()
    level = pivotal_alpha(X, sample_weight=weights, slack=1.0, failure=0.05)
    exceeded = 0
    for _ in range(400):
        noise = rng.standard_normal(300)
        noise -= weights @ noise / weights.sum()
        seen = np.abs(centred.T @ (weights * noise)) / np.sqrt(weights @ noise**2)
        exceeded += seen.max() > level
    assert 0.005 <= exceeded / 400 <= 0.08


@pytest.mark.parametrize("sketch", [None, "exact", "randomized", "response"])
def test_weight_zero_is_deletion_with_every_sketch(sketch):
    X, y, weights, _ = make()
    keep, weights = weights > 0, (weights > 0).astype(float)
    options = {"alpha": 1.0, "sketch": sketch, "rank": 6, "random_state": 0, "standardize": True}
    weighted = SqrtLasso(**options).fit(X, y, sample_weight=weights)
    deleted = SqrtLasso(**options).fit(X[keep], y[keep])
    np.testing.assert_allclose(weighted.coef_, deleted.coef_, rtol=0, atol=1e-10)


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("sketch", [None, "randomized", "response"])
def test_weight_zero_is_deletion_in_cross_validation(sketch):
    X, y, weights, _ = make()
    keep = weights > 0
    options = {"alphas": 8, "sketch": sketch, "rank": 6, "random_state": 0}
    weighted = SqrtLassoCV(cv=folds(np.arange(M)), **options).fit(X, y, sample_weight=weights)
    numbers = np.flatnonzero(keep)
    deleted = SqrtLassoCV(cv=folds(numbers), **options)
    deleted.fit(X[keep], y[keep], sample_weight=weights[keep])
    np.testing.assert_allclose(weighted.mse_path_, deleted.mse_path_, rtol=1e-8)
    np.testing.assert_allclose(weighted.coef_, deleted.coef_, rtol=0, atol=1e-8)
    assert np.isnan(weighted.oof_prediction_[~keep]).all()
    np.testing.assert_allclose(weighted.oof_prediction_[keep], deleted.oof_prediction_)


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("kind", [SqrtLassoCV, SqrtLassoClassifierCV])
def test_weights_are_repetition_in_cross_validation(kind):
    X, y, weights, rows = make()
    y = np.where(y > np.median(y), "up", "down") if kind is SqrtLassoClassifierCV else y
    options = {"alphas": 10, "tol": 1e-10, "scoring": "mse"}
    weighted = kind(cv=folds(np.arange(M)), **options).fit(X, y, sample_weight=weights)
    repeated = kind(cv=folds(rows), **options).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.mse_path_, repeated.mse_path_, rtol=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_a_class_without_weight_is_refused_in_words():
    X, y, _, _ = make()
    labels = np.where(y > np.median(y), "up", "down")
    for kind in (SqrtLassoClassifier, SqrtLassoClassifierCV):
        for method in (None, "randomized"):
            with pytest.raises(ValueError, match=r"one class only, .*'up'"):
                kind(sketch=method).fit(X, labels, sample_weight=labels == "up")


@pytest.mark.parametrize("method", [None, "exact"])
def test_factor_zero_is_free_and_inf_is_out(method):
    X, y, _, _ = make()
    factor = np.ones(N)
    factor[5], factor[0] = 0.0, np.inf
    radius = None if method is None else 0.0
    model = SqrtLasso(
        alpha=2.0, penalty_factor=factor, sketch=method, radius=radius, tol=1e-10
    ).fit(X, y)
    assert model.coef_[0] == 0.0
    residual = y - model.predict(X)
    # Nothing holds the free feature back, so the residual is orthogonal to it.
    free = X[:, 5] - X[:, 5].mean()
    assert abs(free @ residual) <= 1e-5 * np.linalg.norm(free) * np.linalg.norm(residual)
    everything = SqrtLasso(alpha=1e6, penalty_factor=factor, sketch=method, radius=radius).fit(X, y)
    assert list(np.flatnonzero(everything.coef_)) == [5]


def test_the_pivotal_penalty_counts_penalised_features_only():
    X, y, _, _ = make()
    X[:, 0] *= 1e6
    factor = np.ones(N)
    factor[0] = 0.0
    model = SqrtLasso(penalty_factor=factor, standardize=False).fit(X, y)
    assert model.alpha_ == pytest.approx(pivotal_alpha(X[:, 1:]))
    assert pivotal_alpha(X, penalty_factor=np.zeros(N)) == 0.0
    scaled = sketch(X, method="exact", center=True, scale=True)
    standard = SqrtLasso(standardize=True).fit(X, y).alpha_
    assert SqrtLasso(sketch=scaled).fit(X, y).alpha_ == pytest.approx(standard)
