"""What a file is, and what is wrong with it, before any of it is understood."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, MissingExtraError, StoredFileError
from sketchlasso.files import source as source_module
from sketchlasso.files.formats import HANDLERS, Format
from sketchlasso.files.source import FORMATS, format_of
from sketchlasso.io import read_table

PACKERS = {".gz": gzip, ".bz2": bz2, ".xz": lzma}
TEXTS = {
    "a.svm": b"1 1:0.5 3:2\n-1 2:1\n",
    "docword.a.txt": b"2\n3\n3\n1 1 1\n1 3 2\n2 2 1\n",
    "a.csv": b"a,b,c\n0.5,0,2\n0,1,0\n",
    "a.tsv": b"a\tb\tc\n0.5\t0\t2\n0\t1\t0\n",
    "a.mtx": b"%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 0.5\n1 3 2\n2 2 1\n",
}


def test_every_format_has_a_reader_and_a_place_in_the_signature():
    assert set(FORMATS) == set(HANDLERS) == set(Format.__args__)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ending", ["", *PACKERS])
def test_text_is_read_compressed_or_not(tmp_path, name, ending):
    path = tmp_path / (name + ending)
    path.write_bytes(PACKERS[ending].compress(TEXTS[name]) if ending else TEXTS[name])
    assert read_table(path).shape == (2, 3)
    assert read_table(str(path)).source == str(path)


def long_text(name):
    noise = np.random.default_rng(0).integers(1, 10**9, 20000)
    if name == "a.svm":
        return "\n".join(f"{v} 1:{v}" for v in noise)
    if name == "docword.a.txt":
        return "20000\n9\n20000\n" + "".join(f"{i} 1 {v}\n" for i, v in enumerate(noise, 1))
    if name == "a.mtx":
        head = TEXTS[name].decode().splitlines()[0] + "\n20000 1 20000\n"
        return head + "".join(f"{i} 1 {v}\n" for i, v in enumerate(noise, 1))
    mark = "," if name == "a.csv" else "\t"
    return "".join(f"{v}{mark}{v}\n" for v in noise)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ending", PACKERS)
def test_truncated_and_damaged_compressed_text(tmp_path, name, ending):
    path = tmp_path / (name + ending)
    whole = PACKERS[ending].compress(long_text(name).encode())
    path.write_bytes(whole)
    assert read_table(path).shape[0] == 20000
    path.write_bytes(whole[: len(whole) // 2])
    assert "is truncated" in refusal(StoredFileError, read_table, path)
    broken = bytearray(whole)
    broken[len(whole) // 2 : len(whole) // 2 + 64] = b"\xff\x00" * 32
    path.write_bytes(broken)
    assert "is damaged" in refusal(StoredFileError, read_table, path)


@pytest.mark.parametrize("ending", PACKERS)
def test_a_mistake_in_sound_compressed_text_is_reported_as_one(tmp_path, ending):
    path = tmp_path / f"a.svm{ending}"
    path.write_bytes(PACKERS[ending].compress(b"1 1:2\nspam 1:2\n"))
    assert "the label 'spam' in line 2" in refusal(InvalidInputError, read_table, path)


@pytest.mark.parametrize("ending", PACKERS)
def test_names_that_promise_another_compression(tmp_path, ending):
    path = tmp_path / f"a.csv{ending}"
    path.write_bytes(TEXTS["a.csv"])
    assert "although its name says so" in refusal(StoredFileError, read_table, path)
    bare = tmp_path / "a.csv"
    bare.write_bytes(PACKERS[ending].compress(TEXTS["a.csv"]))
    assert f"add {ending} to its name" in refusal(StoredFileError, read_table, bare)


def test_contents_of_another_format(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3))
    (tmp_path / "a.npz").rename(tmp_path / "a.csv")
    text = refusal(StoredFileError, read_table, tmp_path / "a.csv")
    assert "holds npz data but is to be read as csv; pass format='npz'" in text
    assert read_table(tmp_path / "a.csv", format="npz").shape == (3, 3)
    for name in ("b.npz", "b.npy", "b.parquet", "b.mtx"):
        (tmp_path / name).write_bytes(TEXTS["a.csv"])
        assert "is not a file of the format" in refusal(
            StoredFileError, read_table, tmp_path / name
        )
    (tmp_path / "c.csv").write_bytes(b"\x28\xb5\x2f\xfd rest")
    assert "decompress it first" in refusal(StoredFileError, read_table, tmp_path / "c.csv")


def test_missing_empty_and_foreign_places(tmp_path):
    text = refusal(StoredFileError, read_table, tmp_path / "none.svm.gz")
    assert "none.svm.gz does not exist" in text
    assert str(tmp_path) in text
    (tmp_path / "folder.csv").mkdir()
    assert "is not a file" in refusal(StoredFileError, read_table, tmp_path / "folder.csv")
    for name in ("a.csv", "a.svm", "docword.a.txt", "a.mtx", "a.npz", "a.npy", "a.parquet"):
        (tmp_path / name).write_bytes(b"")
        assert "is empty" in refusal(StoredFileError, read_table, tmp_path / name)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b""))
    assert "holds no rows" in refusal(InvalidInputError, read_table, tmp_path / "b.csv.gz")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_files_that_may_not_be_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(TEXTS["a.csv"])
    path.chmod(0)
    assert "could not be read (Permission denied)" in refusal(StoredFileError, read_table, path)


def test_unknown_endings_and_formats(tmp_path):
    path = tmp_path / "a.data"
    path.write_bytes(TEXTS["a.svm"])
    text = refusal(InvalidInputError, read_table, path)
    assert "cannot tell the format of" in text
    assert "pass format= with one of 'svmlight', 'bag-of-words', 'csv'" in text
    assert read_table(path, format="svmlight").shape == (2, 3)
    text = refusal(InvalidInputError, read_table, path, format="excel")
    assert "'matrix-market', not 'excel'." in text
    packed = tmp_path / "a.npz.gz"
    assert "does not exist" in refusal(StoredFileError, read_table, packed)
    packed.write_bytes(b"whatever")
    assert "decompress it first" in refusal(InvalidInputError, read_table, packed)
    assert format_of(tmp_path / "DOCWORD.KOS.TXT.GZ") == "bag-of-words"
    assert format_of(tmp_path / "A.CSV.XZ") == "csv"


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe,b\n1,2\n".encode("latin-1"))
    text = refusal(StoredFileError, read_table, path)
    assert "is not UTF-8 text (it holds the byte 0xf6)" in text
    path.write_bytes("größe,b\n1,2\n".encode("utf-8-sig"))
    assert read_table(path).feature_names == ("größe", "b")


def test_options_of_other_formats_are_refused(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / name).write_bytes(text)
    message = refusal(InvalidInputError, read_table, tmp_path / "a.svm", target="y")
    assert "its lines begin with their target" in message
    message = refusal(InvalidInputError, read_table, tmp_path / "docword.a.txt", target=0)
    assert "word counts without a target" in message
    assert read_table(tmp_path / "a.svm", drop=[]).shape == (2, 3)
    message = refusal(InvalidInputError, read_table, tmp_path / "a.csv", n_features=3)
    assert "n_features=3 does not apply to the csv file" in message
    message = refusal(InvalidInputError, read_table, tmp_path / "a.csv", separator=", ")
    assert "separator must be one character, not" in message
    for wrong in (0, -1, 1.5, True, "many"):
        message = refusal(InvalidInputError, read_table, tmp_path / "a.svm", n_features=wrong)
        assert "positive whole number" in message
    for wrong in ("int32", "nonsense", np.float16):
        message = refusal(InvalidInputError, read_table, tmp_path / "a.csv", dtype=wrong)
        assert "dtype must be float32 or float64, not" in message


@pytest.mark.parametrize("name", TEXTS)
def test_float32_on_request(tmp_path, name):
    (tmp_path / name).write_bytes(TEXTS[name])
    assert read_table(tmp_path / name).X.dtype == np.float64
    assert read_table(tmp_path / name, dtype="float32").X.dtype == np.float32


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_a_missing_extra_says_how_to_install_it(tmp_path, monkeypatch, name):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr(source_module.importlib, "import_module", absent)
    (tmp_path / name).write_bytes(b"PAR1" if "parquet" in name else b"ARROW1")
    with pytest.raises(MissingExtraError, match=r"'pyarrow'.*pip install 'sketchlasso\[files\]'"):
        read_table(tmp_path / name)


def test_importing_the_library_imports_no_extra():
    # scikit-learn imports pandas where it is installed, and pandas pyarrow: keep it out.
    code = (
        "import sys; sys.modules['pandas'] = None; import sketchlasso; "
        "print([m for m in ('pyarrow', 'pooch', 'polars', 'sklearn.datasets', 'scipy.io')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
