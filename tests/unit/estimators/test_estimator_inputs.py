"""Every kind of X and y that users pass, and what is returned for it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from sketchlasso import (
    SketchTransformer,
    SqrtLasso,
    SqrtLassoClassifier,
    SqrtLassoClassifierCV,
    SqrtLassoCV,
)
from sketchlasso.errors import InvalidInputError

M, N = 60, 12
NAMES = [f"gene {j}" for j in range(N)]


def make(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, N)) * (rng.random((M, N)) < 0.5)
    return X, X[:, 0] - 2 * X[:, 3] + 0.5 * rng.standard_normal(M) + 4.0


def estimators():
    return [
        SqrtLasso(standardize=True),
        SqrtLasso(sketch="response", rank=6, random_state=0),
        SqrtLassoCV(alphas=6, cv=3, standardize=True),
        SqrtLassoClassifier(alpha=1.0),
        SqrtLassoClassifierCV(alphas=6, cv=3, scoring="auc"),
    ]


def fitted(estimator, X, y):
    if "Classifier" in type(estimator).__name__:
        y = np.where(y > np.median(y), "high", "low")
    return estimator.fit(X, y)


def assert_same_predictions(found, wanted):
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("estimator", estimators(), ids=repr)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_feature_names(estimator, library):
    frames = pytest.importorskip(library)
    X, y = make()
    frame = frames.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)})
    model = fitted(estimator, frame, y)
    assert list(model.feature_names_in_) == NAMES
    assert model.n_features_in_ == N
    from_frame = model.predict(frame)
    assert_same_predictions(from_frame, fitted(estimator, X, y).predict(X))


def test_the_transformer_goes_there_and_back():
    X, _ = make()
    for scale in (False, True):
        transformer = SketchTransformer(rank=N, scale=scale, method="exact").fit(X)
        codes = transformer.transform(X)
        np.testing.assert_allclose(transformer.inverse_transform(codes), X, atol=1e-10)
    single = SketchTransformer(rank=3, random_state=0).fit(X.astype(np.float32))
    codes = single.transform(X.astype(np.float32))
    assert codes.dtype == single.inverse_transform(codes).dtype == np.float32


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("estimator", estimators(), ids=repr)
def test_single_precision_gives_doubles_and_agrees(estimator):
    X, y = make()
    double = fitted(estimator, X, y)
    coef, predicted = double.coef_.copy(), double._linear(X)
    single = fitted(estimator, X.astype(np.float32), y)
    assert single.coef_.dtype == np.float64
    assert np.asarray(single.intercept_).dtype == np.float64
    assert single._linear(X.astype(np.float32)).dtype == np.float64
    # A sketch in single precision is solved to a gap of 1e-6, whose root this is.
    scale = np.abs(coef).max()
    np.testing.assert_allclose(single.coef_, coef, atol=2e-3 * scale)
    np.testing.assert_allclose(
        single._linear(X.astype(np.float32)), predicted, atol=2e-3 * np.ptp(predicted)
    )


def with_long_indices(X):
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


CONTAINERS = {
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "csr_matrix": sparse.csr_matrix,
    "coo_array": sparse.coo_array,
    "64-bit indices": with_long_indices,
}


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("estimator", estimators(), ids=repr)
@pytest.mark.parametrize("container", CONTAINERS)
def test_sparse_is_dense(estimator, container):
    X, y = make()
    if estimator.standardize == "auto":
        estimator = clone(estimator).set_params(standardize=False)
    dense = fitted(estimator, X, y)
    coef, predicted = dense.coef_.copy(), dense.predict(X)
    stored = CONTAINERS[container](X)
    model = fitted(estimator, stored, y)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-6 * np.abs(coef).max())
    assert_same_predictions(model.predict(stored), predicted)


@pytest.mark.parametrize("sketch", [None, "exact", "randomized", "response"])
@pytest.mark.parametrize("estimator", [SqrtLasso, SqrtLassoCV])
def test_a_constant_response_has_an_intercept_only(sketch, estimator):
    X, _ = make()
    model = estimator(sketch=sketch, rank=5, random_state=0).fit(X, np.full(M, 3.0))
    np.testing.assert_array_equal(model.coef_, 0.0)
    assert model.intercept_ == pytest.approx(3.0)


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_a_constant_response_without_a_penalty_has_an_intercept_only(value):
    X = np.random.default_rng(0).standard_normal((20, 5))
    model = SqrtLasso(alpha=0, sketch="exact").fit(X, np.full(20, value))
    assert not model.coef_.any()
    assert (model.intercept_, model.alpha_) == (value, 0.0)
    assert (model.dual_gap_, model.full_gap_) == (0.0, 0.0)
    Y = np.column_stack([np.full(20, value), X[:, 0]])
    both = SqrtLasso(alpha=0, sketch="exact", radius=0.0).fit(X, Y)
    np.testing.assert_allclose(both.coef_, [[0.0] * 5, [1.0, 0, 0, 0, 0]], atol=1e-9)


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("estimator", [SqrtLasso, SqrtLassoCV])
def test_a_constant_response_among_others_keeps_its_place(estimator):
    X, y = make()
    Y = np.column_stack([np.full(M, 3.0), y, np.full(M, -1.0)])
    model = estimator(sketch="response", rank=5, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.intercept_[[0, 2]], [3.0, -1.0])
    assert np.any(model.coef_[1]) and not np.any(model.coef_[[0, 2]])


@pytest.mark.parametrize("sketch", [None, "exact"])
def test_responses_of_shape_m_1_keep_their_axis(sketch):
    X, y = make()
    flat = SqrtLasso(sketch=sketch).fit(X, y)
    column = SqrtLasso(sketch=sketch).fit(X, y[:, None])
    assert flat.coef_.shape == (N,) and column.coef_.shape == (1, N)
    assert np.ndim(flat.intercept_) == 0 and column.intercept_.shape == (1,)
    assert flat.predict(X).shape == (M,) and column.predict(X).shape == (M, 1)
    assert flat.sparse_coef_.shape == (1, N)
    np.testing.assert_allclose(column.coef_[0], flat.coef_)


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_a_column_in_a_very_different_unit_is_standardised_like_the_others(size, stored):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 10))
    y = X[:, :3] @ [1.0, 2.0, 3.0] + 0.1 * rng.standard_normal(100)
    units = np.ones(10)
    units[2] = size
    plain = SqrtLasso(sketch=None, standardize=True).fit(stored(X), y)
    found = SqrtLasso(sketch=None, standardize=True).fit(stored(X * units), y)
    assert np.count_nonzero(plain.coef_) >= 3
    np.testing.assert_allclose(found.coef_ * units, plain.coef_, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("which", ["X", "y", "predict"])
def test_masked_entries_are_refused(which):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    masked = np.ma.masked_greater(y if which == "y" else X, 1.0)
    with pytest.raises(InvalidInputError, match="has masked entries"):
        if which == "predict":
            SqrtLasso().fit(X, y).predict(masked)
        else:
            SqrtLasso().fit(**{"X": X, "y": y} | {which: masked})
