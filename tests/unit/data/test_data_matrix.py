import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from tests.matrices import sparse_counts

from sketchlasso.data import DataMatrix

M, N = 23, 17


@pytest.fixture
def dense(rng):
    X = rng.standard_normal((M, N)) + np.arange(N)
    X[rng.random((M, N)) < 0.6] = 0.0
    X[:, 4] = 2.5
    X[:, 5] = 0.0
    return X


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def wide_indices(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def mapped(X, tmp_path, dtype=np.float64):
    path = tmp_path / "X.dat"
    on_disk = np.memmap(path, dtype=dtype, mode="w+", shape=X.shape)
    on_disk[:] = X
    on_disk.flush()
    return np.memmap(path, dtype=dtype, mode="r", shape=X.shape)


KINDS = {
    "C": lambda X, _: X,
    "F": lambda X, _: np.asfortranarray(X),
    "strided": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
    "list": lambda X, _: X.tolist(),
    "big-endian": lambda X, _: X.astype(">f8"),
    "csr": lambda X, _: sparse.csr_array(X),
    "csr matrix": lambda X, _: sparse.csr_matrix(X),
    "csc": lambda X, _: sparse.csc_array(X),
    "coo": lambda X, _: sparse.coo_array(X),
    "int64": lambda X, _: wide_indices(X),
    "memmap": mapped,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("center", "scale"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_every_storage_answers_as_the_explicit_matrix(kind, center, scale, dense, rng, tmp_path):
    A = DataMatrix.of(KINDS[kind](dense, tmp_path), center=bool(center), scale=bool(scale))
    explicit = StandardScaler(with_mean=bool(center), with_std=bool(scale)).fit_transform(dense)
    V, U = rng.standard_normal((N, 3)), rng.standard_normal((M, 4))
    assert A.shape == (M, N)
    assert A.dtype == np.float64
    assert np.allclose(A.matmat(V), explicit @ V, atol=1e-12)
    assert np.allclose(A.rmatmat(U), explicit.T @ U, atol=1e-12)
    assert A.meter.products == 7
    assert np.allclose(A.row_lengths(), (explicit**2).sum(axis=1), atol=1e-11)
    assert np.allclose(A.column_lengths(), (explicit**2).sum(axis=0), atol=1e-11)
    assert A.squared_norm() == pytest.approx((explicit**2).sum())
    assert np.allclose(A.row_gram(), explicit @ explicit.T, atol=1e-11)
    R = A.triangle(V)
    assert np.allclose(R.T @ R, V.T @ explicit.T @ explicit @ V, atol=1e-10)


def test_constant_columns_keep_scale_one(dense):
    scales = DataMatrix.of(sparse.csc_array(dense), scale=True).transform.scales
    assert scales[4] == scales[5] == 1.0
    assert np.allclose(np.delete(scales, [4, 5]), np.delete(dense.std(axis=0), [4, 5]))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_float32_is_kept_through_centring_and_scaling(make, dense):
    A = DataMatrix.of(make(dense.astype(np.float32)), center=True, scale=True)
    assert A.dtype == np.float32
    assert A.matmat(np.ones((N, 2), dtype=np.float32)).dtype == np.float32
    assert A.rmatmat(np.ones((M, 2), dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int16, np.int64, np.float16])
@pytest.mark.parametrize("kind", ["array", "sparse", "memmap"])
def test_other_real_types_are_computed_in_float64(dtype, kind, rng, tmp_path):
    if kind == "sparse" and dtype is np.float16:
        pytest.skip("SciPy has no sparse half precision")
    counts = (rng.random((M, N)) < 0.3).astype(dtype)
    X = {"array": counts, "sparse": sparse.csr_array}.get(kind)
    X = sparse.csr_array(counts) if kind == "sparse" else X
    X = mapped(counts, tmp_path, dtype) if kind == "memmap" else X
    A = DataMatrix.of(X)
    V = rng.standard_normal((N, 2))
    assert A.dtype == np.float64
    assert np.allclose(A.matmat(V), counts.astype(float) @ V)
    assert np.allclose(A.rmatmat(A.matmat(V)), counts.astype(float).T @ (counts.astype(float) @ V))


def test_entries_are_walked_in_pieces(monkeypatch, dense):
    monkeypatch.setattr("sketchlasso.data.entries.CHUNK", 7)
    explicit = StandardScaler().fit_transform(dense)
    for X in (
        np.repeat(dense, 2, axis=1)[:, ::2],
        sparse.csr_array(dense),
        sparse.csc_array(dense),
    ):
        A = DataMatrix.of(X, center=True, scale=True)
        assert np.allclose(A.row_lengths(), (explicit**2).sum(axis=1), atol=1e-11)
        assert A.squared_norm() == pytest.approx((explicit**2).sum())
        assert np.allclose(A.matmat(np.eye(N)), explicit, atol=1e-12)


def test_repeated_entries_count_once_and_the_input_is_untouched():
    X = sparse.csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    A = DataMatrix.of(X)
    assert A.squared_norm() == 9.0
    assert X.nnz == 2


def test_wide_indices_are_neither_copied_nor_narrowed(rng):
    X = wide_indices(sparse_counts(50, 40, rng))
    X.sort_indices()
    stored = DataMatrix.of(X).X.collect()
    assert stored.indices.dtype == np.int64
    assert np.shares_memory(stored.indices, X.indices)
    assert np.shares_memory(stored.data, X.data)
