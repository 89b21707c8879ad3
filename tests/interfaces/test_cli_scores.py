"""What commands report first: scores; solver facts only when asked for."""

import json

import numpy as np
import pytest
from sklearn.metrics import f1_score, r2_score

from sketchlasso.io import Table, read_table, write_table


def test_a_constant_target_has_no_r2(call):
    rng = np.random.default_rng(0)
    write_table("same.csv", Table(rng.standard_normal((30, 2)), np.ones(30), ("a", "b"), "y"))
    for command in ("fit", "cv"):
        said = call(f"{command} same.csv -t y", 1).stdout
        assert said.startswith("R2") and "not defined for a constant target" in said


def test_fit_reports_f1_beside_accuracy(call, files):
    said = call("fit {data}/sizes.csv -t size --alpha 1 -o s.model").stdout.splitlines()
    y = read_table(files / "sizes.csv", target="size").y
    predicted = np.array(call("predict s.model {data}/sizes.csv").stdout.split())
    assert said[0].split()[:2] == ["accuracy", f"{np.mean(predicted == y):.4f}"]
    f1 = f"{f1_score(y, predicted, pos_label='small'):.4f}"
    assert said[1].split()[:4] == ["F1", "of", "small", f1]
    assert "on the training rows" in said[1]


def test_predict_reports_scores_wherever_predictions_go(call, files):
    call("fit {data}/houses.csv -t price --alpha 2 -o h.model")
    first = call("predict h.model {data}/houses.csv -o p.csv").stdout.splitlines()[0]
    assert first.startswith("R2 ")
    printed = call("predict h.model {data}/houses.csv")
    assert len(printed.stdout.splitlines()) == 60
    assert "sketchlasso: note: R2 0." in printed.stderr
    document = json.loads(call("predict h.model {data}/houses.csv --json").stdout)
    table = read_table(files / "houses.csv", target="price")
    predicted = np.array(document["predictions"])
    assert document["scores"]["R2"] == pytest.approx(r2_score(table.y, predicted))
    assert "R2" not in call("predict h.model {data}/new.csv").stderr


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("loo {data}/houses.csv -t price", "R2 "),
        ("loo {data}/sizes.csv -t size", "accuracy "),
        ("path {data}/houses.csv -t price --alphas 5", "data "),
        ("network {data}/houses.csv --alpha 1 -o g.json", "samples "),
    ],
)
def test_gaps_and_solver_facts_are_for_verbose(call, line, first):
    said = call(line).stdout
    assert said.startswith(first)
    assert not any(word in said for word in ("gap", "seconds", "sketch ", "objective", "radius"))
    more = call(f"{line} --verbose").stdout
    assert "gap" in more


def test_a_path_names_the_features_that_enter(call):
    said = call("path {data}/houses.csv -t price --alphas 6.5,4,0.1").stdout.splitlines()
    head = next(i for i, line in enumerate(said) if line.split()[:1] == ["alpha"])
    assert said[head].split() == ["alpha", "nonzero", "new", "features"]
    assert said[head + 1].split() == ["6.5", "1", "age"]
    assert said[head + 2].split() == ["4", "2", "rooms"]
    assert said[head + 3].split()[:2] == ["0.1", "6"]
