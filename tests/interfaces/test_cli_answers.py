"""Answers that may be used: right data, no lost file, and exit codes that programs can trust."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import r2_score

import sketchlasso as sl
from sketchlasso.io import Table, read_table, write_table


@pytest.fixture
def two(tmp_path):
    """A file of two targets, and its table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    Y = X[:, :2] * [3.0, -2.0] + rng.standard_normal((60, 2))
    write_table(tmp_path / "two.npz", Table(X, Y))
    return Table(X, Y)


@pytest.mark.parametrize("line", ["fit two.npz --alpha 1", "cv two.npz --alphas 10"])
def test_two_targets_are_fitted_and_scored(call, two, line):
    answer = json.loads(call(f"{line} -o two.model --json").stdout)
    model = sl.load_model("two.model")
    assert model.coef_.shape == (2, 5)
    if line.startswith("fit"):
        each = r2_score(two.y, model.predict(two.X), multioutput="raw_values")
        assert answer["training_scores"] == pytest.approx(
            {"R2": each.mean(), "R2 of target 1": each[0], "R2 of target 2": each[1]}
        )
    else:
        assert all(0.2 < one["mean"] <= 1 for one in answer["held_out"].values())
    scored = json.loads(call("predict two.model two.npz --json").stdout)["scores"]
    assert scored["R2"] == pytest.approx(r2_score(two.y, model.predict(two.X)))


def test_a_path_of_two_targets_tells_them_apart(call, two):
    said = call("path two.npz --alphas 4,2,1 -o path.csv").stdout
    assert "of target 1" in said and "of target 2" in said
    rows = read_table("path.csv")
    number, alpha = (rows.X[:, rows.feature_names.index(name)] for name in ("response", "alpha"))
    assert number.tolist() == [1, 1, 1, 2, 2, 2] and alpha.tolist() == [4, 2, 1, 4, 2, 1]
    for t in (0, 1):
        alone = sl.SqrtLasso(alpha=1.0, standardize=True).fit(two.X, two.y[:, t])
        kept = rows.X[number == t + 1][-1]
        for j, coef in enumerate(alone.coef_):
            name = f"feature {j + 1}"
            value = kept[rows.feature_names.index(name)] if name in rows.feature_names else 0.0
            assert value == pytest.approx(coef, abs=1e-5)


@pytest.mark.parametrize("command", ["loo", "stability", "infer", "fit --classify"])
def test_two_targets_are_refused_where_one_is_needed(call, two, command):
    name, *options = command.split()
    said = call(" ".join([name, "two.npz", *options]), 2).stderr
    assert "the target of two.npz" in said and "Traceback" not in said


def test_leave_one_out_takes_only_the_model_of_its_data(call, files, tmp_path):
    call("fit {data}/houses.csv -t price --alpha 2 -o h.model")
    call("loo {data}/houses.csv -t price --model h.model")
    other = (files / "houses.csv").read_text().splitlines()
    (tmp_path / "other.csv").write_text("\n".join(other[:1] + other[2:]))
    for line in ("other.csv -t price", "{data}/houses.csv -t age --drop price"):
        said = call(f"loo {line} --model h.model", 2).stderr
        assert "was fitted on other data or another target" in said


def shards(folder, files):
    (folder / "parts").mkdir()
    table = read_table(files / "houses.csv", target="price")
    for k in range(3):
        part = Table(table.X[20 * k : 20 * k + 20], table.y[20 * k : 20 * k + 20])
        write_table(folder / "parts" / f"p{k}.npz", part)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("fit parts -o parts/p1.npz", "parts/p1.npz"),
        ("fit parts/p*.npz -o parts/p1.npz", "parts/p1.npz"),
        ("fit {data}/houses.csv -t price --sketch h.sketch -o h.sketch", "h.sketch"),
        ("network {data}/houses.csv --targets names.csv -o names.csv", "names.csv"),
        ("loo {data}/houses.csv -t price --model h.model -o h.model.csv", "h.model.csv"),
        ("topics fit texts -o texts/a.txt", "texts/a.txt"),
        ("topics fit texts --stop-words words -o words", "words"),
        ("topics export a.topics -o texts", "texts/a.txt"),
        ("fit {data}/houses.csv -t price -o thesis.doc", "thesis.doc"),
        ("path {data}/houses.csv -t price -o mine.csv", "mine.csv"),
        ("fit {data}/houses.csv -t price --plot photo.png", "photo.png"),
        ("network {data}/houses.csv --alpha 1 -o mine.graphml", "mine.graphml"),
    ],
)
def test_no_command_replaces_what_it_reads_or_did_not_write(call, files, tmp_path, line, kept):
    shards(tmp_path, files)
    call("sketch {data}/houses.csv -t price --rank 3 -o h.sketch")
    call("fit {data}/houses.csv -t price --alpha 2 -o h.model")
    (tmp_path / "texts").mkdir()
    for name in ("texts/a.txt", "words", "names.csv", "thesis.doc", "photo.png", "mine.graphml"):
        Path(name).write_text("sea wave\nsand\n")
    for name in ("mine.csv", "h.model.csv"):
        Path(name).write_text("a,b\n1,2\n")
    before = Path(kept).read_bytes()
    said = call(line, 2).stderr
    assert "would replace a file that this command reads" in said or "--force" in said
    assert Path(kept).read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        "fit {data}/houses.csv -t price --alpha 1 -o h.model --plot h.png",
        "sketch {data}/houses.csv -t price --rank 3 -o h.sketch",
        "path {data}/houses.csv -t price --alphas 3 -o path.tsv --plot path.pdf",
        "loo {data}/houses.csv -t price --alpha 1 --rows 3 -o loo.csv.gz",
        "infer {data}/houses.csv -t price -o infer.csv --plot infer.svg",
        "stability {data}/houses.csv -t price --pairs 5 --q 1 --cutoff 0.8 -o often.csv",
        "network {data}/houses.csv --alpha 0.5 -o links.graphml",
        "network {data}/houses.csv --alpha 0.5 -o links.gexf",
        "network {data}/houses.csv --alpha 0.5 -o links.json",
        "network {data}/houses.csv --alpha 0.5 -o links.csv",
    ],
)
def test_a_command_may_replace_what_it_wrote(call, line):
    if "--plot" in line:
        pytest.importorskip("matplotlib")
    call(line)
    call(line)


def test_force_replaces_a_foreign_file(call, tmp_path):
    (tmp_path / "mine.csv").write_text("a,b\n1,2\n")
    call("path {data}/houses.csv -t price --alphas 3 -o mine.csv --force")
    assert read_table("mine.csv").feature_names[0] == "alpha"


def test_a_bug_shows_its_traceback_and_is_no_mistake_of_the_user(call, monkeypatch):
    def broken(*arguments, **options):
        return np.zeros(3) + np.zeros(4)

    monkeypatch.setattr(sl, "sqrt_lasso_path", broken)
    said = call("path {data}/houses.csv -t price", 70).stderr
    assert "Traceback" in said and "could not be broadcast" in said
    assert "please report it" in said


def test_debug_shows_the_traceback_of_every_error(call):
    line = "fit {data}/houses.csv -t price --alpha -1"
    assert "Traceback" not in call(line, 2).stderr
    assert "Traceback" in call(f"{line} --debug", 2).stderr


@pytest.mark.parametrize(
    "line",
    [
        "fit noise.csv -t y -o m",
        "cv noise.csv -t y --alphas 5,4 -o m",
        "path noise.csv -t y --alphas 5,4",
        "network noise.csv --alpha 9 -o g.json",
    ],
)
def test_an_empty_model_warns_and_ends_in_1(call, line):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    write_table("noise.csv", Table(X, y, ("a", "b", "c"), "y"))
    assert "sketchlasso: warning: " in call(line, 1).stderr
    if line.endswith("m"):
        assert "uses no feature" in call("predict m noise.csv", 1).stderr


@pytest.mark.parametrize(
    ("fit", "line", "code", "words"),
    [
        ("fit sizes.csv -t size --alpha 1", "certify m strange.csv", 2, "'huge', which is none of"),
        ("fit sizes.csv -t size --alpha 1", "predict m strange.csv", 0, "count as mistakes"),
        ("fit houses.csv -t price --alpha 9", "loo houses.csv -t price --model m", 0, "all rows"),
        ("fit houses.csv -t price --alpha 1", "predict m renamed.csv", 2, "lacks"),
        ("fit houses.csv -t price --alpha 1", "info m", 0, ""),
    ],
)
def test_what_a_model_says_of_other_data(call, files, fit, line, code, words):
    for name, old, new in (("strange", "big", "huge"), ("renamed", "age", "years")):
        text = (files / ("sizes.csv" if name == "strange" else "houses.csv")).read_text()
        Path(f"{name}.csv").write_text(text.replace(old, new))
    for name in ("sizes.csv", "houses.csv"):
        fit = fit.replace(name, f"{{data}}/{name}")
        line = line.replace(name, f"{{data}}/{name}")
    empty = "--alpha 9" in fit
    call(f"{fit} -o m", 1 if empty else 0)
    result = call(line, code)
    assert words in result.stderr
    if line == "info m":
        assert "features used" in result.stdout and "target       price" in result.stdout
