"""Scores of a search on rows that its models have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score, r2_score

import sketchlasso as sl
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.models import Search

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


def held_out_scores(
    estimator: Search, given: Given, folds: Sequence[tuple[Any, Any]]
) -> tuple[HeldOut, ...]:
    """Return R2, or accuracy and F1, of the out-of-fold predictions, averaged over the folds.

    F1 is that of the second of two classes, and the mean over the classes of more.

    Parameters
    ----------
    estimator : SqrtLassoCV or SqrtLassoClassifierCV
        Fitted.
    given : Given
        What it was fitted on.
    folds : sequence of pair of ndarray
        The rows that each fold trained on and held out.
    """
    y, tests = given.response, [test for _, test in folds]
    values = _out_of_fold(estimator, given, folds)
    if isinstance(estimator, sl.SqrtLassoCV):
        # R2 has no unit, and squares of huge numbers overflow.
        unit = np.abs(y).max() or 1.0
        y, values = y / unit, values / unit
        return (_over_folds("R2", [r2_score(y[rows], values[rows]) for rows in tests]),)
    classes = estimator.classes_
    two = len(classes) == 2
    codes = (values > 0).astype(int).ravel() if two else values.argmax(axis=1)
    own = np.searchsorted(classes, y if classes.dtype.kind == "U" else y.astype(classes.dtype))
    average = "binary" if two else "macro"
    return (
        _over_folds("accuracy", [accuracy_score(own[rows], codes[rows]) for rows in tests]),
        _over_folds(
            "F1",
            [f1_score(own[rows], codes[rows], average=average, zero_division=0) for rows in tests],
        ),
    )


def _out_of_fold(estimator: Search, given: Given, folds: Sequence[tuple[Any, Any]]) -> Any:
    """Return predictions, or decision values, of every row by a model that has not seen it.

    A search shares one X among its folds. Where gaps were filled, X holds means of held-out rows
    too, so each fold is fitted once more at the chosen penalty, with gaps filled and columns
    standardised by its training rows alone.
    """
    numbers = isinstance(estimator, sl.SqrtLassoCV)
    found = estimator.oof_prediction_ if numbers else estimator.oof_decision_
    if given.gaps is None or estimator.sketch_ is not None:
        return found
    single: Any = sl.SqrtLasso if numbers else sl.SqrtLassoClassifier
    model = single(estimator.alpha_)
    shared = estimator.get_params().keys() & model.get_params().keys()
    model.set_params(**{name: getattr(estimator, name) for name in shared})
    model.set_params(sketch=None, radius=None, refine=None, verbose=False)
    found = np.full_like(found, np.nan)
    for train, test in folds:
        X = given.filled_from(train)
        model.fit(X[train], given.response[train])
        ask = model.predict if numbers else model.decision_function
        found[test] = ask(X[test])
    return found


def _over_folds(name: str, values: Sequence[float]) -> HeldOut:
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return HeldOut(name, float(np.mean(values)), spread)
