"""Experiments run once, are reported when they fail, and go on after an interruption."""

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.catalogue import MissingDataError
from benchmarks.harness import run_steps
from reproduction.contenders import clarabel_answer, clarabel_on_sketch, steps_of
from reproduction.experiment import Experiment, Finding, Plan, Sheet
from reproduction.report import right_columns, write_report
from reproduction.runner import run_experiments
from reproduction.words import count, factor, listed, number, percent, seconds
from tests.forked import SpawningContext

import sketchlasso as sl


def toys(errors, computed):
    """Three experiments that count how often they are computed, and can be made to fail."""

    def one(name):
        def compute(settings, report):
            computed.append(name)
            if name in errors:
                raise errors[name]
            return {"value": 41.5}

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
            lambda stored: [Sheet("toys", ("value",), ((stored["results"]["value"],),))],
            lambda stored: [],
            findings,
        )

    return [one(name) for name in ("first", "second", "third")]


def test_finished_experiments_run_again_on_request_or_with_other_settings(tmp_path):
    computed = []
    experiments = toys({}, computed)
    run_experiments(tmp_path, experiments, Plan())
    run_experiments(tmp_path, experiments, Plan())
    assert computed == ["first", "second", "third"]
    run_experiments(tmp_path, experiments, Plan(), again=["second"])
    (tmp_path / "results" / "first.json").write_text("{")  # damaged
    run_experiments(tmp_path, experiments, Plan())
    assert computed[3:] == ["second", "first"]
    run_experiments(tmp_path, experiments, Plan(rows=70))
    assert computed[5:] == ["first", "second", "third"]


def test_failures_and_skips_are_reported_and_an_interruption_keeps_what_is_done(tmp_path):
    computed = []
    errors = {"first": MissingDataError("no such set"), "second": RuntimeError("full of eels")}
    outcomes = run_experiments(tmp_path, toys(errors, computed), Plan())
    assert [one.status for one in outcomes] == ["skipped", "failed", "finished"]
    assert write_report(tmp_path, toys({}, [])) == {"no results": 2, "reproduced": 1}
    page = (tmp_path / "paper.html").read_text(encoding="utf-8")
    assert "full of eels" in page and "no such set" in page
    with pytest.raises(KeyboardInterrupt):
        run_experiments(tmp_path, toys({"second": KeyboardInterrupt()}, computed), Plan())
    computed.clear()
    run_experiments(tmp_path, toys({}, computed), Plan())
    assert computed == ["second"]


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
