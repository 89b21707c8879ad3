"""Every command on small files, for people and for machines."""

import json

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso.engine import fingerprint
from sketchlasso.io import read_table, stored_info

pytestmark = pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")


def document(result):
    """The one JSON document on stdout."""
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_sketch_writes_a_file_that_python_reads(call, files):
    said = call("sketch {data}/houses.csv --target price --rank 4 -o h.sketch").stdout
    assert "Sketch of 60 samples x 6 features, columns centred" in said
    assert "wrote  h.sketch" in said
    found = sl.load_sketch("h.sketch")
    assert found.rank == 4
    table = read_table(files / "houses.csv", target="price")
    assert found.matches(table.X)


def test_fit_writes_a_model_that_python_reads(call, files):
    said = call("fit {data}/houses.csv --target price --alpha 2 -o h.model").stdout
    assert said.startswith("R2 ")
    assert "square-root LASSO, 2 of 6 features used" in said
    assert "wrote   h.model" in said
    assert "gap" not in said
    assert "age" in said
    table = read_table(files / "houses.csv", target="price")
    expected = sl.SqrtLasso(alpha=2.0, random_state=0).fit(table.X, table.y)
    loaded = sl.load_model("h.model")
    np.testing.assert_array_equal(loaded.coef_, expected.coef_)
    assert loaded.intercept_ == expected.intercept_
    assert list(loaded.feature_names_in_) == list(table.feature_names)
    info = stored_info("h.model").facts
    assert info["target_name"] == "price"
    assert info["feature_names"] == list(table.feature_names)
    assert info["fingerprint"] == fingerprint(table.X)


@pytest.mark.parametrize(
    ("line", "estimator"),
    [
        ("{data}/houses.csv --target price", "SqrtLasso"),
        ("{data}/sizes.csv --target size", "SqrtLassoClassifier"),
        ("{data}/signs.svm.gz", "SqrtLassoClassifier"),
        ("{data}/signs.svm.gz --regress", "SqrtLasso"),
        ("{data}/plain.npz --target-file {data}/kinds.txt", "SqrtLassoClassifier"),
        ("{data}/plain.npz --target-file {data}/numbers.txt", "SqrtLasso"),
        ("{data}/plain.npz --target 3", "SqrtLasso"),
        ("{data}/houses.csv --target 7 --drop 1 --drop noise", "SqrtLasso"),
        ("{data}/docword.small.txt.gz --target-word word0", "SqrtLasso"),
    ],
)
def test_what_the_target_means(call, line, estimator):
    answer = document(call(f"fit {line} --alpha 1 --json"))
    assert answer["estimator"] == estimator


def test_a_sketch_file_is_shared(call):
    call("sketch {data}/houses.csv --target price --rank 4 -o h.sketch")
    call("fit {data}/houses.csv --target price --sketch h.sketch --alpha 1 -o h.model")
    assert "randomized, rank 4" in call("info h.model").stdout
    lines = call("path {data}/houses.csv --target price --sketch h.sketch --alphas 3 -v").stdout
    assert "randomized, rank 4, radius" in lines


def test_options_of_a_fit_arrive(call):
    call(
        "fit {data}/houses.csv --target price --alpha 1 --standardize --positive --relaxed "
        "--sketch exact --radius 0.1 --no-intercept --threads 1 --tol 1e-5 --seed 3 -o h.model"
    )
    kept = sl.load_model("h.model").get_params()
    assert kept["standardize"] and kept["positive"] and kept["relaxed"]
    assert (kept["sketch"], kept["fit_intercept"], kept["n_jobs"]) == ("exact", False, 1)
    assert (kept["tol"], kept["random_state"]) == (1e-5, 3)
    assert kept["radius"] == 0.1


def test_path_lists_penalties_and_writes_coefficients(call):
    said = call("path {data}/houses.csv --target price --alphas 4,2,1 -o path.csv").stdout
    assert "3 penalties" in said
    table = read_table("path.csv")
    assert table.feature_names[:2] == ("alpha", "intercept")
    assert table.X[:, 0].tolist() == [4.0, 2.0, 1.0]
    answer = document(call("path {data}/houses.csv --target price --alphas 30 --json"))
    assert len(answer["alpha"]) == len(answer["full_gap"]) == 30
    assert "20 of 30 penalties" in call("path {data}/houses.csv -t price --alphas 30").stdout


def test_cv_chooses_and_writes(call):
    said = call(
        "cv {data}/houses.csv --target price --alphas 15 --folds 4 --selection 1se -o h.model"
    ).stdout
    assert said.startswith("R2 ")
    assert "on held-out rows (4 folds, shuffled)" in said
    assert "gap" not in said and "chosen" not in said
    model = sl.load_model("h.model")
    assert isinstance(model, sl.SqrtLassoCV)
    assert model.alpha_ == model.alpha_1se_
    assert model.mse_path_.shape == (15, 4)


def test_loo_shows_which_rows_matter(call):
    call("fit {data}/houses.csv --target price -o h.model")
    said = call("loo {data}/houses.csv --target price --model h.model -o left.csv").stdout
    assert "60 left out" in said
    assert "most influential rows" in said
    assert read_table("left.csv").shape == (60, 6)
    answer = document(call("loo {data}/signs.svm.gz --rows 9 --alpha 1 --standardize --json"))
    assert len(answer["prediction"]) == 9
    assert answer["worst_gap"] <= 1e-9
    assert set(answer["scores"]) == {"accuracy", "F1"}


def test_predict_finds_columns_by_name(call, files):
    call("fit {data}/houses.csv --target price --alpha 1 -o h.model")
    printed = call("predict h.model {data}/new.csv --quiet").stdout.splitlines()
    table = read_table(files / "houses.csv", target="price")
    model = sl.load_model("h.model")
    expected = table.X[:7] @ model.coef_ + model.intercept_
    assert [float(line) for line in printed] == pytest.approx(expected)
    said = call("predict h.model {data}/houses.csv -o p.csv").stdout
    assert "R2" in said  # the file holds the target, so it is scored
    written = read_table("p.csv")
    assert written.feature_names == ("row", "prediction")
    assert written.X[:7, 0].tolist() == list(range(1, 8))
    assert written.X[:7, 1] == pytest.approx(expected)


def test_predict_labels(call):
    call("fit {data}/sizes.csv --target size --alpha 1 -o s.model")
    answer = document(call("predict s.model {data}/sizes.csv --json"))
    assert set(answer["predictions"]) == {"big", "small"}
    assert set(answer["scores"]) == {"accuracy", "F1"}
    call("predict s.model {data}/sizes.csv -o p.csv")
    written = read_table("p.csv", target="prediction")
    assert written.feature_names == ("row", "decision")
    assert ((written.X[:, 1] > 0) == (written.y == "small")).all()


def test_certify_proves_the_gap_of_the_fit(call):
    call("fit {data}/houses.csv --target price --alpha 1 --standardize -o h.model")
    answer = document(call("certify h.model {data}/houses.csv --json --tol 1e-4"))
    assert answer["same_data"] is True
    assert answer["relative_gap"][0] <= 1e-5
    call("fit {data}/signs.svm.gz --alpha 1 --sketch randomized --rank 2 -o r.model")
    said = call("certify r.model {data}/signs.svm.gz --tol 1e-9", code=1).stdout
    assert "the optimum is between the lower bound and the objective" in said
    assert "fit with --sketch none to close the gap" in said
    call("fit {data}/signs.svm.gz --alpha 1 --sketch none -o x.model")
    said = call("certify x.model {data}/signs.svm.gz").stdout
    assert "no other coefficients are better by more than" in said and "--sketch none" not in said
