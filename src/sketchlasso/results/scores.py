"""Scores of predictions, and those of models on the rows that were held out from them.

Everything about a score stands in its line of :data:`SCORES`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from scipy import sparse

from sketchlasso.cluster.engine import tree_sum
from sketchlasso.data import BlockMatrix
from sketchlasso.data.blocks import split_rows
from sketchlasso.data.entries import CHUNK, Stacked, dense_product
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.instances import RowSets
from sketchlasso.results.path import LinearModels
from sketchlasso.types import FloatArray, IntArray

Metric: TypeAlias = Literal["mse", "mae", "r2", "accuracy", "f1", "auc"]


@dataclass(frozen=True)
class Score:
    """What a score is made of; y and weights are (r,), predictions (r, p), sums (s, p).

    Sums over parts of the rows add up. A score without them ranks rows, so that its value is found
    from all predictions in their place.
    """

    value: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # of sums, y and weights
    sums: Callable[[FloatArray, FloatArray, FloatArray], FloatArray] | None = None
    greater_is_better: bool = True
    power: int = 0  # of the unit of y
    needs_labels: bool = False  # y is +1 or -1


def _squares(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(weights @ (predicted - y[:, None]) ** 2)[None]


def _distances(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(weights @ np.abs(predicted - y[:, None]))[None]


def _right_signs(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(weights @ ((predicted > 0) == (y > 0)[:, None]))[None]


def _positives(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    said = predicted > 0
    return np.stack([(weights * (y > 0)) @ said, weights @ said])


def _mean(sums: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    del y
    return np.asarray(sums[0] / weights.sum())


def _r2(sums: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    spread = float(weights @ (y - weights @ y / weights.sum()) ** 2)
    return 1.0 - sums[0] / (spread if spread > 0 else np.nan)


def _f1(sums: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    # 2 TP / (2 TP + FP + FN); zero where nothing is positive, as in scikit-learn
    total = sums[1] + weights @ (y > 0)
    return np.asarray(2.0 * sums[0] / np.where(total > 0, total, 1.0))


def _auc(predicted: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
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


SCORES: dict[str, Score] = {
    "mse": Score(_mean, _squares, greater_is_better=False, power=2),
    "mae": Score(_mean, _distances, greater_is_better=False, power=1),
    "r2": Score(_r2, _squares),
    "accuracy": Score(_mean, _right_signs, needs_labels=True),
    "f1": Score(_f1, _positives, needs_labels=True),
    "auc": Score(_auc, needs_labels=True),
}


def check_metrics(metrics: object, Y: FloatArray) -> None:
    """Refuse unknown metrics, and classification metrics for other than +1/-1 targets."""
    names = ", ".join(repr(name) for name in get_args(Metric))
    if not isinstance(metrics, tuple | list) or not metrics:
        raise unaccepted("metrics", metrics, f"a tuple of one or more of {names}")
    for metric in metrics:
        if metric not in get_args(Metric):
            raise InvalidInputError(f"metric={metric!r} is unknown; choose one of {names}")
        if SCORES[metric].needs_labels and not np.isin(Y, (-1.0, 1.0)).all():
            raise InvalidInputError(
                f"metric={metric!r} needs targets of +1 and -1 only; recode y, or use 'mse'"
            )


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
    kind, flat = SCORES[metric], predicted.reshape(len(y), -1)
    weights = np.ones(len(y)) if weights is None else weights
    sums = flat if kind.sums is None else kind.sums(y, flat, weights)
    values = _value(kind, sums, y, weights)
    return values.reshape(predicted.shape[1:])


def _value(kind: Score, sums: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    if not (weights > 0).any():
        return np.full(sums.shape[1], np.nan)
    return kind.value(sums, y, weights)


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
    share = np.ones(len(Y)) if weights is None else weights
    tests = [np.sort(row_set.test) for row_set in rows]
    models_of_folds = tuple(
        (sparse.csc_array(models.coef[numbers].T), models.intercept[numbers])
        for numbers in np.split(np.arange(len(models.intercept)), len(rows))
    )
    local = zip(*(split_rows(test, blocks.edges) for test in tests), strict=True)
    each = list(zip(local, blocks.split(Y), blocks.split(share), strict=True))
    found = blocks.run_sum(_sums_of_block, (models_of_folds, tuple(metrics), responses), each)
    scores = {metric: np.empty((len(rows), len(responses))) for metric in metrics}
    for fold, of_responses in enumerate(found):
        test = tests[fold]
        for response, of_metrics in zip(np.unique(responses), of_responses, strict=True):
            for metric, sums in zip(metrics, of_metrics, strict=True):
                known: Any = sums.rows if isinstance(sums, Stacked) else sums
                values = _value(SCORES[metric], known, Y[test, response], share[test])
                scores[metric][fold, responses == response] = values
    return scores


def _sums_of_block(
    entries: Any,
    models_of_folds: tuple[tuple[Any, FloatArray], ...],
    metrics: tuple[Metric, ...],
    responses: IntArray,
    tests: tuple[IntArray, ...],
    Y: FloatArray,
    share: FloatArray,
) -> Any:
    """Sums (s, p) over a block's held-out rows, by fold, response and metric."""

    def of_fold(model: tuple[Any, FloatArray], test: IntArray) -> Any:
        factor, intercept = model
        # Predictions are longer than the rows themselves: some rows at a time, at least once.
        step = max(1, CHUNK // len(intercept))
        starts = range(0, max(len(test), 1), step)
        return tree_sum(of_rows(factor, intercept, test[s : s + step]) for s in starts)

    def of_rows(factor: Any, intercept: FloatArray, part: IntArray) -> Any:
        predicted = dense_product(entries[part], factor) + intercept
        return tuple(
            tuple(
                _sums(metric, Y[part, response], predicted[:, responses == response], share[part])
                for metric in metrics
            )
            for response in np.unique(responses)
        )

    return tuple(of_fold(*fold) for fold in zip(models_of_folds, tests, strict=True))


def _sums(metric: str, y: FloatArray, predicted: FloatArray, weights: FloatArray) -> Any:
    sums = SCORES[metric].sums
    return Stacked(predicted) if sums is None else sums(y, predicted, weights)


def averaged_predictions(X: Any, rows: RowSets, models: LinearModels) -> FloatArray:
    """Held-out predictions (m, p) of p models per fold, folds slowest: one pass over X.

    They are means where a row was held out more than once; NaN for rows never held out.
    """
    members = np.split(np.arange(len(models.intercept)), len(rows))
    pairs = [(row_set.test, models.coef[own].T) for row_set, own in zip(rows, members, strict=True)]
    total, times = np.zeros((rows.n_samples, len(members[0]))), np.zeros(rows.n_samples)
    for row_set, own, product in zip(rows, members, BlockMatrix.of(X).products(pairs), strict=True):
        np.add.at(total, row_set.test, product + models.intercept[own])
        np.add.at(times, row_set.test, 1.0)
    return total / np.where(times > 0, times, np.nan)[:, None]
