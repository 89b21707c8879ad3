import gzip

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.files import bag_of_words
from sketchlasso.io import read_table

GOOD = "2\n3\n3\n1 1 1\n1 3 2\n2 2 1\n"


@pytest.fixture
def docword(tmp_path):
    def write(text, name="docword.toy.txt"):
        path = tmp_path / name
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
        return path

    return write


@pytest.mark.parametrize("name", ["docword.toy.txt.gz", "Docword.toy.txt.GZ"])
def test_words_are_found_beside_the_counts(docword, tmp_path, name):
    (tmp_path / "vocab.toy.txt").write_text("one\nzwei\ntrès\n", encoding="utf-8")
    table = read_table(docword(GOOD, name))
    assert np.array_equal(table.X.toarray(), [[1, 0, 2], [0, 1, 0]])
    assert table.X.dtype == np.float64
    assert table.feature_names == ("one", "zwei", "très")
    assert table.y is None


def test_words_can_be_named_or_absent(docword, tmp_path):
    assert read_table(docword(GOOD)).feature_names is None
    (tmp_path / "words").write_text("a\nb\nc\n")
    assert read_table(docword(GOOD), vocabulary=tmp_path / "words").feature_names == ("a", "b", "c")
    (tmp_path / "words").write_text("a\nb\n")
    text = refusal(InvalidInputError, read_table, docword(GOOD), vocabulary=tmp_path / "words")
    assert "holds 2 words but" in text
    text = refusal(StoredFileError, read_table, docword(GOOD), vocabulary=tmp_path / "none")
    assert "does not exist" in text
    other = docword(GOOD, "counts.txt")
    assert read_table(other, format="bag-of-words").shape == (2, 3)


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 20])
def test_the_size_of_blocks_does_not_matter(docword, monkeypatch, block):
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 3, (40, 17))
    rows, columns = np.nonzero(dense)
    body = "".join(f"{i + 1} {j + 1} {dense[i, j]}\n" for i, j in zip(rows, columns, strict=True))
    monkeypatch.setattr(bag_of_words, "BLOCK", block)
    path = docword(f"40\n17\n{len(rows)}\n{body}")
    assert np.array_equal(read_table(path).X.toarray(), dense)


def test_order_repeats_and_blank_ends_are_harmless(docword):
    table = read_table(docword("3\n3\n4\r\n3 1 1\n1 3 2\n3 1 4\n1 1 1\n\n\n"))
    assert np.array_equal(table.X.toarray(), [[1, 0, 2], [0, 0, 0], [5, 0, 0]])


def test_empty_documents_keep_their_rows(docword):
    dense = read_table(docword("4\n2\n1\n2 1 5")).X.toarray()
    assert dense.tolist() == [[0, 0], [5, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (GOOD.replace("1 3 2", "1 4 2"), "holds the word 4 in line 5, but 1 to 3 is possible"),
        (GOOD.replace("2 2 1", "3 2 1"), "holds the document 3 in line 6, but 1 to 2 is possible"),
        (GOOD.replace("1 3 2", "1 0 2"), "holds the word 0 in line 5"),
        (GOOD.replace("1 3 2", "1 3 -2"), "holds the count -2 in line 5, but 0 to"),
        (GOOD.replace("1 3 2", "1 3"), "holds '1 3' in line 5, but three whole numbers"),
        (GOOD.replace("1 3 2", "1 3 x"), "holds '1 3 x' in line 5"),
        (GOOD.replace("1 3 2", "1 3 2.5"), "holds '1 3 2.5' in line 5"),
        (GOOD + "2 3 1\n", "holds more than the 3 entries its third line promises"),
        (GOOD[:-6], "holds 2 of the 3 entries its third line promises"),
        ("2\n3\n", "does not begin with three lines"),
        ("a,b\n1,2\n3,4\n", "does not begin with three lines"),
        ("0\n3\n0\n", "holds no documents"),
    ],
)
def test_refusals(docword, text, fault):
    assert fault in refusal(StoredFileError, read_table, docword(text))
