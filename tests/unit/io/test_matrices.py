"""Matrices and tables come back number for number, and agree with SciPy and scikit-learn."""

import gzip
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.io import mmwrite
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io import Encoding, Table, read_table, write_table

finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(string.ascii_letters + "äß,;\"' |", min_size=1, max_size=8).map("x{}x".format)


@st.composite
def matrices(draw, elements=finite):
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=6))
    dense = draw(hnp.arrays(np.float64, shape, elements=elements))
    dense = dense * draw(hnp.arrays(np.bool_, shape)) + 0.0
    return sparse.csr_array(dense) if draw(st.booleans()) else dense


@st.composite
def tables(draw, target="numbers"):
    X = draw(matrices())
    rows, columns = X.shape
    y = draw(hnp.arrays(np.float64, rows, elements=finite))
    if target == "any":
        words = draw(st.lists(names, min_size=rows, max_size=rows))
        y = draw(st.sampled_from([None, y, np.array(words)]))
    given_names = draw(st.lists(names, min_size=columns, max_size=columns, unique=True))
    known = draw(st.sampled_from([None, tuple(given_names)]))
    return Table(X, y, known, None if y is None else "target!")


def dense(table):
    return table.X.toarray() if sparse.issparse(table.X) else np.asarray(table.X)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@settings(max_examples=150)
@given(
    table=tables("any"),
    ending=st.sampled_from(["csv", "tsv", "csv.gz", "tsv.xz", "parquet", "feather", "npz"]),
)
def test_tables_come_back(folder, table, ending):
    pytest.importorskip("pyarrow")
    path = folder / f"a.{ending}"
    write_table(path, table)
    again = read_table(path, target=None if table.y is None or ending == "npz" else "target!")
    assert np.array_equal(dense(again), dense(table))
    assert (again.y is None) == (table.y is None)
    assert table.y is None or np.array_equal(again.y, table.y)
    if table.feature_names is not None:
        assert again.feature_names == tuple(name.strip() for name in table.feature_names)
    if ending == "npz":
        assert type(again.X) is type(table.X) and again.target_name == table.target_name
        if sparse.issparse(table.X):
            assert np.array_equal(sparse.load_npz(path).toarray(), dense(table))


@settings(max_examples=60)
@given(table=tables(), ending=st.sampled_from(["", ".gz", ".bz2", ".xz"]))
def test_svmlight_comes_back(folder, table, ending):
    path = folder / f"a.svm{ending}"
    write_table(path, table)
    again = read_table(path)
    assert np.array_equal(dense(again), dense(table))
    assert np.array_equal(again.y, table.y)


@settings(max_examples=60)
@given(
    X=matrices(st.integers(0, 2**40).map(float)),
    named=st.booleans(),
    ending=st.sampled_from(["", ".gz"]),
)
def test_word_counts_come_back(folder, X, named, ending):
    words = tuple(f"w{i} \u2028ä" for i in range(X.shape[1])) if named else None
    (folder / "vocab.a.txt").unlink(missing_ok=True)
    path = folder / f"docword.a.txt{ending}"
    write_table(path, Table(X, feature_names=words))
    again = read_table(path)
    assert np.array_equal(dense(again), dense(Table(X)))
    assert again.feature_names == words


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "npz", "npy", "mtx"])
@pytest.mark.parametrize("dtype", [">f8", ">i4", np.float32])
def test_types_come_back(tmp_path, ending, dtype):
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "a.npy", X.astype(dtype))
    write_table(tmp_path / f"b.{ending}", read_table(tmp_path / "a.npy"))
    again = read_table(tmp_path / f"b.{ending}").X
    assert np.array_equal(again, X)
    if dtype == np.float32 and ending not in ("csv", "mtx"):
        assert again.dtype == np.float32


def test_several_targets_and_ids_come_back(tmp_path):
    table = Table(np.eye(3), np.eye(3)[:, :2], None, ("a", "b"), ids=np.array(["u", "v", "w"]))
    write_table(tmp_path / "a.npz", table)
    again = read_table(tmp_path / "a.npz")
    assert np.array_equal(again.y, table.y) and again.target_name == ("a", "b")
    assert again.ids.tolist() == ["u", "v", "w"]
    write_table(tmp_path / "a.csv", Table(np.eye(2), ids=np.array([7, 8])))
    assert read_table(tmp_path / "a.csv", id="id").ids.tolist() == ["7", "8"]


def test_arrays_of_an_npz_file(tmp_path):
    X, y = np.arange(12.0).reshape(4, 3), np.array(["a", "b", "a", "b"])
    np.savez(tmp_path / "a.npz", X=X, label=y, extra=np.ones(4))
    table = read_table(tmp_path / "a.npz", target="label")
    assert table.y.tolist() == y.tolist() and table.target_name == "label"
    table = read_table(tmp_path / "a.npz", target=1)
    assert table.y.tolist() == X[:, 1].tolist() and np.array_equal(table.X, X[:, [0, 2]])
    assert "nearest: 'label'" in refusal(
        InvalidInputError, read_table, tmp_path / "a.npz", target="lable"
    )
    for form in ("csc", "coo", "bsr", "dia"):
        sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(X).asformat(form))
        assert np.array_equal(dense(read_table(tmp_path / "s.npz")), X)
    np.savez(tmp_path / "m.npz", one=X, other=X)
    assert "a matrix called X" in refusal(InvalidInputError, read_table, tmp_path / "m.npz")


def test_svmlight_of_other_programs(tmp_path):
    X = sparse.random_array((30, 9), density=0.3, rng=np.random.default_rng(0)).tocsr()
    y = np.arange(30.0)
    for base in (0, 1):
        dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=base == 0, comment="made")
        table = read_table(tmp_path / "a.svm", n_features=9, index_base=base)
        np.testing.assert_allclose(dense(table), X.toarray(), rtol=1e-15)
    write_table(tmp_path / "b.svm.gz", Table(X, y))
    theirs, labels = load_svmlight_file(str(tmp_path / "b.svm.gz"))
    np.testing.assert_array_equal(theirs.toarray(), X.toarray())
    np.testing.assert_array_equal(labels, y)
    (tmp_path / "m.svm").write_text("1,3 1:2 # two labels\n3 qid:7 2:1\n 2:5\n")
    table = read_table(tmp_path / "m.svm", multilabel=True)
    assert table.y.tolist() == [[1, 1], [0, 1], [0, 0]] and table.target_name == ("1", "3")


def test_the_first_index_is_remembered(tmp_path):
    (tmp_path / "fit.svm").write_text("1 0:1 1:2 2:3\n2 1:5\n")
    (tmp_path / "new.svm").write_text("0 1:2 2:3 7:9\n0 2:4 8:1\n")  # without the index 0
    first = read_table(tmp_path / "fit.svm")
    stored = Encoding.from_json(first.encoding.to_json())
    assert (stored.index_base, stored.n_features) == (0, 3)
    new = read_table(tmp_path / "new.svm", encoding=stored)
    assert dense(new).tolist() == [[0, 2, 3], [0, 0, 4]]
    assert new.notes == ("ignored 2 features after the last of 3",)
    assert read_table(tmp_path / "new.svm").shape == (2, 8)
    from_one = Encoding(index_base=1, n_features=3)
    assert "has indices from 0 on" in refusal(
        InvalidInputError, read_table, tmp_path / "fit.svm", encoding=from_one
    )
    both = read_table([tmp_path / "new.svm", tmp_path / "fit.svm"])
    assert both.encoding == Encoding(index_base=0, n_features=9)
    assert dense(both)[:, :3].tolist() == [[0, 2, 3], [0, 0, 4], [1, 2, 3], [0, 5, 0]]


def test_words_beside_their_counts(tmp_path):
    text = b"2\n3\n3\n1 1 4\n1 3 1\n2 2 1\n"
    (tmp_path / "docword.some.txt.gz").write_bytes(gzip.compress(text))
    assert read_table(tmp_path / "docword.some.txt.gz").feature_names is None
    (tmp_path / "vocab.some.txt").write_text("ä\u2028ö\nb\nc\n", encoding="utf-8")
    table = read_table(tmp_path / "docword.some.txt.gz")
    assert table.feature_names == ("ä\u2028ö", "b", "c")
    assert dense(table).tolist() == [[4, 0, 1], [0, 1, 0]]
    (tmp_path / "vocab.some.txt").write_text("a\nb\n")
    assert "holds 2 words but" in refusal(
        InvalidInputError, read_table, tmp_path / "docword.some.txt.gz"
    )


@pytest.mark.parametrize(
    ("name", "table", "fault"),
    [
        ("a.svm", Table(np.eye(2), ["a", "b"]), "a target of (2,), <U1"),
        ("docword.a.txt", Table(np.eye(2) / 2), "hold counts but the table holds 0.5"),
        ("docword.a.txt", Table(np.eye(2), None, ("a\n", "b")), "no word may have a line break"),
        ("a.csv", Table(np.eye(2), [1, 2], ("y", "b")), "are both called 'y'"),
        ("a.csv", Table(np.eye(2), ["1", "b"]), "the text label '1' would not be read back"),
        ("a.npy", Table(sparse.csr_array(np.eye(2))), "an npy file is dense but X is sparse"),
        ("a.mtx", Table(np.eye(2), np.ones(2)), "holds a matrix and no target"),
        ("a.txt", Table(np.eye(2)), "cannot tell the format of"),
        ("a.csv", Table(np.array([[1, np.nan]])), "holds nan in row 1, column 2"),
        ("a.csv", np.eye(2), "table is a ndarray, but a Table is needed"),
    ],
)
def test_tables_that_do_not_fit_the_format(tmp_path, name, table, fault):
    assert fault in refusal(InvalidInputError, write_table, tmp_path / name, table)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ((np.ones(3),), "X has shape (3,)"),
        ((np.ones((0, 3)),), "X has shape (0, 3)"),
        ((np.eye(2), [1, 2, 3]), "has 2 rows but y has 3"),
        ((np.eye(2), None, ("a", "a")), "several of them called 'a'"),
    ],
)
def test_tables_whose_parts_do_not_fit(parts, fault):
    assert fault in refusal(InvalidInputError, Table, *parts)


@pytest.mark.parametrize("name", ["a.npz", "a.npy", "a.mtx", "a.svm", "docword.a.txt"])
def test_files_that_were_cut_are_refused(tmp_path, name):
    table = Table(np.eye(50), np.arange(50) if name in ("a.npz", "a.svm") else None)
    write_table(tmp_path / name, table)
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2] + b":")
    refusal(StoredFileError, read_table, tmp_path / name)
    np.savez(tmp_path / "p.npz", X=np.array([[None, {}]], dtype=object))
    refusal(StoredFileError, read_table, tmp_path / "p.npz")


@pytest.mark.parametrize("ending", [".mtx", ".mtx.gz", ".npy"])
@pytest.mark.parametrize("form", ["dense", "coordinates"])
def test_matrices_of_scipy_and_numpy_come_back(tmp_path, form, ending):
    dense_X = np.array([[0.0, 2, 0], [-2, 1e-300, 3], [0, -3, 0.1]])
    X = dense_X if form == "dense" or ending == ".npy" else sparse.csr_array(dense_X)
    write_table(tmp_path / f"a{ending}", Table(X))
    again = read_table(tmp_path / f"a{ending}")
    assert sparse.issparse(again.X) == sparse.issparse(X)
    assert np.array_equal(dense(again), dense_X)
    mmwrite(tmp_path / "s.mtx", np.triu(dense_X) + np.triu(dense_X, 1).T, symmetry="symmetric")
    assert np.array_equal(dense(read_table(tmp_path / "s.mtx"))[0], [0, 2, 0])
