"""Fits of data in other units are the same fits: equivariance in the scales of X and y."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

from sketchlasso import (
    SketchTransformer,
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
    sketch,
)

SCALES = (1e-150, 1e-20, 1e-6, 1e6, 1e20, 1e150)
POWERS = (-498, -70, -20, 20, 70, 498)
SETTINGS = (
    {},
    {"sketch": "response", "rank": 12},
    {"sketch": "randomized", "rank": 12, "radius": "spectral"},
    {"standardize": True},
    {"relaxed": True},
    {"positive": True},
    {"fit_intercept": False},
)


def made(m=80, n=30):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((m, n))
    y = X[:, :5] @ [3, -2, 2, 1, -1] + rng.standard_normal(m)
    return X, y


def same(found, wanted, rtol=1e-5):
    """Equal up to what a tolerance of 1e-8 on the gap leaves open, in the units of `wanted`."""
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("scale", [1e-4, 1e-5, 1e-6])
def test_the_choice_of_a_penalty_does_not_depend_on_the_unit_of_y(scale):
    X, y = made()
    usual, other = SqrtLassoCV().fit(X, y), SqrtLassoCV().fit(X, scale * y)
    assert np.count_nonzero(other.coef_) == np.count_nonzero(usual.coef_) > 5
    np.testing.assert_allclose(other.alpha_, usual.alpha_, rtol=1e-12)


@pytest.mark.parametrize("given", SETTINGS, ids=str)
def test_one_penalty_in_all_units(given):
    X, y = made()
    # With standardised columns a penalty has no unit.
    unit = 0.0 if given.get("standardize") else 1.0
    given = {"tol": 1e-10, "random_state": 0, "standardize": False, **given}
    if given.get("radius") == "spectral":
        # The whole of it leaves no feature here.
        given["radius"] = "0.1*spectral"
    usual = SqrtLasso(alpha=3.0, **given).fit(X, y)
    assert usual.coef_.any()
    for of_X in (1.0, *SCALES):
        for of_y in (1.0, *SCALES) if of_X in (1.0, 1e-150, 1e150) else (1.0,):
            alpha = 3.0 * of_X**unit
            other = SqrtLasso(alpha=alpha, **given).fit(of_X * X, of_y * y)
            # In two steps, for of_y / of_X may overflow.
            same(other.coef_ / of_y * of_X, usual.coef_)
            same(other.intercept_ / of_y, usual.intercept_)
            same(other.predict(of_X * X) / of_y, usual.predict(X))
            assert other.alpha_ == pytest.approx(alpha)
            assert other.full_gap_ == pytest.approx(usual.full_gap_, rel=1e-3, abs=1e-9)
            if usual.radius_ > 0:
                assert other.radius_ / of_X**unit == pytest.approx(usual.radius_, rel=1e-2)


@pytest.mark.filterwarnings("ignore:the best penalty:sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("given", SETTINGS, ids=str)
def test_cross_validation_in_all_units(given):
    X, y = made()
    unit = 0.0 if given.get("standardize") else 1.0
    given = {"alphas": 8, "cv": KFold(3), "tol": 1e-9, "standardize": False, **given}
    given["random_state"] = 0
    usual = SqrtLassoCV(**given).fit(X, y)
    for of_X, of_y in (
        (1e-150, 1e-150),
        (1e150, 1e150),
        (1e-150, 1.0),
        (1.0, 1e-150),
        (1e20, 1e-6),
    ):
        other = SqrtLassoCV(**given).fit(of_X * X, of_y * y)
        same(other.coef_ / of_y * of_X, usual.coef_)
        same(other.alphas_ / of_X**unit, usual.alphas_)
        same(other.oof_prediction_ / of_y, usual.oof_prediction_)
        same(other.mse_path_ / of_y / of_y, usual.mse_path_)
        assert other.alpha_min_ / of_X**unit == pytest.approx(usual.alpha_min_)


def test_cross_validation_where_the_squared_error_overflows():
    X, y = made()
    usual, other = SqrtLassoCV().fit(X, y), SqrtLassoCV().fit(X, 1e200 * y)
    same(other.coef_ / 1e200, usual.coef_)
    assert np.isposinf(other.mse_path_[0]).all()


@pytest.mark.filterwarnings("ignore:the best penalty:sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("given", [{}, SETTINGS[2]], ids=str)
def test_powers_of_two_change_no_digit(given):
    X, y = made()
    given = {"alphas": 6, "cv": 3, "random_state": 0, "standardize": False, **given}
    usual = SqrtLassoCV(**given).fit(X, y)
    for power in POWERS:
        of_X, of_y = 2.0**power, 2.0 ** (3 - power)
        other = SqrtLassoCV(**given).fit(of_X * X, of_y * y)
        np.testing.assert_array_equal(np.ldexp(other.coef_, 2 * power - 3), usual.coef_)
        np.testing.assert_array_equal(other.alphas_ / of_X, usual.alphas_)
        np.testing.assert_array_equal(other.oof_prediction_ / of_y, usual.oof_prediction_)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_classifiers_and_sketches_in_all_units(scale, stored):
    X, y = made()
    label = np.where(y > 0, "yes", "no")
    one = SqrtLassoClassifier(2.0, standardize=False).fit(X, label)
    other = SqrtLassoClassifier(2.0 * scale, standardize=False).fit(stored(scale * X), label)
    same(other.coef_ * scale, one.coef_)
    search = {"alphas": 6, "cv": 3, "standardize": False}
    many = SqrtLassoClassifierCV(**search).fit(X, label)
    other = SqrtLassoClassifierCV(**search).fit(stored(scale * X), label)
    same(other.coef_ * scale, many.coef_)
    for wide in (True, False):
        usual = SketchTransformer(rank=10, scale=wide, random_state=0).fit(X)
        found = SketchTransformer(rank=10, scale=wide, random_state=0).fit(stored(scale * X))
        same(np.abs(found.transform(stored(scale * X))), np.abs(usual.transform(X)))
        unit = 1.0 if wide else scale
        assert found.sketch_.radius / unit == pytest.approx(usual.sketch_.radius)
        assert found.sketch_.matches(stored(scale * X))


def test_given_radii_and_ready_sketches_have_the_unit_of_X():
    X, y = made()
    ready = sketch(X, rank=12, center=True, random_state=0)
    usual = SqrtLasso(alpha=3.0, sketch=ready, radius=0.5).fit(X, y)
    kept = SqrtLassoCV(alphas=[3.0, 1.0], cv=3, sketch=ready, radius=[0.5, "spectral"]).fit(X, y)
    for scale in SCALES:
        own = sketch(scale * X, rank=12, center=True, random_state=0)
        assert own.matches(scale * X)
        other = SqrtLasso(alpha=3.0 * scale, sketch=own, radius=0.5 * scale).fit(scale * X, y)
        same(other.coef_ * scale, usual.coef_)
        assert other.sketch_ is own
        assert other.radius_ == pytest.approx(0.5 * scale)
        other = SqrtLassoCV(
            alphas=[3.0 * scale, scale], cv=3, sketch=own, radius=[0.5 * scale, "spectral"]
        ).fit(scale * X, y)
        same(other.coef_ * scale, kept.coef_)
        assert other.alpha_ / scale == pytest.approx(kept.alpha_)


def test_targets_of_different_units_are_fitted_as_if_alone():
    X, y = made()
    alone = SqrtLasso(alpha=3.0, tol=1e-10).fit(X, y)
    several = SqrtLasso(alpha=3.0, tol=1e-10).fit(X, np.column_stack([1e150 * y, 1e-150 * y, y]))
    for row, unit in enumerate((1e150, 1e-150, 1.0)):
        same(several.coef_[row] / unit, alone.coef_)
        same(several.intercept_[row] / unit, alone.intercept_)
