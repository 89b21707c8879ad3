import tracemalloc

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError
from sketchlasso.files import delimited
from sketchlasso.files.delimited import find_separator, has_header
from sketchlasso.io import read_table


@pytest.fixture
def text(tmp_path):
    def write(content, name="a.csv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8", newline="")
        return path

    return write


def test_names_target_and_dropped_columns(text):
    path = text("id,age,price,city\n7,1.5,10,Ulm\n8,2,-2e3,Wien\n")
    table = read_table(path, target="price", drop=["id", "city"])
    assert table.X.tolist() == [[1.5], [2.0]]
    assert table.y.tolist() == [10, -2000]
    assert table.feature_names == ("age",)
    assert table.target_name == "price"
    again = read_table(path, target=-1, drop=[0])
    assert again.y.tolist() == ["Ulm", "Wien"]
    assert again.feature_names == ("age", "price")
    assert read_table(path, target="price", drop="city").feature_names == ("id", "age")
    assert read_table(path, target="price", drop=3).feature_names == ("id", "age")


def test_without_names(text):
    path = text("1,2,a\n3,4,b\n")
    table = read_table(path, target=2)
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert table.y.tolist() == ["a", "b"]
    assert table.feature_names is None
    assert table.target_name is None
    assert read_table(path, target="2").y.tolist() == ["a", "b"]
    assert read_table(path, target="-1").y.tolist() == ["a", "b"]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_separators_are_found_out(text, mark):
    path = text(mark.join(["a", '"b, c; d|e"', "f"]) + "\n" + mark.join("123") + "\n")
    assert read_table(path).feature_names == ("a", "b, c; d|e", "f")
    assert read_table(path, separator=mark).shape == (1, 3)


def test_separators_by_rule_and_by_request(text):
    assert find_separator(["1,5;2,5", "3,5;4,5"]) == ";"
    assert find_separator(["a,b", "1;2,3"]) == ","
    assert find_separator(["alone"]) == ","
    assert read_table(text("1;2\n3;4\n", "a.tsv"), separator=";").shape == (2, 2)
    assert read_table(text("1 2\n3 4\n"), separator=" ").shape == (2, 2)


def test_headers_are_found_out(text):
    assert has_header(["a", "b"], ["1", "2"])
    assert has_header(["a", "2020"], ["1", "2"])
    assert has_header(["a", "b"], ["x", "y"])
    assert has_header(["0", "1", "2"], ["5", "5", "5"])
    assert not has_header(["1", "2"], ["3", "4"])
    assert not has_header(["1", "x"], ["3", "y"])
    assert not has_header(["1", ""], ["3", "4"])
    assert not has_header(["1", "2"], None)
    path = text("1,2\n3,4\n")
    assert read_table(path, header=True).feature_names == ("1", "2")
    assert read_table(text("0,1,2\n3,4,5\n"), header=False).shape == (2, 3)


def test_quotes_line_ends_and_blank_lines(text):
    path = text('"a ""q""","b"\r\n\r\n"1", 2 \r\n   \r\n3,"4"\r\n\r\n')
    table = read_table(path)
    assert table.feature_names == ('a "q"', "b")
    assert table.X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("cells", [1, 5, 1 << 18])
def test_the_size_of_blocks_does_not_matter(text, monkeypatch, cells):
    values = np.random.default_rng(0).standard_normal((23, 4))
    rows = [",".join(map(repr, row)) + f",{'ab'[i % 2] * (1 + i % 5)}" for i, row in
            enumerate(values.tolist())]  # fmt: skip
    monkeypatch.setattr(delimited, "CELLS", cells)
    table = read_table(text("\n".join(rows)), target=4)
    assert np.array_equal(table.X, values)
    assert table.y[13] == "bbbb"


def test_memory_stays_near_the_size_of_the_matrix(text):
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 10, (60, 50_000))
    path = text("\n".join(",".join(map(str, row)) for row in wide.tolist()))
    tracemalloc.start()
    table = read_table(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(table.X, wide)
    # Python's text of one block of cells is larger than its numbers, but does not grow.
    assert peak < 1.6 * table.X.nbytes + 120 * delimited.CELLS


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("a,b\n1,2\n3,x\n", "'b' (1 cell of text among numbers, such as 'x' in line 3)"),
        ("a,b\n1,2\n3,x\n", "drop=['b']"),
        ("1,2\n3,4\ny,4\n", "1 (1 cell of text among numbers, such as 'y' in line 3)"),
        ("1,2\n3,4\ny,4\n", "drop=[0]"),
        ("a;b\n1,5;2\n2.5;3\n", "'a' (1 cell of text among numbers, such as '1,5' in line 2)"),
        ("a,b\n1,2\n1,\n", "'b' (1 missing value, in line 3)"),
        ("a,b\n1,2\nNA,2\n", "'a' (1 missing value, in line 3)"),
        ("a,b\n1,2\nnan,2\n", "'a' (1 missing value, in line 3)"),
        ("a,b\n1,2\n1,-inf\n", "'b' (1 infinite number, in line 3)"),
        ("a,b\n1,2\n1,1e999\n", "'b' (1 infinite number, in line 3)"),
        ("a,b\n1,2\n3\n", "has 1 cells in line 3 but 2 in its first, separated by ','"),
        ("a,b\n1,2,3\n", "has 3 cells in line 2 but 2 in its first"),
        ("a,b,a\n1,2,3\n", "columns 1 and 3 of"),
        ("a,b,a\n1,2,3\n", "are both called 'a'"),
        (",b\n1,2\n", "has no name (row numbers, perhaps); name it or leave it out with drop=[0]"),
        ("a,b\n", "holds names but no rows"),
        ("\n\n", "holds no rows"),
        ('a,b\n1,"2\n3,4\n', "could not be split into cells near line"),
        ("a,b\n1,2\n" + "9" * 50 + "x,2\n", "9..."),
    ],
)
def test_refusals(text, content, fault):
    assert fault in refusal(InvalidInputError, read_table, text(content))


def test_a_dropped_column_may_hold_anything(text):
    assert read_table(text("a,b,a\n1,2,x\n"), drop=[2]).X.tolist() == [[1, 2]]
    assert read_table(text(",b\n1,2\n"), drop=[0]).feature_names == ("b",)


def test_lines_are_counted_as_an_editor_does(text):
    path = text('note,b\n"two\nlines",1\n"x",y\n')
    assert "'b' (1 cell of text among numbers, such as 'y' in line 4)" in refusal(
        InvalidInputError, read_table, path, target="note"
    )


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("pirce", "is not a column of"),
        ("pirce", "(nearest: 'price'); its columns are 'Age', 'price', 'c'."),
        ("age", "(nearest: 'Age')"),
        ("zzz", "; its columns are 'Age', 'price', 'c'."),
        (3, "target must be a position from 0 to 2 in"),
        (-4, "target must be a position from 0 to 2 in"),
        (1.5, "target must be a column's name or position, not "),
        (True, "target must be a column's name or position, not "),
    ],
)
def test_targets_that_are_not_there(text, target, fault):
    path = text("Age,price,c\n1,2,3\n")
    said = refusal(InvalidInputError, read_table, path, target=target)
    assert fault in said
    assert repr(target) in said


def test_more_about_targets(text):
    plain = text("1,2\n3,4\n")
    message = refusal(InvalidInputError, read_table, plain, target="price")
    assert "have no names; give a position from 0 to 1" in message
    message = refusal(InvalidInputError, read_table, plain, target=0, drop=[1])
    assert "has no feature left" in message
    twice = text("a,y,y\n1,2,3\n")
    assert "names 2 columns" in refusal(InvalidInputError, read_table, twice, target="y")
    assert read_table(twice, target=1, drop=[2]).target_name == "y"
    many = text(",".join(f"c{i}" for i in range(20)) + "\n" + ",".join("1" * 20) + "\n")
    message = refusal(InvalidInputError, read_table, many, target="price")
    assert message.endswith("'c7' and 12 more.")
    mixed = text("a,y\n1,2\n2,spam\n")
    message = refusal(InvalidInputError, read_table, mixed, target="y")
    assert "mixes numbers and text in its target, column 'y': '2' in line 2 but 'spam'" in message
    gap = "'y' (the target: 1 missing value, in line 3)"
    for cell, fault in (("", gap), ("NA", gap), ("inf", "holds 'inf' in line 3, column 'y'")):
        message = refusal(InvalidInputError, read_table, text(f"a,y\n1,2\n2,{cell}\n"), target="y")
        assert fault in message
