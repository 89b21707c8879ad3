"""Scores of a search on rows that its models have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score, r2_score

import sketchlasso as sl
from sketchlasso.errors import EmptyModelWarning
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.models import Search

__all__ = ["HeldOut", "held_out_scores", "out_of_fold"]


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
    given.note_on_gaps(
        "gaps were filled from all rows, because --sketch was made from them"
        if isinstance(estimator.sketch, sl.Sketch)
        else "gaps were filled from all rows to choose the penalty, and from each fold's training "
        "rows for the score"
    )
    tests = [test for _, test in folds]
    if isinstance(estimator, sl.SqrtLassoCV):
        y = given.response
        values = out_of_fold(estimator, given, folds, y[:, None], estimator.oof_prediction_)
        # R2 has no unit, and squares of huge numbers overflow.
        unit = np.abs(y).max() or 1.0
        y, values = y / unit, values / unit
        return (_over_folds("R2", [r2_score(y[rows], values[rows]) for rows in tests]),)
    own = np.unique(given.response, return_inverse=True)[1]
    two = len(estimator.classes_) == 2
    ours = np.arange(1, 2) if two else np.arange(len(estimator.classes_))
    signs = np.where(own[:, None] == ours, 1.0, -1.0)
    values = out_of_fold(estimator, given, folds, signs, estimator.oof_decision_)
    codes = (values > 0).astype(int) if two else values.argmax(axis=1)
    average = "binary" if two else "macro"
    return (
        _over_folds("accuracy", [accuracy_score(own[rows], codes[rows]) for rows in tests]),
        _over_folds(
            "F1",
            [f1_score(own[rows], codes[rows], average=average, zero_division=0) for rows in tests],
        ),
    )


def out_of_fold(
    estimator: Search, given: Given, folds: Sequence[tuple[Any, Any]], Y: Any, shared: Any
) -> Any:
    """Return predictions of every row by a model that has not seen it, shaped like `shared`.

    A search shares one X among its folds, and `shared` are its predictions. Where gaps were
    filled, that X also holds means of held-out rows. Each fold is then fitted again at the chosen
    penalty, with gaps filled, columns standardised and sketches made from its training rows alone.
    A ready sketch cannot be made again. Y (m, t) has one column per model.
    """
    if given.gaps is None or isinstance(estimator.sketch, sl.Sketch):
        return shared
    sketched = estimator.sketch_ is not None
    model = sl.SqrtLasso()
    common = estimator.get_params().keys() & model.get_params().keys()
    model.set_params(**{name: getattr(estimator, name) for name in common})
    model.set_params(verbose=False)
    if not sketched:
        model.set_params(sketch=None, radius=None, refine=None)
    alphas, radii = np.atleast_1d(estimator.alpha_), np.atleast_1d(estimator.radius_)
    found = np.full(Y.shape, np.nan)
    for train, test in folds:
        X = given.filled_from(train)
        for j, (alpha, radius) in enumerate(zip(alphas, radii, strict=True)):
            # One response at a time: each has its own radius.
            model.set_params(alpha=alpha, radius=radius if sketched else None)
            with warnings.catch_warnings():
                # The warning is about the model that the user gets, not about one of a fold.
                warnings.simplefilter("ignore", EmptyModelWarning)
                model.fit(X[train], Y[train, j])
            found[test, j] = model.predict(X[test])
    return found.reshape(shared.shape)


def _over_folds(name: str, values: Sequence[float]) -> HeldOut:
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return HeldOut(name, float(np.mean(values)), spread)
