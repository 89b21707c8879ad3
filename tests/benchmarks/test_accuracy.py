"""The accuracy benchmark on generated data: the rules of its protocol."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.accuracy.columns import GROUPS, UnknownColumnError, expand, recipe_of
from benchmarks.accuracy.page import write_page
from benchmarks.accuracy.protocol import CellName, run_cell
from benchmarks.accuracy.runner import cells_of
from benchmarks.accuracy.scoring import all_scores, choose
from benchmarks.accuracy.sketched import SIZES
from benchmarks.accuracy.splits import Grid, Training, parts_of
from benchmarks.accuracy.store import OVER, Store, Terms
from benchmarks.accuracy.summary import score_at, score_at_size_of, summaries, verdict
from benchmarks.accuracy.tasks import Task, classes, signs, standardised, unchanged
from benchmarks.datasets import weighted_counts
from benchmarks.report import Report
from scipy import sparse
from tests.forked import SpawningContext

import sketchlasso as sl

ROWS, FEATURES = 120, 25


def generated(kind: str, **options) -> Task:
    """A small task of each kind, solvable by a linear model."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES))
    signal = X[:, :4] + 0.5 * rng.standard_normal((ROWS, 4))
    Y = {
        "f1": signs(signal[:, 0] > 0.3),
        "multi": signs(signal[:, :3] > 0.3),
        "multiclass": classes(np.argmax(signal, axis=1)),
        "r2": signal[:, :1],
    }[kind]
    return Task("generated", kind, X, Y, unchanged, **options)


def cell_of(task: Task, column: str) -> dict:
    parts = list(parts_of(task, 0, Grid(6)))
    return list(run_cell(task, CellName(task.name, 0, column), parts))[-1]


def fake_cell(task: str, column: str, split: int, score: float, **more) -> dict:
    curve = [[1.0, 10.0, score - 0.1], [0.5, 100.0, score], [0.1, 1000.0, score - 0.01]]
    return {
        "task": task,
        "split": split,
        "column": column,
        "kind": "f1",
        "text": True,
        "metric": "F1",
        "score": score,
        "scores": {"F1": score},
        "label_scores": [score],
        "nonzeros": 100.0,
        "seconds": 1.0,
        "seconds_of": {"choose": 1.0},
        "at_edge": 0.0,
        "gap": None,
        "note": "",
        "failure": "",
        "grid": [30, 0.01, 0.01],
        "limit": 60.0,
        "curve": curve,
        "label_curves": [],
        "label_nonzeros": [100.0],
        **more,
    }


@pytest.mark.parametrize("kind", ["f1", "multi", "multiclass", "r2"])
@pytest.mark.parametrize("column", ["full", "svd-20-realised", "ours-5", "ceiling"])
def test_every_kind_of_task_is_scored_above_chance(kind, column):
    cell = cell_of(generated(kind), column)
    assert cell["score"] > 0.5
    assert cell["nonzeros"] > 0
    assert len(cell["label_scores"]) == (1 if kind == "r2" else generated(kind).Y.shape[1])
    points = {"ceiling": 0, "ours-5": SIZES}
    assert len(cell["curve"]) == points.get(column, 6)
    json.dumps(cell)


@pytest.mark.parametrize("kind", ["f1", "multi", "r2"])
def test_a_radius_that_leaves_no_feature_is_an_empty_model_with_a_note(kind):
    cell = cell_of(generated(kind), "paper-5")
    assert cell["note"].startswith("the radius leaves no feature")
    assert cell["nonzeros"] == 0
    assert cell["score"] < 0.1
    assert len(cell["curve"]) == 6


def test_repeated_cross_validation_scores_every_row_once():
    cell = cell_of(generated("f1", repeated=True), "ours-5")
    assert cell["test_rows"] == ROWS
    assert len(cell["alphas"]) == 5


@pytest.mark.parametrize(("kind", "metric"), [("f1", "f1"), ("r2", "r2")])
def test_the_choice_is_that_of_the_library(kind, metric):
    training = next(parts_of(generated(kind), 0, Grid(8))).training
    found = sl.cross_validate(
        None, training.X, training.Y, cv=training.folds, metrics=(metric,), alphas=8
    )
    best = found.best(metric)
    assert choose(training, found.predictions) == [(best.radius_index, best.alpha_index)]


def test_classes_share_the_point_of_best_accuracy():
    Y = classes(np.arange(40) % 3)
    rows = np.arange(40)
    folds = [(rows[:20], rows[20:]), (rows[20:], rows[:20])]
    training = Training(np.zeros((40, 1)), Y, folds, "multiclass", 0)
    predictions = np.stack([-Y, Y, Y], axis=2)
    assert choose(training, predictions) == [(1,)] * 3
    assert all_scores("multiclass", Y, predictions)["accuracy"][1:].tolist() == [1.0, 1.0]


def test_splits_keep_sizes_and_proportions():
    task = generated("f1", test_share=1 / 3)
    part = next(parts_of(task, 0, Grid(5)))
    assert len(part.Y_test) == 40
    assert abs(np.mean(part.Y_test) - np.mean(task.Y)) < 0.05
    held_out = np.concatenate([test for _, test in part.training.folds])
    assert np.array_equal(np.sort(held_out), np.arange(80))


@pytest.mark.parametrize("prepare", [standardised, weighted_counts])
def test_preparation_learns_from_training_rows_only(prepare):
    rng = np.random.default_rng(0)
    rows = rng.poisson(1.0, (30, 8)).astype(float)
    pack = sparse.csr_matrix if prepare is weighted_counts else np.asarray
    first, _ = prepare(pack(rows[:20]), pack(rows[20:]))
    second, _ = prepare(pack(rows[:20]), pack(rows[20:] + 7.0))
    assert abs(first - second).max() == 0


def test_columns_are_read_from_their_names():
    assert recipe_of("paper-50").radii == ("spectral",)
    assert recipe_of("ours-10").sees_response
    assert recipe_of("ours-50-0.3*spectral").radii == ("0.3*spectral",)
    assert recipe_of("svd-50-realised").radii == ("realised",)
    assert len(recipe_of("ours-50-grid").radii) == 4
    assert expand(["full", "main"])[0] == "full"
    assert len(expand(list(GROUPS))) == len(set(expand(list(GROUPS))))


@pytest.mark.parametrize("name", ["paper", "paper-50-grid", "svd-50", "ours-0", "ours-5-x", "no"])
def test_an_unknown_column_is_refused_in_one_sentence(name):
    with pytest.raises(UnknownColumnError, match="is not a column; choose"):
        expand([name])


def test_main_columns_of_all_splits_come_first():
    names = cells_of(["a", "b"], ["ours-50-realised", "full"], splits=2)
    assert [name.column for name in names] == ["full"] * 4 + ["ours-50-realised"] * 4


def test_a_stopped_cell_is_done_for_that_limit_and_a_failed_one_never(tmp_path):
    store, name = Store(tmp_path), CellName("rcv1", 0, "ours-50-0.3*spectral")
    terms, longer = Terms(Grid(), 60.0), Terms(Grid(), 61.0)
    assert not store.is_done(name, terms)
    cell = fake_cell(*("rcv1", "ours-50-0.3*spectral", 0), 0.9)
    store.write({**cell, "failure": f"{OVER} of 60 s"})
    assert store.is_done(name, terms)
    assert not store.is_done(name, longer)
    store.write({**cell, "failure": "ValueError: no"})
    assert not store.is_done(name, terms)
    store.write(cell)
    assert store.is_done(name, longer)
    assert not store.is_done(name, Terms(Grid(30, 1e-3), 60.0))
    assert store.read_all() == [cell]


def test_score_at_equal_size_is_interpolated_in_the_logarithm():
    curve = [[1.0, 0.0, 0.0], [0.5, 10.0, 0.6], [0.1, 1000.0, 0.8]]
    assert score_at(curve, 100.0) == (pytest.approx(0.7), False)
    assert score_at(curve, 5000.0) == (pytest.approx(0.8), True)
    assert np.isnan(score_at([], 10.0)[0])


def test_the_verdict_pairs_splits():
    cells = [fake_cell("rcv1", "full", split, score) for split, score in enumerate((0.9, 0.8))]
    cells += [fake_cell("rcv1", "ours-50", 1, 0.797, nonzeros=300.0)]
    found = summaries(cells)
    given = verdict(found["rcv1", "full"], found["rcv1", "ours-50"])
    assert given.splits == 1
    assert given.difference == pytest.approx(-0.003)
    assert not given.passes
    assert given.passes_at_equal_size


def test_labels_are_compared_at_their_own_sizes():
    cell = fake_cell("tmc2007_500", "ours-50", 0, 0.5)
    curves = [[[1.0, 10.0, 0.2], [0.5, 100.0, 0.4]], [[1.0, 10.0, 0.6], [0.5, 100.0, 0.8]]]
    full = {**cell, "label_nonzeros": [10.0, 100.0]}
    assert score_at_size_of(full, {**cell, "label_curves": curves}) == (pytest.approx(0.5), False)


def test_the_page_is_made_from_cells_alone(tmp_path):
    columns = {"full": 0.9, "paper-50": 0.8, "ours-50": 0.91, "ours-50-grid": 0.92}
    cells = [
        fake_cell("rcv1", column, split, score + 0.001 * split)
        for column, score in columns.items()
        for split in range(3)
    ]
    cells.append({**fake_cell("imdb", "lassocv", 0, 0.0), "failure": f"{OVER} of 60 s"})
    report = Report("accuracy", "title", tmp_path)
    write_page(cells, tmp_path / "accuracy", report)
    page = (tmp_path / "accuracy" / "tables.md").read_text(encoding="utf-8")
    assert "0.9110 ± 0.0010" in page
    assert "over the limit of 60 s" in page
    assert (tmp_path / "accuracy" / "rcv1.png").stat().st_size > 10_000
    assert report.rows[0]["not below by 0.002"] is True


def test_a_run_stops_late_cells_resumes_and_reports(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    (tmp_path / "microarray").mkdir()
    label = np.where(X[:, 0] + X[:, 1] > 0.2, "sick", "well")
    np.savez(tmp_path / "microarray" / "alon.npz", X=X, y=label)
    monkeypatch.setenv("SKETCHLASSO_DATA", str(tmp_path))
    options = ["accuracy", "--sets", "alon", "--columns", "full", "--results", str(tmp_path)]
    # How a late process is ended does not depend on its start; the next one is a fresh one.
    forking = SimpleNamespace(get_context=SpawningContext)
    with monkeypatch.context() as patch:
        patch.setattr("benchmarks.harness.multiprocessing", forking)
        assert main([*options, "--quick", "--limit", "1e-9"]) == 0
    assert "full: over the limit" in capsys.readouterr().out
    assert main([*options, "--quick", "--limit", "60"]) == 0
    assert "full: F1 0." in capsys.readouterr().out
    assert main([*options, "--quick", "--limit", "60"]) == 0
    assert "0 cells to compute, 1 already there" in capsys.readouterr().out
    assert main([*options, "--quick", "--report"]) == 0
    assert (tmp_path / "accuracy-quick" / "tables.md").exists()


def test_wrong_names_are_refused_before_anything_runs(capsys):
    with pytest.raises(SystemExit):
        main(["accuracy", "--sets", "nothing"])
    assert "nothing is no set; choose from" in capsys.readouterr().err
