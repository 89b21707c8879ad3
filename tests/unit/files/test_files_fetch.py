"""Data sets by name, from a folder, from the cache and over a server on this machine."""

import bz2
import gc
import gzip
import os
import threading
import warnings
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from tests.sentences import refusal

from sketchlasso import InvalidInputError, MissingExtraError, StoredFileError, fetch_dataset
from sketchlasso.files import fetch
from sketchlasso.files import source as source_module
from sketchlasso.files.catalogue import CATALOGUE, LOCAL, PUBLISHED, DataSet, Home

SVM = b"1 1:0.5 3:2\n-1 2:1\n"
DOCWORD = b"2\n3\n3\n1 1 1\n1 3 2\n2 2 1\n"


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("SKETCHLASSO_DATA", raising=False)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A server with two small sets, in the catalogue as 'toy' and 'words'."""
    pytest.importorskip("pooch", reason="the extra 'files' is not installed")
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "toy.bz2").write_bytes(bz2.compress(SVM))
    (folder / "docword.toy.txt.gz").write_bytes(gzip.compress(DOCWORD))
    (folder / "vocab.toy.txt").write_text("a\nb\nc\n")

    asked = []

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/"
    toy = Home(url, ("toy.bz2",), "svmlight", (2, 3), 3)
    words = Home(url, ("docword.toy.txt.gz", "vocab.toy.txt"), "bag-of-words", (2, 3))
    monkeypatch.setitem(CATALOGUE, "toy", DataSet("toys", None, toy))
    monkeypatch.setitem(CATALOGUE, "words", DataSet("toys", None, words))
    yield folder, asked
    server.shutdown()
    thread.join()
    server.server_close()
    # The client leaves its sockets to the collector, which may come in the middle of another test.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def change(monkeypatch, **fields):
    known = CATALOGUE["toy"]
    monkeypatch.setitem(CATALOGUE, "toy", replace(known, home=replace(known.home, **fields)))


def test_a_download_is_kept(home, tmp_path):
    cache = tmp_path / "cache"
    table = fetch_dataset("toy", cache=cache)
    assert np.array_equal(table.X.toarray(), [[0.5, 0, 2], [0, 1, 0]])
    assert table.y.tolist() == [1, -1]
    assert sorted(p.name for p in (cache / "toys").iterdir()) == ["toy.bz2", "toy.bz2.sha256"]
    before = len(home[1])
    assert fetch_dataset("toy", cache=str(cache)).shape == (2, 3)
    assert fetch_dataset("toy", cache=cache, download=False).shape == (2, 3)
    assert len(home[1]) == before


def test_empty_last_columns_are_kept(home, tmp_path, monkeypatch):
    change(monkeypatch, shape=(2, 7))
    assert fetch_dataset("toy", cache=tmp_path).shape == (2, 7)


def test_words_come_along(home, tmp_path):
    assert fetch_dataset("words", cache=tmp_path / "cache").feature_names == ("a", "b", "c")


def test_a_damaged_cache_is_renewed(home, tmp_path):
    fetch_dataset("toy", cache=tmp_path)
    (tmp_path / "toys" / "toy.bz2").write_bytes(bz2.compress(b"1 1:1\n"))
    assert fetch_dataset("toy", cache=tmp_path).shape == (2, 3)


def test_a_file_that_changed_at_home_is_refused(home, tmp_path):
    fetch_dataset("toy", cache=tmp_path)
    (tmp_path / "toys" / "toy.bz2").unlink()
    (home[0] / "toy.bz2").write_bytes(bz2.compress(SVM + b"1 1:1\n"))
    text = refusal(StoredFileError, fetch_dataset, "toy", cache=tmp_path)
    assert "its checksum is not the expected one" in text
    assert not (tmp_path / "toys" / "toy.bz2").exists()


def test_published_checksums_are_compared(home, tmp_path, monkeypatch):
    change(monkeypatch, sha256=("0" * 64,))
    text = refusal(StoredFileError, fetch_dataset, "toy", cache=tmp_path)
    assert "its checksum is not the expected one" in text
    change(monkeypatch, sha256=(fetch._sha256(home[0] / "toy.bz2"),))
    assert fetch_dataset("toy", cache=tmp_path).shape == (2, 3)
    assert [p.name for p in (tmp_path / "toys").iterdir()] == ["toy.bz2"]


@pytest.mark.parametrize("fields", [{"shape": (3, 3)}, {"shape": (2, 2)}, {"nonzeros": 4}])
def test_another_shape_than_published_is_refused(home, tmp_path, monkeypatch, fields):
    change(monkeypatch, **fields)
    text = refusal(StoredFileError, fetch_dataset, "toy", cache=tmp_path)
    assert "were published; delete it and fetch it again" in text


def test_offline_the_file_and_the_folder_are_named(home, tmp_path, monkeypatch):
    change(monkeypatch, url="http://127.0.0.1:9/")  # nobody listens at the discard port
    text = refusal(StoredFileError, fetch_dataset, "toy", cache=tmp_path)
    assert f"put toy.bz2 in the folder {tmp_path / 'toys'}" in text
    assert "http://127.0.0.1:9/toy.bz2" in text
    text = refusal(StoredFileError, fetch_dataset, "toy", cache=tmp_path, download=False)
    assert f"put toy.bz2 from http://127.0.0.1:9/ in the folder {tmp_path / 'toys'}" in text
    (tmp_path / "toys" / "toy.bz2").write_bytes(bz2.compress(SVM))
    assert fetch_dataset("toy", cache=tmp_path).shape == (2, 3)
    assert fetch_dataset("toy", cache=tmp_path, download=False).shape == (2, 3)


def test_a_missing_page_is_refused(home, tmp_path):
    (home[0] / "vocab.toy.txt").unlink()
    text = refusal(StoredFileError, fetch_dataset, "words", cache=tmp_path)
    assert f"put vocab.toy.txt in the folder {tmp_path / 'toys'}" in text


def test_the_default_cache_belongs_to_the_user(home, tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)
    fetch_dataset("toy")
    assert (tmp_path / "sketchlasso" / "toys" / "toy.bz2").is_file()


def test_without_pooch_the_install_command_is_given(tmp_path, monkeypatch):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr(source_module.importlib, "import_module", absent)
    for options in ({}, {"cache": tmp_path}):
        with pytest.raises(MissingExtraError, match=r"'pooch'.*'sketchlasso\[files\]'"):
            fetch_dataset("gisette", **options)


def test_the_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("SKETCHLASSO_DATA", str(tmp_path))
    (tmp_path / "kos").mkdir()
    sparse.save_npz(tmp_path / "kos" / "kos_counts.npz", sparse.csr_array(np.eye(2, dtype="u1")))
    (tmp_path / "kos" / "vocab.txt").write_text("a\nb\n")
    table = fetch_dataset("KOS")
    assert table.X.dtype == np.float64
    assert table.feature_names == ("a", "b")


def test_published_files_may_lie_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SKETCHLASSO_DATA", str(tmp_path))
    (tmp_path / "gisette").mkdir()
    path = tmp_path / "gisette" / "gisette_scale.bz2"
    path.write_bytes(bz2.compress(SVM))
    text = refusal(StoredFileError, fetch_dataset, "gisette")
    assert text.startswith(str(path))
    assert "but 6000 x 5000 were published" in text


def test_sets_that_are_not_published(tmp_path, monkeypatch):
    text = refusal(StoredFileError, fetch_dataset, "imdb")
    assert "set SKETCHLASSO_DATA to a folder that holds imdb/train_counts.npz" in text
    monkeypatch.setenv("SKETCHLASSO_DATA", str(tmp_path))
    text = refusal(StoredFileError, fetch_dataset, "imdb")
    assert f"imdb/train_counts.npz is not in the folder {tmp_path}" in text
    (tmp_path / "regression").mkdir()
    np.savez(tmp_path / "regression" / "diabetes.npz", X=np.eye(2), y=[1, 2])
    text = refusal(StoredFileError, fetch_dataset, "diabetes")
    assert "holds no array 'names'" in text


def test_names_are_forgiving_and_refusals_helpful():
    for name in ("imbd", "Realsim", 7, ""):
        text = refusal(InvalidInputError, fetch_dataset, name)
        assert "no data set is called" in text
    assert "(nearest: 'imdb'" in refusal(InvalidInputError, fetch_dataset, "imbd")
    for name in ("Real-sim", "rcv1.binary", "SIAM 2007", "20news-bydate"):
        fetch._found(name)


def test_the_docstring_names_every_set():
    text = " ".join(fetch_dataset.__doc__.split())
    microarrays = {name for name, layout in LOCAL.items() if "microarray" in layout.files[0]}
    for name in {*PUBLISHED, *LOCAL} - microarrays | {"riboflavin"}:
        assert name in text
    for known in PUBLISHED.values():
        assert known.home.url.startswith("https://")


FOLDER = os.environ.get("SKETCHLASSO_DATA", "")
SHAPES = {
    "20news_bydate": (11269, 55911), "20news_bydate_test": (7505, 55911), "rcv1": (23749, 47236),
    "rcv1_topics": (27613, 47236), "tmc2007_500": (28596, 500), "bibtex": (7395, 1836),
    "yahoo_education": (12030, 27534), "yahoo_reference": (8027, 39679), "imdb": (25000, 36408),
    "imdb_test": (25000, 36408), "imdb_all": (100000, 36408), "nips_uci": (1500, 7605),
    "nips_1987_2003": (2483, 14036), "nytimes_headlines": (3104, 3529),
    "gisette_sample168": (168, 5000), "gisette_like": (6000, 5000),
    "gisette_like_valid": (1000, 5000), "mnist": (60000, 784), "mnist_test": (10000, 784),
    "arcene": (200, 10000), "madelon": (2600, 500), "riboflavin": (71, 4088), "alon": (62, 2000),
    "golub": (72, 7129), "gordon": (181, 12533), "khan": (63, 2308), "shipp": (77, 7129),
    "pomeroy": (60, 7128), "su": (102, 5565), "gravier": (168, 2905), "christensen": (217, 1413),
    "borovecki": (31, 22283), "subramanian": (50, 10100), "west": (49, 7129),
    "gasoline_nir": (60, 401), "blogfeedback": (52397, 280), "california_housing": (20433, 8),
    "diabetes": (442, 10), "prostate": (97, 8), "boston": (506, 13), "news20": (15935, 62061),
    "kos": (3430, 6906),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.skipif(
    not Path(FOLDER, "kos").is_dir(), reason="SKETCHLASSO_DATA names no folder of data sets"
)
def test_every_set_of_the_folder_is_read(name, monkeypatch):
    monkeypatch.setenv("SKETCHLASSO_DATA", FOLDER)
    table = fetch_dataset(name, download=False)
    assert table.shape == SHAPES[name]
    assert table.X.dtype in (np.float32, np.float64)
    home = CATALOGUE[name].home
    assert home is None or (home.shape, home.nonzeros) == (table.shape, table.X.nnz)


def test_every_set_of_the_folder_is_tested():
    assert set(SHAPES) == {name for name, known in CATALOGUE.items() if known.layout is not None}
