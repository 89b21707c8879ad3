"""No held-out row shapes the model that is judged on it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm
from sklearn.model_selection import KFold

import sketchlasso as sl
from sketchlasso import (
    Settings,
    build_problems,
    cross_validate,
    leave_one_out,
    sketch,
    splitter_rows,
)
from sketchlasso.engine import bootstrap_rows
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.commands.data import Given
from sketchlasso.interfaces.commands.scoring import out_of_fold
from sketchlasso.io import Encoding

POLICIES = ["realised", "0.3*spectral", "0"]


def make(seed, m=48, n=70):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 8)) @ rng.standard_normal((8, n)) + rng.standard_normal((m, n))
    return X, X[:, 0] - X[:, 1] + rng.standard_normal(m), rng


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    fold=st.integers(0, 3),
    intercept=st.booleans(),
    as_sparse=st.booleans(),
    center=st.booleans(),
)
def test_held_out_responses_never_change_a_fold(seed, fold, intercept, as_sparse, center):
    X, y, rng = make(seed)
    data = sparse.csr_array(X) if as_sparse else X
    splitter = KFold(4, shuffle=True, random_state=seed)
    other = y.copy()
    splits = list(splitter.split(X))
    test = splits[fold][1]
    other[test] = 10.0 * rng.standard_normal(len(test))
    folds = [splits[fold], splits[fold - 1]]  # the other two would be solved for nothing
    found = []
    for target in (y, other):
        own = sketch(data, target, method="response", rank=10, center=center, random_state=0)
        result = cross_validate(
            own, data, target, cv=folds, alphas=[2.0, 0.5], radii=POLICIES,
            fit_intercept=intercept, settings=Settings(tol=1e-5),
        )  # fmt: skip
        size = len(POLICIES) * 2
        found.append((result.models.coef[:size].toarray(), result.models.intercept[:size]))
    # Equal up to the rounding of BLAS, which depends on where in memory an array begins.
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=0, atol=1e-9)


def test_drawn_rows_are_all_a_bootstrap_sample_knows():
    X, y, rng = make(1)
    rows = bootstrap_rows(len(y), 3, random_state=0)
    other = y.copy()
    other[rows[1].test] += rng.standard_normal(len(rows[1].test))
    coef = []
    for target in (y, other):
        own = sketch(X, target, method="response", rank=10, center=True, random_state=0)
        result = cross_validate(own, X, target, cv=rows, alphas=[2.0], radii="realised")
        coef.append(result.models.coef.toarray())
    np.testing.assert_allclose(coef[0][1], coef[1][1], rtol=0, atol=1e-9)
    assert np.abs(coef[0][0] - coef[1][0]).max() > 0


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), row=st.integers(0, 47), policy=st.sampled_from(POLICIES))
def test_a_row_is_predicted_without_its_own_response(seed, row, policy):
    X, y, _ = make(seed)
    other = y.copy()
    other[row] += 5.0
    predictions = []
    for target in (y, other):
        own = sketch(X, target, method="response", rank=10, center=True, random_state=0)
        found = leave_one_out(own, X, target, alpha=1.0, radius=policy, rows=np.array([row, 3]))
        predictions.append(found.predictions)
    # Both start from different solutions with all rows, and end within the gap of 1e-9.
    assert predictions[0][0] == pytest.approx(predictions[1][0], abs=1e-3)
    if row != 3:
        assert abs(predictions[0][1] - predictions[1][1]) > 0


def test_left_out_rows_come_back_in_the_order_asked_for():
    X, y, _ = make(2)
    own = sketch(X, y, method="response", rank=10, center=True, random_state=0)
    rows = np.array([40, 3, 17, 22])
    found = leave_one_out(own, X, y, alpha=1.0, rows=rows)
    np.testing.assert_array_equal(found.rows, rows)
    everything = leave_one_out(own, X, y, alpha=1.0)
    np.testing.assert_allclose(found.predictions, everything.predictions[rows], atol=1e-5)
    np.testing.assert_allclose(found.residuals, y[rows] - found.predictions)


def test_a_sketch_that_has_seen_y_is_refused_where_it_would_leak():
    X, y, _ = make(3)
    own = sketch(X, y, method="response", rank=10, random_state=0)
    with pytest.raises(InvalidInputError, match="responses of held-out rows would leak"):
        build_problems(own, y, rows=splitter_rows(4, len(y)))


def test_noise_is_not_predicted_better_than_by_chance():
    """Cross-validated R2 and AUC over responses of pure noise, with and without a radius."""
    rng = np.random.default_rng(0)
    count, radii = 60, ["realised", 0.0]
    r2, auc, naive = np.empty((count, 2)), np.empty((count, 2)), np.empty(count)
    X = rng.standard_normal((60, 6)) @ rng.standard_normal((6, 90))
    X += rng.standard_normal(X.shape)
    for number in range(count):
        y = np.sign(rng.standard_normal(60))
        own = sketch(X, y, method="response", rank=8, center=True, random_state=number)
        folds = KFold(5, shuffle=True, random_state=number)
        options = {"cv": folds, "alphas": [1.0], "settings": Settings(tol=1e-3)}
        result = cross_validate(own, X, y, metrics=("r2", "auc"), radii=radii, **options)
        r2[number] = np.nanmean(result.scores["r2"], axis=(0, 1, 3))
        auc[number] = np.nanmean(result.scores["auc"], axis=(0, 1, 3))
        # What the test would see if the folds shared the directions that know all of y.
        shared = replace(own, response_rank=0)
        leaking = cross_validate(shared, X, y, metrics=("auc",), radii=0.0, **options)
        naive[number] = np.nanmean(leaking.scores["auc"])
    z = norm.ppf(0.999) / np.sqrt(count)
    assert (r2.mean(axis=0) - z * r2.std(axis=0, ddof=1) < 0).all()
    assert (np.abs(auc.mean(axis=0) - 0.5) < z * auc.std(axis=0, ddof=1)).all()
    # Without a radius nothing hides a leak: it is many times what chance allows.
    assert naive.mean() - 0.5 > 5 * z * auc[:, 1].std(ddof=1)


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    impute=st.sampled_from(["mean", "median"]),
    options=st.sampled_from([{"sketch": None}, {"sketch": "exact", "radius": 0.1}]),
)
def test_gaps_are_filled_without_the_held_out_rows(seed, impute, options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, 3))
    y = X @ [1.0, -1.0, 0.5] + 0.3 * rng.standard_normal(24)
    gaps = rng.random(X.shape) < 0.4
    folds = list(KFold(4, shuffle=True, random_state=seed).split(X))
    test = folds[0][1]
    other = X.copy()
    other[test[1:]] *= 3
    every = np.arange(24)
    encoding = Encoding.of_numbers("abc")
    predicted = []
    for table in (X, other):
        filled = encoding.refilled(table, gaps, every, impute)
        data = Given(filled, y, None, None, "a table", encoding, gaps=gaps, impute=impute)
        model = sl.SqrtLassoCV(alphas=[0.1], cv=folds, **options).fit(filled, y)
        refitted = out_of_fold(model, data, folds, y[:, None], model.oof_prediction_)
        predicted.append((refitted[test[0]], model.oof_prediction_[test[0]]))
    (alone, shared), (alone_then, shared_then) = predicted
    assert alone == pytest.approx(alone_then, rel=1e-9)
    # The search standardises and fills with all rows, so its own predictions do change.
    assert shared != pytest.approx(shared_then, rel=1e-6)
