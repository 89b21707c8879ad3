"""Offsets, weights, data frames of mixed types and tiny data: the same answer, or one sentence."""

import numpy as np
import pytest
from tests.sentences import refusal

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.inference import desparsified, nodewise, treatment_effect


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    d = X[:, 0] + rng.standard_normal(60)
    return X, 2 * X[:, 0] + rng.standard_normal(60), d


@pytest.mark.parametrize("method", ["double-selection", "partialling-out"])
def test_effects_do_not_depend_on_the_means_of_controls(data, method):
    X, y, d = data
    here = treatment_effect(X, y, d, method=method)
    there = treatment_effect(X + 1e7, y + 1e7, d - 1e7, method=method)
    np.testing.assert_allclose(there.estimate, here.estimate, rtol=1e-6)
    np.testing.assert_allclose(there.standard_error, here.standard_error, rtol=1e-6)


@pytest.mark.parametrize("alpha", ["pivotal", "rigorous", "rigorous-robust", 2.0])
@pytest.mark.parametrize("standardize", [False, True])
def test_jackknife_intervals_are_those_of_refits(data, alpha, standardize):
    X, y, _ = data
    model = sl.SqrtLasso(alpha, standardize=standardize).fit(X, y)
    at_once = model.calibrate(X, y, method="jackknife+").predict_interval(X[:5])
    refitted = model.calibrate(X, y, method="cv+", cv=60).predict_interval(X[:5])
    np.testing.assert_allclose(at_once, refitted, rtol=1e-5)


@pytest.mark.parametrize("offset", [1e6, 1e7])
def test_jackknife_intervals_do_not_depend_on_the_means_of_columns(data, offset):
    X, y, _ = data
    here = sl.SqrtLasso().fit(X, y).calibrate(X, y).predict_interval(X[:5])
    moved = X + offset
    there = sl.SqrtLasso().fit(moved, y).calibrate(moved, y).predict_interval(moved[:5])
    np.testing.assert_allclose(there, here, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
def test_weights_of_the_fit_are_not_forgotten_by_calibration(data):
    X, y, _ = data
    for model in (sl.SqrtLasso(1.0), sl.SqrtLassoCV(alphas=[9.0, 5.0, 2.0])):
        model.fit(X, y, sample_weight=np.linspace(1, 2, 60))
        said = refusal(InvalidInputError, model.calibrate, X, y)
        assert "fitted with sample_weight" in said and "method='split'" in said
        assert model.calibrate(X + 1, y, method="split").predict_interval(X).shape == (60, 2)
        assert model.fit(X, y).calibrate(X, y).predict_interval(X).shape == (60, 2)


@pytest.mark.parametrize("shift", [0.0, 1e7, 1e8])
def test_shifted_copies_are_copies(data, shift):
    X, y, _ = data
    twice = np.column_stack([X, shift - 3 * X[:, 2]])
    assert "exact combinations of each other" in refusal(InvalidInputError, desparsified, twice, y)


def test_frames_of_numbers_and_truth_values_are_matrices(data):
    pandas = pytest.importorskip("pandas")
    X, y, d = data
    X = np.column_stack([X, np.arange(60) % 3 == 0])
    frame = pandas.DataFrame(X[:, :8]).add_prefix("x").assign(third=X[:, 8] > 0)
    np.testing.assert_array_equal(desparsified(frame, y).estimate, desparsified(X, y).estimate)
    np.testing.assert_array_equal(nodewise(frame).coef.toarray(), nodewise(X).coef.toarray())
    effect = treatment_effect(frame, y, d)
    np.testing.assert_allclose(effect.estimate, treatment_effect(X, y, d).estimate)
    words = frame.assign(city="Oslo", street="main")
    for function in (desparsified, treatment_effect):
        rest = (y, d) if function is treatment_effect else (y,)
        said = refusal(InvalidInputError, function, words, *rest)
        assert "'city', 'street'" in said and "OneHotEncoder" in said
