"""Cross-validation and leave-one-out against refits done the slow way."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from sketchlasso import (
    Settings,
    Status,
    build_problems,
    cross_validate,
    leave_one_out,
    sketch,
    solve,
)
from sketchlasso.engine import weighted_rows
from sketchlasso.errors import InaccurateWarning, InvalidInputError
from sketchlasso.results.sketched import linear_models

TIGHT = Settings(tol=1e-8)


@pytest.fixture(scope="module")
def digits():
    X, digit = load_digits(return_X_y=True)
    keep = (digit == 4) | (digit == 9)
    return X[keep], np.where(digit[keep] == 4, 1.0, -1.0)


def refit(found, X, y, train, alpha, fit_intercept, standardised=False):
    """Coefficients and intercept from the rows of the sketch that train, nothing shared."""
    weights = np.zeros(len(y))
    weights[train] = 1.0
    problems = build_problems(
        found, y, alphas=[alpha], rows=weighted_rows(weights), fit_intercept=fit_intercept
    )
    w = solve(problems.batch, settings=TIGHT).coef.toarray()[0]
    if found.column_scales is not None:
        w = w / found.column_scales
    if fit_intercept:
        return w, y[train].mean() - X[train].mean(axis=0) @ w
    shift = 0.0 if found.column_means is None else found.column_means @ w
    return w, -shift


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_every_fold_predicts_as_a_refit_does(digits, fit_intercept, scale, as_sparse):
    X, y = digits
    data = sparse.csr_array(X) if as_sparse else X
    found = sketch(data, rank=15, center=scale, scale=scale, random_state=0)
    result = cross_validate(
        found, data, y, cv=KFold(4, shuffle=True, random_state=1), alphas=6, alpha_min_ratio=0.05,
        fit_intercept=fit_intercept, metrics=("mse", "f1", "auc"), settings=TIGHT,
        radii="spectral",
    )  # fmt: skip
    assert (result.status == Status.SOLVED).all()
    assert result.fits.shape == result.status.shape == (4, 1, 1, 6)
    assert (result.radius == found.radius).all()
    splits = KFold(4, shuffle=True, random_state=1).split(X)
    for fold, (train, test) in enumerate(splits):
        for a in (1, 5):
            w, intercept = refit(found, X, y, train, result.alphas[0, 0, a], fit_intercept)
            predicted = X[test] @ w + intercept
            mse = np.mean((predicted - y[test]) ** 2)
            assert result.scores["mse"][fold, 0, 0, a] == pytest.approx(mse, abs=2e-3)


def test_the_best_point_and_the_one_standard_error_rule(digits):
    X, y = digits
    found = sketch(X, rank=20, center=True, random_state=0)
    result = cross_validate(
        found,
        X,
        y,
        alphas=20,
        radii=[0.1 * found.radius, found.radius],
        metrics=("mse", "accuracy"),
    )
    best, careful = result.best(), result.best(rule="1se")
    assert result.mean()[0, best.radius_index, best.alpha_index] == result.mean().min()
    assert careful.alpha >= best.alpha
    assert careful.radius == best.radius
    limit = result.mean().min() + result.standard_error()[0, best.radius_index, best.alpha_index]
    assert result.mean()[0, careful.radius_index, careful.alpha_index] <= limit
    top = result.best("accuracy")
    assert (
        result.mean("accuracy").max()
        == result.mean("accuracy")[0, top.radius_index, top.alpha_index]
    )
    assert result.mean("accuracy").max() > 0.95
    with pytest.raises(InvalidInputError, match="rule must be 'min' or '1se', not 'max'"):
        result.best(rule="max")


def test_repeated_folds_average_and_rows_never_held_out_are_nan(digits):
    X, y = digits
    found = sketch(X, rank=10, random_state=0)
    twice = cross_validate(found, X, y, cv=RepeatedKFold(n_splits=3, n_repeats=2), alphas=3)
    assert np.isfinite(twice.predictions).all()
    once = cross_validate(found, X, y, cv=ShuffleSplit(1, test_size=0.2, random_state=0), alphas=3)
    assert np.isnan(once.predictions).any() and once.predictions.shape == (len(y), 1)
    assert once.standard_error().max() == 0.0


def test_several_responses_are_judged_separately(digits):
    X, y = digits
    found = sketch(X, rank=10, random_state=0)
    Y = np.column_stack([y, X[:, 20]])
    both = cross_validate(found, X, Y, cv=3, alphas=4, settings=TIGHT)
    alone = cross_validate(found, X, X[:, 20], cv=KFold(3), alphas=4, settings=TIGHT)
    np.testing.assert_allclose(both.scores["mse"][:, 1], alone.scores["mse"][:, 0], rtol=1e-3)
    assert both.best(response=1).alpha == pytest.approx(alone.best().alpha)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_leave_one_out_equals_refits(digits, fit_intercept, as_sparse):
    X, y = digits
    data = sparse.csr_array(X) if as_sparse else X
    found = sketch(data, rank=15, center=True, scale=not as_sparse, random_state=0)
    rows = np.random.default_rng(0).choice(len(y), 50, replace=False)
    result = leave_one_out(
        found, data, y, alpha=2.0, rows=rows, fit_intercept=fit_intercept, settings=TIGHT,
        radius="spectral",
    )  # fmt: skip
    assert (result.status == Status.SOLVED).all()
    full, _ = refit(found, X, y, np.arange(len(y)), 2.0, fit_intercept)
    if found.column_scales is not None:
        full = full * found.column_scales
    for place, row in enumerate(rows):
        train = np.delete(np.arange(len(y)), row)
        w, intercept = refit(found, X, y, train, 2.0, fit_intercept)
        assert result.predictions[place] == pytest.approx(X[row] @ w + intercept, abs=2e-3)
        assert result.residuals[place] == pytest.approx(y[row] - result.predictions[place])
        if found.column_scales is not None:
            w = w * found.column_scales
        shift = np.linalg.norm(w - full) / np.linalg.norm(full)
        assert result.coefficient_shift[place] == pytest.approx(shift, abs=2e-3)
    assert (result.features_gained >= 0).all()
    assert (result.features_lost >= 0).all()


def test_a_planted_outlier_has_the_largest_influence(digits):
    X, y = digits
    found = sketch(X, rank=20, center=True, random_state=0, radius=0.1)
    spoiled = y.copy()
    spoiled[17] = 40.0
    result = leave_one_out(found, X, spoiled, alpha=2.0)
    assert result.rows.tolist() == list(range(len(y)))
    assert np.argmax(np.abs(result.residuals)) == 17
    assert np.argmax(result.coefficient_shift) == 17


def test_bad_input_is_one_sentence(digits):
    X, y = digits
    found = sketch(X, rank=8, random_state=0)
    problems = build_problems(found, y, alphas=2)
    coef = solve(problems.batch).coef
    with pytest.raises(
        InvalidInputError, match=r"X has shape \(3, 64\) but the problems were built"
    ):
        linear_models(problems, coef, found.transform, X[:3])
    with pytest.raises(
        InvalidInputError, match="y has 2 columns; leave-one-out takes one response"
    ):
        leave_one_out(found, X, np.column_stack([y, y]), alpha=1.0)
    with pytest.raises(InvalidInputError, match="a fold holds out no row"):
        cross_validate(found, X, y, cv=weighted_rows(np.ones(len(y))))


def test_instances_that_fell_short_are_a_warning_with_the_gap():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 200)), rng.normal(size=40)
    found = sketch(X, method="exact", radius=0.0)
    hurried = {"settings": Settings(tol=1e-30, max_rounds=1)}
    with pytest.warns(InaccurateWarning, match="worst relative gap"):
        cross_validate(found, X, y, alphas=[0.3], cv=3, **hurried)
    with pytest.warns(InaccurateWarning, match="worst relative gap"):
        leave_one_out(found, X, y, alpha=0.3, rows=np.arange(3), **hurried)


def test_the_best_model_of_a_given_size(digits):
    X, y = digits
    found = sketch(X, rank=20, center=True, random_state=0)
    result = cross_validate(found, X, y, cv=3, alphas=15, radii=["realised", "0.1*realised"])
    sizes = result.n_nonzero[:, 0].mean(axis=0)
    small = result.best(max_nonzero=10)
    assert sizes[small.radius_index, small.alpha_index] <= 10
    allowed = np.where(sizes <= 10, result.mean()[0], np.inf)
    assert result.mean()[0, small.radius_index, small.alpha_index] == allowed.min()
    assert result.best(max_nonzero=1e9) == result.best()
    with pytest.raises(InvalidInputError, match="no model of the grid is that small"):
        result.best(max_nonzero=-1)
