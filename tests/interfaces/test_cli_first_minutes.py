"""First commands on a table of one's own: one message, no contradiction, no lost option."""

import csv
import json

import numpy as np
import pytest

CITIES = ("Bergen", "Hamar", "Oslo")
COLUMNS = ("area", "age", "city", "garage", "price")


@pytest.fixture
def table(tmp_path):
    """Write houses.csv of 60 rows; `change` may alter its header and rows."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(60):
        area, age = rng.normal(100, 20), rng.integers(0, 50)
        city, garage = CITIES[i % 3], "yes" if rng.random() > 0.5 else "no"
        price = 3 * area - age + 30 * (city == "Oslo") + 20 * (garage == "yes")
        rows.append([f"{area:.2f}", age, city, garage, f"{price + rng.normal(0, 5):.2f}"])

    def write(change=None, name="houses.csv"):
        head, body = list(COLUMNS), [list(row) for row in rows]
        if change is not None:
            change(head, body)
        with open(tmp_path / name, "w", newline="") as file:
            csv.writer(file).writerows([head, *body])

    write()
    return write


def with_gaps(head, body):
    body[3][0] = body[7][2] = ""


def test_the_columns_are_listed_where_no_target_is_named(call, table):
    def texts(head, body):
        head.append("note")
        for i, row in enumerate(body):
            row.append(f"text {i}")

    said = call("cv houses.csv", 2).stderr
    listed = "its columns are 'area', 'age', 'city', 'garage', 'price'"
    assert f"choose the column of houses.csv to predict with --target; {listed}." in said
    table(texts)  # cannot be read, but that is not the first thing to know
    assert f"{listed}, 'note'." in call("cv houses.csv", 2).stderr


def test_predict_leaves_rows_out_and_refuses_what_it_would_ignore(call, table):
    table(with_gaps)
    call("fit houses.csv -t price --alpha 1 --impute mean -o h.model")
    filled = call("predict h.model houses.csv -o p.csv")
    assert "60 samples" in filled.stdout
    left = call("predict h.model houses.csv --impute drop -o p.csv")
    assert "58 samples" in left.stdout and "left out 2 rows with missing values" in left.stderr
    said = call("predict h.model houses.csv --drop city", 2).stderr
    assert "'city' cannot be dropped, because the model uses it" in said
    said = call("predict h.model houses.csv --impute median", 2).stderr
    assert "--impute median does not apply to predict" in said


def test_leave_one_out_counts_rows_like_predict(call, table, tmp_path):
    table(with_gaps)
    line = "loo houses.csv -t price --impute drop --alpha 1"
    report = json.loads(call(f"{line} --json -o loo.csv").stdout)
    assert report["row"][:4] == [1, 2, 3, 5], "row 4 has a gap"
    rows = list(csv.reader((tmp_path / "loo.csv").read_text().splitlines()))
    assert rows[0][0] == "row" and [row[0] for row in rows[1:5]] == ["1", "2", "3", "5"]
    shifts = np.array(report["coefficient_shift"])
    most = [1, 2, 3, *range(5, 8), *range(9, 61)][int(shifts.argmax())]
    lines = call(line).stdout.splitlines()
    first = lines[next(i for i, text in enumerate(lines) if text.startswith("row ")) + 1]
    assert first.split()[0] == str(most)


def test_infer_compares_levels_with_one_of_them(call, table):
    result = call("infer houses.csv -t price --json")
    report = json.loads(result.stdout)
    assert report["feature"] == ["area", "age", "city=Hamar", "city=Oslo", "garage=yes"]
    assert report["notes"] == ["effects of the other levels of 'city' are relative to 'Bergen'"]
    oslo = report["estimate"][3]
    assert oslo == pytest.approx(30, abs=3 * report["standard_error"][3])
