"""`sketchlasso infer`, for people and for machines, and the sentences of its refusals."""

import json
from html import unescape

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso.inference import desparsified
from sketchlasso.io import Table, read_table, write_table


def test_infer_for_machines_equals_the_library(call, files):
    result = call("infer {data}/houses.csv --target price --level 0.9 --adjust bh --robust --json")
    answer = json.loads(result.stdout)
    assert result.stderr == ""
    table = read_table(files / "houses.csv", target="price")
    found = desparsified(table.X, table.y, errors="robust")
    assert answer["feature"] == list(table.feature_names)
    np.testing.assert_allclose(answer["estimate"], found.estimate, rtol=1e-12)
    np.testing.assert_allclose(answer["standard_error"], found.standard_error, rtol=1e-12)
    np.testing.assert_allclose([answer["lower"], answer["upper"]], found.interval(0.9), rtol=1e-12)
    np.testing.assert_allclose(answer["adjusted"], found.adjusted("benjamini-hochberg"), rtol=1e-12)
    assert (answer["errors"], answer["level"]) == ("robust", 0.9)


def test_infer_draws(call, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    answer = call("infer {data}/houses.csv --target price --adjust bh --plot f.svg --json").stdout
    assert json.loads(answer)["plot"] == "f.svg"
    drawn = unescape((tmp_path / "f.svg").read_text(encoding="utf-8"))
    for words in ("estimate and 95 % interval", "benjamini-hochberg", "adjusted p <= 0.05 (2)"):
        assert f"<!-- {words} -->" in drawn


def test_infer_on_rigorous_penalties_and_fit_with_them(call):
    said = call("infer {data}/houses.csv --target price --alpha rigorous-robust --json").stdout
    assert json.loads(said)["p_value"][0] < 1e-6
    call("fit {data}/houses.csv --target price --alpha rigorous -o r.model")
    assert sl.load_model("r.model").loadings_.shape == (6,)
    said = call("loo {data}/houses.csv --target price --model r.model", code=2).stderr
    assert "rigorous penalty" in said and "give it by --alpha" in said


def test_bad_data_are_refused_in_one_sentence(call):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    names = ("a", "b", "c")
    same = np.column_stack([X[:, :2], 2.0 - 3 * X[:, 0]])
    flat = np.column_stack([X[:, :2], np.ones(30)])
    for name, (entries, target) in {
        "few": (X[:9], y[:9]),
        "same": (same, y),
        "flat": (flat, y),
    }.items():
        write_table(f"{name}.csv", Table(entries, target, names, "y"))
    assert "9 samples" in call("infer few.csv --target y", code=2).stderr
    said = call("infer same.csv --target y", code=2).stderr
    assert "columns a, c are exact combinations" in said
    said = call("infer flat.csv --target y", code=2).stderr
    assert "column c is constant" in said
    assert "--drop-constant" in said
    call("infer flat.csv --target y --drop c")
    said = call("infer {data}/sizes.csv --target size", code=2).stderr
    assert "not one column of numbers" in said
