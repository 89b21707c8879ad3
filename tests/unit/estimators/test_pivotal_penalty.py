"""The penalty that needs no noise level, on simulated data."""

import numpy as np
import pytest
from scipy.stats import norm

from sketchlasso import SqrtLasso, pivotal_alpha

M, N, TRUE = 100, 150, 4
DRAWS = 200


def independent(rng):
    return rng.standard_normal((M, N))


def correlated(rng):
    """Neighbours share half of their variance or so."""
    X = rng.standard_normal((M, N + 1))
    return (X[:, :-1] + 0.7 * X[:, 1:]) / np.sqrt(1.49)


def binary(rng):
    return (rng.random((M, N)) < 0.3).astype(float) / np.sqrt(0.21)


def test_the_formula_is_the_published_one():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(M, N))
    published = 1.1 * np.sqrt(M) * norm.ppf(1 - 0.05 / (2 * N))  # their lambda
    # They minimise sqrt(mean squared residual) + lambda / m ||w||_1, ours is sqrt(m) times that.
    assert pivotal_alpha(X, fit_intercept=False) == pytest.approx(published / np.sqrt(M))


@pytest.mark.parametrize("design", [independent, correlated, binary])
@pytest.mark.parametrize("noise", [0.01, 1.0, 100.0])
def test_the_noise_is_outweighed_in_most_draws(design, noise):
    # The score of pure noise, x_j'e / ||e||, is what alpha has to exceed; 95 in 100 asked for.
    rng = np.random.default_rng(0)
    X = design(rng)
    alpha = pivotal_alpha(X, slack=1.0)
    E = noise * rng.standard_normal((M, 10 * DRAWS))
    E -= E.mean(axis=0)
    largest = np.abs(X.T @ E).max(axis=0) / np.linalg.norm(E, axis=0)
    assert np.mean(largest <= alpha) >= 0.93


@pytest.mark.parametrize("design", [independent, correlated, binary])
@pytest.mark.parametrize("noise", [0.1, 10.0])
def test_no_false_feature_and_every_strong_one_in_most_draws(design, noise):
    rng = np.random.default_rng(1)
    places = np.arange(TRUE) * 37  # far from each other
    X = design(rng)
    strong = X[:, places] @ np.array([2.0, -2.0, 3.0, -3.0])
    # One fit of many responses, each with fresh noise: the penalty does not know its level.
    Y = 1.0 + noise * (strong[:, None] + rng.standard_normal((M, DRAWS)))
    model = SqrtLasso(standardize=False, sketch=None, tol=1e-5).fit(X, Y)
    chosen = model.coef_ != 0
    assert np.mean(chosen[:, places].all(axis=1)) >= 0.95
    false = chosen.copy()
    false[:, places] = False
    assert np.mean(~false.any(axis=1)) >= 0.9
    # Pure noise: nothing at all is selected in 95 of 100 draws.
    nothing = SqrtLasso(standardize=False, sketch=None, tol=1e-5)
    nothing.fit(X, noise * rng.standard_normal((M, DRAWS)))
    assert np.mean(~(nothing.coef_ != 0).any(axis=1)) >= 0.95


@pytest.mark.parametrize("method", [None, "response"])
def test_y_times_c_is_coef_times_c_at_the_same_penalty(method):
    rng = np.random.default_rng(2)
    X = independent(rng)
    y = X[:, 0] - X[:, 1] + rng.standard_normal(M)
    radius = None if method is None else 0.1
    model = SqrtLasso(sketch=method, rank=20, radius=radius, random_state=0)
    coef, alpha = model.fit(X, y).coef_, model.alpha_
    for c in (1e-6, -3.0, 1e6):
        scaled = model.fit(X, c * y)
        assert scaled.alpha_ == alpha
        np.testing.assert_allclose(scaled.coef_ / c, coef, atol=1e-5)


@pytest.mark.parametrize("kind", ["constant", "free", "excluded"])
@pytest.mark.parametrize("method", [None, "exact"])
def test_a_model_is_fitted_where_no_penalty_has_an_effect(kind, method):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    X = np.ones_like(X) if kind == "constant" else X
    factor = {"constant": None, "free": np.zeros(3), "excluded": np.full(3, np.inf)}[kind]
    model = SqrtLasso(penalty_factor=factor, sketch=method).fit(X, y)
    assert model.alpha_ == 1.0
    if kind == "free":
        least_squares = np.linalg.lstsq(np.c_[X, np.ones(40)], y, rcond=None)[0]
        np.testing.assert_allclose(model.coef_, least_squares[:3], atol=1e-6)
    else:
        np.testing.assert_array_equal(model.coef_, 0.0)
        assert model.intercept_ == pytest.approx(y.mean())
