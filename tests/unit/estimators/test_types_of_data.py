"""Every type of number that scikit-learn accepts gives the model of the same numbers in doubles."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import sketchlasso as sl

NUMPY = ["bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "longdouble", "object"]
NULLABLE = ["boolean", "Int8", "Int64", "UInt16", "Float32", "Float64"]
SPARSE = ["Sparse[bool]", "Sparse[int8]", "Sparse[uint8]", "Sparse[float32]", "Sparse[float64]"]
ESTIMATORS = {
    "SqrtLasso": sl.SqrtLasso(alpha=0.1),
    "SqrtLassoCV": sl.SqrtLassoCV(alphas=5, cv=3),
    "sketch": sl.SqrtLasso(alpha=0.1, sketch="exact", rank=4, random_state=0),
    "unscaled": sl.SqrtLasso(alpha=0.1, standardize=False),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 5)) < 0.5).astype(float)
    return X, X @ [1.0, -2.0, 0.5, 0.0, 0.0] + 0.1 * rng.standard_normal(60)


def same_model(name, X, y, doubles, **options):
    expected = clone(ESTIMATORS[name]).set_params(**options).fit(*doubles)
    model = clone(ESTIMATORS[name]).set_params(**options).fit(X, y)
    assert model.coef_.dtype == np.float64
    assert model.coef_ == pytest.approx(expected.coef_, abs=1e-4)
    assert model.predict(X) == pytest.approx(expected.predict(doubles[0]), abs=1e-3)
    return model


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kind", NUMPY)
def test_arrays_and_sparse_matrices_of_any_type(table, kind, estimator):
    X, y = table
    same_model(estimator, X.astype(kind), y, table)
    if kind not in ("float16", "object"):  # SciPy has no such sparse matrices
        for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
            same_model(estimator, form(X.astype(kind)), y, table, standardize=False)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kind", NULLABLE + SPARSE)
def test_frames_of_any_type(table, kind, estimator):
    pandas = pytest.importorskip("pandas")
    X, y = table
    numbers = X.astype(bool) if "bool" in kind else X
    frame = pandas.DataFrame(numbers, columns=list("abcde")).astype(kind)
    model = same_model(estimator, frame, y, table, standardize=False)
    assert list(model.feature_names_in_) == list("abcde")


def test_dummies_of_a_category_in_a_sparse_frame():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 60)
    frame = pandas.get_dummies(pandas.Series(codes.astype(str)), sparse=True)
    y = 2.0 * (codes == 0) - 1.5 * (codes == 2) + 0.01 * rng.standard_normal(60)
    model = sl.SqrtLasso(alpha=0.1).fit(frame, y)
    assert model.coef_ == pytest.approx([2.0, 0.0, -1.5], abs=0.02)
    assert model.score(frame, y) > 0.999
    label = sl.SqrtLassoClassifier().fit(frame, codes == 1)
    assert label.coef_.dtype == np.float64 and label.score(frame, codes == 1) == 1.0
    doubles = frame.to_numpy(dtype=float)
    expected = sl.certify(doubles, y, model.coef_, 0.1)
    assert sl.certify(frame, y, model.coef_, 0.1).primal == pytest.approx(expected.primal)
    assert sl.sketch(frame, rank=2, random_state=0).P.dtype == np.float64


@pytest.mark.parametrize("kind", [*NUMPY, *NULLABLE, *SPARSE, "csr", "frame"])
def test_responses_of_any_type(table, kind):
    X, _ = table
    X = X + np.random.default_rng(1).standard_normal(X.shape)
    y = (X[:, 0] > 0.5).astype(float)
    expected = sl.SqrtLasso(alpha=0.5).fit(X, y)
    if kind == "csr":
        given = sparse.csr_array(y[:, None])
    elif kind in NUMPY:
        given = y.astype(kind)
    else:
        pandas = pytest.importorskip("pandas")
        own = "Sparse[bool]" if kind == "frame" else kind
        given = pandas.Series(y.astype(bool) if "bool" in own else y).astype(own)
        given = given.to_frame() if kind == "frame" else given
    model = sl.SqrtLasso(alpha=0.5).fit(X, given)
    assert np.ravel(model.coef_) == pytest.approx(expected.coef_, abs=1e-6)
    assert sl.certify(X, given, expected.coef_, 0.5).relative_gap <= 1e-3
