"""Documents read from strings, folders, tables of text, and files of counts."""

import bz2
import gzip
import json
import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io import read_table
from sketchlasso.topics import corpus_from_matrix, read_corpus

DOCUMENTS = ["The sea, the wave!", "Night at sea.", ""]
COUNTS = {
    "the": [2, 0, 0],
    "sea": [1, 1, 0],
    "wave": [1, 0, 0],
    "night": [0, 1, 0],
    "at": [0, 1, 0],
}


def as_dictionary(corpus):
    return dict(zip(corpus.words, corpus.counts.toarray().T.tolist(), strict=True))


def test_documents_are_counted_and_titled_by_how_they_begin():
    corpus = read_corpus(iter(DOCUMENTS))
    assert as_dictionary(corpus) == COUNTS
    assert corpus.titles == ("The sea, the wave!", "Night at sea.", "document 3")
    assert corpus.texts == tuple(DOCUMENTS)
    long = read_corpus(["word " * 100], text_length=7)
    assert long.titles[0].endswith("word...")
    assert len(long.titles[0]) <= 60
    assert long.texts == ("word wo",)
    assert read_corpus(DOCUMENTS, text_length=0).texts is None
    assert read_corpus(DOCUMENTS, text_length=None).texts == tuple(DOCUMENTS)


def test_titles_are_taken_where_they_are_given(tmp_path):
    assert read_corpus(DOCUMENTS, titles=["a", "b", "c"]).titles == ("a", "b", "c")
    assert read_corpus({"x": "sea", "y": "night"}).titles == ("x", "y")
    (tmp_path / "t.txt").write_text("one\ntwo\nthree\n")
    assert read_corpus(DOCUMENTS, titles=tmp_path / "t.txt").titles == ("one", "two", "three")


def test_words_are_letters_and_contractions_leave_no_scraps():
    text = "Don\u2019t say we'll 3rd x86 array_like I won't o'brien's été naïve C a they've"
    words = {"say", "we", "brien", "été", "naïve", "they", "3rd", "x86"}
    assert set(read_corpus([text]).words) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("दिल्ली में मौसम", {"दिल्ली", "में", "मौसम"}),
        ("বাংলা ভাষা", {"বাংলা", "ভাষা"}),
        ("كِتَابٌ جَمِيلٌ", {"كِتَابٌ", "جَمِيلٌ"}),
        ("\u0645\u06cc\u200c\u062e\u0648", {"\u0645\u06cc\u200c\u062e\u0648"}),
        ("nai\u0308ve e\u0301te\u0301", {"na\u00efve", "\u00e9t\u00e9"}),
        ("covid19 in 2020", {"covid19", "in"}),
        ("東京 天気", {"東京", "天気"}),
    ],
    ids=["Hindi", "Bengali", "Arabic", "Persian", "decomposed", "digits", "Japanese"],
)
def test_words_of_any_script_stay_whole(text, words):
    assert set(read_corpus([text]).words) == words


def test_an_own_vectorizer_is_used_and_not_changed():
    own = CountVectorizer(ngram_range=(2, 2))
    assert "sea the" in read_corpus(DOCUMENTS, vectorizer=own).words
    assert not hasattr(own, "vocabulary_")
    fitted = CountVectorizer().fit(["sea night owl"])
    again = read_corpus(DOCUMENTS, vectorizer=fitted)
    assert as_dictionary(again) == {"night": [0, 1, 0], "owl": [0, 0, 0], "sea": [1, 1, 0]}
    assert "CountVectorizer" in again.settings["vectorizer"]


@pytest.mark.parametrize("fit", [True, False])
def test_a_tfidf_vectorizer_gives_its_counts(fit):
    own = TfidfVectorizer(sublinear_tf=True)
    corpus = read_corpus(DOCUMENTS, vectorizer=own.fit(DOCUMENTS) if fit else own)
    assert as_dictionary(corpus) == COUNTS


def test_a_folder_of_text_files(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "b.TXT").write_text("sea wave")
    (tmp_path / "deep" / "a.md").write_bytes("d\u00e9j\u00e0 vu".encode("cp1252"))
    (tmp_path / "deep" / "er" / "c.rst").write_bytes("\ufeffnight owl".encode("utf-16"))
    (tmp_path / "deep" / "er" / "d.txt").write_bytes("\ufeffday".encode())
    (tmp_path / "binary.txt").write_bytes(b"PNG\0\1\2")
    (tmp_path / ".git" / "hidden.txt").write_text("hidden")
    (tmp_path / "picture.png").write_text("not read")
    os.symlink(tmp_path, tmp_path / "loop")
    os.symlink(tmp_path / "b.TXT", tmp_path / "again.txt")
    corpus = read_corpus(tmp_path)
    assert corpus.titles == ("b.TXT", "deep/a.md", "deep/er/c.rst", "deep/er/d.txt")
    assert set(corpus.words) == {"sea", "wave", "d\u00e9j\u00e0", "vu", "night", "owl", "day"}


def test_a_folder_without_text_says_what_is_there(tmp_path):
    (tmp_path / "0001").write_text("from: me")
    with pytest.raises(InvalidInputError, match=r"\(there: none\)"):
        read_corpus(tmp_path)
    assert read_corpus(tmp_path, endings=[""]).words == ("from", "me")


@pytest.mark.parametrize("squeeze", [None, gzip.compress, bz2.compress])
def test_json_lines(tmp_path, squeeze):
    rows = [{"id": 1, "text": "sea wave"}, {"text": None}, {"id": 3, "text": "sea", "x": [1]}]
    data = ("\n".join(map(json.dumps, rows)) + "\n\n").encode()
    ending = {None: "", gzip.compress: ".gz", bz2.compress: ".bz2"}[squeeze]
    path = tmp_path / f"posts.jsonl{ending}"
    path.write_bytes(squeeze(data) if squeeze else data)
    corpus = read_corpus(path, title_column="id")
    assert as_dictionary(corpus) == {"sea": [1, 0, 1], "wave": [1, 0, 0]}
    assert corpus.titles == ("1", "", "3")


@pytest.mark.parametrize(("ending", "mark"), [("csv", ","), ("tsv", "\t")])
def test_delimited_columns(tmp_path, ending, mark):
    path = tmp_path / f"posts.{ending}"
    long = "wave " * 40000  # beyond the csv module's own limit
    rows = [["name", "body", "stars"], ["a", "sea,\nnight", "3"], ["b", long, "4"]]
    path.write_text("\n".join(mark.join(f'"{cell}"' for cell in row) for row in rows))
    corpus = read_corpus(path, column="body", title_column="name")
    assert corpus.titles == ("a", "b")
    assert as_dictionary(corpus)["wave"] == [0, 40000]
    assert read_corpus(path, column=1).words == ("night", "sea", "wave")
    with pytest.raises(InvalidInputError, match="'name', 'body', 'stars'"):
        read_corpus(path)


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_arrow_columns(tmp_path, ending):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'cli' is not installed")
    from pyarrow import feather, parquet

    table = pyarrow.table({"n": [1, 2, 3], "text": ["sea", None, "night sea"], "l": [[1], [], []]})
    path = tmp_path / f"a.{ending}"
    (parquet.write_table if ending == "parquet" else feather.write_feather)(table, str(path))
    corpus = read_corpus(path, title_column="n")
    assert as_dictionary(corpus) == {"night": [0, 0, 1], "sea": [1, 0, 1]}
    assert corpus.titles == ("1", "2", "3")


def test_one_document_a_line(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"sea wave\nnight\n"))
    assert read_corpus(tmp_path / "a.txt.gz").texts == ("sea wave", "night")


@pytest.mark.parametrize("beside", [True, False])
def test_uci_bag_of_words(tmp_path, beside):
    path = tmp_path / "docword.toy.txt.gz"
    path.write_bytes(gzip.compress(b"2\n3\n3\n1 1 1\n1 3 2\n2 2 1\n"))
    words = tmp_path / ("vocab.toy.txt" if beside else "other.txt")
    words.write_text("sea\nnight\nwave\n")
    corpus = read_corpus(path, vocabulary=None if beside else words)
    assert as_dictionary(corpus) == {"sea": [1, 0], "night": [0, 1], "wave": [2, 0]}
    assert corpus.titles == ("document 1", "document 2")
    assert corpus.texts is None


@pytest.mark.parametrize(
    ("name", "words"),
    [("a_counts.npz", "a_vocab.txt"), ("b.npz", "b_vocab.txt"), ("c.npz", "vocab.txt")],
)
def test_a_sparse_matrix_beside_its_vocabulary(tmp_path, name, words):
    sparse.save_npz(tmp_path / name, sparse.csr_array(np.array([[1, 0], [250, 3]], np.uint8)))
    (tmp_path / words).write_text("sea\nnight\n")
    corpus = read_corpus(tmp_path / name)
    assert as_dictionary(corpus) == {"sea": [1, 250], "night": [0, 3]}
    assert corpus.settings["vocabulary"].endswith(words)
    (tmp_path / words).write_text("sea\nnight\nwave\n")  # of another matrix
    with pytest.raises(InvalidInputError, match="no words"):
        read_corpus(tmp_path / name)


@pytest.mark.parametrize(
    "vocabulary",
    [["sea", "night"], np.array(["sea", "night"]), {"night": 1, "sea": np.int64(0)}],
    ids=["list", "array", "dictionary"],
)
def test_a_matrix_with_a_vocabulary(vocabulary):
    corpus = corpus_from_matrix(sparse.csc_array([[1, 2]]), vocabulary, ["t"], source="mine")
    assert as_dictionary(corpus) == {"sea": [1], "night": [2]}
    assert (corpus.titles, corpus.source) == (("t",), "mine")


def test_a_table_brings_its_words(tmp_path):
    (tmp_path / "counts.csv").write_text("sea,night\n1,0\n2,3\n")
    corpus = corpus_from_matrix(read_table(tmp_path / "counts.csv"))
    assert as_dictionary(corpus) == {"sea": [1, 2], "night": [0, 3]}


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        ([], {}, "no documents"),
        (["sea", None], {}, "document 2 is of type NoneType"),
        (DOCUMENTS, {"vectorizer": HashingVectorizer()}, "which keep words"),
        (DOCUMENTS, {"titles": ["a", "b"]}, "2 titles"),
        (DOCUMENTS, {"column": "x"}, "column does not apply to documents given as strings"),
        ("a whole document, pasted " * 400, {}, "list of strings"),
    ],
)
def test_what_cannot_be_read_is_refused(source, options, says):
    with pytest.raises((InvalidInputError, StoredFileError), match=says):
        read_corpus(source, **options)


@pytest.mark.parametrize(
    ("X", "vocabulary", "says"),
    [
        (np.eye(2), {"sea": 0}, "each of the 2 columns"),
        (np.eye(2), ["sea"], "1 words; give 2"),
        (["a text"], None, "read_corpus"),
    ],
)
def test_vocabularies_that_do_not_fit(X, vocabulary, says):
    with pytest.raises(InvalidInputError, match=says):
        corpus_from_matrix(X, vocabulary)


def test_a_real_corpus_reads_with_its_words(real_file):
    corpus = read_corpus(real_file("nips/nips_uci_counts.npz"))
    assert corpus.shape == (1500, 7605)
    kept = corpus.pruned()
    assert {"learning", "statistic", "optimization", "text", "vision"} <= set(kept.words)
    assert "abstract" not in kept.words
