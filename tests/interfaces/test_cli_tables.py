"""A real table from first contact to predictions: gaps, categories, scores, effects, pictures."""

import json
import re

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, f1_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import sketchlasso as sl
from sketchlasso.io import read_table, stored_info, write_table

ROWS = 80
CITIES = ("Oslo", "Paris", "Rome")


def write_houses(path, *, gaps=True, separator=",", seed=0):
    """Write a table of houses: price = 50 rooms + 30 in Rome + noise, sizes in another unit."""
    rng = np.random.default_rng(seed)
    lines = [separator.join(("key", "rooms", "size", "city", "garden", "price"))]
    for row in range(ROWS):
        rooms, size, city = rng.integers(1, 7), rng.uniform(20, 200), CITIES[row % 3]
        garden = "yes" if rng.random() < 0.5 else "no"
        price = 50 * rooms + 30 * (city == "Rome") + rng.standard_normal()
        cells = [f"h{row}", str(rooms), f"{1000 * size:.1f}", city, garden, f"{price:.3f}"]
        if gaps and row in (3, 4):
            cells[1] = ""
        if separator == ";":
            cells = [cell.replace(".", ",") for cell in cells]
        lines.append(separator.join(cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def houses(tmp_path):
    write_houses(tmp_path / "houses.csv")
    return tmp_path


def test_scores_come_first_and_effects_in_both_units(call, houses):
    line = "cv houses.csv --target price --drop key --impute median --alphas 20"
    result = call(line)
    first, *rest = result.stdout.splitlines()
    assert first.startswith("R2 ") and " +- " in first and "(5 folds, shuffled)" in first
    assert any(line.startswith("feature") and "per std. dev." in line for line in rest)
    assert "sketchlasso: note: filled 2 missing values of 'rooms' with" in result.stderr
    assert "gap" not in result.stdout
    printed = call(f"{line} --verbose").stdout
    assert "full gap" in printed and "seconds" in printed
    data = json.loads(call(f"{line} --json").stdout)
    assert data["held_out"]["R2"]["mean"] > 0.95
    assert data["notes"]
    effects = {one["feature"]: one for one in data["coefficients"]}
    rooms = effects["rooms"]
    assert rooms["value"] == pytest.approx(50, rel=0.05)
    assert rooms["fold_share"] == 1.0
    table = read_table("houses.csv", target="price", drop=["key"], impute="median")
    deviation = table.X[:, table.feature_names.index("rooms")].std()
    assert rooms["effect"] == pytest.approx(rooms["value"] * deviation)


def test_held_out_scores_are_those_of_the_folds(call, houses, files):
    write_houses(houses / "whole.csv", gaps=False)
    line = "--alphas 20 --folds 4 --seed 3 --json"
    chosen = "whole.csv --target price --drop key"
    data = json.loads(call(f"cv {chosen} {line} -o h.model").stdout)
    model = sl.load_model("h.model")
    y = read_table("whole.csv", target="price", drop=["key"]).y
    parts = KFold(4, shuffle=True, random_state=3).split(y)
    scores = [r2_score(y[test], model.oof_prediction_[test]) for _, test in parts]
    assert data["held_out"]["R2"]["mean"] == pytest.approx(np.mean(scores))
    error = np.std(scores, ddof=1) / 2
    assert data["held_out"]["R2"]["standard_error"] == pytest.approx(error)
    data = json.loads(call(f"cv {{data}}/sizes.csv --target size {line} -o s.model").stdout)
    model = sl.load_model("s.model")
    y = read_table(files / "sizes.csv", target="size").y == "small"
    parts = list(StratifiedKFold(4, shuffle=True, random_state=3).split(y, y))
    guess = model.oof_decision_ > 0
    for name, score in (("accuracy", accuracy_score), ("F1", f1_score)):
        values = [score(y[test], guess[test]) for _, test in parts]
        assert data["held_out"][name]["mean"] == pytest.approx(np.mean(values))


def test_predict_reads_new_rows_as_the_fit_did(call, houses):
    call("fit houses.csv --target price --drop key --impute mean -o h.model")
    new = houses / "new.csv"
    new.write_text(
        "when,city,garden,size,rooms,name\n2020-01-01,Rome,no,50000,3,a\nx,Lima,no,50000,,b\n"
    )
    result = call("predict h.model new.csv --id name")
    (first, rome), (second, lima) = (line.split(",") for line in result.stdout.split())
    assert (first, second) == ("a", "b")
    assert float(rome) - 150 == pytest.approx(30, abs=25)
    assert "'city' holds levels that the model has not seen: 'Lima' in 1 row" in result.stderr
    assert "filled 1 missing value of 'rooms'" in result.stderr
    model = sl.load_model("h.model")
    assert stored_info("h.model").facts["encoding"]["columns"][2]["levels"] == list(CITIES)
    assert model.n_features_in_ == 6
    call("predict h.model new.csv --id name -o p.csv")
    written = read_table("p.csv", id="name")
    assert written.ids.tolist() == ["a", "b"]
    assert written.X[:, 0].tolist() == [float(rome), float(lima)]


def test_columns_without_a_coefficient_may_be_absent(call, houses):
    call("fit houses.csv --target price --drop key --impute mean --alpha 7 -o h.model")
    used = [
        one["feature"] for one in json.loads(call("info h.model --json").stdout)["coefficients"]
    ]
    assert used == ["rooms"]
    (houses / "few.csv").write_text("rooms\n3\n4\n")
    assert len(call("predict h.model few.csv").stdout.split()) == 2
    assert "lacks 3 of the 4 columns" in call("certify h.model few.csv", 2).stderr


@pytest.mark.parametrize(
    ("kind", "impute", "options"),
    [
        ("numbers", "mean", {"sketch": None}),
        ("numbers", "median", {"sketch": "exact", "radius": 0.5}),
        ("classes", "median", {"sketch": None}),
    ],
)
def test_gaps_are_filled_by_the_training_rows_of_each_fold(call, tmp_path, kind, impute, options):
    rng = np.random.default_rng(3)
    X = np.exp(2 * rng.standard_normal((30, 3)))
    y = X @ [1.0, -1.0, 0.5] + 5 * rng.standard_normal(30)
    X[rng.random((30, 3)) < 0.4] = np.nan
    city = np.where(rng.random(30) < 0.3, None, rng.choice(["Bergen", "Oslo", "Rome"], 30))
    if kind == "classes":
        y = np.where(y > np.median(y), "high", "low")
    cells = [["" if x != x else repr(x) for x in row] for row in X.tolist()]
    lines = [",".join([*row, c or "", str(v)]) for row, c, v in zip(cells, city, y, strict=True)]
    (tmp_path / "gaps.csv").write_text("\n".join(["a,b,c,city,y", *lines]))
    extra = " ".join(f"--{name} {value or 'none'}" for name, value in options.items())
    line = f"cv gaps.csv --target y --impute {impute} --alphas 0.8, -o gaps.model --json {extra}"
    printed = json.loads(call(line).stdout)
    assert printed["notes"][-1] == (
        "gaps were filled from all rows to choose the penalty, and from each fold's training rows "
        "for the score"
    )
    model = sl.load_model("gaps.model")
    split, single = KFold, sl.SqrtLasso
    if kind == "classes":
        split, single = StratifiedKFold, sl.SqrtLassoClassifier
    columns = make_column_transformer(
        (SimpleImputer(strategy=impute), [0, 1, 2]),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), [3]),
        sparse_threshold=0,
    )
    rows = np.column_stack([X.astype(object), np.where(city == None, np.nan, city)])  # noqa: E711
    folds = split(5, shuffle=True, random_state=0)
    whole = make_pipeline(columns, single(model.alpha_, **options))
    scores = cross_val_score(whole, rows, y, cv=folds)
    name = "R2" if kind == "numbers" else "accuracy"
    assert printed["held_out"][name]["mean"] == pytest.approx(np.mean(scores), abs=1e-6)


@pytest.mark.parametrize("command", ["fit", "cv"])
def test_pictures(call, houses, command):
    pytest.importorskip("matplotlib")
    result = call(f"{command} houses.csv --target price --drop key --impute mean --plot h.svg")
    assert "wrote   h.svg" in result.stdout
    text = (houses / "h.svg").read_text(encoding="utf-8")
    assert text.count('<g id="axes_') >= (3 if command == "cv" else 2)
    assert not {"#008000", "#2ca02c", "#d62728", "#ff0000"} & set(re.findall("#[0-9a-f]{6}", text))


def test_predict_rows_whose_target_is_missing(call, houses):
    call("fit houses.csv --target price --drop key --impute mean -o houses.model")
    lines = (houses / "houses.csv").read_text(encoding="utf-8").splitlines()
    lines[1:4] = [f"{line.rpartition(',')[0]}," for line in lines[1:4]]
    (houses / "new.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = call("predict houses.model new.csv -o out.csv", 2).stderr
    assert said.endswith("with impute drop, or leave out columns with drop price.\n")
    call("predict houses.model new.csv --drop price -o predicted.csv")
    assert read_table("predicted.csv").X.shape[0] == ROWS
    # In blocks too, without gaps in the features.
    table = read_table("houses.csv", target="price", drop=["key", "rooms", "city", "garden"])
    write_table("plain.parquet", table)
    call("fit plain.parquet --target price --alpha 0.01 -o plain.model")
    call("predict plain.model plain.parquet --drop price --memory 1GB -o blocks.csv")
    assert read_table("blocks.csv").X.shape[0] == ROWS


def test_columns_of_new_svmlight_files_are_those_of_the_fit(call, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)) * (rng.random((60, 5)) < 0.7)
    y = X @ [3.0, -2.0, 1.0, 0.0, 0.5]

    def write(name, rows, values, extra=""):
        lines = [
            " ".join([repr(label), *(f"{j}:{x!r}" for j, x in enumerate(row) if x)]) + extra
            for row, label in zip(rows.tolist(), values.tolist(), strict=True)
        ]
        (tmp_path / name).write_text("\n".join(lines))

    write("fit.svm", X, y)
    call("fit fit.svm --alpha 0.1 -o zero.model")
    new = X[:8] * [0, 1, 1, 1, 1]  # no line has the index 0
    expected = sl.load_model("zero.model").predict(new)
    for extra in ("", " 11:4.5"):  # with a feature that the model has not seen
        write("new.svm", new, y[:8], extra)
        result = call("predict zero.model new.svm --json")
        assert json.loads(result.stdout)["predictions"] == pytest.approx(expected)
    assert "ignored 1 feature after the last of 5" in json.loads(result.stdout)["notes"]
    call("fit new.svm --index-base 0 --n-features 5 --alpha 0.1 -o named.model")
    assert stored_info("named.model").facts["encoding"]["index_base"] == 0


@pytest.mark.parametrize("label", ["1_2", "007"])
def test_a_file_of_targets_holds_numbers_as_tables_do(call, files, tmp_path, label):
    labels = [label, "5"] * 30
    (tmp_path / "labels.txt").write_text("\n".join(labels))
    call("fit {data}/plain.npz --target-file labels.txt --alpha 0.5 -o c.model")
    assert sl.load_model("c.model").classes_.tolist() == [label, "5"]
