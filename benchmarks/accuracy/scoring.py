"""One rule for every contender: how a penalty is chosen, and how held-out rows are scored."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.accuracy.splits import Training
from benchmarks.accuracy.tasks import Kind
from sketchlasso.engine import score

# The score that a table shows first and that the goal is stated in.
MAIN = {"f1": "F1", "multi": "macro F1", "multiclass": "macro F1", "r2": "R2"}


def choose(training: Training, predictions: np.ndarray) -> list[tuple[int, ...]]:
    """Best grid point of every response by the mean score over the folds.

    Parameters
    ----------
    training : Training
    predictions : ndarray of shape (m, t, ...)
        Out-of-fold decision values of every grid point.

    Returns
    -------
    list of t index tuples
        Each label has its own point; classes share one, chosen by accuracy, because they
        compete. Of equal points the first wins: the largest penalty.
    """
    t, grid = predictions.shape[1], predictions.shape[2:]
    values = [
        _fold_scores(training, training.Y[test], predictions[test]) for _, test in training.folds
    ]
    means = np.nan_to_num(np.nanmean(values, axis=0), nan=-np.inf)
    best = [np.unravel_index(np.argmax(row), grid) for row in means]
    points = [tuple(int(i) for i in point) for point in best]
    return points * t if len(points) == 1 else points


def _fold_scores(training: Training, Y: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Scores (t, ...) of one fold; (1, ...) where classes are judged together."""
    if training.kind == "multiclass":
        return _accuracy(Y, predictions)[None]
    metric: Any = training.metric
    return np.stack([score(metric, Y[:, i], predictions[:, i]) for i in range(Y.shape[1])])


def _accuracy(Y: np.ndarray, decisions: np.ndarray) -> np.ndarray:
    """Share of rows (...) whose largest decision value is that of their class."""
    truth = np.argmax(Y, axis=1).reshape((-1,) + (1,) * (decisions.ndim - 2))
    return np.mean(np.argmax(decisions, axis=1) == truth, axis=0)


def label_scores(kind: Kind, Y: np.ndarray, decisions: np.ndarray) -> np.ndarray:
    """Score (t, ...) of every label or class, or the one R2, from decision values (m, t, ...)."""
    if kind == "r2":
        return score("r2", Y[:, 0], decisions[:, 0])[None]
    said = decisions
    if kind == "multiclass":
        said = np.where(_is_largest(decisions), 1.0, -1.0)
    return np.stack([score("f1", Y[:, i], said[:, i]) for i in range(Y.shape[1])])


def _is_largest(decisions: np.ndarray) -> np.ndarray:
    numbers = np.arange(decisions.shape[1]).reshape((1, -1) + (1,) * (decisions.ndim - 2))
    return np.argmax(decisions, axis=1)[:, None] == numbers


def all_scores(kind: Kind, Y: np.ndarray, decisions: np.ndarray) -> dict[str, Any]:
    """The main score (...) of decision values (m, t, ...), and accuracy of classes."""
    found: dict[str, Any] = {MAIN[kind]: label_scores(kind, Y, decisions).mean(axis=0)}
    if kind == "f1":
        found["accuracy"] = score("accuracy", Y[:, 0], decisions[:, 0])
    elif kind == "multiclass":
        found["accuracy"] = _accuracy(Y, decisions)
    return found
