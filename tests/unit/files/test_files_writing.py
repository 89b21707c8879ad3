"""What is written comes back, number for number, or nothing is written at all."""

import gzip
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.files import delimited, svmlight
from sketchlasso.files import table as files_table
from sketchlasso.io import Table, read_table, write_table

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


@settings(max_examples=60)
@given(table=tables(), ending=st.sampled_from(["", ".gz", ".bz2", ".xz"]))
def test_svmlight_comes_back(folder, table, ending):
    path = folder / f"a.svm{ending}"
    write_table(path, table)
    again = read_table(path)
    assert np.array_equal(dense(again), dense(table))
    assert np.array_equal(again.y, table.y)


@settings(max_examples=60)
@given(table=tables("any"), ending=st.sampled_from([".csv", ".tsv", ".csv.gz", ".tsv.xz"]))
def test_text_tables_come_back(folder, table, ending):
    path = folder / f"a{ending}"
    write_table(path, table)
    again = read_table(path, target=None if table.y is None else "target!")
    assert np.array_equal(dense(again), dense(table))
    assert (again.y is None) == (table.y is None)
    assert table.y is None or np.array_equal(again.y, table.y)
    if table.feature_names is not None:
        assert again.feature_names == tuple(name.strip() for name in table.feature_names)


@settings(max_examples=60)
@given(table=tables("any"), ending=st.sampled_from([".parquet", ".arrow", ".feather"]))
def test_tables_of_columns_come_back(folder, table, ending):
    pytest.importorskip("pyarrow")
    path = folder / f"a{ending}"
    write_table(path, table)
    again = read_table(path, target=None if table.y is None else "target!")
    assert np.array_equal(dense(again), dense(table))
    assert (again.y is None) == (table.y is None)
    assert table.y is None or np.array_equal(again.y, table.y)
    assert table.feature_names in (None, again.feature_names)


@settings(max_examples=60)
@given(X=matrices(), ending=st.sampled_from([".mtx", ".mtx.gz", ".npy"]))
def test_matrices_come_back(folder, X, ending):
    X = X.toarray() if ending == ".npy" and sparse.issparse(X) else X
    path = folder / f"a{ending}"
    write_table(path, Table(X))
    again = read_table(path)
    assert sparse.issparse(again.X) == sparse.issparse(X)
    assert np.array_equal(dense(again), dense(Table(X)))
    if ending == ".npy":
        assert isinstance(again.X, np.memmap)


def test_single_precision_stays(folder):
    X = np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32)
    for ending in ("npy", "npz", "parquet"):
        if ending == "parquet":
            pytest.importorskip("pyarrow")
        write_table(folder / f"single.{ending}", Table(X))
        again = read_table(folder / f"single.{ending}").X
        assert again.dtype == np.float32 and np.array_equal(again, X)


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "npz", "npy", "mtx"])
@pytest.mark.parametrize("dtype", [">f8", ">i4"])
def test_bytes_in_the_other_order_come_back(tmp_path, ending, dtype):
    if ending in ("parquet", "feather"):
        pytest.importorskip("pyarrow")
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "a.npy", X.astype(dtype))
    write_table(tmp_path / f"b.{ending}", read_table(tmp_path / "a.npy"))
    assert np.array_equal(read_table(tmp_path / f"b.{ending}").X, X)


@settings(max_examples=60)
@given(table=tables("any"))
def test_npz_comes_back(folder, table):
    path = folder / "a.npz"
    write_table(path, table)
    again = read_table(path)
    assert type(again.X) is type(table.X)
    assert np.array_equal(dense(again), dense(table))
    assert (again.y is None) == (table.y is None)
    assert table.y is None or np.array_equal(again.y, table.y)
    assert again.feature_names == table.feature_names
    assert again.target_name == table.target_name
    if sparse.issparse(table.X):
        assert np.array_equal(sparse.load_npz(path).toarray(), dense(table))


@settings(max_examples=60)
@given(
    X=matrices(st.integers(0, 2**40).map(float)),
    named=st.booleans(),
    ending=st.sampled_from(["", ".gz"]),
)
def test_word_counts_come_back(folder, X, named, ending):
    words = tuple(f"w{i} ä" for i in range(X.shape[1])) if named else None
    (folder / "vocab.a.txt").unlink(missing_ok=True)
    path = folder / f"docword.a.txt{ending}"
    write_table(path, Table(X, feature_names=words))
    again = read_table(path)
    assert np.array_equal(dense(again), dense(Table(X)))
    assert again.feature_names == words


def test_blocks_of_rows_do_not_matter(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(svmlight, "ROWS", 3)
    monkeypatch.setattr(delimited, "CELLS", 7)
    monkeypatch.setattr(files_table, "CELLS", 7)
    X = np.random.default_rng(0).standard_normal((10, 4))
    for name, target in (("a.svm", None), ("a.csv", "y"), ("a.parquet", "y")):
        write_table(tmp_path / name, Table(X, np.arange(10)))
        assert np.array_equal(dense(read_table(tmp_path / name, target=target)), X)


def test_other_programs_read_our_svmlight(tmp_path):
    X = np.array([[0, 1.5, 0], [0, 2, 0]])
    write_table(tmp_path / "a.svm", Table(X, [1, -1]))
    theirs, y = load_svmlight_file(tmp_path / "a.svm")
    assert np.array_equal(theirs.toarray(), X)
    assert np.array_equal(y, [1, -1])


def test_several_targets_come_back_in_npz(tmp_path):
    table = Table(np.eye(3), np.eye(3)[:, :2], None, ("a", "b"))
    write_table(tmp_path / "a.npz", table)
    again = read_table(tmp_path / "a.npz")
    assert np.array_equal(again.y, table.y)
    assert again.target_name == ("a", "b")


def test_the_same_table_gives_the_same_bytes(tmp_path):
    table = Table(np.eye(3), np.arange(3))
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(tmp_path / name, table)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    text = gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).decode()
    assert text.startswith('"x1","x2","x3","y"\n1.0,0.0,0.0,0.0\n')


@pytest.mark.parametrize("name", ["a.svm", "a.csv.gz", "a.npz", "docword.a.txt.xz"])
def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch, name):
    table = Table(np.eye(2), None if "docword" in name else np.arange(2))
    path = tmp_path / name
    write_table(path, table)
    before = path.read_bytes()

    def broken(number):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", broken)
    text = refusal(StoredFileError, write_table, path, table)
    assert "could not be written (No space left on device)" in text
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "table", "fault"),
    [
        ("a.svm", Table(np.eye(2)), "has no target"),
        ("a.svm", Table(np.eye(2), ["a", "b"]), "a target of (2,), <U1"),
        ("a.svm", Table(np.eye(2), np.eye(2)), "a target of (2, 2)"),
        ("docword.a.txt", Table(np.eye(2), [1, 2]), "such a file holds a matrix and no target"),
        ("docword.a.txt", Table(np.eye(2) / 2), "hold counts but the table holds 0.5"),
        ("docword.a.txt", Table(-np.eye(2)), "hold counts but the table holds -1.0"),
        ("docword.a.txt", Table(np.eye(2), None, ("a\n", "b")), "is not one line"),
        ("a.csv", Table(np.eye(2), np.eye(2)), "y has shape (2, 2)"),
        ("a.csv", Table(np.eye(2), [1, 2], ("y", "b")), "are both called 'y'"),
        ("a.csv", Table(np.eye(2), ["1", "b"]), "the text label '1' would not be read back"),
        ("a.csv", Table(np.eye(2), ["NA", "b"]), "the text label 'NA' would not be read back"),
        ("a.npy", Table(np.eye(2), np.ones(2)), "holds a matrix and no target"),
        ("a.mtx", Table(np.eye(2), np.ones(2)), "holds a matrix and no target"),
        ("a.npy", Table(sparse.csr_array(np.eye(2))), "an npy file is dense but X is sparse"),
        ("a.xls", Table(np.eye(2)), "is a spreadsheet"),
        ("a.txt", Table(np.eye(2)), "cannot tell the format of"),
        ("a.csv", Table(np.array([[1, np.nan]])), "holds nan in row 1, column 2"),
        ("a.csv", np.eye(2), "table is a ndarray, but a Table is needed"),
    ],
)
def test_refusals(tmp_path, name, table, fault):
    assert fault in refusal(InvalidInputError, write_table, tmp_path / name, table)
    assert list(tmp_path.iterdir()) == []


def test_words_need_a_name_that_has_a_place_for_them(tmp_path):
    table = Table(np.eye(2), None, ("a", "b"))
    text = refusal(InvalidInputError, write_table, tmp_path / "a.txt", table, format="bag-of-words")
    assert "docword.NAME.txt" in text


def test_folders_that_are_not_there(tmp_path):
    text = refusal(StoredFileError, write_table, tmp_path / "no" / "a.csv", Table(np.eye(2)))
    assert "could not be written (No such file or directory)" in text


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        ((np.ones(3),), "X has shape (3,)"),
        ((np.array([["a"]]),), "real numbers"),
        ((np.ones((0, 3)),), "the table is empty"),
        ((np.eye(2), [1, 2, 3]), "has 2 rows but y has 3"),
        ((np.eye(2), [{}, {}]), "type object"),
        ((np.eye(2), None, ("a",)), "has 2 features but 1 feature names"),
        ((np.eye(2), None, ("a", "a")), "several features called 'a'"),
    ],
)
def test_tables_whose_parts_do_not_fit(parts, fault):
    assert fault in refusal(InvalidInputError, Table, *parts)


def test_tables_say_what_they_are():
    table = Table(sparse.csc_matrix(np.eye(2, dtype=np.uint8)), [1, 2], source="a.npz")
    assert repr(table) == "<Table of 2 x 2, sparse, target of shape (2,) from a.npz>"
    assert table.X.dtype == np.float64
    assert repr(Table(np.eye(2))) == "<Table of 2 x 2, dense, no target>"
