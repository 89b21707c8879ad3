"""calibrate and predict_interval: what they compute, keep, store and refuse."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.io import BlockMatrix
from sketchlasso.results.intervals import plus_intervals


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 15)) * np.linspace(0.5, 2.0, 15) + 1.0
    y = X[:, :3] @ [2.0, -1.5, 1.0] + rng.standard_normal(120) + 10.0
    return X[:80], y[:80], X[80:], y[80:]


VARIANTS = [
    {"alpha": 2.0},
    {},
    {"standardize": True},
    {"alpha": 1.0, "standardize": True, "positive": True},
    {"fit_intercept": False, "alpha": 8.0},
    {"fit_intercept": False, "standardize": True},
    {"penalty_factor": np.r_[0.0, np.ones(13), np.inf]},
    {"relaxed": True},
    {"alpha": 1.0, "sketch": "randomized", "rank": 8, "radius": 0.1},
]


@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: "-".join(options) or "default")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_jackknife_plus_is_one_fit_per_row(made, options, kind):
    """Everything a fit learns is learnt without the row: scales, pivotal penalty, sketch."""
    X, y, new, _ = made
    X, y = X[:40], y[:40]
    model = sl.SqrtLasso(random_state=0, tol=1e-10, **options).fit(kind(X), y)
    found = model.calibrate(kind(X), y).predict_interval(kind(new), level=0.8)
    fits = [clone(model).fit(kind(np.delete(X, i, axis=0)), np.delete(y, i)) for i in range(len(y))]
    predictions = np.column_stack([fit.predict(new) for fit in fits])
    residuals = np.array([y[i] - fit.predict(X[[i]])[0] for i, fit in enumerate(fits)])
    expected = plus_intervals(predictions, np.arange(40), residuals, 0.8)
    np.testing.assert_allclose(found, expected, atol=2e-5)
    np.testing.assert_allclose(model.calibration_.targets[0].residuals, residuals, atol=2e-5)


@pytest.mark.parametrize("kind", [sl.SqrtLasso, sl.SqrtLassoCV])
def test_cv_plus_is_one_fit_per_fold(made, kind):
    X, y, new, _ = made
    model = kind(random_state=0).fit(X, y)
    folds = KFold(4, shuffle=True, random_state=1)
    found = model.calibrate(X, y, method="cv+", cv=folds).predict_interval(new)
    predictions, groups, residuals = [], np.empty(80, dtype=np.intp), np.empty(80)
    for number, (train, test) in enumerate(folds.split(X)):
        own = clone(model).fit(X[train], y[train])
        predictions.append(own.predict(new))
        groups[test], residuals[test] = number, y[test] - own.predict(X[test])
    expected = plus_intervals(np.column_stack(predictions), groups, residuals, 0.9)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_split_takes_blocks(made):
    X, y, new, _ = made
    model = sl.SqrtLasso(alpha=1.0).fit(X[:50], y[:50]).calibrate(X[50:], y[50:], method="split")
    whole = model.predict_interval(new)
    blocks = BlockMatrix.from_arrays([X[50:60], X[60:]])
    again = sl.SqrtLasso(alpha=1.0).fit(X[:50], y[:50]).calibrate(blocks, y[50:], method="split")
    found = again.predict_interval(BlockMatrix.from_arrays([new[:5], new[5:]]))
    np.testing.assert_allclose(found, whole, rtol=1e-12)
    with pytest.raises(InvalidInputError, match="for X in blocks, but it needs X in memory"):
        again.calibrate(blocks, y[50:], method="jackknife+")
    with pytest.raises(InvalidInputError, match="is not known, as X is or was in blocks"):
        again.calibrate(blocks, y[50:])


def test_default_methods(made):
    X, y, _, _ = made
    assert sl.SqrtLasso().fit(X, y).calibrate(X, y).calibration_.method == "jackknife+"
    search = sl.SqrtLassoCV().fit(X, y)
    assert search.calibrate(X, y).calibration_.method == "cv+"
    assert len(search.calibration_.targets[0].models.intercept) == 10
    assert search.calibrate(X, y, fixed_penalty=True).calibration_.method == "jackknife+"


def test_a_fixed_penalty_is_that_of_the_search(made):
    X, y, new, _ = made
    search = sl.SqrtLassoCV(tol=1e-10).fit(X, y).calibrate(X, y, fixed_penalty=True)
    single = sl.SqrtLasso(alpha=search.alpha_, tol=1e-10).fit(X, y).calibrate(X, y)
    np.testing.assert_allclose(
        search.predict_interval(new), single.predict_interval(new), atol=1e-6
    )


def test_new_rows_mean_split_conformal(made):
    """Rows that the fit has not seen judge the fitted model, by default too."""
    X, y, new, _ = made
    for model in (sl.SqrtLasso(), sl.SqrtLassoCV()):
        model.fit(X[:50], y[:50])
        half = np.quantile(np.abs(y[50:] - model.predict(X[50:])), 28 / 30, method="inverted_cdf")
        for kind in (np.asarray, sparse.csr_array):
            model.calibrate(kind(X[50:]), y[50:])
            assert model.calibration_.method == "split"
            widths = np.ptp(model.predict_interval(new), axis=1)
            np.testing.assert_allclose(widths, 2 * half)


def test_rows_of_the_fit_are_known_in_any_order_and_form(made):
    X, y, _, _ = made
    X = np.where(np.abs(X - 1.0) < 0.5, 0.0, X).astype(np.float32)
    model = sl.SqrtLasso().fit(X, y)
    order = np.random.default_rng(0).permutation(80)
    for given in (X, X.astype(float), sparse.csc_array(X), sparse.csr_array(X)[order]):
        rows = order if sparse.issparse(given) and given.format == "csr" else slice(None)
        assert model.calibrate(given, y[rows]).calibration_.method == "jackknife+"


def test_rows_that_do_not_suit_the_method_are_refused(made, tmp_path):
    X, y, new, truth = made
    model = sl.SqrtLasso().fit(X, y)
    some = np.r_[X[:5], new[:20]], np.r_[y[:5], truth[:20]]
    for count, rows, method in (
        ("5 of the 25", some, None),
        ("30 of the 30", (X[:30], y[:30]), "split"),
        ("0 of the 40", (new, truth), "jackknife+"),
    ):
        with pytest.raises(InvalidInputError, match=f"{count} rows are among the 80 of the fit"):
            model.calibrate(*rows, method=method)
    sl.save_model(tmp_path / "a.model", model)
    again = sl.load_model(tmp_path / "a.model")
    with pytest.raises(InvalidInputError, match=r"from a file; pass method='split'"):
        again.calibrate(new, truth)
    assert again.calibrate(new, truth, method="split").calibration_.method == "split"


def test_coverage(made):
    """Over many sets the level is met: 40 sets, 40 new rows each, standard error about 1 %."""
    rng = np.random.default_rng(0)
    covered = {"jackknife+": [], "cv+": [], "split": [], "new rows": []}
    for _ in range(40):
        X = rng.standard_normal((100, 10))
        y = X[:, 0] - X[:, 1] + rng.standard_t(3, 100)
        model = sl.SqrtLasso(alpha=2.0).fit(X[:40], y[:40])
        for method, shares in covered.items():
            new = method in ("split", "new rows")
            rows = slice(40, 60) if new else slice(0, 40)
            model.calibrate(X[rows], y[rows], method=None if method == "new rows" else method)
            ends = model.predict_interval(X[60:], 0.8)
            shares.append(np.mean((ends[:, 0] <= y[60:]) & (y[60:] <= ends[:, 1])))
    for shares in covered.values():
        assert 0.76 <= np.mean(shares) <= 0.88


def test_several_targets(made):
    X, y, new, _ = made
    Y = np.column_stack([y, 3.0 * X[:, 4] + y])
    model = sl.SqrtLasso(alpha=[2.0, 1.0]).fit(X, Y)
    for method in ("jackknife+", "cv+", "split"):
        rows = X + (method == "split")
        found = model.calibrate(rows, Y, method=method).predict_interval(new)
        assert found.shape == (40, 2, 2)
        one = sl.SqrtLasso(alpha=1.0).fit(X, Y[:, 1]).calibrate(rows, Y[:, 1], method=method)
        np.testing.assert_allclose(found[:, 1], one.predict_interval(new), atol=1e-5)


def test_units_of_the_data_change_nothing_else(made):
    X, y, new, _ = made
    plain = sl.SqrtLasso().fit(X, y).calibrate(X, y).predict_interval(new)
    far = 2.0**300
    found = sl.SqrtLasso().fit(X * far, y / far).calibrate(X * far, y / far)
    np.testing.assert_allclose(found.predict_interval(new * far) * far, plain, rtol=1e-6)


def test_a_new_fit_forgets_the_residuals(made):
    X, y, new, _ = made
    model = sl.SqrtLasso(alpha=1.0).fit(X, y).calibrate(X, y)
    model.fit(X, y)
    with pytest.raises(InvalidInputError, match="the model is not calibrated"):
        model.predict_interval(new)


def test_progress(made):
    X, y, _, _ = made
    seen = []
    sl.SqrtLasso(alpha=1.0, verbose=seen.append).fit(X, y).calibrate(X, y, method="cv+", cv=4)
    assert [progress.solved for progress in seen[-4:]] == [1, 2, 3, 4]


def test_a_level_beyond_the_residuals_is_the_whole_line(made):
    X, y, new, _ = made
    model = sl.SqrtLasso(alpha=1.0).fit(X, y).calibrate(X, y)
    assert np.isinf(model.predict_interval(new, 0.999)).all()
    assert np.isfinite(model.predict_interval(new, 80 / 81)).all()


def test_refusals(made):
    X, y, new, truth = made
    model = sl.SqrtLasso(alpha=1.0).fit(X, y)
    calls = {
        r"call calibrate\(X, y, method='jackknife\+'\) once": lambda: model.predict_interval(new),
        "X has 9 rows, but an interval needs at": lambda: model.calibrate(new[:9], truth[:9]),
        r"'jackknife\+', 'cv\+' or 'split', not 'loo'": lambda: model.calibrate(X, y, method="loo"),
        "level must be a probability strictly": lambda: model.predict_interval(new, "0.9"),
        "strictly between 0 and 1, not 1.": lambda: model.predict_interval(new, 1),
        "cv must be": lambda: model.calibrate(X, y, method="cv+", cv=1),
        "has to be left out exactly once": lambda: model.calibrate(
            X, y, method="cv+", cv=ShuffleSplit(3, random_state=0)
        ),
        "y has 2 targets, but the model was": lambda: model.calibrate(X, np.c_[y, y]),
    }
    for words, call in calls.items():
        with pytest.raises(InvalidInputError, match=words):
            call()
    model.calibrate(X, y)
    with pytest.raises(InvalidInputError, match=r"not calibrated by 'jackknife\+' only|only, but"):
        model.predict_interval(new, method="cv+")


def test_every_target_of_a_search_is_calibrated_with_its_own_radius():
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((700, 900)) < 0.01).astype(float))
    w = np.zeros(900)
    w[rng.permutation(900)[:40]] = rng.standard_normal(40)
    y = X @ w
    Y = np.column_stack([y + 0.3 * y.std() * rng.standard_normal(700), np.asarray(X.sum(axis=1))])
    model = sl.SqrtLassoCV(random_state=0, cv=3).fit(X, Y)
    assert model.radius_[0] == 0 < model.radius_[1]  # X itself, and a sketch
    found = model.calibrate(X, Y, method="cv+", cv=3, fixed_penalty=True).calibration_
    alone = sl.SqrtLasso(alpha=model.alpha_[0], sketch=None, random_state=0).fit(X, Y[:, 0])
    expected = alone.calibrate(X, Y[:, 0], method="cv+", cv=3).calibration_
    np.testing.assert_allclose(
        found.targets[0].residuals, expected.targets[0].residuals, rtol=1e-6, atol=1e-6
    )


def test_means_of_columns_do_not_change_intervals(made):
    X, y = made[:2]
    here = sl.SqrtLasso().fit(X, y).calibrate(X, y).predict_interval(X[:5])
    there = sl.SqrtLasso().fit(X + 1e7, y).calibrate(X + 1e7, y).predict_interval(X[:5] + 1e7)
    np.testing.assert_allclose(there, here, rtol=1e-5)


def test_weights_of_the_fit_are_not_forgotten(made):
    X, y = made[:2]
    model = sl.SqrtLasso(1.0).fit(X, y, sample_weight=np.linspace(1, 2, len(y)))
    with pytest.raises(InvalidInputError, match=r"fitted with sample_weight.*method='split'"):
        model.calibrate(X, y)
    assert model.calibrate(X + 1, y, method="split").predict_interval(X).shape == (len(y), 2)
