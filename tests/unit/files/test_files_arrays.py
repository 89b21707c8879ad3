import gzip

import numpy as np
import pytest
import scipy.io
from scipy import sparse
from tests.sentences import refusal

from sketchlasso import sketch
from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io import read_table

X = np.array([[1.0, 0, 2], [0, 3, 0]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float32, np.float64])
def test_sparse_npz(tmp_path, form, kind):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(X.astype(kind)).asformat(form))
    table = read_table(tmp_path / "a.npz")
    assert isinstance(table.X, sparse.csr_array)
    assert np.array_equal(table.X.toarray(), X)
    assert table.X.dtype == (np.float32 if kind == np.float32 else np.float64)
    last = read_table(tmp_path / "a.npz", target=2, drop=[0])
    assert last.X.toarray().tolist() == [[0], [3]]
    assert last.y.tolist() == [2, 0]


def test_dense_npz(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=X.astype(np.uint8), y=[1, 2], rating=[3, 4], feature_names=["a", "b", "c"])
    table = read_table(path)
    assert np.array_equal(table.X, X)
    assert table.y.tolist() == [1, 2]
    assert table.feature_names == ("a", "b", "c")
    other = read_table(path, target="rating")
    assert other.y.tolist() == [3, 4]
    assert other.target_name == "rating"
    column = read_table(path, target=0)
    assert column.y.tolist() == [1, 0]
    assert column.target_name == "a"
    assert read_table(path, drop=["b"]).feature_names == ("a", "c")
    np.savez(path, only=X)
    assert read_table(path).y is None


def test_npy_is_mapped(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, X)
    table = read_table(path)
    assert isinstance(table.X, np.memmap)
    assert np.array_equal(table.X, X)
    last = read_table(path, target=-1)
    assert isinstance(last.X, np.memmap)
    assert last.X.tolist() == [[1, 0], [0, 3]]
    assert last.y.tolist() == [2, 0]
    middle = read_table(path, target=1)
    assert middle.X.tolist() == [[1, 2], [0, 0]]
    assert read_table(path, dtype="float32").X.dtype == np.float32
    np.save(path, X.astype(np.uint8))
    counts = read_table(path)
    assert counts.X.dtype == np.uint8
    assert sketch(counts.X, rank=2, random_state=0).rank == 2


def store(path, matrix):
    with gzip.open(path, "wb") if path.suffix == ".gz" else open(path, "wb") as file:
        scipy.io.mmwrite(file, matrix)


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz"])
def test_matrix_market(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    store(path, sparse.coo_array(X))
    table = read_table(path)
    assert isinstance(table.X, sparse.csr_array)
    assert np.array_equal(table.X.toarray(), X)
    assert read_table(path, target=1).y.tolist() == [0, 3]
    store(path, X)
    assert np.array_equal(read_table(path).X, X)


@pytest.mark.parametrize(
    ("arrays", "options", "fault"),
    [
        ({"A": X, "B": X}, {}, "holds the arrays A, B, but a matrix called X"),
        ({"X": X, "rating": [1, 2]}, {"target": "ratings"}, "(nearest: 'rating')"),
        ({"X": X}, {"target": "y"}, "(there are none)"),
        ({"X": X}, {"target": 3}, "target must be a position from 0 to"),
        ({"X": X, "y": [1]}, {}, "has 2 rows but y has 1"),
        ({"X": X, "y": np.ones((2, 2, 2))}, {}, "y has shape (2, 2, 2)"),
        ({"X": X, "feature_names": ["a"]}, {}, "has 3 features but 1 feature names"),
        ({"X": X, "feature_names": ["a", "b", "a"]}, {}, "are both called 'a'"),
        ({"X": X.astype(complex)}, {}, "type complex128"),
        ({"X": np.array([["a", "b"]])}, {}, "real numbers"),
        ({"X": X[0]}, {}, "has shape (3,)"),
        ({"X": X[:0]}, {}, "has shape (0, 3)"),
        ({"X": np.where(X == 2, np.inf, X)}, {}, "holds inf in row 1, column 3"),
        ({"X": X, "y": [1, np.nan]}, {}, "holds nan in the target of row 2"),
    ],
)
def test_npz_refusals(tmp_path, arrays, options, fault):
    np.savez(tmp_path / "a.npz", **arrays)
    assert fault in refusal(InvalidInputError, read_table, tmp_path / "a.npz", **options)


def test_sparse_nan_is_located(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.where(X == 3, np.nan, X)))
    text = refusal(InvalidInputError, read_table, tmp_path / "a.npz")
    assert "holds nan in row 2, column 2" in text


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_pickles_and_damage(tmp_path, name):
    path = tmp_path / name
    save = np.savez if name == "a.npz" else np.save
    (save(path, X=np.array([[{}]])) if name == "a.npz" else save(path, np.array([[{}]])))
    assert "holds Python objects" in refusal(StoredFileError, read_table, path)
    (save(path, X=np.ones((99, 9))) if name == "a.npz" else save(path, np.ones((99, 9))))
    whole = path.read_bytes()
    path.write_bytes(whole[:-500])
    refusal(StoredFileError, read_table, path)
    path.write_bytes(whole[:9])
    refusal(StoredFileError, read_table, path)
    if name == "a.npz":
        broken = bytearray(whole)
        broken[400:500] = bytes(100)
        path.write_bytes(broken)
        refusal(StoredFileError, read_table, path)


def test_npy_refusals(tmp_path):
    np.save(tmp_path / "a.npy", X[0])
    text = refusal(InvalidInputError, read_table, tmp_path / "a.npy")
    assert "its array has shape (3,)" in text


def test_sparse_npz_with_parts_missing(tmp_path):
    np.savez(tmp_path / "a.npz", format=np.array(b"csr"), shape=[2, 2], data=[1.0])
    refusal(StoredFileError, read_table, tmp_path / "a.npz")


HEAD = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HEAD + "3 2 2\n1 1 0.5\n", "holds 3 of the 6 numbers"),
        (HEAD + "3 2 2\n1 1 0.5\n4 2 1\n", "row 4, column 2 is listed"),
        (HEAD + "3 2 2\n1 1 0.5\n3 2 abc\n", "holds 'abc' where a number belongs"),
    ],
)
def test_matrix_market_refusals(tmp_path, text, fault):
    (tmp_path / "a.mtx").write_text(text)
    assert fault in refusal(StoredFileError, read_table, tmp_path / "a.mtx")


# SciPy 1.18 announces another default for an argument that the oldest supported release lacks.
@pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")
@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric", "general"])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("layout", ["coordinate", "array"])
def test_matrix_market_as_scipy_reads_it(tmp_path, layout, field, symmetry):
    if (layout, field) == ("array", "pattern"):
        pytest.skip("a list of all numbers has numbers")
    A = np.array([[0, -2, 5], [2, 0, 0], [-5, 0, 0]])
    A = np.abs(A) if symmetry == "symmetric" else A
    matrix = A if layout == "array" else sparse.coo_array(A)
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, matrix, field=field, symmetry=symmetry)
    assert f"{layout} {field} {symmetry}" in path.read_text()
    expected = scipy.io.mmread(path)
    found = read_table(path).X
    dense = [M if isinstance(M, np.ndarray) else M.toarray() for M in (found, expected)]
    assert np.array_equal(*dense)


@pytest.mark.parametrize(
    "text",
    [
        "%%MatrixMarket matrix array 127 general\n1 1\n1\n",  # ends the process in SciPy
        "%%MatrixMarket matrix coordinate real\n1 1 1\n1 1 1\n",
        "%%MatrixMarket vector coordinate real general\n1 1 1\n1 1 1\n",
        "%%MatrixMarket matrix array real symmetric\n2 1\n1\n1\n",
        HEAD + "2 2 1\n1.5 1 1\n",
        HEAD + "2 2 1\nnan 1 1\n",
        HEAD + "2 2 1\n1 1 1 1\n",
    ],
)
def test_matrix_market_that_is_none(tmp_path, text):
    (tmp_path / "a.mtx").write_text(text)
    refusal(StoredFileError, read_table, tmp_path / "a.mtx")


def test_matrix_market_numbers_that_cannot_be_used(tmp_path):
    (tmp_path / "a.mtx").write_text(HEAD.replace("real", "complex") + "1 1 1\n1 1 1 2\n")
    assert "complex128" in refusal(InvalidInputError, read_table, tmp_path / "a.mtx")
    (tmp_path / "a.mtx").write_text(HEAD + "2 2 1\n2 1 nan\n")
    assert "row 2, column 1" in refusal(InvalidInputError, read_table, tmp_path / "a.mtx")
