"""The corpus of docstrings, which every machine has."""

import json
import textwrap

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from sketchlasso.topics import Corpus, embedded, embedded_corpus
from sketchlasso.topics.docstrings import compiled_docstrings, package_docstrings
from sketchlasso.topics.store import pack_corpus, pack_strings, unpack_corpus, unpack_strings


@pytest.fixture(scope="module")
def corpus(docstrings_read):
    """Made in this run, by this test or by another one with the same cache."""
    return embedded_corpus()


def same(first, second):
    assert first.words == second.words
    assert first.titles == second.titles
    assert first.texts == second.texts
    assert first.source == second.source
    assert first.settings == second.settings
    assert first.counts.dtype == second.counts.dtype
    assert np.array_equal(first.counts.toarray(), second.counts.toarray())


def test_it_is_a_real_corpus(corpus):
    documents, words = corpus.shape
    assert documents > 4000  # of NumPy, SciPy, scikit-learn and Python alone
    assert 2000 < words < 8000
    assert {"numpy.fft.fft", "scipy.linalg.solve", "sklearn.cluster.KMeans"} <= set(corpus.titles)
    assert "shutil.copyfile" in corpus.titles
    assert len(set(corpus.titles)) == documents
    place = corpus.titles.index("numpy.fft.fft")
    assert corpus.texts[place].startswith("Compute the one-dimensional discrete Fourier Transform")
    assert corpus.settings["packages"]["numpy"] == np.__version__
    json.dumps(corpus.settings)


def test_words_of_documentation_and_plurals_are_not_in_it(corpus):
    gone = """parameters parameter returns see also notes examples array_like optional default
    ndarray dtype glossary valueerror panda automatically"""
    assert not set(gone.split()) & set(corpus.words)
    for singular, plural in [("matrix", "matrices"), ("cluster", "clusters"), ("file", "files")]:
        assert singular in corpus.words
        assert plural not in corpus.words


@pytest.mark.parametrize(
    ("word", "about"),
    [
        ("fourier", {"transform", "fft", "discrete"}),
        ("matrix", {"sparse", "diagonal", "square"}),
        ("random", {"distribution", "sample", "generator"}),
        ("cluster", {"clustering", "centroid", "label"}),
        ("file", {"directory", "filename", "open"}),
    ],
)
def test_neighbours_of_a_word_are_about_it(corpus, word, about):
    X = sparse.csc_array(TfidfTransformer(sublinear_tf=True).fit_transform(corpus.counts))
    X = X * (1 / np.sqrt((X * X).sum(axis=0)))[None, :]
    likeness = (X.T @ X[:, [corpus.words.index(word)]]).toarray().ravel()
    near = {corpus.words[i] for i in np.argsort(-likeness)[:20]}
    assert len(near & about) >= 2, near


@pytest.fixture
def small(monkeypatch):
    """The same corpus of less: quick to make."""
    monkeypatch.setattr(embedded, "PACKAGES", {"numpy": "numpy", "nowhere": "nowhere-at-all"})
    monkeypatch.setattr(embedded, "COMPILED", ("numpy",))
    monkeypatch.setattr(embedded, "standard_library_docstrings", lambda: iter(()))


def test_the_cache_is_used_and_made_anew_when_damaged(small, tmp_path, monkeypatch):
    folder = tmp_path / "a" / "b"
    first = embedded_corpus(cache=folder)
    assert list(first.settings["packages"]) == ["python", "numpy"]
    (path,) = folder.iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(embedded, "_made", None)
        same(embedded_corpus(cache=folder), first)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    same(embedded_corpus(cache=folder), first)
    assert path.read_bytes() == data
    monkeypatch.setattr(np, "__version__", "0")
    monkeypatch.setattr(embedded, "version", lambda name: "0")
    embedded_corpus(cache=folder)
    assert len(list(folder.iterdir())) == 2


def test_a_cache_that_cannot_be_written_is_done_without(small, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    here = embedded_corpus(cache=tmp_path / "file")
    monkeypatch.setattr(embedded, "cache_folder", lambda: None)
    same(embedded_corpus(), here)


def test_packages_are_read_and_not_run(tmp_path, monkeypatch):
    files = {
        "__init__.py": '"""The package."""\nraise SystemExit\n',
        "_hidden.py": '''
            def shown(x):
                """A function."""

            def _private():
                """Not seen."""

            class Thing:
                """A class."""

                def act(self):
                    """A method."""
            ''',
        "sub/tools.py": '"""Tools."""\nasync def wait():\n    """Wait."""\ndef bare(): ...\n',
        "broken.py": "def (:\n",
        "tests/test_a.py": '"""A test."""\n',
        "test_b.py": '"""A test."""\n',
    }
    for name, text in files.items():
        path = tmp_path / "strange" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    assert dict(package_docstrings("strange")) == {
        "strange": "The package.",
        "strange.shown": "A function.",
        "strange.Thing": "A class.",
        "strange.Thing.act": "A method.",
        "strange.sub.tools": "Tools.",
        "strange.sub.tools.wait": "Wait.",
    }
    assert list(package_docstrings("not_installed_at_all")) == []


def test_compiled_functions_are_asked_for_their_docstrings():
    found = dict(compiled_docstrings(["numpy", "math"]))
    assert "sine" in found["numpy.sin"]
    assert "math.sqrt" in found
    assert "numpy.pi" not in found  # its docstring is that of float


def test_strings_come_back_from_their_bytes():
    strings = ("", "sea", "\u00e9t\u00e9", "\U0001f30a", "")
    assert unpack_strings(*pack_strings(strings)) == strings
    assert unpack_strings(*pack_strings(())) == ()


@pytest.mark.parametrize("counts", [[[1, 0], [70000, 2]], [[0.5, 0], [0, 2]]])
@pytest.mark.parametrize("texts", [None, ("", "x")])
def test_a_corpus_comes_back_from_its_parts(counts, texts):
    whole = Corpus(counts, ["sea", "\u00e9t\u00e9"], ["a", ""], texts, "here", {"a": [1, None]})
    header, arrays = pack_corpus(whole)
    same(unpack_corpus(json.loads(json.dumps(header)), arrays), whole)
