"""Tables with gaps, categories, dates and decimal commas, in text and in Parquet files."""

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError
from sketchlasso.files import delimited
from sketchlasso.io import Encoding, read_table

HOUSES = """city,rooms,garden,price
Oslo,3,yes,10
Rome,,no,20
Oslo,5,yes,30
,4,no,40
Paris,8,no,
"""


@pytest.fixture(params=["csv", "parquet"])
def houses(request, tmp_path):
    """Return what writes a table, given as CSV, in one of two formats."""

    def write(content, name="houses"):
        path = tmp_path / f"{name}.csv"
        path.write_text(content, encoding="utf-8")
        if request.param == "csv":
            return path
        arrow_csv = pytest.importorskip("pyarrow.csv")
        parquet = pytest.importorskip("pyarrow.parquet")
        options = arrow_csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
        made = tmp_path / f"{name}.parquet"
        parquet.write_table(arrow_csv.read_csv(path, convert_options=options), made)
        return made

    return write


@pytest.mark.parametrize("impute", ["mean", "median"])
def test_gaps_are_filled_and_counted(houses, impute):
    table = read_table(houses(HOUSES), target="price", impute=impute)
    assert table.feature_names == ("city=Rome", "rooms", "garden=yes")
    assert table.X.tolist() == [[0, 3, 1], [1, 4, 0], [0, 5, 1], [0, 4, 0]]
    assert table.y.tolist() == [10, 20, 30, 40]
    assert table.rows.tolist() == [0, 1, 2, 3]
    assert table.notes == (
        "left out 1 row without a target",
        "filled 1 missing value of 'city' with 'Oslo'",
        "filled 1 missing value of 'rooms' with 4",
    )


@pytest.mark.parametrize(("impute", "fill"), [("mean", 4.0), ("median", 2.0)])
def test_mean_and_median_are_those_of_the_rows_that_stay(houses, impute, fill):
    table = read_table(houses("a,y\n1,1\n2,2\n9,3\n,4\n1000,\n"), target="y", impute=impute)
    assert table.X[3, 0] == fill


def test_rows_with_gaps_are_left_out(houses):
    table = read_table(houses(HOUSES), target="price", impute="drop")
    assert table.feature_names == ("city=Oslo", "rooms", "garden=yes")
    assert table.X.tolist() == [[1, 3, 1], [1, 5, 1]]
    assert table.rows.tolist() == [0, 2]
    assert "left out 2 rows with missing values: 'city' in 1, 'rooms' in 1" in table.notes


def test_ids_are_no_features(houses):
    table = read_table(houses(HOUSES), target="price", impute="drop", id="rooms")
    assert table.feature_names == ("city=Rome", "garden=yes")
    assert table.ids.tolist() == ["3", "", "5"]


def test_one_message_names_all_bad_columns(houses):
    content = "city,rooms,sold,name,y\nOslo,,2020-01-31,a0,1\n" + "".join(
        f",{i},2021-02-0{i % 9 + 1},a{i},{i}\n" for i in range(1, 30)
    )
    message = refusal(InvalidInputError, read_table, houses(content), target="y")
    assert "has 4 columns that cannot be used as they are: 'city' (29 missing values" in message
    assert "'rooms' (1 missing value" in message
    assert "'sold' (dates" in message
    assert "'name' (30 different texts in 30 rows)" in message
    assert "impute='mean'" in message
    assert "drop=['sold'] drop=['name']" in message


def test_other_rows_are_read_by_the_rules_of_the_first(houses):
    first = read_table(houses(HOUSES), target="price", impute="mean")
    later = "extra,garden,rooms,city\n2020-01-01,yes,,Rome\nx,no,7,Lima\ny,no,7,Lima\nz,no,7,Kyiv\n"
    stored = Encoding.from_json(first.encoding.to_json())
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


def test_rules_without_fills_refuse_gaps_in_other_rows(houses):
    first = read_table(houses("a,b\n1,u\n2,v\n3,w\n"))
    assert first.feature_names == ("a", "b=u", "b=v", "b=w")
    gaps = houses("a,b\n1,u\n,v\n", "gaps")
    message = refusal(InvalidInputError, read_table, gaps, encoding=first.encoding)
    assert "'a' (1 missing value" in message
    assert "fit the model again with impute='mean'" in message
    assert read_table(gaps, encoding=first.encoding, impute="drop").shape == (1, 4)
    words = houses("a,b\nx,u\ny,v\n", "words")
    message = refusal(InvalidInputError, read_table, words, encoding=first.encoding)
    assert "text such as 'x'" in message


def test_numbers_too_large_for_the_type_are_refused(houses):
    path = houses("a,y\n1,2\n1e300,3\n")
    assert read_table(path, target="y").X.tolist() == [[1], [1e300]]
    message = refusal(InvalidInputError, read_table, path, target="y", dtype="float32")
    assert "'a' (1 infinite number, in " in message


def test_decimal_commas(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;y\n1,5;2;10,5\n-2;,5;11\n", encoding="utf-8")
    table = read_table(path, target="y")
    assert table.X.tolist() == [[1.5, 2], [-2, 0.5]]
    assert table.y.tolist() == [10.5, 11]


@pytest.mark.parametrize("cell", ["1,500", "$20", "12 %", "1.234,50", "-3,4€"])
def test_numbers_written_as_text(tmp_path, cell):
    path = tmp_path / "a.csv"
    path.write_text(f'a,y\n"{cell}",1\n"{cell}",2\n', encoding="utf-8")
    message = refusal(InvalidInputError, read_table, path, target="y")
    assert f"'a' (numbers written as text such as {cell!r})" in message
    message = refusal(InvalidInputError, read_table, path, target="a")
    assert "holds numbers written as text in its target, column 'a'" in message
    path.write_text('a,y\n"3a",1\n"A4",2\n', encoding="utf-8")
    assert read_table(path, target="y").feature_names == ("a=A4",)


def test_blocks_of_lines_do_not_matter(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(HOUSES, encoding="utf-8")
    whole = read_table(path, target="price", impute="mean")
    monkeypatch.setattr(delimited, "CELLS", 4)
    parts = read_table(path, target="price", impute="mean")
    assert np.array_equal(whole.X, parts.X)
    assert whole.encoding == parts.encoding
    path.write_text("a,y\n1,\n2,\n3,u\n4,v\n", encoding="utf-8")
    assert read_table(path, target="y", impute="drop").y.tolist() == ["u", "v"]


@pytest.mark.parametrize(
    "entries",
    [
        3,
        [3],
        [{"name": "a"}],
        [{"name": "a", "levels": [1], "fill": None}],
        [{"name": "a", "levels": None, "fill": "x"}],
    ],
)
def test_rules_from_elsewhere_are_refused(entries):
    refusal(InvalidInputError, Encoding.from_json, entries)


def test_what_imputation_takes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,2\n", encoding="utf-8")
    message = refusal(InvalidInputError, read_table, path, impute="mode")
    assert "'mean', 'median' or 'drop'" in message
    path.write_text("a,b\n1,\n,2\n", encoding="utf-8")
    assert "no row is left" in refusal(InvalidInputError, read_table, path, impute="drop")
