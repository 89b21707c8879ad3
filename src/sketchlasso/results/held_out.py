"""Scores and predictions of held-out rows; large data need no number per row and model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.data import BlockMatrix
from sketchlasso.data.block_work import Stacked
from sketchlasso.data.opening import split_rows
from sketchlasso.data.storage import CHUNK, dense_product, fastest_form
from sketchlasso.instances import RowSets
from sketchlasso.results.fitting import Path, Task
from sketchlasso.results.scores import (
    Metric,
    is_sum,
    score,
    score_of_sums,
    score_sums,
)
from sketchlasso.types import FloatArray, IntArray


def judge(
    task: Task, fits: Path, rows: RowSets, metrics: tuple[Metric, ...]
) -> dict[Metric, FloatArray]:
    """Scores (folds, responses, radii, alphas) of every model on its held-out rows: one pass."""
    X, Y, grid, models = BlockMatrix.of(task.X), task.Y, fits.shape, fits.models
    sums = tuple(metric for metric in metrics if is_sum(metric))
    keep = len(sums) < len(metrics)  # a metric that ranks rows needs all predictions
    points = grid[2] * grid[3]
    share = np.ones(len(Y)) if task.weights is None else task.weights
    tests = [np.sort(row_set.test) for row_set in rows]
    members = np.split(np.arange(len(models.intercept)), grid[0])
    of_folds = tuple(
        (sparse.csc_array(models.coef[own].T), models.intercept[own]) for own in members
    )
    shared = (of_folds, sums, grid[1], keep)
    each = _held_out_parts(X, tests, Y, share)
    scores = {metric: np.full(grid, np.nan) for metric in metrics}
    for fold, (totals, kept) in enumerate(X.run_sum(_judge_block, shared, each)):
        test = tests[fold]
        for response in range(grid[1]):
            y, own = Y[test, response], slice(response * points, (response + 1) * points)
            for metric in metrics:
                if metric in sums:
                    total = totals[sums.index(metric)][response]
                    values = score_of_sums(metric, total, y, share[test])
                else:
                    values = score(metric, y, kept.rows[:, own], share[test])
                scores[metric][fold, response] = values.reshape(grid[2:])
    return scores


def _held_out_parts(
    X: BlockMatrix, tests: list[IntArray], Y: FloatArray, share: FloatArray
) -> list[tuple[Any, ...]]:
    """For every block and fold: the held-out rows, their responses and their weights."""
    folds = []
    for test in tests:
        local = split_rows(test, X.edges)
        ends = np.cumsum([len(part) for part in local])[:-1]
        parts = (local, np.split(Y[test], ends), np.split(share[test], ends))
        folds.append(list(zip(*parts, strict=True)))
    return [(tuple(own[i] for own in folds),) for i in range(X.n_blocks)]


def _judge_block(
    entries: Any,
    models: tuple[tuple[Any, FloatArray], ...],
    metrics: tuple[Metric, ...],
    responses: int,
    keep: bool,
    held_out: tuple[tuple[IntArray, FloatArray, FloatArray], ...],
) -> tuple[tuple[tuple[FloatArray, ...], Stacked], ...]:
    """For every fold sums (responses, s, points) per metric, and the predictions to keep."""
    return tuple(
        _judge_fold(entries, model, own, metrics, responses, keep)
        for model, own in zip(models, held_out, strict=True)
    )


def _judge_fold(
    entries: Any,
    model: tuple[Any, FloatArray],
    held_out: tuple[IntArray, FloatArray, FloatArray],
    metrics: tuple[Metric, ...],
    responses: int,
    keep: bool,
) -> tuple[tuple[FloatArray, ...], Stacked]:
    (factor, intercept), (rows, Y, share) = model, held_out
    nothing = np.zeros((0, len(intercept) // responses))
    none = np.zeros(0)
    sums = [np.stack([score_sums(metric, none, nothing, none)] * responses) for metric in metrics]
    kept = np.empty((len(rows) if keep else 0, len(intercept)))
    factor = fastest_form(entries, factor) if len(rows) else factor
    # Predictions are longer than the rows themselves: some rows at a time.
    step = max(1, CHUNK // len(intercept))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        predicted = dense_product(entries[rows[part]], factor) + intercept
        for response, own in enumerate(np.split(predicted, responses, axis=1)):
            for place, metric in enumerate(metrics):
                sums[place][response] += score_sums(metric, Y[part, response], own, share[part])
        if keep:
            kept[part] = predicted
    return tuple(sums), Stacked(kept)
