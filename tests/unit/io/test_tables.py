"""Tables with gaps, categories, dates, other notations, in text, JSON Lines and Parquet files."""

import bz2
import gzip
import io
import json
import lzma

import numpy as np
import pandas as pd
import pytest
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.io import Encoding, read_lines, read_table, read_text_columns

parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'cli' is not installed")

HOUSES = """city,rooms,garden,price
Oslo,3,yes,10
Rome,,no,20
Oslo,5,yes,30
,4,no,40
Paris,8,no,
"""


@pytest.fixture(params=["csv", "parquet", "jsonl"])
def houses(request, tmp_path):
    """Return what writes a table, given as CSV, in one of three formats."""

    def write(content, name="houses"):
        path = tmp_path / f"{name}.{request.param}"
        frame = pd.read_csv(io.StringIO(content), keep_default_na=False, na_values=[""])
        if request.param == "csv":
            path.write_text(content, encoding="utf-8")
        elif request.param == "parquet":
            frame.to_parquet(path)
        else:
            rows = [{k: v for k, v in row.items() if v == v} for row in frame.to_dict("records")]
            path.write_text("\n".join(map(json.dumps, rows)))
        return path

    return write


@pytest.fixture
def text(tmp_path):
    """Return what writes a text table."""

    def write(content, name="a.csv"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return write


@pytest.mark.parametrize("impute", ["mean", "median"])
def test_gaps_are_filled_and_counted(houses, impute):
    table = read_table(houses(HOUSES), target="price", impute=impute)
    assert table.feature_names == ("city=Rome", "rooms", "garden=yes")
    assert table.X.tolist() == [[0, 3, 1], [1, 4, 0], [0, 5, 1], [0, 4, 0]]
    assert table.y.tolist() == [10, 20, 30, 40]
    assert table.rows.tolist() == [0, 1, 2, 3]
    assert table.gaps.sum(axis=0).tolist() == [1, 1, 0]
    assert table.notes == (
        "left out 1 row without a target",
        "filled 1 missing value of 'city' with 'Oslo'",
        "filled 1 missing value of 'rooms' with 4",
    )


def test_rows_with_gaps_are_left_out(houses):
    table = read_table(houses(HOUSES), target="price", impute="drop", id="rooms")
    assert table.feature_names == ("city=Rome", "garden=yes")
    assert table.X.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert table.rows.tolist() == [0, 1, 2]
    assert [word.rstrip(".0") for word in table.ids.tolist()] == ["3", "", "5"]
    assert "left out 1 row with missing values: 'city' in 1" in table.notes


def test_one_message_names_all_bad_columns(houses):
    content = "city,rooms,sold,name,x,y\nOslo,,2020-01-31,a0,1_2,1\n" + "".join(
        f",{i},2021-02-0{i % 9 + 1},a{i},{i},{i}\n" for i in range(1, 30)
    )
    message = refusal(InvalidInputError, read_table, houses(content), target="y")
    assert "has 5 columns that cannot be used: 'city' (29 missing values" in message
    assert "'rooms' (1 missing value, in row 1)" in message
    assert "'sold' (dates" in message
    assert "'name' (30 different texts in 30 rows)" in message
    in_text = "1 cell of text among numbers, such as '1_2' in row 1"
    assert f"'x' ({in_text})" in message or "'x' (30 different texts in 30 rows)" in message
    assert "impute mean" in message and "drop sold,name,x" in message


def test_other_rows_are_read_by_the_rules_of_the_first(houses):
    first = read_table(houses(HOUSES), target="price", impute="mean")
    later = "extra,garden,rooms,city\n2020-01-01,yes,,Rome\nx,no,7,Lima\ny,no,7,Lima\nz,no,7,Kyiv\n"
    stored = Encoding.from_json(json.loads(json.dumps(first.encoding.to_json())))
    assert stored == first.encoding
    table = read_table(houses(later, "later"), encoding=stored)
    assert table.feature_names == first.feature_names
    assert table.X.tolist() == [[1, 4, 1], [0, 7, 0], [0, 7, 0], [0, 7, 0]]
    assert table.notes == (
        "'city' holds levels that the model has not seen: 'Lima' in 2 rows, 'Kyiv' in 1 row; these "
        "rows count as 'Oslo'",
        "filled 1 missing value of 'rooms' with 4",
    )
    message = refusal(InvalidInputError, read_table, houses("rooms\n1\n", "few"), encoding=stored)
    assert "lacks 2 of the 3 columns that the model uses: 'city', 'garden'" in message


def test_what_a_spreadsheet_takes_for_a_number(text):
    cells = ["+5", " 7 ", "5.", ".5", "1e3", "-0", "2E-2", "0", "0.25", "-.5"]
    table = read_table(text("a,b\n" + "".join(f"{cell},1\n" for cell in cells)))
    assert table.X[:, 0].tolist() == list(map(float, cells))
    for cell in ("12_3", "0x1A", "1,5", "inf", "1e", "--1", "١٢", "1 2"):
        message = refusal(InvalidInputError, read_table, text(f'a,b\n"{cell}",1\n3,2\n4,3\n'))
        assert f"'a' (1 cell of text among numbers, such as {cell!r} in row 1)" in message


def test_codes_with_leading_zeros_are_text(text):
    path = text("zip,y\n02134,1\n10001,2\n02134,3\n00501,4\n")
    table = read_table(path, target="y")
    assert table.feature_names == ("zip=00501", "zip=02134", "zip=10001")
    assert table.notes == ("'zip' has codes with leading zeros such as 02134",)
    assert read_table(path, target="zip").y.tolist() == ["02134", "10001", "02134", "00501"]
    later = read_table(text("zip\n10001\n", "later.csv"), encoding=table.encoding)
    assert later.X.tolist() == [[0, 0, 1]]


def test_words_for_missing_values(text):
    path = text("basement,size,y\nnone,none,1\nfull,2,2\nnone,?,3\nNA,-,4\nfull,5,5\n")
    table = read_table(path, target="y", impute="mean")
    assert table.encoding.columns[0].levels == ("full", "none")
    assert table.X.tolist() == [[1, 3.5], [0, 2], [1, 3.5], [0, 3.5], [0, 5]]
    table = read_table(path, target="y", impute="drop", na=["none", "?", "-"])
    assert table.rows.tolist() == [1, 4]
    coded = read_table(text("a,y\n1,1\n999,2\n3,3\n"), target="y", na="999", impute="mean")
    assert coded.X.tolist() == [[1], [2], [3]]
    stored = Encoding.from_json(coded.encoding.to_json())
    assert read_table(text("a\n999\n"), encoding=stored).X.tolist() == [[2]]


def test_numbers_that_are_levels(houses):
    path = houses("kind,x,y\n10,1.5,1\n2,2,2\n10,3,3\n7,4,4\n2,5,9\n")
    table = read_table(path, target="y", categorical="kind")
    assert table.feature_names == ("kind=10", "kind=2", "kind=7", "x")
    stored = Encoding.from_json(table.encoding.to_json())
    assert read_table(houses("kind,x\n7,1.5\n", "new"), encoding=stored).X.tolist() == [
        [0, 0, 1, 1.5]
    ]


def test_decimal_commas_and_thousands(text):
    table = read_table(text("a;b;y\n1,5;2;10,5\n-2;,5;11\n"), target="y")
    assert table.X.tolist() == [[1.5, 2], [-2, 0.5]] and table.y.tolist() == [10.5, 11]
    path = text('a,y\n"1.234,5",1\n"12",2\n')
    assert read_table(path, decimal=",", thousands=".").X[:, 0].tolist() == [1234.5, 12]
    assert "numbers written as text" in refusal(
        InvalidInputError, read_table, text('a,y\n"1,500",1\n"2,500",2\n')
    )


def test_cleaning_what_can_be_read_in_one_way(text):
    rows = [
        ("$1,200.50", "12 %", "31.01.2020"),
        ("$90", "7.5%", "01.02.2020"),
        ("", "3%", "01.03.2020"),
    ]
    path = text("cost;share;day\n" + "\n".join(map(";".join, rows)), "c.csv")
    message = refusal(InvalidInputError, read_table, path)
    assert "numbers written as text such as '$1,200.50'" in message and "'day' (dates" in message
    table = read_table(path, clean=True, impute="median")
    assert table.feature_names == ("cost", "share", "day")
    assert table.X.tolist() == [[1200.5, 12, 18292], [90, 7.5, 18293], [645.25, 3, 18322]]
    assert "'cost' read as numbers without $" in table.notes
    assert "'day' read as days since 1970-01-01" in table.notes
    later = text("day,share,cost\n05.06.2021,50%,$7\n", "later.csv")
    stored = Encoding.from_json(table.encoding.to_json())
    assert read_table(later, encoding=stored).X.tolist() == [[7, 50, 18783]]
    for unclear in ("1,500", "01/02/2020"):
        refusal(InvalidInputError, read_table, text(f'a\n"{unclear}"\n"{unclear}"\n'), clean=True)


def test_which_columns_are_features(text):
    path = text("id,x1,x2,x10,kind,y\n1,2,3,4,5,6\n2,3,4,5,7,7\n")
    every = ("id", "x1", "x2", "x10", "kind")
    assert read_table(path, target="y").feature_names == every
    for drop in ("id,kind", ["id", "kind"], [0, -2], "1,5", ["i*", "kind"]):
        assert read_table(path, target="y", drop=drop).feature_names == ("x1", "x2", "x10")
    assert read_table(path, target="6", keep="x?,kind").feature_names == ("x1", "x2", "kind")
    table = read_table(path, target="y", keep="x*", drop="x2", id="id")
    assert table.feature_names == ("x1", "x10") and table.ids.tolist() == ["1", "2"]


def test_headers_and_separators(text):
    plain = "1,2,3\n4,5,6\n"
    assert read_table(text(plain)).feature_names is None
    assert read_table(text(plain), header=True).feature_names == ("1", "2", "3")
    assert read_table(text("0,1,2\n4,5,6\n")).feature_names == ("0", "1", "2")
    assert read_table(text("a,2\n1,3\n"), header=True).X.tolist() == [[1, 3]]
    assert read_table(text('"a, b";c\n1;2\n')).feature_names == ("a, b", "c")
    assert read_table(text('\n"two\nlines"|b\n"1"|2\n')).feature_names == ("two\nlines", "b")
    assert read_table(text("a\tb\n1\t2\n", "a.tsv")).X.tolist() == [[1, 2]]
    assert read_table(text("a b\n1 2\n"), separator=" ").X.tolist() == [[1, 2]]
    assert read_table(text("\ufeffa,b\r\n1,2\r\n")).feature_names == ("a", "b")
    assert read_table(text("größe\n1\n".encode("latin-1")), text_encoding="latin-1").feature_names
    assert read_table(text("größe,b\n1,2\n".encode("utf-16"))).feature_names == ("größe", "b")
    of_r = read_table(text('"a" "b"\n"r1" 1 2\n"r2" 3 4\n'), separator=" ", id=0)
    assert of_r.feature_names == ("a", "b") and of_r.ids.tolist() == ["r1", "r2"]
    wide = ",".join(f"column{i}" for i in range(20_000))
    assert read_table(text(wide + "\n" + ",".join(["1.5"] * 20_000))).shape == (1, 20_000)


@pytest.mark.parametrize(
    ("ending", "squeeze"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_tables_that_compress_well(text, ending, squeeze):
    content = ",".join(f"s{i}" for i in range(50)) + "\n" + (",".join(["0"] * 50) + "\n") * 90_000
    table = read_table(text(squeeze(content.encode()), f"genotypes.csv.{ending}"))
    assert table.shape == (90_000, 50) and not table.X.any()
    assert read_table(text(squeeze(b"a,b\n1,2\n"), "named.csv")).X.tolist() == [[1, 2]]


def test_several_files_are_one_table(text, tmp_path):
    text("city,x,y\nOslo,,1\nRome,2,2\n", "part-9.csv")
    text("x,y,city\n4,3,Lima\n6,4,Rome\n", "part-10.csv")
    table = read_table(tmp_path / "part-*.csv", target="y", impute="mean")
    assert table.feature_names == ("city=Lima", "city=Oslo", "city=Rome", "x")
    assert table.y.tolist() == [1, 2, 3, 4] and table.X[:, 3].tolist() == [4, 2, 4, 6]
    text("x,y\n1,2\n", "part-11.csv")
    assert "part-11.csv has other columns" in refusal(InvalidInputError, read_table, tmp_path)
    for name, kind in (("a", "int64"), ("b", "float64"), ("c", "str")):
        pd.DataFrame({"v": np.arange(3).astype(kind)}).to_parquet(tmp_path / f"{name}.parquet")
    assert (
        read_table([tmp_path / "a.parquet", tmp_path / "b.parquet"]).X[:, 0].tolist()
        == [0, 1, 2] * 2
    )
    mixed = read_table(sorted(tmp_path.glob("?.parquet")), clean=True)
    assert mixed.X[:, 0].tolist() == [0, 1, 2] * 3


def test_columns_without_information_of_their_own(houses):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((30, 3)), columns=["a", "b", "c"])
    frame.insert(1, "one", 1.0)
    frame["twice"] = 3 - 2 * frame["a"]
    frame["kind"] = ["u", "v"] * 15
    frame["same"] = ["x", "y"] * 15
    path = houses(frame.to_csv(index=False))
    table = read_table(path, drop_constant=True, drop_duplicates=True)
    assert table.feature_names == ("a", "b", "c", "kind=v")
    assert table.notes == (
        "left out constant columns: one",
        "left out copies of other columns: twice, same",
    )
    assert [rule.name for rule in table.encoding.columns] == ["a", "b", "c", "kind"]


def test_types_of_parquet_columns(tmp_path):
    frame = pd.DataFrame({
        "flag": [True, False, True],
        "half": np.array([1, 2, 3], dtype=np.float32),
        "level": pd.Categorical(["u", "v", "u"]),
        "count": pd.array([1, None, 3], dtype="Int64"),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet", impute="mean")
    assert table.feature_names == ("flag", "half", "level=v", "count")
    assert table.X.tolist() == [[1, 1, 0, 1], [0, 2, 1, 2], [1, 3, 0, 3]]
    assert read_table(tmp_path / "a.parquet", keep="half").X.dtype == np.float32
    frame["when"] = pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"])
    frame.to_parquet(tmp_path / "a.parquet")
    message = refusal(InvalidInputError, read_table, tmp_path / "a.parquet", drop="count")
    assert "'when' (dates)" in message
    table = read_table(tmp_path / "a.parquet", keep="when", clean=True)
    assert table.X[:, 0].tolist() == [18262, 18263, 18264]


def test_text_that_a_file_declares_stays_text(tmp_path):
    for ending in ("parquet", "jsonl"):
        path = tmp_path / f"a.{ending}"
        frame = pd.DataFrame({"zip": ["10001", "501", "10001"], "y": [1.0, 2.0, 3.0]})
        if ending == "parquet":
            frame.to_parquet(path)
        else:
            frame.to_json(path, orient="records", lines=True)
        assert read_table(path, target="y").feature_names == ("zip=501",)
        assert read_table(path, target="zip").y.tolist() == ["10001", "501", "10001"]
        assert read_table(path, target="y", clean=True).X[:, 0].tolist() == [10001, 501, 10001]


def test_lines_and_columns_of_text(text, tmp_path):
    words = ["a\u2028b", "c d", "e\x0bf"]
    path = text("\n".join(words) + "\n", "words.txt")
    assert read_lines(path) == tuple(words)
    assert read_lines(text("a\r\nb", "b.txt")) == ("a", "b")
    table = text('n,text\n7,"one,\nline"\n08,\n', "t.csv")
    assert read_text_columns(table, ["text", 0]) == {"text": ["one,\nline", ""], "n": ["7", "08"]}


REFUSALS = [
    ("a.csv", "a,b\n1,2\n3\n", {}, "rows of different lengths or a quotation mark"),
    ("a.csv", "a,b,a\n1,2,3\n", {}, "several columns called 'a' (columns 1, 3)"),
    ("a.csv", ",b\n1,2\n", {}, "columns without a name (row numbers, perhaps): column 1"),
    ("a.csv", "a,b\n", {}, "holds no rows"),
    ("a.csv", "Age,price\n1,2\n", {"target": "pirce"}, "no such column (nearest: 'price')"),
    ("a.csv", "1,2\n3,4\n", {"target": "9"}, "a name or a number from 1 to 2"),
    ("a.csv", "a,y\n1,2\n2,spam\n", {"target": "y"}, "1 cell of text among numbers"),
    ("a.csv", "a,b\n1,2\n1,1e999\n", {}, "'b' (1 infinite number, in row 2)"),
    ("a.csv", "a,b\n1,\n,2\n", {"impute": "drop"}, "no row is left without missing values"),
    ("a.csv", "a\n1\n", {"n_features": 3}, "n_features does not apply to the csv file"),
]


@pytest.mark.parametrize(("name", "content", "options", "fault"), REFUSALS)
def test_refusals(text, name, content, options, fault):
    assert fault in refusal(InvalidInputError, read_table, text(content, name), **options)


def test_files_that_cannot_be_read(text, tmp_path):
    for path, fault in (
        (tmp_path / "none.csv", "does not exist"),
        (text(gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "cut.csv.gz"), "is truncated or damaged"),
        (text("größe\n1\n".encode("latin-1")), "is not UTF-8 text; give its text encoding"),
        (text(b"PAR1 nonsense", "a.parquet"), "could not be read as parquet"),
    ):
        assert fault in refusal(StoredFileError, read_table, path)
