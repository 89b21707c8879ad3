"""One matrix in many files: found, looked at, read block by block."""

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from tests.matrices import sparse_counts
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io import Table, read_shards, read_table, write_table
from sketchlasso.io.shards import COPIES, PRODUCTS, bytes_of
from sketchlasso.io.source import natural_order

SIZES = (5, 1, 9, 12)


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


def test_sparse_shards_are_the_matrix_they_were_cut_from(tmp_path, data):
    X, y = data
    shards = read_shards(written(tmp_path, ".npz", X, y))
    assert shards.shape == X.shape and shards.rows_per_shard == SIZES
    assert [path[-6:-4].strip("-") for path in shards.paths] == ["8", "9", "10", "11"]
    np.testing.assert_array_equal(in_full(shards.X), X.toarray())
    np.testing.assert_array_equal(shards.y, y)
    assert "in 4 files, target of shape (27,)" in repr(shards)


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_dense_shards_have_names_and_a_target(tmp_path, data, ending):
    pytest.importorskip("pyarrow", reason="the extra 'cli' is not installed")
    X, y = data[0].toarray(), data[1]
    names = tuple("abcdefg")
    folder = written(tmp_path, ending, X, y, names, target_name="price")
    shards = read_shards(folder, target=None if ending == ".npz" else "price")
    np.testing.assert_array_equal(in_full(shards.X), X)
    np.testing.assert_array_equal(shards.y, y)
    assert shards.feature_names == names and shards.target_name == "price"
    fewer = read_shards(folder, target="y" if ending == ".npz" else "price", drop=["b"])
    np.testing.assert_array_equal(in_full(fewer.X), np.delete(X, 1, axis=1))
    column = read_shards(folder, target=0)
    np.testing.assert_array_equal(column.y, X[:, 0])
    rest = [in_full(column.X)] if ending == ".npz" else [in_full(column.X)[:, :-1]]
    np.testing.assert_array_equal(rest[0], X[:, 1:])


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


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_target_inside_an_npy_file_is_taken_without_the_matrix(tmp_path, order):
    X = np.random.default_rng(0).standard_normal((20_000, 20))
    np.save(tmp_path / "a.npy", np.asarray(X, order=order))
    read_shards(tmp_path, target=7)  # imports
    tracemalloc.start()
    shards = read_shards(tmp_path, memory="2MB", target=7)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(shards.y, X[:, 7])
    assert peak < 4 * shards.y.nbytes < X.nbytes / 4


def test_parquet_is_cut_between_row_groups(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="the extra 'cli' is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    X = np.arange(80.0).reshape(40, 2)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "kind": ["x", "y"] * 20})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=8)
    shards = read_shards(tmp_path, target="kind", memory=room_for(17, 16))
    assert shards.X.rows_per_block == (16, 16, 8)
    np.testing.assert_array_equal(in_full(shards.X), X)
    assert shards.y.tolist() == ["x", "y"] * 20
    text = refusal(InvalidInputError, read_shards, tmp_path, target="kind", memory=room_for(7, 16))
    assert "rows 1 to 8, which are read together, need 0.0128 MB" in text


def test_a_pattern_a_list_and_a_file_alone(tmp_path, data, monkeypatch):
    X, y = data
    written(tmp_path, ".npz", X, y)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "notes.txt").write_text("not data")
    monkeypatch.chdir(tmp_path)
    assert read_shards(".").shape == X.shape
    np.testing.assert_array_equal(in_full(read_shards("part-*.npz").X), X.toarray())
    two = read_shards(["part-10.npz", tmp_path / "part-8.npz"])
    np.testing.assert_array_equal(two.y, np.concatenate([y[6:15], y[:5]]))
    assert read_shards("part-9.npz").shape == (1, 7)
    assert sorted(["b10", "b9", "a", "b9a", "b010"], key=natural_order)[:3] == ["a", "b9", "b9a"]


def test_a_block_travels_as_a_name(tmp_path, data):
    X, y = data
    blocks = read_shards(written(tmp_path, ".npz", X, y)).X
    sent = pickle.dumps(blocks)
    assert len(sent) < 10_000
    np.testing.assert_array_equal(in_full(pickle.loads(sent)), X.toarray())


@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet"])
def test_shards_without_rows_are_passed_over(tmp_path, ending):
    pytest.importorskip("pyarrow", reason="the extra 'cli' is not installed")
    X = np.arange(6.0).reshape(2, 3)
    write_table(tmp_path / f"0{ending}", Table(X))
    if ending == ".npy":
        np.save(tmp_path / "1.npy", X[:0])
    elif ending == ".npz":
        np.savez(tmp_path / "1.npz", X=X[:0])
    else:
        import pyarrow.parquet as parquet

        parquet.write_table(parquet.read_table(tmp_path / "0.parquet").slice(0, 0),
                            tmp_path / "1.parquet")  # fmt: skip
    shards = read_shards(tmp_path)
    assert shards.rows_per_shard == (2,)
    np.testing.assert_array_equal(in_full(shards.X), X)
    assert "hold no rows" in refusal(InvalidInputError, read_shards, tmp_path / f"1{ending}")


def test_tables_in_blocks_need_numbers_and_a_target(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": [1.0, None], "y": ["u", "v"]}), path)
    X = read_shards(path, target="y").X
    assert "has missing values in column 'a'" in refusal(InvalidInputError, X.collect)
    parquet.write_table(pyarrow.table({"a": [1.0, 2.0], "b": ["u", "v"], "c": ["u", "v"]}), path)
    assert "not numbers: b, c" in refusal(InvalidInputError, read_shards, path)
    parquet.write_table(pyarrow.table({"a": [1.0, 2.0], "y": ["u", None]}), path)
    assert "a missing value" in refusal(InvalidInputError, read_shards, path, target="y")


def test_shards_that_do_not_belong_together(tmp_path, data):
    X, y = data
    written(tmp_path, ".npz", X, y)
    last = tmp_path / "part-12.npz"
    for table, fault in (
        (Table(X[:4, :5], y[:4]), "number of columns"),
        (Table(X[:4].toarray(), y[:4]), "storage, sparse or dense,"),
        (Table(X[:4]), "kind of target"),
        (Table(X[:4], np.array(["a"] * 4)), "kind of target"),
        (Table(X[:4], y[:4], tuple("abcdefg")), "names of columns"),
        (Table(X[:4].astype(np.float32), y[:4]), "type of numbers (give dtype)"),
    ):
        write_table(last, table)
        text = refusal(InvalidInputError, read_shards, tmp_path)
        assert f"part-12.npz has another {fault} than {tmp_path}" in text
    assert read_shards(tmp_path, dtype="float32").X.dtype == np.float32
    last.unlink()
    write_table(tmp_path / "part-12.svm", Table(X[:4], y[:4]))
    assert "files, all of one format" in refusal(InvalidInputError, read_shards, tmp_path)


def test_shards_that_are_damaged_or_change_meanwhile_are_named(tmp_path, data):
    X, y = data
    shards = read_shards(written(tmp_path, ".npz", X, y))
    write_table(tmp_path / "part-9.npz", Table(X[:3], y[:3]))
    text = refusal(StoredFileError, in_full, shards.X)
    assert "part-9.npz has changed since it was scanned" in text
    path = tmp_path / "part-10.npz"
    path.write_bytes(path.read_bytes()[:-40])
    assert "part-10.npz is truncated" in refusal(StoredFileError, read_shards, tmp_path)


@pytest.mark.parametrize(
    ("paths", "options", "fault"),
    [
        ("none-*.npz", {}, "does not exist"),
        ([], {}, "no file was given"),
        (["a.npz", "a.npz"], {}, "a.npz was given twice"),
        ("a.svm", {}, "data are read in blocks from npz, npy, parquet files"),
        ("a.npz", {}, "a.npz has 3 rows but y has 2"),
        ("b.npz", {}, "in the target of row 2"),
        ("c.npz", {"memory": "5kB"}, "within the memory of 5kB: rows 1 to 30"),
        ("wide.npy", {"memory": 400}, "rows 1 to 1, which"),
        ("wide.npy", {"memory": "much"}, "memory must be a positive number of bytes"),
    ],
)
def test_refusals(tmp_path, monkeypatch, paths, options, fault):
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", X=np.ones((3, 2)), y=np.ones(2))
    np.savez("b.npz", X=np.ones((3, 2)), y=np.array([1, np.nan, 2]))
    np.savez("c.npz", X=np.ones((30, 2)))
    np.save("wide.npy", np.ones((3, 40)))
    write_table("a.svm", Table(np.eye(2), np.ones(2)))
    kind = StoredFileError if fault.startswith("does not exist") else InvalidInputError
    assert fault in refusal(kind, read_shards, paths, **options)


def test_amounts_of_memory():
    texts = (1000, "1000", "2kB", "1.5 GB", "1MiB")
    assert [bytes_of(text) for text in texts] == [1000, 1000, 2000, 1_500_000_000, 2**20]


def test_a_folder_of_shards_is_read_whole_too(tmp_path, data):
    X, y = data
    table = read_table(written(tmp_path, ".npz", X, y))
    np.testing.assert_array_equal(table.X.toarray(), X.toarray())
    np.testing.assert_array_equal(table.y, y)
    assert sparse.issparse(table.X)
