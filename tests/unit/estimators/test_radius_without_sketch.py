"""The robust model with X itself as the sketch, through the estimators and path functions."""

import numpy as np
import pytest
from scipy import sparse
from tests.oracles import full_problem_reference

from sketchlasso import (
    SqrtLasso,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
    cross_validate,
    sqrt_lasso_path,
)
from sketchlasso.errors import InvalidInputError


def make(seed=0, m=60, n=40):
    rng = np.random.default_rng(seed)
    X = 30.0 * rng.normal(size=(m, n)) + 2.0
    return X, X[:, 0] - X[:, 1] + 20.0 * rng.normal(size=m)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("positive", [False, True])
def test_the_estimator_is_at_the_optimum(stored, positive):
    X, y = make()
    model = SqrtLasso(
        alpha=40.0, sketch=None, radius=30.0, positive=positive, tol=1e-8, standardize=False
    )
    model.fit(stored(X), y)
    w, value = full_problem_reference(
        X - X.mean(axis=0), y - y.mean(), 40.0, 30.0, positive=positive
    )
    assert model.radius_ == pytest.approx(30.0) and model.sketch_ is None
    np.testing.assert_allclose(model.coef_, w, atol=1e-4)
    assert 0 <= model.dual_gap_ <= 1e-7 * value
    assert model.full_gap_ > 1e-3  # the radius leads away from the problem without one


def test_a_path_is_that_of_its_penalties():
    X, y = make()
    path = sqrt_lasso_path(X, y, radius=30.0, alphas=12)
    assert (path.status == 0).all() and (path.radius == 30.0).all()
    assert np.diff(path.models.coef.indptr)[0] == 0
    single = sqrt_lasso_path(X, y, radius=30.0, alphas=path.alphas[0, 0, [5]])
    assert single.primal[0] == pytest.approx(path.primal[5], rel=1e-3)


def test_weights_are_repeated_rows():
    X, y = make()
    counts = np.arange(60) % 3
    one = SqrtLasso(alpha=40.0, sketch=None, radius=30.0, tol=1e-9).fit(X, y, sample_weight=counts)
    again = np.repeat(np.arange(60), counts)
    other = SqrtLasso(alpha=40.0, sketch=None, radius=30.0, tol=1e-9).fit(X[again], y[again])
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)


def test_a_search_keeps_the_radius():
    X, y = make()
    model = SqrtLassoCV(sketch=None, radius=3.0, alphas=15).fit(X, y)
    assert model.radius_ == pytest.approx(3.0) and model.score(X, y) > 0.5
    found = cross_validate(None, X, y, radii=30.0, alphas=15)
    assert (found.fits.status == 0).all()
    labels = np.where(y > 0, "up", "down")
    classifier = SqrtLassoClassifierCV(sketch=None, radius=1.0, alphas=10).fit(X, labels)
    assert classifier.score(X, labels) > 0.8


@pytest.mark.parametrize("radius", ["spectral", [0.1, 0.2], "2*realised", -1.0])
def test_only_one_number_is_a_radius_without_a_sketch(radius):
    X, y = make()
    for fit in (
        lambda: SqrtLasso(sketch=None, radius=radius).fit(X, y),
        lambda: sqrt_lasso_path(X, y, radius=radius),
    ):
        with pytest.raises(InvalidInputError, match=r"radius must be (one|a) number >= 0"):
            fit()
