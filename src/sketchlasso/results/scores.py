"""Scores of predictions, many predictors at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.stats import rankdata

from sketchlasso.errors import InvalidInputError
from sketchlasso.types import FloatArray

__all__ = ["Metric", "check_metric", "greater_is_better", "score"]

Metric: TypeAlias = Literal["mse", "mae", "r2", "accuracy", "f1", "auc"]


def check_metric(metric: str, Y: FloatArray) -> None:
    """Refuse an unknown metric, and a classification metric for other than +1/-1 targets."""
    if metric not in get_args(Metric):
        names = ", ".join(repr(name) for name in get_args(Metric))
        raise InvalidInputError(f"metric={metric!r} is unknown; choose one of {names}")
    if metric in ("accuracy", "f1", "auc") and not np.isin(Y, (-1.0, 1.0)).all():
        raise InvalidInputError(
            f"metric={metric!r} needs targets of +1 and -1 only; recode y, or use 'mse'"
        )


def greater_is_better(metric: Metric) -> bool:
    """Whether a larger score is the better one."""
    return metric not in ("mse", "mae")


def score(metric: Metric, y: FloatArray, predicted: FloatArray) -> FloatArray:
    """Score of every predictor.

    Parameters
    ----------
    metric : {"mse", "mae", "r2", "accuracy", "f1", "auc"}
        The last three take y as +1/-1; f1 is that of the class +1. A score that the rows do
        not define (r2 of a constant y, auc of one class) is NaN.
    y : ndarray of shape (rows,)
    predicted : ndarray of shape (rows, ...)

    Returns
    -------
    ndarray of shape (...)
    """
    target = y.reshape((-1,) + (1,) * (predicted.ndim - 1))
    return _SCORES[metric](target, predicted)


def _mse(y: FloatArray, predicted: FloatArray) -> FloatArray:
    return np.mean((predicted - y) ** 2, axis=0)


def _mae(y: FloatArray, predicted: FloatArray) -> FloatArray:
    return np.mean(np.abs(predicted - y), axis=0)


def _r2(y: FloatArray, predicted: FloatArray) -> FloatArray:
    spread = np.mean((y - y.mean()) ** 2)
    return 1.0 - _mse(y, predicted) / (spread if spread > 0 else np.nan)


def _accuracy(y: FloatArray, predicted: FloatArray) -> FloatArray:
    return np.mean((predicted > 0) == (y > 0), axis=0)


def _f1(y: FloatArray, predicted: FloatArray) -> FloatArray:
    said, true = predicted > 0, y > 0
    hits = np.sum(said & true, axis=0)
    # 2 TP / (2 TP + FP + FN); zero where nothing is positive, as in scikit-learn
    total = np.sum(said, axis=0) + np.sum(true, axis=0)
    return 2.0 * hits / np.maximum(total, 1)


def _auc(y: FloatArray, predicted: FloatArray) -> FloatArray:
    """Share of (positive, negative) pairs in the right order, ties counted half."""
    positive = (y > 0).ravel()
    n_pos, n_neg = int(positive.sum()), int((~positive).sum())
    if n_pos == 0 or n_neg == 0:
        return np.full(predicted.shape[1:], np.nan)
    ranks = rankdata(predicted, axis=0)[positive].sum(axis=0)
    return (ranks - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)


_SCORES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "mse": _mse,
    "mae": _mae,
    "r2": _r2,
    "accuracy": _accuracy,
    "f1": _f1,
    "auc": _auc,
}
