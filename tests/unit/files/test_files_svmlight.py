import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io import read_table


@pytest.fixture
def svm(tmp_path):
    def write(text, name="a.svm"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_counting_from_one_and_from_zero(svm):
    table = read_table(svm("1 1:0.5 3:2 # comment\n\n-1 qid:7 2:1\n"))
    assert np.array_equal(table.X.toarray(), [[0.5, 0, 2], [0, 1, 0]])
    assert np.array_equal(table.y, [1, -1])
    assert table.X.indices.dtype == np.int32
    assert table.feature_names is None
    assert table.target_name is None
    zero = read_table(svm("1 0:0.5 2:2\n-1 1:1\n"))
    assert np.array_equal(zero.X.toarray(), table.X.toarray())
    forced = read_table(svm("1 1:0.5 3:2\n-1 2:1\n"), zero_based=True)
    assert forced.shape == (2, 4)


def test_the_number_of_features_can_be_given(svm):
    path = svm("1 1:0.5 3:2\n-1 2:1\n")
    assert read_table(path, n_features=9).shape == (2, 9)
    text = refusal(InvalidInputError, read_table, path, n_features=2)
    assert "uses 3 features but n_features=2 was given; give at least 3" in text


def test_several_labels(svm):
    path = svm("2,7 1:1\n 2:1\n7 1:3\n")
    text = refusal(InvalidInputError, read_table, path)
    assert "several labels ('2,7') in line 1" in text
    assert "multilabel=True" in text
    table = read_table(path, multilabel=True)
    assert np.array_equal(table.y, [[1, 1], [0, 0], [0, 1]])
    assert table.target_name == ("2", "7")


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("1 1:2\nspam 2:1\n", "the label 'spam' in line 2"),
        ("1 1:2\n1 2:{x}\n", "'2:{x}' in line 2"),
        ("1 1:2\n1 a:1\n", "'a:1' in line 2"),
        ("1 1:2\n# note\n1 3\n", "'3' in line 3"),
        ("1 3:2 1:1\n", "the index 1 after 3 in line 1"),
        ("1 2:2 2:1\n", "the index 2 after 2 in line 1"),
        ("1 -1:2\n", "the index -1 in line 1"),
        ("1 9999999999:2\n", "the index 9999999999 in line 1"),
        ("1 qid:3 1:2\n1 qid:3 b:2\n", "'b:2' in line 2"),
        ("1,2,3\n4,5,6\n", "format='csv' if commas separate its columns"),
        ("name,price\n4,5\n", "the label 'name,price' in line 1"),
        ("1 1:nan\n", "holds nan in row 1, column 1"),
        ("1 1:2\n1 2:inf\n", "holds inf in row 2, column 2"),
        ("1 1:2\nnan 1:2\n", "holds nan in the target of row 2"),
        ("# nothing\n", "holds no samples"),
        ("1\n2\n", "labels but no index:value pair"),
    ],
)
def test_refusals_name_the_line(svm, lines, fault):
    assert fault in refusal(InvalidInputError, read_table, svm(lines))


def test_nonsense_that_is_not_text(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"1 1:2\n\xff\xfe 1:3\n")
    text = refusal(StoredFileError, read_table, tmp_path / "a.svm")
    assert "is not UTF-8 text (it holds the byte 0xff)" in text


def test_refusals_that_depend_on_options(svm):
    text = refusal(InvalidInputError, read_table, svm("1 0:1\n"), zero_based=False)
    assert "the index 0 in line 1, but indices from 1" in text
    text = refusal(InvalidInputError, read_table, svm("1,b 1:1\n"), multilabel=True)
    assert "the label '1,b' in line 1" in text
    assert read_table(svm("1\n2\n"), n_features=4).shape == (2, 4)
