"""Penalty and radius by cross-validation: the rules, and what is kept of the search."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, TimeSeriesSplit

from sketchlasso import (
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
    cross_validate,
)
from sketchlasso.errors import EmptyModelWarning, GridEdgeWarning

M, N = 80, 15
pytestmark = pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")


def make(seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, N))
    return X, X[:, 0] - 2 * X[:, 3] + noise * rng.standard_normal(M)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method", [None, "response"])
def test_one_standard_error_is_never_a_smaller_penalty(seed, method):
    X, y = make(seed)
    options = {"alphas": 20, "sketch": method, "rank": 8, "random_state": 0}
    least = SqrtLassoCV(**options).fit(X, y)
    careful = SqrtLassoCV(**options, selection="1se").fit(X, y)
    assert careful.alpha_1se_ == least.alpha_1se_ >= least.alpha_min_ == careful.alpha_min_
    assert least.alpha_ == least.alpha_min_ and careful.alpha_ == careful.alpha_1se_
    assert np.count_nonzero(careful.coef_) <= np.count_nonzero(least.coef_)
    # The rule by hand.
    mean = least.mse_path_.mean(axis=1)
    error = least.mse_path_.std(axis=1, ddof=1) / np.sqrt(5)
    best = np.nanargmin(mean)
    assert least.alphas_[best] == pytest.approx(least.alpha_min_)
    assert least.alphas_[np.flatnonzero(mean <= mean[best] + error[best])[0]] == pytest.approx(
        least.alpha_1se_
    )


def test_what_is_kept_of_the_search():
    X, y = make()
    folds = KFold(4, shuffle=True, random_state=0)
    model = SqrtLassoCV(alphas=12, cv=4, scoring="mae", standardize=False).fit(X, y)
    assert model.alphas_.shape == (12,) and (np.diff(model.alphas_) < 0).all()
    assert model.mse_path_.shape == model.score_path_.shape == (12, 4)
    assert model.oof_prediction_.shape == (M,)
    assert np.isscalar(model.alpha_) or model.alpha_.ndim == 0
    assert model.n_iter_ >= 1 and model.full_gap_ <= 1e-7 and model.dual_gap_ >= 0
    chosen = int(np.flatnonzero(model.alphas_ == model.alpha_)[0])
    shares = np.zeros(X.shape[1])
    for fold, (train, test) in enumerate(folds.split(X)):
        alone = SqrtLasso(alpha=model.alpha_, sketch=None, standardize=False)
        alone.fit(X[train], y[train])
        shares += alone.coef_ != 0
        predicted = alone.predict(X[test])
        np.testing.assert_allclose(model.oof_prediction_[test], predicted, atol=1e-4)
        assert model.mse_path_[chosen, fold] == pytest.approx(
            np.mean((y[test] - predicted) ** 2), rel=1e-3
        )
        assert model.score_path_[chosen, fold] == pytest.approx(
            np.mean(np.abs(y[test] - predicted)), rel=1e-3
        )
    np.testing.assert_allclose(model.fold_share_, shares / 4)
    final = SqrtLasso(alpha=model.alpha_, sketch=None, standardize=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, final.coef_, atol=1e-5)


def test_any_splitter_will_do():
    X, y = make()
    groups = np.arange(M) // 8
    own = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 80), np.arange(20))]
    for cv, folds in ((None, 5), (3, 3), (KFold(4, shuffle=True, random_state=0), 4), (own, 2),
                      (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), 6),
                      (TimeSeriesSplit(3), 3), (GroupKFold(5), 5)):  # fmt: skip
        given = groups if isinstance(cv, GroupKFold) else None
        model = SqrtLassoCV(alphas=6, cv=cv).fit(X, y, groups=given)
        assert model.mse_path_.shape == (6, folds)
    never = SqrtLassoCV(alphas=6, cv=own).fit(X, y).oof_prediction_
    judged = np.r_[np.arange(20), np.arange(40, 60)]
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(never)), judged)


def test_the_radius_is_chosen_with_the_penalty():
    X, y = make()
    model = SqrtLassoCV(alphas=8, sketch="randomized", rank=6, radius=[0.0, 1.0, 5.0],
                        random_state=0).fit(X, y)  # fmt: skip
    assert model.radius_ in (0.0, 1.0, 5.0)
    assert model.alphas_.shape == (8,)
    one = SqrtLassoCV(alphas=8, sketch="randomized", rank=6, radius=[model.radius_],
                      random_state=0).fit(X, y)  # fmt: skip
    np.testing.assert_allclose(one.coef_, model.coef_, atol=1e-6)
    assert SqrtLassoCV(alphas=8, radius=2.0).fit(X, y).sketch_.method == "exact"


@pytest.mark.filterwarnings("always::sketchlasso.errors.GridEdgeWarning")
def test_the_edge_of_the_grid_is_warned_of():
    X, y = make(noise=0.01)
    with pytest.warns(GridEdgeWarning, match=r"smallest of the grid.*lower alpha_min_ratio\.") as w:
        SqrtLassoCV(alphas=5, alpha_min_ratio=0.5).fit(X, y)
    assert w[0].filename == __file__
    with pytest.warns(GridEdgeWarning, match="add smaller penalties"):
        SqrtLassoCV(alphas=[8.0, 7.0, 6.0]).fit(X, y)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal(M)
    with pytest.warns(GridEdgeWarning, match="no penalised feature makes predictions better"):
        SqrtLassoCV(alphas=10).fit(X, noise)
    with pytest.warns(GridEdgeWarning, match="add larger penalties"):
        SqrtLassoCV(alphas=[0.3, 0.2, 0.1]).fit(X, noise)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SqrtLassoCV(alphas=30).fit(*make())
        SqrtLassoCV(alphas=[1.0, 0.1]).fit(X, y)
        # The best fit is least squares, which ten times the smallest penalty gives as well.
        assert SqrtLassoCV().fit(X[:, :1], 2.0 * X[:, 0] + 0.1 * noise).alpha_ < 1e-3


@pytest.mark.filterwarnings("error::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("factor", [0.0, np.inf])
def test_a_penalty_without_effect_has_no_edge(factor):
    X, y = make()
    SqrtLassoCV(alphas=5, penalty_factor=np.full(X.shape[1], factor)).fit(X, y)


@pytest.mark.parametrize("scoring", ["accuracy", "f1", "auc", "mse"])
def test_classifiers_choose_by_their_own_scores(scoring):
    X, y = make()
    model = SqrtLassoClassifierCV(alphas=8, cv=3, scoring=scoring).fit(X, y > 0)
    assert model.classes_.dtype == bool
    assert model.score_path_.shape == (1, 8, 3)
    assert model.oof_decision_.shape == (M,)
    assert np.mean((model.oof_decision_ > 0) == (y > 0)) > 0.8


class Nonnegative(SqrtLasso):
    def __init__(self, alpha=1.0):
        super().__init__(alpha=alpha, positive=True)


class NonnegativeCV(SqrtLassoCV):
    def __init__(self, cv=3, extra=None):
        super().__init__(cv=cv, positive=True)
        self.extra = extra


def test_a_subclass_may_have_other_parameters():
    X, y = make()
    plain = SqrtLasso(alpha=1.0, positive=True).fit(X, y)
    np.testing.assert_array_equal(Nonnegative().fit(X, y).coef_, plain.coef_)
    search = SqrtLassoCV(cv=3, positive=True, random_state=0).fit(X, y)
    found = NonnegativeCV()
    found.random_state = 0
    np.testing.assert_array_equal(found.fit(X, y).coef_, search.coef_)
    for method in ("cv+", "jackknife+"):
        found.calibrate(X, y, method=method, fixed_penalty=True)
        assert all((part.models.coef.data >= 0).all() for part in found.calibration_.targets)
    assert np.isfinite(NonnegativeCV().fit(X, y).calibrate(X, y).predict_interval(X)).all()


def test_a_relaxed_search_scores_the_refits():
    """Scores, held-out predictions and the model are those of least squares on the support."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 200))
    y = X[:, :8] @ rng.choice([-2.0, 2.0], 8) + 2.0 * rng.standard_normal(150)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    model = SqrtLassoCV(relaxed=True, cv=folds, standardize=False).fit(X, y)
    chosen = int(np.argmin(np.abs(model.alphas_ - model.alpha_)))
    for fold, (train, test) in enumerate(folds):
        refit = SqrtLasso(model.alpha_, relaxed=True, standardize=False).fit(X[train], y[train])
        predicted = refit.predict(X[test])
        np.testing.assert_allclose(model.oof_prediction_[test], predicted, rtol=1e-6)
        error = np.mean((y[test] - predicted) ** 2)
        assert model.mse_path_[chosen, fold] == pytest.approx(error, rel=1e-6)
    assert np.nanmin(model.mse_path_.mean(axis=1)) == model.mse_path_[chosen].mean()
    # The best penalty of the refits is larger than that of the penalised fits, and better.
    plain = SqrtLassoCV(cv=folds, standardize=False).fit(X, y)
    assert model.alpha_ > plain.alpha_
    assert model.mse_path_[chosen].mean() < np.nanmin(plain.mse_path_.mean(axis=1))
    rows = rng.standard_normal((2000, 200))
    truth = rows[:, :8] @ np.linalg.lstsq(X[:, :8], y, rcond=None)[0]
    errors = [np.mean((one.predict(rows) - truth) ** 2) for one in (model, plain)]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (SqrtLasso(alpha=1e4), "number"),
        (SqrtLasso(alpha=1e4, sketch="randomized", rank=5, radius=0.1), "number"),
        (SqrtLasso(sketch="randomized", rank=5, radius=1e3), "number"),
        (SqrtLasso(relaxed=True, alpha=1e4), "number"),
        (SqrtLassoCV(alphas=[2e4, 1e4]), "number"),
        (SqrtLassoCV(alphas=[2e4, 1e4], sketch="randomized", rank=5), "number"),
        (SqrtLassoClassifier(alpha=1e4), "label"),
        (SqrtLassoClassifierCV(alphas=[2e4, 1e4]), "label"),
        (SqrtLasso(), "constant"),
    ],
)
def test_an_empty_model_warns(model, y):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    targets = {"number": X[:, 0], "label": X[:, 0] > 0, "constant": np.ones(60)}
    with pytest.warns(EmptyModelWarning, match="the model has no feature"):
        model.fit(X, targets[y])
    assert not model.coef_.any()


def test_the_radius_of_the_model_is_the_one_that_was_scored():
    """A realised error is a length over rows, and grows with their number."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 700), density=0.05, format="csr", rng=rng)
    y = np.sign(X[:, :20].sum(axis=1) - 0.5 + 0.1 * rng.standard_normal(600))
    folds = list(KFold(4, shuffle=True, random_state=0).split(y))
    options = {"sketch": "response", "rank": 30, "random_state": 0, "radius": "realised"}
    model = SqrtLassoClassifierCV(cv=folds, scoring="auc", **options).fit(X, y)
    scored = cross_validate(model.sketch_, X, y, cv=folds, metrics=("auc",), radii="realised")
    used = scored.radius[:, 0, 0, scored.best().alpha_index]
    assert model.radius_[0] == pytest.approx(used.mean() * np.sqrt(4 / 3), rel=1e-3)
    assert np.nanmax(model.score_path_.mean(axis=2)) > 0.6 and model.coef_.any()
