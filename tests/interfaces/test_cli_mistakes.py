"""Mistakes: one line on stderr that says what to do, and an exit code that says which kind."""

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso.io import Table, write_table
from tests.interfaces.conftest import NAMES


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("fit none.csv -t y", 3, "none.csv does not exist"),
        ("fit {data}/houses.csv", 2, "its columns are 'age', 'rooms'"),
        ("fit {data}/houses.csv -t prise", 2, "'price'"),
        ("fit {data}/houses.csv -t price --rank 0 --sketch exact", 2, "'--rank'"),
        ("cv {data}/houses.csv -t price --folds 90", 2, "--folds 90 cannot be used"),
        ("cv {data}/houses.csv -t price --plot a.gif", 2, ".png, .svg or .pdf"),
        ("fit {data}/houses.csv -t price -o no/folder/m", 3, "there is no folder"),
        ("info {data}/houses.csv", 3, "was not written by sketchlasso"),
        ("topics image {made}/posts.topics wawe", 2, "did you mean wave"),
        ("network {data}/houses.csv --targets genez -o g.csv", 2, "'genez'"),
    ],
)
def test_a_mistake_is_one_sentence_and_an_exit_code(ask, line, code, words):
    result = ask(line, code)
    assert result.stdout == ""
    assert result.stderr.startswith("sketchlasso: ") and result.stderr.count("\n") == 1
    assert words in result.stderr


def test_files_that_do_not_belong_together(call, tmp_path):
    call("fit {data}/houses.csv --target price -o h.model")
    call("sketch {data}/houses.csv --target price --rank 2 -o h.sketch")
    said = call("fit {data}/plain.npz --target 1 --sketch h.sketch", 2).stderr
    assert "is a sketch of other data" in said
    assert "holds a sketch, but a model" in call("predict h.sketch {data}/houses.csv", 3).stderr
    write_table(tmp_path / "less.csv", Table(np.eye(3), None, ("age", "rooms", "roof")))
    said = call("certify h.model less.csv", 2).stderr
    assert "lacks 4 of the 6 columns that the model uses: 'noise', 'light'" in said


def test_inaccurate_results_end_in_code_1(call):
    # A fit may reach a gap of exactly zero, but not those of twelve classes.
    rng = np.random.default_rng(0)
    number = np.arange(240) % 12
    X = rng.standard_normal((240, 6)) + rng.standard_normal((12, 6))[number]
    kinds = np.array([f"kind {i}" for i in number])
    write_table("kinds.csv", Table(X, kinds, NAMES, "kind"))
    line = "cv kinds.csv -t kind --classify --folds 2 --tol 1e-300 --split ordered --alphas 9"
    result = call(f"{line} -o h.model", 1)
    assert "worst relative gap" in result.stderr
    assert sl.load_model("h.model").n_features_in_ == 6  # the best there is was written
