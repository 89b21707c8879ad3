"""Running experiments: finished ones are kept, failures reported, stopped runs continued."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.catalogue import MissingDataError
from benchmarks.harness import run_steps
from reproduction.contenders import clarabel_answer, clarabel_on_sketch, steps_of
from reproduction.document import make_document, right_columns
from reproduction.words import count, factor, listed, number, percent, seconds
from tests.forked import SpawningContext

import sketchlasso as sl
from reproduction import Experiment, Finding, Plan, read_outcomes, run_experiments, write_report
from sketchlasso.errors import MissingExtraError
from sketchlasso.interfaces.commands.report import Sheet


class Toys:
    """Three experiments that count how often they are computed, and can be made to fail."""

    def __init__(self):
        self.computed, self.errors = [], {}

    def all(self):
        return [self.one(name) for name in ("first", "second", "third")]

    def one(self, name):
        def compute(settings, report):
            self.computed.append(name)
            report("working")
            if name in self.errors:
                raise self.errors[name]
            return {"value": 41.5, "rows": settings["rows"]}

        def findings(stored):
            value = number(stored["results"]["value"])
            return [Finding("it is so", "42", value, "reproduced", f"We found {value}.")]

        return Experiment(
            name,
            f"{name.capitalize()}: a toy",
            {"claim": "It is so.", "where": "section 0"},
            lambda plan: {"quick": plan.quick, "rows": plan.rows},
            compute,
            lambda stored: "Nothing much.",
            lambda stored: "All of it.",
            lambda stored: [Sheet("toys", ("value",), ((number(stored["results"]["value"]),),))],
            lambda stored: [],
            findings,
        )


@pytest.fixture
def toys():
    return Toys()


def names_and_states(outcomes):
    return [(outcome.name, outcome.status) for outcome in outcomes]


def test_a_second_run_computes_nothing(toys, tmp_path):
    run_experiments(tmp_path, toys.all(), Plan())
    said = []
    again = run_experiments(tmp_path, toys.all(), Plan(), report=said.append)
    assert toys.computed == ["first", "second", "third"]
    assert [outcome.results for outcome in again] == [{"value": 41.5, "rows": None}] * 3
    assert all("there already" in line for line in said)


def test_other_settings_and_again_compute_anew(toys, tmp_path):
    run_experiments(tmp_path, toys.all(), Plan())
    run_experiments(tmp_path, toys.all(), Plan(), again=["second"])
    assert toys.computed[3:] == ["second"]
    run_experiments(tmp_path, toys.all(), Plan(rows=70))
    assert toys.computed[4:] == ["first", "second", "third"]


def test_other_code_computes_anew(toys, tmp_path, monkeypatch):
    run_experiments(tmp_path, toys.all(), Plan())
    monkeypatch.setattr("reproduction.runner.code_digest", lambda name: "other")
    run_experiments(tmp_path, toys.all(), Plan())
    assert len(toys.computed) == 6


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit()])
def test_an_interrupted_run_continues_where_it_was(toys, tmp_path, stop):
    toys.errors = {"second": stop}
    with pytest.raises(type(stop)):
        run_experiments(tmp_path, toys.all(), Plan())
    assert [outcome.name for outcome in read_outcomes(tmp_path, ["first", "second"])] == ["first"]
    toys.errors = {}
    run_experiments(tmp_path, toys.all(), Plan())
    assert toys.computed == ["first", "second", "second", "third"]


def test_a_failing_experiment_is_reported_and_tried_again(toys, tmp_path):
    toys.errors = {"second": RuntimeError("the disk is full of eels")}
    outcomes = run_experiments(tmp_path, toys.all(), Plan())
    assert names_and_states(outcomes) == [
        ("first", "finished"),
        ("second", "failed"),
        ("third", "finished"),
    ]
    document = write_report(tmp_path, toys.all())
    row = next(row for row in document.summary.rows if row[3] == "no results")
    assert "the disk is full of eels" in row[4]
    assert "the disk is full of eels" in (tmp_path / "paper.html").read_text()
    toys.errors = {}
    run_experiments(tmp_path, toys.all(), Plan())
    assert toys.computed == ["first", "second", "third", "second"]


def test_missing_data_and_extras_are_skips_not_failures(toys, tmp_path):
    toys.errors = {
        "first": MissingDataError("no such set"),
        "third": MissingExtraError("it", "clarabel", "conic"),
    }
    outcomes = run_experiments(tmp_path, toys.all(), Plan())
    assert [outcome.status for outcome in outcomes] == ["skipped", "finished", "skipped"]
    assert "pip install" in outcomes[2].reason


@pytest.mark.parametrize("damage", ["", "{", '{"name": "first"}', "[1]"])
def test_a_damaged_results_file_is_computed_again(toys, tmp_path, damage):
    run_experiments(tmp_path, toys.all(), Plan())
    (tmp_path / "results" / "first.json").write_text(damage)
    run_experiments(tmp_path, toys.all(), Plan())
    assert toys.computed[3:] == ["first"]


def test_results_files_appear_whole(toys, tmp_path):
    run_experiments(tmp_path, toys.all(), Plan())
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [
        "first.json",
        "second.json",
        "third.json",
    ]
    held = json.loads((tmp_path / "results" / "first.json").read_text())
    assert held["machine"]["python"] and held["code"] and held["seconds"] >= 0


def test_a_folder_that_cannot_be_written_to_fails_before_the_work(toys, tmp_path):
    (tmp_path / "results").write_text("in the way")
    with pytest.raises(FileExistsError):
        run_experiments(tmp_path, toys.all(), Plan())
    assert toys.computed == []


def test_the_report_shows_what_is_there_only(toys, tmp_path):
    run_experiments(tmp_path, toys.all()[:1], Plan())
    document = make_document(toys.all(), read_outcomes(tmp_path, ["first", "second", "third"]))
    assert [section.name for section in document.sections] == ["first"]


def test_a_contender_that_is_too_slow_is_ended_and_keeps_its_steps(monkeypatch):
    task = {"data": "digits", "rows": None, "folds": 5, "penalty": 0.01, "first_rows": 100}
    found = run_steps(steps_of, ("full_conic", task), 60.0)
    assert found.failure == "" and found.ready == {"rows": 1077}
    assert [step["rows"] for step in found.done] == [100, 200, 400, 800, 1077]
    assert all(step["gap"] < 1e-6 for step in found.done)
    # The first process was a fresh one; how it is ended does not depend on that.
    forking = SimpleNamespace(get_context=SpawningContext)
    monkeypatch.setattr("benchmarks.harness.multiprocessing", forking)
    hasty = run_steps(steps_of, ("full_conic", task), 1e-4)
    assert hasty.failure == "over 0.0001 s"
    assert len(hasty.done) < 5


@pytest.mark.parametrize(("radius", "intercept"), [(0.0, False), (0.7, False), (0.0, True)])
def test_the_generic_solver_solves_the_same_problem(radius, intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    y = X[:, 0] + rng.standard_normal(60) + 2.0
    made = sl.sketch(X, method="exact", center=intercept, radius=0)
    problems = sl.build_problems(made, y, alphas=[2.0], radii=[radius], fit_intercept=intercept)
    ours = sl.solve(problems.batch, settings=sl.Settings(tol=1e-10))
    full = clarabel_answer(X, y, 2.0, radius=radius, intercept=intercept)
    sketched = clarabel_on_sketch(problems.batch)
    assert full["objective"] == pytest.approx(ours.primal[0], rel=1e-6)
    assert sketched["objective"] == pytest.approx(ours.primal[0], rel=1e-6)


def test_a_contender_that_fails_says_how():
    wrong = run_steps(steps_of, ("scikit-learn LassoCV", {"data": "digits", "rows": None}), None)
    assert wrong.failure == "KeyError: 'ratio'"


def test_numbers_are_written_as_people_write_them():
    assert [number(value) for value in (None, 0, 1.23456, 12345.6, 0.00012345, -1)] == [
        "-", "0", "1.23", "12,300", "1.2e-04", "-1",
    ]  # fmt: skip
    assert seconds(0.01234) == "12 ms"
    assert seconds(123.4, extrapolated=True) == "~ 123 s"
    assert seconds(123.4, extrapolated=True, at_least=True) == ">= 123 s"
    assert (factor(2.5, True), factor(None)) == (">= 2.5 x", "-")
    assert (count(12345.0), percent(0.1234)) == ("12,345", "12.3 %")
    assert listed([1, 2, 3]) == "1, 2 and 3"


def test_columns_of_numbers_are_aligned_to_the_right():
    rows = (("1", "~ 2.5 s", "one"), ("-", ">= 1e-03 s", "2"))
    assert right_columns(Sheet("", ("a", "b", "c"), rows)) == [True, True, False]


def test_results_of_other_code_do_not_break_the_report(toys, tmp_path):
    run_experiments(tmp_path, toys.all(), Plan())
    stored = json.loads((tmp_path / "results" / "second.json").read_text())
    stored["results"] = {"worth": 3}
    (tmp_path / "results" / "second.json").write_text(json.dumps(stored))
    document = write_report(tmp_path, toys.all())
    assert [row[3] for row in document.summary.rows] == ["reproduced", "no results", "reproduced"]
    assert "--again second" in document.summary.rows[1][4]
