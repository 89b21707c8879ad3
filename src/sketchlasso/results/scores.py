"""Predictions of rows that the models have not seen, and their scores, many models at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy import sparse

from sketchlasso.data import BlockMatrix
from sketchlasso.data.blocks import split_rows
from sketchlasso.data.entries import CHUNK, Stacked, dense_product
from sketchlasso.data.transform import unit_of
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.instances import RowSets
from sketchlasso.results.models import LinearModels
from sketchlasso.types import FloatArray, IntArray

Metric: TypeAlias = Literal["mse", "mae", "r2", "accuracy", "f1", "auc"]
# Held-out rows (r,) of a row set, and what is predicted for them (r, p).
HeldOut: TypeAlias = "tuple[IntArray, FloatArray]"


def check_metrics(metrics: object, Y: FloatArray) -> None:
    """Refuse unknown metrics, and classification metrics for other than +1/-1 targets."""
    names = ", ".join(repr(name) for name in get_args(Metric))
    if not isinstance(metrics, tuple | list) or not metrics:
        raise unaccepted("metrics", metrics, f"a tuple of one or more of {names}")
    for metric in metrics:
        if metric not in get_args(Metric):
            raise InvalidInputError(f"metric={metric!r} is unknown; choose one of {names}")
        if metric in ("accuracy", "f1", "auc") and not np.isin(Y, (-1.0, 1.0)).all():
            raise InvalidInputError(
                f"metric={metric!r} needs targets of +1 and -1 only; recode y, or use 'mse'"
            )


def greater_is_better(metric: Metric) -> bool:
    """Whether a larger score is the better one."""
    return metric not in ("mse", "mae")


def score(
    metric: Metric, y: FloatArray, predicted: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Score of every predictor.

    Parameters
    ----------
    metric : {"mse", "mae", "r2", "accuracy", "f1", "auc"}
        The last three take y as +1/-1; f1 is that of the class +1. A score that the rows do
        not define (r2 of a constant y, auc of one class, anything of no weight) is NaN.
    y : ndarray of shape (rows,)
    predicted : ndarray of shape (rows, ...)
    weights : ndarray of shape (rows,), optional
        A weight of 2 counts a row twice.

    Returns
    -------
    ndarray of shape (...)
    """
    share = np.ones(len(y)) if weights is None else weights
    flat = predicted.reshape(len(y), -1)
    if metric == "r2":  # it has no unit, and the squares of huge numbers overflow
        unit = unit_of(float(np.abs(y).max(initial=0.0)))
        y, flat = y / unit, flat / unit
    if metric in _SUMS:
        values = score_of_sums(metric, score_sums(metric, y, flat, share), y, share)
    else:
        values = _auc(y, flat, share)
    return values.reshape(predicted.shape[1:])


def is_sum(metric: str) -> bool:
    """Whether a score is made of sums over rows, so that no row has to be kept."""
    return metric in _SUMS


def score_sums(
    metric: str, y: FloatArray, predicted: FloatArray, weights: FloatArray
) -> FloatArray:
    """Sums (s, p) over rows that the scores of predictors are made of; parts of rows add up.

    The metric is one for which :func:`is_sum` holds, y and weights are (rows,) and the predictions
    (rows, p).
    """
    return _SUMS[metric][0](y, predicted, weights)


def score_of_sums(metric: str, sums: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Scores (p,) from the sums (s, p) over all rows, their y and weights (rows,).

    NaN where no row has weight.
    """
    if not (weights > 0).any():
        return np.full(sums.shape[1], np.nan)
    return _SUMS[metric][1](sums, y, weights)


def _squares(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    return (weights @ (predicted - y[:, None]) ** 2)[None]


def _distances(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    return (weights @ np.abs(predicted - y[:, None]))[None]


def _right_signs(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(weights @ ((predicted > 0) == (y > 0)[:, None]))[None]


def _positives(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    said = predicted > 0
    return np.stack([(weights * (y > 0)) @ said, weights @ said])


def _mean(sums: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    del y
    return np.asarray(sums[0] / weights.sum())


def _r2(sums: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    mean = weights @ y / weights.sum()
    spread = float(weights @ (y - mean) ** 2 / weights.sum())
    return 1.0 - _mean(sums, y, weights) / (spread if spread > 0 else np.nan)


def _f1(sums: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    # 2 TP / (2 TP + FP + FN); zero where nothing is positive, as in scikit-learn
    total = sums[1] + weights @ (y > 0)
    return np.asarray(2.0 * sums[0] / np.where(total > 0, total, 1.0))


def _auc(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    """Share of (positive, negative) pairs in the right order, ties counted half."""
    positive, negative = weights * (y > 0), weights * (y <= 0)
    pairs = positive.sum() * negative.sum()
    if pairs == 0:
        return np.full(predicted.shape[1], np.nan)
    ordered = np.empty(predicted.shape[1])
    for column, values in enumerate(predicted.T):
        _, level = np.unique(values, return_inverse=True)
        below = np.bincount(level, weights=negative)
        at = np.bincount(level, weights=positive)
        ordered[column] = at @ (np.cumsum(below) - 0.5 * below)
    return ordered / pairs


# From y, predictions and weights to sums over rows, and from sums, y and weights to scores.
_Step: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
_SUMS: dict[str, tuple[_Step, _Step]] = {
    "mse": (_squares, _mean),
    "mae": (_distances, _mean),
    "r2": (_squares, _r2),
    "accuracy": (_right_signs, _mean),
    "f1": (_positives, _f1),
}


def held_out_scores(
    X: Any,
    Y: FloatArray,
    weights: FloatArray | None,
    models: LinearModels,
    responses: IntArray,
    rows: RowSets,
    metrics: tuple[Metric, ...],
) -> dict[Metric, FloatArray]:
    """Scores (folds, p) of models on the held-out rows of their folds: one pass over X.

    There are p models of every fold, folds slowest, for the columns `responses` (p,) of Y (m, t).
    """
    blocks = BlockMatrix.of(X)
    sums = tuple(metric for metric in metrics if is_sum(metric))
    keep = len(sums) < len(metrics)  # a metric that ranks rows needs all predictions
    share = np.ones(len(Y)) if weights is None else weights
    tests = [np.sort(row_set.test) for row_set in rows]
    of_folds = tuple(
        (sparse.csc_array(models.coef[numbers].T), models.intercept[numbers])
        for numbers in np.split(np.arange(len(models.intercept)), len(rows))
    )
    shared = (of_folds, sums, responses, keep)
    each = _held_out_parts(blocks, tests, Y, share)
    scores = {metric: np.full((len(rows), len(responses)), np.nan) for metric in metrics}
    for fold, (totals, kept) in enumerate(blocks.run_sum(_judge_block, shared, each)):
        test = tests[fold]
        for response in np.unique(responses):
            y, points = Y[test, response], np.flatnonzero(responses == response)
            for metric, values in scores.items():
                if metric in sums:
                    total = totals[sums.index(metric)][:, points]
                    values[fold, points] = score_of_sums(metric, total, y, share[test])
                else:
                    values[fold, points] = score(metric, y, kept.rows[:, points], share[test])
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
    responses: IntArray,
    keep: bool,
    held_out: tuple[tuple[IntArray, FloatArray, FloatArray], ...],
) -> tuple[tuple[tuple[FloatArray, ...], Stacked], ...]:
    """For every fold sums (s, p) per metric, and the predictions to keep."""
    return tuple(
        _judge_fold(entries, model, part, metrics, responses, keep)
        for model, part in zip(models, held_out, strict=True)
    )


def _judge_fold(
    entries: Any,
    model: tuple[Any, FloatArray],
    held_out: tuple[IntArray, FloatArray, FloatArray],
    metrics: tuple[Metric, ...],
    responses: IntArray,
    keep: bool,
) -> tuple[tuple[FloatArray, ...], Stacked]:
    (factor, intercept), (rows, Y, share) = model, held_out
    none, nothing = np.zeros(0), np.zeros((0, len(intercept)))
    sums = [score_sums(metric, none, nothing, none) for metric in metrics]
    kept = np.empty((len(rows) if keep else 0, len(intercept)))
    # Predictions are longer than the rows themselves: some rows at a time.
    step = max(1, CHUNK // len(intercept))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        predicted = dense_product(entries[rows[part]], factor) + intercept
        for response in np.unique(responses):
            points = np.flatnonzero(responses == response)
            for total, metric in zip(sums, metrics, strict=True):
                total[:, points] += score_sums(
                    metric, Y[part, response], predicted[:, points], share[part]
                )
        if keep:
            kept[part] = predicted
    return tuple(sums), Stacked(kept)


def held_out_predictions(rows: RowSets, models: LinearModels, X: Any) -> Iterator[HeldOut]:
    """Test rows of every row set, and their predictions by its own models: one pass."""
    tests = [row_set.test for row_set in rows]
    members = np.split(np.arange(len(models.intercept)), len(rows))
    factors = [models.coef[numbers].T for numbers in members]
    found = BlockMatrix.of(X).products(list(zip(tests, factors, strict=True)))
    for test, numbers, product in zip(tests, members, found, strict=True):
        yield test, product + models.intercept[numbers]


def averaged_predictions(X: Any, rows: RowSets, models: LinearModels) -> FloatArray:
    """Held-out predictions (m, p) of p models per fold; NaN for rows never held out."""
    return out_of_fold(rows.n_samples, held_out_predictions(rows, models, X))


def out_of_fold(n_samples: int, held_out: Iterable[HeldOut]) -> FloatArray:
    """Predictions (m, p) from those of every row set; NaN for rows that were never held out.

    They are means where a row was held out more than once.
    """
    parts = list(held_out)
    times = np.zeros(n_samples)
    for test, _ in parts:
        np.add.at(times, test, 1.0)
    # Rows are last in memory, so that a problem's predictions lie side by side.
    values = np.full((parts[0][1].shape[1], n_samples), np.nan)
    if times.max() <= 1:
        for test, predicted in parts:
            values[:, test] = predicted.T
        return values.T
    values[:, times > 0] = 0.0
    for test, predicted in parts:
        np.add.at(values.T, test, predicted)
    return (values / np.maximum(times, 1.0)).T
