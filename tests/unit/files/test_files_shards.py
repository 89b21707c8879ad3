"""One matrix in many files: found, looked at, read block by block, refused in one sentence."""

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from tests.matrices import sparse_counts
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.files.shard import COPIES, PRODUCTS, scan
from sketchlasso.files.shards import bytes_of, natural_order
from sketchlasso.io import Table, read_shards, read_table, write_table
from sketchlasso.storage.door import in_words

SIZES = (5, 1, 9, 12)


def cut(values):
    return np.split(values, np.cumsum(SIZES)[:-1])


def room_for(rows, row_bytes):
    """The memory that so many rows need to be worked on."""
    return COPIES * rows * (row_bytes + PRODUCTS)


def in_full(X):
    """All entries, by one product."""
    return X @ np.eye(X.shape[1])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return sparse_counts(sum(SIZES), 7, rng, density=0.4), rng.standard_normal(sum(SIZES))


def written(folder, ending, X, y=None, names=None, **how):
    """Write shards whose names come in natural but not in alphabetical order."""
    starts = np.cumsum([0, *SIZES])
    for number, (start, stop) in enumerate(pairwise(starts)):
        part = Table(X[start:stop], None if y is None else y[start:stop], names, **how)
        write_table(folder / f"part-{8 + number}{ending}", part)
    return folder


@pytest.mark.parametrize("ending", [".npz", ".svm", ".svm.gz"])
def test_sparse_shards_are_the_matrix_they_were_cut_from(tmp_path, data, ending):
    X, y = data
    shards = read_shards(written(tmp_path, ending, X, y))
    assert shards.shape == X.shape
    assert shards.rows_per_shard == SIZES
    assert [path.rpartition("-")[2][:2].rstrip(".") for path in shards.paths] == [
        "8",
        "9",
        "10",
        "11",
    ]
    np.testing.assert_array_equal(in_full(shards.X), X.toarray())
    np.testing.assert_array_equal(shards.y, y)
    assert "in 4 files, target of shape (27,)" in repr(shards)


@pytest.mark.parametrize("ending", [".npz", ".parquet", ".csv", ".feather"])
def test_dense_shards_have_names_and_a_target(tmp_path, data, ending):
    if ending in (".parquet", ".feather"):
        pytest.importorskip("pyarrow", reason="the extra 'files' is not installed")
    X, y = data[0].toarray(), data[1]
    names = tuple("abcdefg")
    folder = written(tmp_path, ending, X, y, names, target_name="price")
    shards = read_shards(folder, target=None if ending == ".npz" else "price")
    np.testing.assert_array_equal(in_full(shards.X), X)
    np.testing.assert_array_equal(shards.y, y)
    assert shards.feature_names == names
    assert shards.target_name == "price"
    fewer = read_shards(folder, target="y" if ending == ".npz" else "price", drop=["b"])
    np.testing.assert_array_equal(in_full(fewer.X), np.delete(X, 1, axis=1))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, ">f8"])
def test_npy_shards_are_mapped_in_parts(tmp_path, order, dtype):
    X = np.arange(60, dtype=dtype).reshape(20, 3)
    np.save(tmp_path / "a.npy", np.asarray(X[:13], order=order))
    np.save(tmp_path / "b.npy", np.asarray(X[13:], order=order))
    shards = read_shards(tmp_path, memory=room_for(4, 24))
    assert shards.X.n_blocks > 2
    assert shards.X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    np.testing.assert_array_equal(in_full(shards.X), X)
    targeted = read_shards(tmp_path, target=1, memory=room_for(4, 24))
    np.testing.assert_array_equal(targeted.y, X[:, 1])
    np.testing.assert_array_equal(in_full(targeted.X), X[:, [0, 2]])
    np.testing.assert_array_equal(in_full(read_shards(tmp_path, target=2).X), X[:, :2])


def test_only_the_rows_of_a_block_are_mapped(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((100, 3)))
    shards = read_shards(tmp_path / "a.npy", memory=room_for(10, 24))
    assert shards.X.rows_per_block == (10,) * 10
    found = scan(*_looked_at(tmp_path / "a.npy"))
    assert found.cuts is None


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("options", [{"target": 7}, {"target": 0, "dtype": "float32"}])
def test_a_target_inside_an_npy_file_is_taken_without_the_matrix(tmp_path, order, options):
    X = np.random.default_rng(0).standard_normal((20_000, 20))
    np.save(tmp_path / "a.npy", np.asarray(X, order=order))
    read_shards(tmp_path, **options)  # imports
    tracemalloc.start()
    shards = read_shards(tmp_path, memory="2MB", **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(shards.y, X[:, options["target"]])
    assert peak < 4 * shards.y.nbytes < X.nbytes / 4


def _looked_at(path):
    from sketchlasso.files.options import ReadOptions
    from sketchlasso.files.source import Source

    return Source.of(path), ReadOptions()


def test_parquet_is_cut_between_row_groups(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="the extra 'files' is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    X = np.arange(80.0).reshape(40, 2)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "kind": ["x", "y"] * 20})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=8)
    shards = read_shards(tmp_path, target="kind", memory=room_for(17, 16))
    assert shards.X.rows_per_block == (16, 16, 8)
    np.testing.assert_array_equal(in_full(shards.X), X)
    assert shards.y.tolist() == ["x", "y"] * 20
    text = refusal(InvalidInputError, read_shards, tmp_path, target="kind", memory=room_for(7, 16))
    assert (
        "a row group needs 12.8 kB to be read and multiplied; write row groups of at most 7" in text
    )


def test_a_pattern_a_list_and_a_file_alone(tmp_path, data, monkeypatch):
    X, y = data
    written(tmp_path, ".npz", X, y)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.txt").write_text("not data")
    monkeypatch.chdir(tmp_path)
    assert read_shards(".").shape == X.shape
    np.testing.assert_array_equal(in_full(read_shards("part-*.npz").X), X.toarray())
    two = read_shards(["part-10.npz", tmp_path / "part-8.npz"])
    np.testing.assert_array_equal(two.y, np.concatenate([cut(y)[2], cut(y)[0]]))
    one = read_shards("part-9.npz")
    assert one.shape == (1, 7)


def test_numbers_in_names_count_as_numbers():
    names = ["b10", "b9", "a", "b9a", "b010"]
    assert sorted(names, key=natural_order)[:3] == ["a", "b9", "b9a"]


def test_a_block_travels_as_a_name(tmp_path, data):
    X, y = data
    blocks = read_shards(written(tmp_path, ".npz", X, y)).X
    sent = pickle.dumps(blocks)
    assert len(sent) < 10_000
    np.testing.assert_array_equal(in_full(pickle.loads(sent)), X.toarray())


def test_shards_without_rows_are_passed_over(tmp_path, data):
    X, _ = data
    written(tmp_path, ".npz", X)
    sparse.save_npz(tmp_path / "part-0.npz", sparse.csr_array((0, 7)))
    np.save(tmp_path / "none.npy", np.empty((0, 3)))
    shards = read_shards(tmp_path / "part-*.npz")
    assert shards.shape == X.shape
    assert shards.rows_per_shard == SIZES
    text = refusal(InvalidInputError, read_shards, tmp_path / "none.npy")
    assert "hold no rows" in text


def empty_among(folder, ending):
    """A shard with rows and others without, and what read_shards needs to know of them."""
    full, none = folder / f"0{ending}", folder / f"1{ending}"
    if ending == ".npy":
        np.save(full, np.ones((2, 3)))
        np.save(none, np.empty((0, 3)))
        return {"target": 1}
    if ending == ".npz":
        np.savez(full, X=np.ones((2, 3)))
        np.savez(none, X=np.empty((0, 3)))
        return {"target": 1}
    if ending == ".mtx":
        full.write_text("%%MatrixMarket matrix array real general\n2 2\n1\n1\n1\n1\n")
        none.write_text("%%MatrixMarket matrix coordinate real general\n0 2 0\n")
        return {}
    if ending in (".parquet", ".feather"):
        pa = pytest.importorskip("pyarrow", reason="the extra 'files' is not installed")
        table = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [5.0, 6.0]})
        write = {
            ".parquet": pytest.importorskip("pyarrow.parquet").write_table,
            ".feather": pytest.importorskip("pyarrow.feather").write_feather,
        }[ending]
        write(table, full)
        write(table.slice(0, 0), none)
        return {"target": "y"}
    separator = "\t" if ending == ".tsv" else ","
    text = ending.startswith((".csv", ".tsv"))
    full.write_text("a,b,y\n1,2,3\n4,5,6\n".replace(",", separator) if text else "1 2:1\n-1\n")
    none.write_text("a,b,y\n".replace(",", separator) if text else "# nobody came\n")
    (folder / f"2{ending}").write_text("")
    return {"target": "y"} if text else {}


@pytest.mark.parametrize(
    "ending", [".npy", ".npz", ".mtx", ".parquet", ".feather", ".csv", ".tsv", ".svm"]
)
def test_shards_of_any_format_may_have_no_rows(tmp_path, ending):
    options = empty_among(tmp_path, ending)
    shards = read_shards(tmp_path, **options)
    assert shards.shape == (2, 2)
    assert shards.rows_per_shard == (2,)
    assert in_full(shards.X).shape == (2, 2)
    text = refusal(InvalidInputError, read_shards, tmp_path / f"1{ending}", **options)
    assert "hold no rows" in text
    # Alone such a file is refused, as it always was.
    refusal(InvalidInputError, read_table, tmp_path / f"1{ending}", **options)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet", ".mtx", ".svm.gz"])
def test_a_shard_without_a_byte_is_damaged_where_a_header_is_due(tmp_path, ending):
    (tmp_path / f"0{ending}").write_bytes(b"")
    assert "is empty" in refusal(StoredFileError, read_shards, tmp_path)


def test_svmlight_shards_count_from_the_same_index(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2 3:4 # note\n-1 qid:3 2:1\n")
    (tmp_path / "b.svm").write_text("1 0:5\n2\n")
    shards = read_shards(tmp_path)
    np.testing.assert_array_equal(
        in_full(shards.X), [[0, 2, 0, 4], [0, 0, 1, 0], [5, 0, 0, 0], [0, 0, 0, 0]]
    )
    np.testing.assert_array_equal(shards.y, [1, -1, 1, 2])
    assert read_shards(tmp_path, n_features=9).shape == (4, 9)
    text = refusal(InvalidInputError, read_shards, tmp_path, n_features=3)
    assert "a.svm uses 4 features but n_features=3 was given; give at least 4" in text


def test_a_faulty_line_of_a_shard_is_named(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n")
    (tmp_path / "b.svm").write_text("1 1:2\nspam 2:1\n")
    text = refusal(InvalidInputError, read_shards, tmp_path)
    assert "b.svm has the label 'spam' in line 2" in text
    (tmp_path / "b.svm").write_text("1 1:2\n1 1:2 2:x 3:1\n")
    shards = read_shards(tmp_path)
    text = refusal(InvalidInputError, in_full, shards.X)
    assert "b.svm has '2:x' in line 2" in text


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("1;2;", "has no value in line 3, column 'y', but every cell is needed"),
        ("1;inf;3", "holds 'inf' in line 3, column 'b', but a finite number is needed"),
        ("1;2,5;3", "holds '2,5' in line 3, column 'b', but a finite number with a decimal point"),
        ("1;2;inf", "holds 'inf' in line 3, column 'y', but the target must be finite"),
    ],
)
def test_the_first_cell_that_is_no_number_is_named(tmp_path, row, fault):
    (tmp_path / "a.csv").write_text(f"a;b;y\n1;2;3\n{row}\n")
    assert fault in refusal(InvalidInputError, read_shards, tmp_path / "a.csv", target="y")


def test_rows_of_a_parquet_shard_need_numbers_and_a_target(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"a": [1.0, None], "y": ["u", "v"]}), tmp_path / "a.parquet")
    X = read_shards(tmp_path / "a.parquet", target="y").X
    assert "has no value in row 2, column 'a'" in refusal(InvalidInputError, X.collect)
    parquet.write_table(pyarrow.table({"a": [1.0, 2.0], "y": ["u", None]}), tmp_path / "b.parquet")
    text = refusal(InvalidInputError, read_shards, tmp_path / "b.parquet", target="y")
    assert "has no target in row 2, column 'y'" in text


def test_places_without_files_are_refused(tmp_path):
    assert "no file matches" in refusal(StoredFileError, read_shards, tmp_path / "*.npz")
    assert "holds no file of a known format" in refusal(StoredFileError, read_shards, tmp_path)
    text = refusal(StoredFileError, read_shards, tmp_path / "a.npz")
    assert "does not exist" in text
    assert "no file was given" in refusal(InvalidInputError, read_shards, [])


def test_shards_that_do_not_belong_together(tmp_path, data):
    X, y = data
    written(tmp_path, ".npz", X, y)
    last = tmp_path / "part-12.npz"

    def refused(table):
        write_table(last, table)
        return refusal(InvalidInputError, read_shards, tmp_path)

    text = refused(Table(X[:4, :5], y[:4]))
    assert "shard 5, " in text
    assert "part-12.npz, has 5 columns but" in text
    assert "part-8.npz has 7" in text
    assert "is dense but" in refused(Table(X[:4].toarray(), y[:4]))
    assert "holds no target but" in refused(Table(X[:4]))
    assert "of another kind" in refused(Table(X[:4], np.array(["a"] * 4)))
    assert "has other names of columns" in refused(Table(X[:4], y[:4], tuple("abcdefg")))
    text = refused(Table(X[:4].astype(np.float32), y[:4]))
    assert "holds float32 but" in text
    assert read_shards(tmp_path, dtype="float32").X.dtype == np.float32
    last.unlink()
    write_table(tmp_path / "part-12.svm", Table(X[:4], y[:4]))
    text = refusal(InvalidInputError, read_shards, tmp_path)
    assert "is svmlight, but shards are all of one format" in text


def test_a_file_given_twice_or_of_no_use(tmp_path, data):
    X, y = data
    written(tmp_path, ".npz", X, y)
    again = [tmp_path / "part-8.npz", tmp_path / "part-8.npz"]
    assert "part-8.npz was given twice" in refusal(InvalidInputError, read_shards, again)
    write_table(tmp_path / "docword.a.txt", Table(np.eye(7), None, tuple("abcdefg")))
    text = refusal(InvalidInputError, read_shards, tmp_path / "docword.a.txt")
    assert "is a bag-of-words file, but shards are of the formats npz" in text
    text = refusal(InvalidInputError, read_shards, tmp_path, n_features=3)
    assert "n_features=3 does not apply to the npz file" in text


@pytest.mark.parametrize("ending", [".npz", ".npy", ".parquet", ".svm.gz"])
def test_a_truncated_shard_is_named(tmp_path, data, ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow", reason="the extra 'files' is not installed")
    X, y = data
    dense = ending in (".npy", ".parquet")
    written(tmp_path, ending, X.toarray() if dense else X, None if dense else y)
    path = tmp_path / f"part-10{ending}"
    path.write_bytes(path.read_bytes()[:-40])
    assert f"part-10{ending} " in refusal(StoredFileError, read_shards, tmp_path)


def test_a_shard_damaged_within_is_named_when_it_is_read(tmp_path, data):
    X, y = data
    written(tmp_path, ".npz", X, y)
    path = tmp_path / "part-11.npz"
    held = bytearray(path.read_bytes())
    place = held.find(b"data.npy") + 60
    held[place : place + 8] = b"\xff" * 8
    path.write_bytes(bytes(held))
    text = refusal(StoredFileError, lambda: in_full(read_shards(tmp_path).X))
    assert "part-11.npz" in text


def test_a_shard_that_changes_meanwhile_is_named(tmp_path, data):
    X, y = data
    shards = read_shards(written(tmp_path, ".npz", X, y))
    write_table(tmp_path / "part-9.npz", Table(X[:3], y[:3]))
    text = refusal(StoredFileError, in_full, shards.X)
    assert "part-9.npz has changed since it was scanned" in text


def test_a_file_that_must_be_read_whole_can_be_too_large(tmp_path, data):
    X, y = data
    written(tmp_path, ".npz", X, y)
    text = refusal(InvalidInputError, read_shards, tmp_path, memory="5kB")
    assert "cannot be read within memory=5kB: the file, which is read whole, needs" in text
    assert "write shards of at most 2 rows, or npy or Parquet files" in text
    np.save(tmp_path / "wide.npy", np.ones((3, 40)))
    text = refusal(InvalidInputError, read_shards, tmp_path / "wide.npy", memory=400)
    assert "one row needs 2.82 kB to be read and multiplied; allow more memory" in text


def test_targets_that_do_not_fit(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2)), y=np.ones(2))
    text = refusal(InvalidInputError, read_shards, tmp_path)
    assert "a.npz has 3 rows but y has 2" in text
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2)), y=np.array([1, np.nan, 2]))
    text = refusal(InvalidInputError, read_shards, tmp_path)
    assert "in the target of row 2" in text


@pytest.mark.parametrize(
    ("memory", "expected"),
    [(1000, 1000), ("1000", 1000), ("2kB", 2000), ("1.5 GB", 1_500_000_000), ("1MiB", 2**20)],
)
def test_amounts_of_memory(memory, expected):
    assert bytes_of(memory) == expected


@pytest.mark.parametrize("memory", ["much", "-3MB", 0, "3 parsec", True])
def test_amounts_that_are_none(memory):
    message = refusal(InvalidInputError, bytes_of, memory)
    assert f"memory must be a positive number of bytes, not {memory!r};" in message


def test_amounts_in_words():
    assert (in_words(12), in_words(3_456_000), in_words(7e12)) == (
        "12 bytes",
        "3.46 MB",
        "7 TB",
    )
