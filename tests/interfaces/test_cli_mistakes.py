"""Mistakes: one line on stderr that says what to do, and an exit code that says which kind."""

import gzip
import json

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso.io import Table, write_table
from tests.interfaces.conftest import NAMES


@pytest.fixture
def refused(call):
    def run(line, code):
        result = call(line, code)
        assert result.stdout == ""
        (told,) = result.stderr.splitlines()
        assert told.startswith("sketchlasso: ")
        assert "Traceback" not in told
        return told

    return run


def test_a_missing_file(refused):
    assert "none.csv does not exist" in refused("fit none.csv --target y", 3)
    assert "does not exist" in refused("predict none.model none.csv", 3)


def test_a_truncated_file(refused, files, tmp_path):
    whole = (files / "signs.svm.gz").read_bytes()
    (tmp_path / "cut.svm.gz").write_bytes(whole[: len(whole) // 2])
    assert "cut.svm.gz is truncated" in refused("cv cut.svm.gz", 3)


@pytest.mark.parametrize("command", ["fit", "cv", "path", "loo"])
def test_one_row_is_too_few(refused, tmp_path, command):
    (tmp_path / "one.csv").write_text("a,b,price\n1,2,3\n")
    told = refused(f"{command} one.csv --target price", 2)
    assert told.endswith("one.csv has 1 row, but a model needs at least 2; give more rows.")


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("{0}.5", "", "has 12 different numbers in 12 rows, such as 0.5, and classes are text"),
        ("{0}", "", "leave --classify out, or name another column with --target."),
        ("{1}", "--folds 4", "--folds must be from 2 to 3, the rows of the largest class, not 4."),
    ],
)
def test_numbers_that_are_no_classes(refused, tmp_path, target, options, words):
    rows = "".join(f"{i % 5},{target.format(i, i % 4)}\n" for i in range(12))
    (tmp_path / "numbers.csv").write_text(f"a,price\n{rows}")
    assert words in refused(f"cv numbers.csv --target price --classify {options}", 2)


def test_rows_without_a_target_cannot_be_filled(refused, tmp_path):
    rows = "".join(f"{i},{'' if i == 3 else i % 4}\n" for i in range(12))
    (tmp_path / "gaps.csv").write_text("a,price\n" + rows)
    told = refused("fit gaps.csv --target price", 2)
    assert told.endswith("; leave rows without a target out with --impute drop.")
    (tmp_path / "gaps.csv").write_text("a,price\n,1\n" + rows)
    assert "fill missing values with --impute mean" in refused("fit gaps.csv --target price", 2)


def test_a_wrong_target_column(refused):
    told = refused("fit {data}/houses.csv --target prise", 2)
    assert "--target prise is not a column" in told
    assert "nearest: 'price'" in told


def test_text_where_numbers_belong(refused, tmp_path):
    (tmp_path / "mixed.csv").write_text("a,b,y\n1,2,3\n4,many,6\n7,8,9\n")
    told = refused("fit mixed.csv --target y", 2)
    assert "'many'" in told and "'b'" in told


def test_rank_zero(refused):
    told = refused("cv {data}/signs.svm.gz --rank 0", 2)
    assert told.endswith("--rank must be an integer >= 1, not 0.")
    assert "--rank must be an integer from 1 to 6" in refused(
        "sketch {data}/signs.svm.gz --rank 0 -o s", 2
    )


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("fit {data}/plain.npz", 2, "to predict with --target (a position from 0)"),
        ("fit {data}/houses.csv -t price --target-word age", 2, "there is one target"),
        ("fit {data}/docword.small.txt.gz --target-word wort1", 2, "nearest: 'word1'"),
        ("fit {data}/plain.npz --target-word age", 2, "have no names"),
        ("fit {data}/plain.npz --target-file none.txt", 3, "could not be read"),
        ("fit {data}/houses.csv -t price --alpha much", 2, "(or 0, on a sketch), not 'much'."),
        ("fit {data}/houses.csv -t price --radius wide", 2, "'0.3*spectral', not 'wide'."),
        ("fit {data}/houses.csv -t price --sketch none.sketch", 3, "none.sketch does not exist"),
        ("fit {data}/sizes.csv -t size --regress", 2, "is text such as"),
        ("fit {data}/houses.csv -t price -o no/folder/m", 3, "could not be written"),
        # Before the work: the data do not exist either.
        ("fit none.csv -t price -o no/folder/m", 3, "there is no folder no/folder"),
        ("sketch none.csv -o no/s", 3, "there is no folder no"),
        ("path none.csv -t price -o no/a.csv", 3, "there is no folder no"),
        ("predict none.model none.csv -o no/a.csv", 3, "there is no folder no"),
        ("predict none.model none.csv -o a.xyz", 2, "end the name in .csv, .tsv"),
        ("path none.csv -t price -o a.npz.gz", 2, "end the name in .csv, .tsv"),
        ("loo none.csv -t price -o a.svm", 2, "end the name in .csv, .tsv"),
        ("path {data}/houses.csv -t price --alphas few", 2, "separated by commas, not 'few';"),
        ("path {data}/houses.csv -t price --relaxed", 2, "--relaxed does not apply to path"),
        ("path {data}/plain.npz --target-file {data}/kinds.txt", 2, "has 3 classes"),
        ("loo {data}/houses.csv -t price --sketch none", 2, "leave-one-out works on a sketch"),
        (
            "loo {data}/houses.csv -t price --rows 900",
            2,
            "--rows must be from 1 to 60, the number of rows, not 900.",
        ),
        (
            "cv {data}/houses.csv -t price --folds 90",
            2,
            "--folds must be from 2 to 60, the number of rows, not 90.",
        ),
        (
            "cv {data}/houses.csv -t price --folds 1",
            2,
            "--folds must be from 2 to 60, the number of rows, not 1.",
        ),
        (
            "cv {data}/houses.csv -t price --split random",
            2,
            "--split must be shuffled, ordered or time, not 'random'.",
        ),
        ("cv {data}/houses.csv -t price --plot a.gif", 2, "end the name in .png, .svg or .pdf"),
        ("cv {data}/houses.csv -t price --plot no/a.png", 3, "there is no folder no"),
        ("cv {data}/houses.csv -t price --impute mode", 2, "or 'drop', not 'mode'"),
        (
            "fit {data}/signs.svm.gz --impute mean",
            2,
            "--impute mean does not apply to the svmlight",
        ),
        ("fit {data}/houses.csv", 2, "with --target; its columns are 'age', 'rooms'"),
        (
            "cv {data}/houses.csv -t price --selection best",
            2,
            "must be 'min' or '1se', not 'best'",
        ),
        ("cv {data}/houses.csv -t price --scoring f1", 2, "one of 'mse', 'mae', 'r2', not 'f1'."),
        ("info {data}/houses.csv", 3, "was not written by sketchlasso"),
        (
            "cv {data}/houses.csv -t price --alpha-min-ratio 2",
            2,
            "--alpha-min-ratio must be a number strictly between 0 and 1, not 2.0.",
        ),
        ("fit {data}/houses.csv -t price --threads 0", 2, "or -1 for all cores, not 0."),
        ("fit {data}/houses.csv -t price --sketch best", 2, "sketch file or none, not 'best'."),
    ],
)
def test_other_mistakes(refused, line, code, words):
    assert words in refused(line, code)


def test_targets_in_a_file_of_their_own(refused, tmp_path):
    (tmp_path / "short.txt").write_text("1\n2\n")
    assert "has 2 lines but" in refused("fit {data}/plain.npz --target-file short.txt", 2)
    lines = ["1"] * 60
    lines[4] = ""
    (tmp_path / "hole.txt").write_text("\n".join(lines))
    assert "in line 5" in refused("fit {data}/plain.npz --target-file hole.txt", 2)
    lines[4] = "inf"
    (tmp_path / "hole.txt").write_text("\n".join(lines))
    assert "in line 5" in refused("fit {data}/plain.npz --target-file hole.txt", 2)
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in refused("fit {data}/plain.npz --target-file bytes.txt", 3)


def test_files_that_do_not_belong_together(call, refused, tmp_path):
    call("fit {data}/houses.csv --target price -o h.model")
    call("sketch {data}/houses.csv --target price --rank 2 -o h.sketch")
    told = refused("fit {data}/plain.npz --target 0 --sketch h.sketch", 2)
    assert "is a sketch of other data" in told
    assert "holds a sketch, but a model" in refused("predict h.sketch {data}/houses.csv", 3)
    assert "has 5 features" in refused("predict h.model {data}/plain.npz --target 0", 2)
    table = Table(np.eye(3), None, ("age", "rooms", "roof"))
    write_table(tmp_path / "less.csv", table)
    told = refused("certify h.model less.csv", 2)
    assert "lacks 4 of the 6 columns that the model uses: 'noise', 'light'" in told
    call("fit {data}/sizes.csv --target size -o s.model")
    assert "none of the model's classes" in refused(
        "certify s.model {data}/plain.npz --target-file {data}/kinds.txt", 2
    )
    told = refused("loo {data}/houses.csv -t price --alpha 1 --model h.model", 2)
    assert "both name the penalty" in told
    told = refused("fit {data}/houses.csv -t price --standardize --sketch h.sketch --alpha 1", 2)
    assert "--standardize cannot be combined with a ready sketch" in told


def test_a_damaged_model(refused, call, tmp_path):
    call("fit {data}/houses.csv --target price -o h.model")
    content = (tmp_path / "h.model").read_bytes()
    (tmp_path / "h.model").write_bytes(content[:-5])
    assert "is damaged" in refused("predict h.model {data}/houses.csv", 3)
    (tmp_path / "h.model").write_bytes(gzip.compress(content))
    assert "was not written by sketchlasso" in refused("info h.model", 3)


def test_usage_errors_have_their_own_code(call):
    assert "Missing" in call("fit", 2).stderr
    assert "No such option" in call("fit x.csv --colour red", 2).stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("info x.model --top -1", "'--top': it must be at least 0"),
        ("cv x.csv --seed -1", "'--seed': it must be at least 0"),
        ("cv x.csv --folds many", "'--folds': it must be a whole number"),
        ("cv x.csv --tol small", "'--tol': it must be a number"),
        ("topics serve x.topics --port 99999", "'--port': it must be at most 65535"),
    ],
)
def test_values_that_are_no_numbers_or_out_of_range(call, line, words):
    assert words in call(line, 2).stderr


def test_inaccurate_results_end_in_code_1(call):
    # A fit may reach a gap of exactly zero, but not those of twelve classes.
    rng = np.random.default_rng(0)
    number = np.arange(240) % 12
    X = rng.standard_normal((240, 6)) + rng.standard_normal((12, 6))[number]
    kinds = np.array([f"kind {i}" for i in number])
    write_table("kinds.csv", Table(X, kinds, NAMES, "kind"))
    line = "cv kinds.csv -t kind --classify --folds 2 --tol 1e-300 --split ordered --alphas 9"
    result = call(f"{line} -o h.model", 1)
    assert "sketchlasso: warning: " in result.stderr
    assert "worst relative gap" in result.stderr
    assert sl.load_model("h.model").n_features_in_ == 6  # the best there is was written
    told = json.loads(call(f"{line} --json", 1).stdout)
    assert any("worst relative gap" in text for text in told["warnings"])


def test_the_ratio_of_penalties(call):
    told = call("path {data}/houses.csv --target price --alpha-min-ratio 2", code=2).stderr
    assert told.endswith("--alpha-min-ratio must be strictly between 0 and 1, not 2.0.\n")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("fit houses.csv --target price -o houses.csv", "--output houses.csv"),
        ("fit houses.csv --target price -o ./link.csv", "--output link.csv"),
        ("fit houses.csv --target-file link.csv -o houses.csv", "--output houses.csv"),
        ("predict houses.model houses.csv -o houses.csv", "--output houses.csv"),
        ("fit houses.csv --target price -o a.png --plot a.png", "--plot a.png"),
    ],
)
def test_no_file_that_is_read_is_replaced(refused, files, tmp_path, command, name):
    table = (files / "houses.csv").read_bytes()
    (tmp_path / "houses.csv").write_bytes(table)
    (tmp_path / "link.csv").symlink_to("houses.csv")
    told = refused(command, 2)
    assert f"{name} would replace a file that this command reads or writes" in told
    assert (tmp_path / "houses.csv").read_bytes() == table
