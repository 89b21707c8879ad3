"""Files that lie about themselves: one sentence, before memory is taken or an index is used."""

import bz2
import gzip
import json
import lzma
import zipfile

import numpy as np
import pytest
from scipy import sparse
from tests.sentences import refusal

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io import read_shards, read_table
from sketchlasso.topics import read_corpus

HUGE = 10**12
X = sparse.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))


def write_npz(path, **changes):
    arrays = {
        "data": X.data,
        "indices": X.indices.astype(np.int64),
        "indptr": X.indptr.astype(np.int64),
        "shape": np.array(X.shape),
        "format": np.array(b"csr"),
        "y": np.ones(2),
    }
    np.savez(path, **{**arrays, **changes})
    return path


@pytest.mark.parametrize("index", [3, -1, 100_003, 2_000_000_000])
def test_an_npz_index_outside_the_matrix(tmp_path, index):
    path = write_npz(tmp_path / "a.npz", indices=np.array([0, index, 1]))
    assert f"is {index}, but 0 to 2 are possible" in refusal(StoredFileError, read_table, path)
    blocks = read_shards(path).X  # a look at the headers does not read the indices
    refusal(StoredFileError, sl.sketch, blocks, rank=1)


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": np.array([0, 9, 3])},
        {"indptr": np.array([0, 2])},
        {"shape": np.array([2, HUGE**1])},
        {"shape": np.array([-2, 3])},
        {"shape": np.array([2.0, 3.0])},
        {"format": np.array(b"xyz")},
        {"format": np.array(1j)},
        {"format": np.array([])},
    ],
)
def test_npz_parts_that_do_not_fit(tmp_path, changes):
    path = write_npz(tmp_path / "a.npz", **changes)
    refusal(StoredFileError, read_table, path)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_look_at_the_headers_finds_a_false_shape(tmp_path, form):
    # The number of rows was compared with that of y first, which blamed the data, not the file.
    stored = X.asformat(form)
    parts = {"data": stored.data, "indices": stored.indices, "indptr": stored.indptr}
    path = write_npz(tmp_path / "a.npz", **parts, format=form, shape=np.array([1, 2]))
    assert "offsets of shape" in refusal(StoredFileError, read_shards, path)


def test_an_npz_member_that_declares_more_than_it_can_become(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=np.ones((4, 3)))
    content = bytearray(path.read_bytes())
    place = content.rfind(b"PK\x01\x02")
    content[place + 24 : place + 28] = (2**31).to_bytes(4, "little")
    path.write_bytes(content)
    assert "declares 2147483648 bytes" in refusal(StoredFileError, read_table, path)


@pytest.mark.parametrize("shape", [f"({HUGE}, 3)", f"({HUGE}, {HUGE})", "(-2, 3)", "(2, 99)"])
def test_npy_shapes_that_are_not_there(tmp_path, shape):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(48)
    (tmp_path / "a.npy").write_bytes(content)
    refusal(StoredFileError, read_table, tmp_path / "a.npy")
    refusal(StoredFileError, read_shards, tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", content)
    refusal(StoredFileError, read_table, tmp_path / "a.npz")
    refusal(StoredFileError, read_shards, tmp_path / "a.npz")


@pytest.mark.parametrize("pack", [None, gzip.compress])
@pytest.mark.parametrize(
    ("name", "head", "sizes"),
    [
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n", f"{HUGE * 9} 3 1"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n", f"3 {HUGE * 9} 1"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n", f"3 3 {HUGE}"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n", f"{HUGE} {HUGE}"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n", "-3 3 1"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n", f"{10**40} 3 1"),
        ("docword.a.txt", "", f"{HUGE * 9}\n3\n1"),
        ("docword.a.txt", "", f"3\n{HUGE * 9}\n1"),
        ("docword.a.txt", "", f"3\n3\n{HUGE}"),
        ("docword.a.txt", "", f"{10**70}\n3\n1"),
    ],
)
def test_sizes_that_the_bytes_cannot_hold(tmp_path, pack, name, head, sizes):
    content = f"{head}{sizes}\n1 1 1\n".encode()
    path = tmp_path / (name if pack is None else f"{name}.gz")
    path.write_bytes(content if pack is None else pack(content))
    refusal(StoredFileError, read_table, path)


def test_a_count_that_is_no_64_bit_number(tmp_path):
    (tmp_path / "docword.a.txt").write_text(f"1\n1\n1\n1 1 {2**64}\n")
    assert "holds the count" in refusal(StoredFileError, read_table, tmp_path / "docword.a.txt")


@pytest.mark.parametrize("index", [2**31 - 1, 2**31, 2**63, 10**30])
def test_svmlight_indices_that_no_memory_holds(tmp_path, index, monkeypatch):
    monkeypatch.setattr("sketchlasso.storage.door.free_memory", lambda: 2**34)
    (tmp_path / "a.svm").write_text(f"1 1:2\n2 {index}:1\n")
    with pytest.raises((StoredFileError, InvalidInputError)):
        read_table(tmp_path / "a.svm")


@pytest.mark.parametrize(
    ("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
@pytest.mark.parametrize("text", [b"0", b"\n", b"0,"])
@pytest.mark.parametrize("name", ["a.csv", "a.svm"])
def test_text_that_inflates(tmp_path, monkeypatch, ending, pack, text, name):
    monkeypatch.setattr("sketchlasso.files.source.ANY", 1 << 20)
    path = tmp_path / f"{name}{ending}"
    path.write_bytes(pack(text * (1 << 21)))
    assert "more than 400 times as large" in refusal(StoredFileError, read_table, path)


def test_compressed_text_of_the_usual_kind_is_read(tmp_path):
    """Zeros alone compress 1000 times, but a small file may become what it likes."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * 200_000))
    assert read_table(path).shape == (200_000, 2)


def test_text_nested_too_deeply(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "sea"}) + "\n" + "[" * 100_000 + "\n")
    assert "is not JSON" in refusal(InvalidInputError, read_corpus, path)


def test_arrow_offsets_outside_the_text(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    ipc = pytest.importorskip("pyarrow.ipc")
    labels = pyarrow.array(["sea", "wave"])
    batch = pyarrow.record_batch([pyarrow.array([1.0, 2.0]), labels], names=["a", "y"])
    path = tmp_path / "a.arrow"
    with ipc.new_file(str(path), batch.schema) as writer:
        writer.write_batch(batch)
    content, offsets = path.read_bytes(), np.array([0, 3, 7], dtype="<i4").tobytes()
    assert content.count(offsets) == 1
    # The last offset stays, so that only a look at each of them notices.
    path.write_bytes(content.replace(offsets, np.array([0, 2**30, 7], dtype="<i4").tobytes()))
    refusal(StoredFileError, read_table, path, target="y")
