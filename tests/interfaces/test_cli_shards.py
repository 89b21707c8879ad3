"""The command line on data in many files: the answers of the one file they were cut from."""

import json
from importlib import import_module

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso.io import Table, read_table, write_table

pytestmark = pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")


@pytest.fixture
def parts(files, tmp_path):
    """The houses in three npz shards, the signs in three of svmlight text."""
    table = read_table(files / "houses.csv", target="price")
    signs = read_table(files / "signs.svm.gz")
    (tmp_path / "houses").mkdir()
    (tmp_path / "signs").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(60), 3)):
        write_table(
            tmp_path / "houses" / f"part-{9 + number}.npz",
            Table(table.X[rows], table.y[rows], table.feature_names, "price"),
        )
        write_table(
            tmp_path / "signs" / f"part-{9 + number}.svm", Table(signs.X[rows], signs.y[rows])
        )
    return tmp_path


def answer(result):
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "given", ["houses", "houses/part-9.npz houses/part-10.npz houses/part-11.npz"]
)
def test_fit_of_shards_is_that_of_the_file(call, parts, given):
    options = "--alpha 2 --sketch krylov --rank 4 --json"
    whole = answer(call(f"fit {{data}}/houses.csv --target price -o whole.model {options}"))
    cut = answer(call(f"fit {given} -o cut.model {options}"))
    assert cut["n_samples"] == 60
    assert cut["target"] == "price"
    assert [c["feature"] for c in cut["coefficients"]] == [
        c["feature"] for c in whole["coefficients"]
    ]
    np.testing.assert_allclose(
        [c["value"] for c in cut["coefficients"]],
        [c["value"] for c in whole["coefficients"]],
        rtol=1e-6,
    )
    assert cut["training_scores"] == pytest.approx(whole["training_scores"])
    assert list(sl.load_model("cut.model").feature_names_in_) == [
        "age",
        "rooms",
        "noise",
        "light",
        "dust",
        "trees",
    ]


def test_cv_and_predict(call, parts):
    whole = answer(call("cv {data}/signs.svm.gz --sketch krylov --rank 4 --alphas 5 --json"))
    cut = answer(call("cv signs --sketch krylov --rank 4 --alphas 5 -o s.model --json"))
    assert cut["alpha"] == pytest.approx(whole["alpha"], rel=1e-6)
    np.testing.assert_allclose(
        cut["curves"][0]["mean"], whole["curves"][0]["mean"], rtol=1e-6, atol=1e-9
    )
    one = answer(call("predict s.model {data}/signs.svm.gz --json"))
    many = answer(call("predict s.model signs --json"))
    assert many["predictions"] == one["predictions"]
    assert many["scores"] == one["scores"]


def test_a_single_file_within_a_budget(call, parts):
    X = np.random.default_rng(0).standard_normal((50, 4))
    np.save("X.npy", X)
    said = call("fit X.npy --target 1 --alpha 1 --memory 17kB").stdout
    assert "50 samples x 3 features, dense, in 5 blocks" in said
    said = call("fit X.npy --target 1 --memory lots", code=2).stderr
    assert "memory must be a positive number of bytes, not 'lots'" in said
    said = call("fit houses --memory 17kB", code=2).stderr
    assert "cannot be read within" in said


def test_a_scheduler_that_does_not_answer(call, parts, monkeypatch):
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    engine = import_module("sketchlasso.cluster.dask_engine")
    monkeypatch.setattr(engine, "CONNECT_SECONDS", 0.3)
    said = call("fit houses --scheduler tcp://127.0.0.1:1", code=5).stderr
    assert "tcp://127.0.0.1:1" in said


@pytest.mark.usefixtures("forked_workers")
def test_worker_processes_on_this_machine(call, parts):
    pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    options = "--alpha 2 --sketch krylov --rank 4 --json"
    here = answer(call(f"fit houses {options}"))
    there = answer(call(f"fit houses --scheduler local {options}"))
    np.testing.assert_allclose(
        [c["value"] for c in there["coefficients"]],
        [c["value"] for c in here["coefficients"]],
        rtol=1e-8,
    )


def test_several_tables_are_read_as_one(call, tmp_path):
    rows = [
        f"{row},{'' if row == 3 else 'Oslo' if row % 3 else 'Rome'},{row % 7}" for row in range(40)
    ]
    for name, part in (("all", rows), ("part-9", rows[:25]), ("part-10", rows[25:])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["a,city,y", *part]))
    whole = answer(call("fit all.csv -t y --impute mean --alpha 0.1 --json"))
    parts = answer(call("fit part-*.csv -t y --impute mean --alpha 0.1 --json"))
    assert parts["coefficients"] == whole["coefficients"] and parts["n_samples"] == 40
    said = call("fit all.csv -t y --memory 1MB", 2).stderr
    assert "the files are csv" in said
