"""Estimators on X in blocks of rows: the same models as in memory, without collecting X."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold
from tests.sentences import refusal
from tests.workers import two_workers

from sketchlasso import (
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
    pivotal_alpha,
)
from sketchlasso.errors import InvalidInputError
from sketchlasso.io import BlockMatrix

M, N = 90, 24
CUTS = (31, 32, 60)
pytestmark = pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")


@pytest.fixture(params=["dense", "sparse"])
def data(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((M, N)) * (rng.random((M, N)) < 0.6)
    y = 3.0 + X[:, 0] - 2 * X[:, 3] + 0.5 * rng.standard_normal(M)
    return (sparse.csr_array(X) if request.param == "sparse" else X), y


def in_blocks(X):
    starts = (0, *CUTS, CUTS[-1], M)
    pieces = [X[a:b] for a, b in pairwise(starts)]
    return BlockMatrix.from_arrays(pieces)


@pytest.fixture
def never_collected(monkeypatch):
    original = BlockMatrix.collect

    def collect(self):
        assert self.local, "X was collected"
        return original(self)

    monkeypatch.setattr(BlockMatrix, "collect", collect)


def alike(one, other, rtol=1e-6):
    for name in ("coef_", "intercept_", "alpha_", "radius_"):
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-7 * np.abs(b).max(), err_msg=name)


REGRESSORS = [
    SqrtLasso(alpha=1.5, sketch="krylov", rank=8, radius=0.5, random_state=0),
    SqrtLasso(sketch="response", rank=8, random_state=0),
    SqrtLasso(sketch="exact", standardize=True, fit_intercept=False, random_state=0),
    SqrtLasso(alpha=1.0, sketch="randomized", rank=8, radius=0.5, relaxed=True, random_state=0),
    SqrtLasso(alpha=1.0, sketch="krylov", rank=8, positive=True, radius=0.5, random_state=0),
    SqrtLassoCV(alphas=6, cv=3, sketch="krylov", rank=8, standardize=True, random_state=0),
    SqrtLassoCV(
        alphas=6, cv=KFold(3), sketch="response", rank=6, radius="realised", random_state=0
    ),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_regressions_in_blocks_are_those_in_memory(model, data, never_collected):
    X, y = data
    whole, cut = clone(model).fit(X, y), clone(model).fit(in_blocks(X), y)
    alike(cut, whole)
    assert cut.n_features_in_ == N
    predicted = cut.predict(in_blocks(X))
    assert isinstance(predicted, np.ndarray)
    np.testing.assert_allclose(predicted, whole.predict(X), rtol=1e-6, atol=1e-6)
    assert cut.score(in_blocks(X), y) == pytest.approx(whole.score(X, y), rel=1e-6)
    if hasattr(whole, "mse_path_"):
        np.testing.assert_allclose(cut.mse_path_, whole.mse_path_, rtol=1e-5)
        np.testing.assert_allclose(cut.oof_prediction_, whole.oof_prediction_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        SqrtLassoClassifier(alpha=1.0, sketch="krylov", rank=8, radius=0.5, random_state=0),
        SqrtLassoClassifierCV(alphas=5, cv=3, sketch="response", rank=8, random_state=0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_in_blocks_are_those_in_memory(model, data, classes, never_collected):
    X, y = data
    labels = np.array(["low", "mid", "top"])[np.digitize(y, [3.0, 4.0][: classes - 1])]
    whole, cut = clone(model).fit(X, labels), clone(model).fit(in_blocks(X), labels)
    alike(cut, whole)
    np.testing.assert_array_equal(cut.predict(in_blocks(X)), whole.predict(X))
    assert cut.score(in_blocks(X), labels) == whole.score(X, labels)


def test_several_targets_one_of_them_constant(data):
    X, y = data
    Y = np.column_stack([y, np.full(M, 2.5), -y + X[:, [5]].sum(axis=1)])
    model = SqrtLasso(alpha=1.0, sketch="response", rank=8, random_state=0)
    whole, cut = clone(model).fit(X, Y), clone(model).fit(in_blocks(X), Y)
    np.testing.assert_allclose(cut.coef_, whole.coef_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(cut.intercept_, whole.intercept_, rtol=1e-6)
    assert not cut.coef_[1].any()


def test_weights_drop_rows_and_scale_columns(data):
    X, y = data
    weights = np.random.default_rng(1).choice([0.0, 1.0, 2.5], M)
    weights[: CUTS[0]] = 0.0
    for model in (
        SqrtLasso(alpha=0.5, sketch="krylov", rank=8, radius=0.03, standardize=True),
        SqrtLassoCV(alphas=4, cv=3, sketch="krylov", rank=8, random_state=0),
    ):
        whole = clone(model).fit(X, y, sample_weight=weights)
        cut = clone(model).fit(in_blocks(X), y, sample_weight=weights)
        alike(cut, whole, rtol=1e-5)
    assert pivotal_alpha(in_blocks(X)) == pytest.approx(pivotal_alpha(X), rel=1e-12)


def test_the_automatic_sketch_of_few_features_loses_nothing(data):
    X, y = data
    whole, cut = SqrtLasso(alpha=1.0).fit(X, y), SqrtLasso(alpha=1.0).fit(in_blocks(X), y)
    assert cut.sketch_.method == "exact"
    np.testing.assert_allclose(cut.coef_, whole.coef_, rtol=1e-3, atol=1e-4)
    assert cut.full_gap_ < 1e-4


def test_what_needs_all_of_x_is_refused(data):
    X, y = data
    blocks = in_blocks(X)
    text = refusal(InvalidInputError, SqrtLasso(sketch=None).fit, blocks, y)
    assert "sketch=None was given, but it solves the full problem" in text


def test_scikit_learns_own_sentences(data):
    X, y = data
    blocks = in_blocks(X)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[90, 89\]"):
        SqrtLasso().fit(blocks, y[1:])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        SqrtLasso().fit(blocks, np.where(np.arange(M) == 3, np.nan, y))
    with pytest.raises(ValueError, match="requires y to be passed"):
        SqrtLasso().fit(blocks, None)
    fitted = SqrtLasso(alpha=1.0, sketch="krylov", rank=4, radius=0.3).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but SqrtLasso is expecting 24"):
        fitted.predict(BlockMatrix.from_arrays([np.ones((2, 3))]))


@pytest.fixture(scope="module")
def client():
    with two_workers(default=True) as client:
        yield client


class TestDask:
    """Dask arrays, on a cluster inside this process."""

    @staticmethod
    def chunked(X, columns=None):
        """A dask array cut into uneven chunks of rows, one of them empty."""
        da = pytest.importorskip("dask.array")
        delayed = pytest.importorskip("dask").delayed
        starts = (0, *CUTS, CUTS[-1], M)
        meta = X[:0] if sparse.issparse(X) else np.empty((0, 0))
        pieces = [
            da.from_delayed(delayed(X[a:b]), shape=(b - a, N), dtype=X.dtype, meta=meta)
            for a, b in pairwise(starts)
        ]
        return da.concatenate(pieces)

    @pytest.mark.parametrize(
        "model",
        [
            SqrtLasso(alpha=1.5, sketch="krylov", rank=8, radius=0.5, random_state=0),
            SqrtLassoCV(alphas=5, cv=3, sketch="krylov", rank=8, standardize=True, random_state=0),
        ],
        ids=repr,
    )
    def test_fit_predict_and_score(self, client, model, data):
        da = pytest.importorskip("dask.array")
        X, y = data
        far = self.chunked(X)
        whole = clone(model).fit(X, y)
        cut = clone(model).fit(far, da.from_array(y, chunks=40))
        alike(cut, whole)
        predicted = cut.predict(far)
        assert isinstance(predicted, da.Array)
        assert predicted.chunks == (far.chunks[0],)
        np.testing.assert_allclose(predicted.compute(), whole.predict(X), rtol=1e-6, atol=1e-6)
        assert cut.score(far, da.from_array(y, chunks=40)) == pytest.approx(whole.score(X, y))

    @pytest.mark.parametrize("classes", [2, 3])
    def test_labels_come_back_in_the_same_chunks(self, client, data, classes):
        X, y = data
        labels = np.array(["low", "mid", "top"])[np.digitize(y, [3.0, 4.0][: classes - 1])]
        far = self.chunked(X)
        model = SqrtLassoClassifier(alpha=1.0, sketch="krylov", rank=8, radius=0.5, random_state=0)
        whole, cut = clone(model).fit(X, labels), clone(model).fit(far, labels)
        predicted = cut.predict(far)
        assert predicted.dtype == whole.predict(X).dtype
        assert predicted.chunks == (far.chunks[0],)
        np.testing.assert_array_equal(predicted.compute(), whole.predict(X))
        decisions = cut.decision_function(far)
        np.testing.assert_allclose(decisions.compute(), whole.decision_function(X), atol=1e-6)

    def test_predictions_wait_until_they_are_asked_for(self, client):
        da = pytest.importorskip("dask.array")
        delayed = pytest.importorskip("dask").delayed
        rng = np.random.default_rng(0)
        X = rng.standard_normal((M, N))
        model = SqrtLasso(alpha=1.0, sketch="krylov", rank=4, radius=0.3).fit(X, X[:, 0])
        never = delayed(_never)()
        far = da.from_delayed(never, shape=(5, N), dtype=np.float64)
        waiting = model.predict(far)
        assert waiting.shape == (5,)
        with pytest.raises(RuntimeError, match="computed"):
            waiting.compute()
        bad = da.from_array(np.full((4, N), np.nan), chunks=2)
        with pytest.raises(InvalidInputError, match="a block of X holds NaN or infinity"):
            model.predict(bad).compute()
        with pytest.raises(ValueError, match="X has 3 features"):
            model.predict(da.ones((4, 3)))

    def test_weights_and_groups_may_be_far_away_too(self, client, data):
        da = pytest.importorskip("dask.array")
        X, y = data
        weights = np.random.default_rng(1).choice([0.0, 1.0, 2.0], M)
        groups = np.arange(M) % 7
        model = SqrtLassoCV(
            alphas=4, cv=GroupKFold(3), sketch="krylov", rank=8, standardize=True, random_state=0
        )
        whole = clone(model).fit(X, y, sample_weight=weights, groups=groups)
        cut = clone(model).fit(
            self.chunked(X),
            y,
            sample_weight=da.from_array(weights, chunks=30),
            groups=da.from_array(groups, chunks=30),
        )
        alike(cut, whole, rtol=1e-5)


def _never():
    raise RuntimeError("computed")
