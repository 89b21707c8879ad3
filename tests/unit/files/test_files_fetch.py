"""Data sets by name, from a folder, from the cache and over a server on this machine."""

import bz2
import gc
import gzip
import threading
import warnings
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, MissingExtraError, StoredFileError
from sketchlasso.files import fetch
from sketchlasso.files import source as source_module
from sketchlasso.files.fetch import CATALOGUE, DataSet
from sketchlasso.io import fetch_dataset

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
    toy = DataSet("toys", url, ("toy.bz2",), "svmlight", (2, 3), 3)
    words = DataSet("toys", url, ("docword.toy.txt.gz", "vocab.toy.txt"), "bag-of-words", (2, 3))
    monkeypatch.setitem(CATALOGUE, "toy", toy)
    monkeypatch.setitem(CATALOGUE, "words", words)
    yield folder, asked
    server.shutdown()
    thread.join()
    server.server_close()
    # The client leaves its sockets to the collector, which may come in the middle of another test.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def change(monkeypatch, **fields):
    monkeypatch.setitem(CATALOGUE, "toy", replace(CATALOGUE["toy"], **fields))


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
    monkeypatch.setattr(fetch, "cache_folder", lambda: tmp_path / "sketchlasso")
    fetch_dataset("toy")
    assert (tmp_path / "sketchlasso" / "toys" / "toy.bz2").is_file()
    monkeypatch.setattr(fetch, "cache_folder", lambda: None)
    assert "give cache=, a folder" in refusal(StoredFileError, fetch_dataset, "toy")


def test_without_pooch_the_install_command_is_given(tmp_path, monkeypatch):
    def absent(module):
        raise ImportError(module)

    monkeypatch.setattr(source_module.importlib, "import_module", absent)
    for options in ({}, {"cache": tmp_path}):
        with pytest.raises(MissingExtraError, match=r"'pooch'.*'sketchlasso\[files\]'"):
            fetch_dataset("gisette", **options)


def test_the_folder_comes_first(home, tmp_path, monkeypatch):
    monkeypatch.setenv("SKETCHLASSO_DATA", str(tmp_path))
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "toy.bz2").write_bytes(bz2.compress(SVM))
    assert fetch_dataset("toy", cache=tmp_path / "cache").shape == (2, 3)
    assert not home[1] and not (tmp_path / "cache").exists()


def test_published_files_may_lie_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SKETCHLASSO_DATA", str(tmp_path))
    (tmp_path / "gisette").mkdir()
    path = tmp_path / "gisette" / "gisette_scale.bz2"
    path.write_bytes(bz2.compress(SVM))
    text = refusal(StoredFileError, fetch_dataset, "gisette")
    assert text.startswith(str(path))
    assert "but 6000 x 5000 were published" in text


def test_names_are_forgiving_and_refusals_helpful():
    for name in ("gisete", "Realsim", "imdb", 7, ""):
        text = refusal(InvalidInputError, fetch_dataset, name)
        assert "no data set is called" in text
    assert "(nearest: 'gisette'" in refusal(InvalidInputError, fetch_dataset, "gisete")
    for name in ("Real-sim", "rcv1.binary", "SIAM 2007"):
        fetch._found(name)


def test_every_set_is_named_and_published():
    text = " ".join(fetch_dataset.__doc__.split())
    for name, known in CATALOGUE.items():
        assert name in text
        assert known.url.startswith("https://")
