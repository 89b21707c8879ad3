"""Rigorous penalties: against Stata's lassopack, and what they must do by themselves."""

import numpy as np
import pytest
from tests.sentences import refusal

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.penalty import rigorous_level
from sketchlasso.io import BlockMatrix

CLINICAL = ["lcavol", "lweight", "age", "lbph", "svi", "lcp", "gleason", "pgg45"]
SELECTED = [0, 1, 4]
# Published output of rlasso ..., sqrt and rlasso ..., sqrt robust on the prostate data.
LASSOPACK = {
    "rigorous": ([0.4293894, 0.1861616, 0.2574895], 1.1673922),
    "rigorous-robust": ([0.4402037, 0.1329878, 0.1264166], 1.3741342),
}
LEAST_SQUARES = ([0.5258519, 0.6617699, 0.6656665], -0.7771568)
LAMBDA = 32.461583


@pytest.fixture(scope="module")
def prostate(real_file):
    table = np.genfromtxt(real_file("../oracles/rigorous/prostate.tsv"), names=True, dtype=None)
    X = np.column_stack([table[name].astype(float) for name in CLINICAL])
    return X, table["lpsa"].astype(float)


@pytest.fixture
def uneven():
    """Noise that grows with the first feature, and three features that matter."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 40)) * np.geomspace(1e-3, 1e3, 40)
    scaled = X / X.std(axis=0)
    noise = rng.standard_normal(200) * (0.2 + np.abs(scaled[:, 0]))
    return X, 5.0 + scaled[:, :3] @ [1.0, -1.0, 2.0] + noise


@pytest.mark.parametrize("alpha", LASSOPACK)
@pytest.mark.parametrize(
    "how", [{}, {"standardize": True}, {"sketch": "exact", "rank": 8}], ids=str
)
def test_coefficients_and_level_are_those_of_lassopack(prostate, alpha, how):
    X, y = prostate
    model = sl.SqrtLasso(alpha, tol=1e-12, **how).fit(X, y)
    coef, intercept = LASSOPACK[alpha]
    np.testing.assert_allclose(model.coef_[SELECTED], coef, atol=1e-6)
    assert np.count_nonzero(model.coef_) == 3
    assert model.intercept_ == pytest.approx(intercept, abs=1e-6)
    # Their lambda is sqrt(m) times ours.
    assert model.alpha_ * np.sqrt(len(y)) == pytest.approx(LAMBDA, abs=1e-6)


@pytest.mark.parametrize("alpha", LASSOPACK)
def test_the_refit_is_least_squares_and_the_penalised_fit_stays_at_hand(prostate, alpha):
    X, y = prostate
    model = sl.SqrtLasso(alpha, tol=1e-12, relaxed=True).fit(X, y)
    np.testing.assert_allclose(model.coef_[SELECTED], LEAST_SQUARES[0], atol=1e-6)
    assert model.intercept_ == pytest.approx(LEAST_SQUARES[1], abs=1e-6)
    np.testing.assert_allclose(model.penalised_coef_[SELECTED], LASSOPACK[alpha][0], atol=1e-6)
    assert model.penalised_intercept_ == pytest.approx(LASSOPACK[alpha][1], abs=1e-6)


def test_loadings_are_standard_deviations_or_follow_the_residual(uneven):
    X, y = uneven
    equal = sl.SqrtLasso("rigorous").fit(X, y)
    np.testing.assert_allclose(equal.loadings_, X.std(axis=0), rtol=1e-12)
    robust = sl.SqrtLasso("rigorous-robust", relaxed=True, tol=1e-12).fit(X, y)
    e = y - robust.predict(X)
    centred = X - X.mean(axis=0)
    expected = np.sqrt((centred**2 * e[:, None] ** 2).mean(axis=0) / np.mean(e**2))
    np.testing.assert_allclose(robust.loadings_, expected, rtol=1e-10)
    # The first feature scales the noise, so its loading is larger than its spread.
    assert robust.loadings_[0] > 1.2 * X[:, 0].std()


@pytest.mark.parametrize("alpha", LASSOPACK)
def test_the_certificate_is_that_of_the_loaded_problem(uneven, alpha):
    X, y = uneven
    model = sl.SqrtLasso(alpha, tol=1e-10).fit(X, y)
    r = y - model.predict(X)
    correlation = (X - X.mean(axis=0)).T @ r / np.linalg.norm(r)
    limit = model.alpha_ * model.loadings_
    assert np.all(np.abs(correlation) <= limit * (1 + 1e-4))
    active = model.coef_ != 0
    np.testing.assert_allclose(
        correlation[active], (limit * np.sign(model.coef_))[active], rtol=1e-4
    )
    assert active.sum() >= 2


@pytest.mark.parametrize("alpha", LASSOPACK)
def test_units_of_features_do_not_change_the_selection(uneven, alpha):
    X, y = uneven
    units = np.geomspace(1e6, 1e-6, X.shape[1])
    first = sl.SqrtLasso(alpha, tol=1e-10).fit(X, y)
    second = sl.SqrtLasso(alpha, tol=1e-10).fit(X * units, 1e3 * y)
    np.testing.assert_allclose(second.coef_ * units, 1e3 * first.coef_, atol=1e-3 * 1e-3)
    assert second.alpha_ == first.alpha_


def test_several_targets_have_loadings_of_their_own(uneven):
    X, y = uneven
    Y = np.column_stack([y, np.random.default_rng(0).standard_normal(len(y))])
    both = sl.SqrtLasso("rigorous-robust", tol=1e-10).fit(X, Y)
    assert both.loadings_.shape == both.coef_.shape
    for number in range(2):
        alone = sl.SqrtLasso("rigorous-robust", tol=1e-10).fit(X, Y[:, number])
        np.testing.assert_allclose(both.coef_[number], alone.coef_, atol=1e-8)
        np.testing.assert_allclose(both.loadings_[number], alone.loadings_, rtol=1e-10)


def test_factors_multiply_the_loadings_and_constant_columns_stay_out(uneven):
    X, y = uneven
    X = np.column_stack([X, np.full(len(X), 7.0)])
    factor = np.ones(X.shape[1])
    factor[[0, 5]] = np.inf, 0.0
    model = sl.SqrtLasso("rigorous-robust", penalty_factor=factor).fit(X, y)
    assert model.coef_[0] == 0 and model.coef_[5] != 0 and model.coef_[-1] == 0
    assert model.alpha_ == pytest.approx(rigorous_level(X.shape[1] - 2, len(y)))


@pytest.mark.parametrize("alpha", LASSOPACK)
def test_every_class_has_its_own_penalties(uneven, alpha):
    X, y = uneven
    labels = np.digitize(y, np.quantile(y, [0.33, 0.67]))
    model = sl.SqrtLassoClassifier(alpha, tol=1e-8).fit(X, labels)
    assert model.loadings_.shape == (3, X.shape[1]) and model.score(X, labels) > 0.5
    alone = sl.SqrtLasso(alpha, tol=1e-8).fit(X, np.where(labels == 0, 1.0, -1.0))
    np.testing.assert_allclose(model.coef_[0], alone.coef_, atol=1e-7)


def test_blocks_of_rows_have_loadings_for_equal_variances(uneven):
    X, y = uneven
    blocks = BlockMatrix.from_arrays([X[:100], X[100:]])
    inside = sl.SqrtLasso("rigorous", sketch="exact", rank=40, tol=1e-10).fit(X, y)
    outside = sl.SqrtLasso("rigorous", sketch="exact", rank=40, tol=1e-10).fit(blocks, y)
    np.testing.assert_allclose(outside.loadings_, inside.loadings_, rtol=1e-10)
    np.testing.assert_allclose(
        outside.coef_ * X.std(axis=0), inside.coef_ * X.std(axis=0), atol=1e-6
    )


def test_a_refit_of_another_kind_forgets_what_it_lacks(uneven):
    X, y = uneven
    model = sl.SqrtLasso("rigorous", relaxed=True).fit(X, y)
    model.set_params(alpha=1.0, relaxed=False).fit(X, y)
    assert not hasattr(model, "loadings_") and not hasattr(model, "penalised_coef_")


def test_blocks_and_unknown_names_are_refused(uneven):
    X, y = uneven
    blocks = BlockMatrix.from_arrays([X[:100], X[100:]])
    model = sl.SqrtLasso("rigorous-robust", sketch="exact", rank=40)
    assert "in blocks" in refusal(InvalidInputError, model.fit, blocks, y)
    text = refusal(InvalidInputError, sl.SqrtLasso("robust").fit, X, y)
    assert "'rigorous-robust'" in text
