"""One cell of the table: a contender on one split, fitted, chosen, and scored on held-out rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.accuracy.columns import contender_of
from benchmarks.accuracy.fitted import Fitted
from benchmarks.accuracy.scoring import MAIN, all_scores, label_scores
from benchmarks.accuracy.splits import Part
from benchmarks.accuracy.tasks import Task
from sketchlasso.engine import LinearModels


@dataclass(frozen=True)
class CellName:
    """Which cell: a task, one of its splits, and a column."""

    task: str
    split: int
    column: str


def run_cell(task: Task, name: CellName, parts: list[Part]) -> Iterator[dict[str, Any]]:
    """The cell as soon as it is scored, then once more with its curve.

    Only the first part of the work is timed: the sketch, the choice of the hyper-parameters on
    the training rows, and the refit. The curve comes after it and decides nothing.
    """
    contender = contender_of(name.column)
    fits = [contender(part.training) for part in parts]
    decisions = np.concatenate(
        [fit.models.predict(part.X_test) for fit, part in zip(fits, parts, strict=True)]
    )
    Y = np.concatenate([part.Y_test for part in parts])
    cell = {**_identity(task, name, parts), **_scores(task, Y, decisions), **_facts(fits)}
    yield cell
    if all(fit.paths for fit in fits):
        yield {**cell, **_curves(task, Y, fits, parts)}


def _identity(task: Task, name: CellName, parts: list[Part]) -> dict[str, Any]:
    first = parts[0]
    return {
        "task": name.task,
        "split": name.split,
        "column": name.column,
        "kind": task.kind,
        "text": task.text,
        "repeated": task.repeated,
        "rows": first.training.X.shape[0],
        "test_rows": sum(len(part.Y_test) for part in parts),
        "features": first.training.X.shape[1],
        "labels": task.Y.shape[1],
        "failure": "",
    }


def _scores(task: Task, Y: np.ndarray, decisions: np.ndarray) -> dict[str, Any]:
    scores = {name: float(value) for name, value in all_scores(task.kind, Y, decisions).items()}
    return {
        "metric": MAIN[task.kind],
        "score": scores[MAIN[task.kind]],
        "scores": scores,
        "label_scores": np.round(label_scores(task.kind, Y, decisions), 6).tolist(),
    }


def _facts(fits: list[Fitted]) -> dict[str, Any]:
    """Non-zeros per label, seconds in all, and what was chosen; lists are over parts and labels."""
    phases = list(dict.fromkeys(phase for fit in fits for phase in fit.seconds))
    seconds = {phase: sum(fit.seconds.get(phase, 0.0) for fit in fits) for phase in phases}
    gap = max(fit.gap for fit in fits)
    counts = [_counts(fit.models) for fit in fits]
    return {
        "nonzeros": float(np.mean(counts)),
        "label_nonzeros": np.mean(counts, axis=0).tolist(),
        "seconds": sum(seconds.values()),
        "seconds_of": seconds,
        "alphas": [alpha for fit in fits for alpha in fit.alphas],
        "radii": [radius for fit in fits for radius in fit.radii],
        "policies": [policy for fit in fits for policy in fit.policies],
        "at_edge": float(np.mean([fit.at_edge for fit in fits])),
        "gap": gap if np.isfinite(gap) else None,
        "note": "; ".join(dict.fromkeys(fit.note for fit in fits if fit.note)),
        "curve": [],
        "label_curves": [],
    }


def _counts(models: LinearModels) -> np.ndarray:
    return np.asarray(models.coef.count_nonzero(axis=1))


def _curves(
    task: Task, Y: np.ndarray, fits: list[Fitted], parts: list[Part]
) -> dict[str, list[Any]]:
    """(penalty, non-zeros, score) along the penalties, means over parts.

    One curve for the set, on which all labels stand at the same place of their grids, and one
    for each label where labels are judged apart.
    """
    decisions, alphas, counts = [], [], []
    for fit, part in zip(fits, parts, strict=True):
        assert fit.paths is not None
        paths = fit.paths()
        decisions.append(np.stack([path.models.predict(part.X_test) for path in paths], axis=1))
        alphas.append([path.alphas for path in paths])
        counts.append([_counts(path.models) for path in paths])
    penalty, count = np.mean(alphas, axis=0), np.mean(counts, axis=0)
    values = np.concatenate(decisions)
    score = all_scores(task.kind, Y, values)[MAIN[task.kind]]
    curves: dict[str, list[Any]] = {
        "curve": _points(penalty.mean(axis=0), count.mean(axis=0), score)
    }
    if task.kind == "multi":
        each = zip(penalty, count, label_scores(task.kind, Y, values), strict=True)
        curves["label_curves"] = [_points(*columns) for columns in each]
    return curves


def _points(*columns: np.ndarray) -> list[list[float]]:
    return [[float(f"{value:.6g}") for value in point] for point in zip(*columns, strict=True)]
