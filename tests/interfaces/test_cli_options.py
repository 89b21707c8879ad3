"""Options of the shell as people of other tools for tables expect them."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from sketchlasso.io import Table, read_table, write_table


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def messy(tmp_path):
    """Write a table as many are: an id, a code, shares, prices, dates, gaps and copies."""
    rng = np.random.default_rng(0)
    size = rng.integers(40, 200, 60)
    price = 3000 * size + rng.normal(0, 9000, 60)
    lines = ["id;zip;size;share;cost;sold;same;twice;price"]
    for i in range(60):
        cells = (
            *(100 + i, (10115, 20095, 80331)[i % 3], "n/a" if i == 7 else size[i]),
            *(f"{rng.integers(1, 99)} %", f"€ {rng.integers(1, 9)}.{rng.integers(100, 999)},50"),
            *(f"2024-0{1 + i % 9}-1{i % 9}", 1, f"{2 * size[i] + 1},0", round(price[i])),
        )
        lines.append(";".join(map(str, cells)))
    (tmp_path / "messy.csv").write_text("\n".join(lines), encoding="utf-8")


def test_a_messy_table_is_read_by_options(call, messy):
    line = (
        "fit messy.csv -t price --drop id --categorical zip --clean --na n/a --impute mean "
        "--drop-constant --alpha 1 --decimal , --json"
    )
    answer = json.loads(call(line).stdout)
    names = {one["feature"] for one in answer["coefficients"]}
    assert names & {"size", "twice"}
    assert answer["training_scores"]["R2"] > 0.8
    kept = json.loads(
        call("fit messy.csv -t price --keep size,tw* --na n/a --impute mean --json").stdout
    )
    assert kept["n_features"] == 2
    assert (
        "column 'id' seems to number the rows"
        in call("fit messy.csv -t price --keep id,twice --alpha 1").stderr
    )


def test_columns_without_an_effect_of_their_own_are_dropped_at_once(call, messy):
    line = "infer messy.csv -t price --keep size,same,twice,share --clean --na n/a --impute drop"
    said = call(line, 2).stderr
    assert "column same is constant; columns size, twice are" in said
    assert "--drop-constant and --drop-duplicates" in said
    answer = json.loads(call(f"{line} --drop-constant --drop-duplicates --json").stdout)
    assert answer["feature"] == ["size", "share"]


@pytest.mark.parametrize("kind", ["gzip", "jsonl", "pipe"])
def test_tables_from_standard_input_and_pipes(files, tmp_path, kind):
    text = (files / "houses.csv").read_text()
    line = [
        sys.executable,
        "-m",
        "sketchlasso",
        "fit",
        "-",
        "-t",
        "price",
        "--alpha",
        "1",
        "--json",
    ]
    content = gzip.compress(text.encode())
    if kind == "jsonl":
        content = "\n".join(
            json.dumps({name: float(cell) for name, cell in row.items()}) for row in rows_of(text)
        ).encode()
        line += ["--format", "jsonl"]
    if kind == "pipe":
        os.mkfifo(tmp_path / "pipe.csv")
        line[4] = str(tmp_path / "pipe.csv")
        writer = threading.Thread(target=(tmp_path / "pipe.csv").write_text, args=(text,))
        writer.start()
    done = subprocess.run(line, input=content, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_samples"] == 60


def test_tables_go_to_stdout(call):
    line = "path {data}/houses.csv -t price --alphas 3"
    call(f"{line} -o path.csv")
    with open("path.csv", encoding="utf-8") as file:
        assert call(f"{line} -o -").stdout == file.read()
    for command in ("infer {data}/houses.csv -t price", "loo {data}/houses.csv -t price --alpha 1"):
        assert len(rows_of(call(f"{command} -o -").stdout)) in (6, 60)
    assert "file name" in call("fit {data}/houses.csv -t price -o -", 2).stderr


def test_predictions_with_names_and_columns_of_the_input(call, files):
    call("fit {data}/houses.csv -t price --alpha 1 -o h.model")
    said = call("predict h.model {data}/houses.csv --header --columns trees,age").stdout
    rows = rows_of(said)
    table = read_table(files / "houses.csv")
    assert list(rows[0]) == ["trees", "age", "prediction"] and len(rows) == 60
    assert float(rows[3]["age"]) == table.X[3, 0]
    plain = call("predict h.model {data}/houses.csv").stdout.split()
    assert [row["prediction"] for row in rows] == plain
    call("predict h.model {data}/houses.csv -o p.parquet --columns age")
    written = read_table("p.parquet")
    assert written.feature_names == ("row", "age", "prediction")
    np.testing.assert_array_equal(written.X[:, 1], table.X[:, 0])


@pytest.mark.parametrize("blocks", ["", "--memory 1MB"])
def test_predictions_have_the_ids_of_their_rows(call, tmp_path, blocks):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    names = np.array([f"r{i}" for i in range(30)])
    y = X[:, 0] - X[:, 1]
    write_table(
        tmp_path / "named.parquet", Table(X, y, tuple("abc"), "y", ids=names, id_name="name")
    )
    call("fit named.parquet -t y --drop name --alpha 0.5 -o n.model")
    said = call(f"predict n.model named.parquet --id name {blocks} -o -").stdout
    assert [row["name"] for row in rows_of(said)] == [f"r{i}" for i in range(30)]


def test_rows_keep_their_numbers_where_others_are_left_out(call, files, tmp_path):
    call("fit {data}/houses.csv -t price --alpha 1 -o h.model")
    lines = (files / "houses.csv").read_text().splitlines()
    lines[4] = "," + lines[4].partition(",")[2]
    (tmp_path / "gap.csv").write_text("\n".join(lines))
    rows = call("predict h.model gap.csv --impute drop").stdout.split()
    assert [row.split(",")[0] for row in rows[:5]] == ["1", "2", "3", "5", "6"]


@pytest.mark.parametrize(
    "options",
    ["--scoring nice", "--split random", "--alphas many", "--radius wide", "--calibrate split"],
)
def test_options_are_checked_before_a_file_is_read(call, options):
    assert "does not exist" not in call(f"cv none.csv -t y {options}", 2).stderr


@pytest.mark.parametrize(
    "line",
    [
        "loo {data}/houses.csv -t price --alpha 1 --rows 9",
        "network {data}/houses.csv --alpha 0.5 -o n.json",
    ],
)
def test_rows_and_networks_are_drawn(call, tmp_path, line):
    pytest.importorskip("matplotlib")
    call(f"{line} --plot picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
