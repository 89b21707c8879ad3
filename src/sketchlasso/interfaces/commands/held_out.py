"""Scores of a search on rows that its models have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score, r2_score

__all__ = ["HeldOut", "held_out_scores"]


@dataclass(frozen=True)
class HeldOut:
    """A score over the folds.

    Attributes
    ----------
    name : str
        R2, accuracy or F1.
    mean, standard_error : float
    """

    name: str
    mean: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} +- {self.standard_error:.4f}"


def held_out_scores(estimator: Any, y: Any, tests: Sequence[Any]) -> tuple[HeldOut, ...]:
    """Return R2, or accuracy and F1, of the out-of-fold predictions, averaged over the folds.

    F1 is that of the second of two classes, and the mean over the classes of more.

    Parameters
    ----------
    estimator : SqrtLassoCV or SqrtLassoClassifierCV
        Fitted.
    y : ndarray of shape (m,) or (m, t)
    tests : sequence of ndarray
        The rows that each fold held out.
    """
    if not hasattr(estimator, "classes_"):
        # R2 has no unit, and squares of huge numbers overflow.
        unit = np.abs(y).max() or 1.0
        y, predicted = y / unit, estimator.oof_prediction_ / unit
        return (_over_folds("R2", [r2_score(y[rows], predicted[rows]) for rows in tests]),)
    classes, decision = estimator.classes_, estimator.oof_decision_
    two = len(classes) == 2
    codes = (decision > 0).astype(int).ravel() if two else decision.argmax(axis=1)
    given = np.searchsorted(classes, y if classes.dtype.kind == "U" else y.astype(classes.dtype))
    average = "binary" if two else "macro"
    return (
        _over_folds("accuracy", [accuracy_score(given[rows], codes[rows]) for rows in tests]),
        _over_folds(
            "F1",
            [
                f1_score(given[rows], codes[rows], average=average, zero_division=0)
                for rows in tests
            ],
        ),
    )


def _over_folds(name: str, values: Sequence[float]) -> HeldOut:
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return HeldOut(name, float(np.mean(values)), spread)
