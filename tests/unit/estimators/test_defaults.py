"""What estimators do by default: standardise dense columns, shuffle the folds."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold

import sketchlasso as sl
from sketchlasso.errors import ScaleWarning
from sketchlasso.io import BlockMatrix
from sketchlasso.solvers import StopSolve

M, N = 60, 6
KINDS = [
    sl.SqrtLasso(),
    sl.SqrtLassoCV(alphas=[3.0, 1.0], cv=3),
    sl.SqrtLassoClassifier(alpha=1.0),
    sl.SqrtLassoClassifierCV(alphas=[3.0, 1.0], cv=3),
]


def make():
    """Columns of very different units; the smallest decides."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((M, N)) * 10.0 ** np.arange(N)
    return X, 3 * X[:, 0] + 0.3 * rng.standard_normal(M)


def target(model, y):
    return y > np.median(y) if hasattr(model, "decision_function") else y


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.ScaleWarning")
@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_dense_columns_are_standardised_and_sparse_ones_are_not(kind):
    X, y = make()
    y = target(kind, y)
    whole = kind.fit(X, y)
    coef = whole.coef_
    assert whole.standardized_ is True
    np.testing.assert_allclose(whole.scale_, X.std(axis=0))
    if "Classifier" not in type(kind).__name__:
        proof = sl.certify(X, y, coef, whole.alpha_, penalty_factor=whole.scale_)
        assert proof.relative_gap[0] <= 1e-7
    same = type(kind)(**{**kind.get_params(), "standardize": True}).fit(X, y)
    np.testing.assert_array_equal(coef, same.coef_)
    assert kind.fit(BlockMatrix.from_arrays([X[:30], X[30:]]), y).standardized_ is True
    assert kind.fit(sparse.csr_array(X), y).standardized_ is False
    assert kind.scale_ is None
    ready = sl.sketch(X, method="exact", center=True)
    if "CV" not in type(kind).__name__:
        given = type(kind)(alpha=1.0, sketch=ready).fit(X, y)
        assert given.standardized_ is False


@pytest.mark.parametrize("sketch", [None, "exact"])
def test_columns_of_different_scales_warn(sketch):
    X, y = make()
    with pytest.warns(ScaleWarning, match=r"from 1\.06 to 8\.42e\+04.*standardize=True"):
        poor = sl.SqrtLasso(standardize=False, sketch=sketch).fit(X, y)
    assert poor.score(X, y) < 0.5
    with pytest.warns(ScaleWarning, match="standardize=True"):
        sl.SqrtLasso(sketch=sketch).fit(sparse.csr_array(X), y)
    ready = sl.sketch(X, method="exact", center=True)
    with pytest.warns(ScaleWarning, match="make the sketch with scale=True"):
        sl.SqrtLasso(sketch=ready).fit(X, y)


def test_folds_are_shuffled_and_stratified():
    """Rows sorted by y are judged by models of rows like them."""
    X, y = make()
    order = np.argsort(y)
    X, y = X[order], y[order]
    options = {"alphas": [1.0, 0.5], "standardize": True}
    given = sl.SqrtLassoCV(cv=KFold(3, shuffle=True, random_state=7), **options).fit(X, y)
    seeded = sl.SqrtLassoCV(cv=3, random_state=7, **options).fit(X, y)
    np.testing.assert_array_equal(seeded.mse_path_, given.mse_path_)
    default, again = (sl.SqrtLassoCV(cv=3, **options).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(default.mse_path_, again.mse_path_)
    labels = np.where(y > np.quantile(y, 0.7), "high", "low")
    folds = StratifiedKFold(3, shuffle=True, random_state=7)
    given = sl.SqrtLassoClassifierCV(cv=folds, **options).fit(X, labels)
    seeded = sl.SqrtLassoClassifierCV(cv=3, random_state=7, **options).fit(X, labels)
    np.testing.assert_array_equal(seeded.mse_path_, given.mse_path_)


def sparse_table(seed=0, m=700, n=900):
    """Rare binary columns that have nothing in common, forty of which matter."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_array((rng.random((m + 300, n)) < 0.01).astype(float))
    w = np.zeros(n)
    w[rng.permutation(n)[:40]] = rng.standard_normal(40)
    y = X @ w
    return X, y + 0.3 * y.std() * rng.standard_normal(m + 300)


class TestSketchOrNot:
    """A search on sparse data tries X itself where models on the sketch are small."""

    def test_features_outside_the_sketch_are_found(self):
        X, y = sparse_table()
        train, test = slice(0, 700), slice(700, None)
        found = sl.SqrtLassoCV(random_state=0).fit(X[train], y[train])
        itself = sl.SqrtLassoCV(sketch=None, random_state=0).fit(X[train], y[train])
        on_sketch = sl.SqrtLassoCV(sketch="response", random_state=0).fit(X[train], y[train])
        assert found.sketch_method_ is None and found.radius_ == 0
        np.testing.assert_allclose(found.coef_, itself.coef_)
        assert found.score(X[test], y[test]) > on_sketch.score(X[test], y[test]) + 0.03
        assert found.full_gap_ < 1e-6

    def test_a_sketch_that_predicts_better_stays(self):
        # Documents of a few topics: the response depends on the topic, not on single words.
        rng = np.random.default_rng(1)
        topics = rng.dirichlet(np.full(900, 0.2), size=6)
        shares = rng.dirichlet(np.full(6, 0.5), size=800)
        X = sparse.csr_array(np.array([rng.multinomial(60, p) for p in shares @ topics], float))
        y = 5.0 * shares[:, 0] - 3.0 * shares[:, 1] + 0.3 * rng.standard_normal(800)
        found = sl.SqrtLassoCV(random_state=0).fit(X, y)
        on_sketch = sl.SqrtLassoCV(sketch="response", random_state=0).fit(X, y)
        itself = sl.SqrtLassoCV(sketch=None, random_state=0).fit(X, y)
        assert on_sketch.mse_path_[on_sketch.alphas_ == on_sketch.alpha_].mean() < np.nanmin(
            np.nanmean(itself.mse_path_, axis=1)
        )
        assert found.sketch_method_ == "response"

    def test_a_stopped_search_of_x_itself_is_not_warned_of(self):
        X, y = sparse_table()
        totals = []

        def stop(progress):
            totals.append(progress.total)
            if progress.total == 3 * 100:  # folds and penalties of X itself, without radii
                raise StopSolve

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = sl.SqrtLassoCV(cv=3, random_state=0, verbose=stop).fit(X, y)
        assert 3 * 100 in totals
        assert found.sketch_method_ == "response"

    def test_every_response_has_its_own_choice(self):
        X, y = sparse_table()
        common = np.asarray(X.sum(axis=1)).ravel()
        both = sl.SqrtLassoCV(random_state=0).fit(X, np.column_stack([y, common]))
        alone = sl.SqrtLassoCV(random_state=0).fit(X, y)
        np.testing.assert_allclose(both.coef_[0], alone.coef_)
        assert both.radius_[0] == 0

    @pytest.mark.parametrize("targets", [1, 8])
    def test_dense_data_need_no_sketch_however_many_responses(self, targets):
        X = np.random.default_rng(0).standard_normal((510, 520))
        model = sl.SqrtLassoCV(alphas=24, cv=2, random_state=0).fit(X, X[:, :targets])
        assert model.sketch_method_ is None
