"""How good predictions are: R2, or accuracy and F1, by scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import EmptyModelWarning
from sketchlasso.interfaces import Model, Search, class_signs
from sketchlasso.interfaces.commands.data import Given
from sketchlasso.interfaces.commands.screen import Facts, Note, counted, label
from sketchlasso.interfaces.plots.search import over_folds


class Score(NamedTuple):
    """A score, its standard error over folds if there are any, and the class it is of."""

    value: float
    standard_error: float = float("nan")
    of: str = ""

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "not defined for a constant target"
        error = "" if np.isnan(self.standard_error) else f" +- {self.standard_error:.4f}"
        return f"{self.value:.4f}{error}"


def score_facts(scores: dict[str, Score], where: str = "") -> Facts:
    """Return scores for people; `where` says on which rows."""
    return tuple(
        (f"{name} of {score.of}" if score.of else name, f"{score} {where}".rstrip())
        for name, score in scores.items()
    )


def score_values(scores: dict[str, Score]) -> dict[str, float]:
    """Return scores for machines."""
    return {name: score.value for name, score in scores.items()}


def model_scores(model: Model, given: Given, predicted: Any) -> dict[str, Score]:
    """Score a model's predictions (m,) or (m, t) of the rows of a file."""
    y = given.response
    if not hasattr(model, "classes_"):
        return regression_scores(y, predicted)
    classes = model.classes_
    kinds = {y.dtype.kind, classes.dtype.kind}
    if kinds & {"U", "O"} and kinds != {"U"}:
        # Labels may be numbers here and text there; text of data frames comes as objects.
        y, predicted, classes = (np.array(list(map(label, v))) for v in (y, predicted, classes))
    strange = ~np.isin(y, classes)
    if strange.any():
        warnings.warn(
            f"the target of {given.source} holds {label(y[strange][0])!r}, which is none of the "
            f"model's classes; {counted(int(strange.sum()), 'row')} of such classes count as "
            "mistakes",
            Note,
            stacklevel=2,
        )
    return class_scores(y, predicted, classes)


def regression_scores(y: Any, predicted: Any) -> dict[str, Score]:
    """Return R2 of predictions (m,), or (m, t) of t targets: their mean and each of them."""
    from sklearn.metrics import r2_score  # help pages do not need it

    truth, guessed = (values.reshape(len(y), -1) for values in (y, predicted))
    each = [
        r2_score(one, other) if np.ptp(one) > 0 else np.nan
        for one, other in zip(truth.T, guessed.T, strict=True)
    ]
    mean = float(np.nanmean(each)) if not np.isnan(each).all() else np.nan
    parts = {f"R2 of target {t}": Score(float(value)) for t, value in enumerate(each, 1)}
    return {"R2": Score(mean), **(parts if len(each) > 1 else {})}


def class_scores(y: Any, predicted: Any, classes: Any) -> dict[str, Score]:
    """Return accuracy and F1 of predicted classes (m,).

    F1 is that of the second of two classes, and the mean over more.
    """
    from sklearn.metrics import accuracy_score, f1_score

    two = len(classes) == 2
    labels = classes[1:] if two else None
    f1 = f1_score(y, predicted, labels=labels, average="macro", zero_division=0.0)
    return {
        "accuracy": Score(float(accuracy_score(y, predicted))),
        "F1": Score(float(f1), of=label(classes[1]) if two else ""),
    }


def held_out_scores(
    estimator: Search, given: Given, folds: Sequence[tuple[Any, Any]]
) -> dict[str, Score]:
    """Return mean and standard error over the folds of the scores of out-of-fold predictions.

    The `folds` are the rows that each trained on and held out.
    """
    given.note_on_gaps(
        "gaps were filled from all rows, because --sketch was made from them"
        if isinstance(estimator.sketch, sl.Sketch)
        else "gaps were filled from all rows to choose the penalty, and from each fold's training "
        "rows for the score"
    )
    y = given.response
    if isinstance(estimator, sl.SqrtLassoCV):
        Y = y.reshape(len(y), -1)
        values = out_of_fold(estimator, given, folds, Y, estimator.oof_prediction_)
        scores = [regression_scores(y[rows], values[rows]) for _, rows in folds]
    else:
        classes = estimator.classes_
        signs = class_signs(y, classes).reshape(len(y), -1)
        values = out_of_fold(estimator, given, folds, signs, estimator.oof_decision_)
        chosen = (values > 0).astype(int) if len(classes) == 2 else values.argmax(axis=1)
        scores = [class_scores(y[rows], classes[chosen[rows]], classes) for _, rows in folds]
    found = {}
    for name, score in scores[0].items():
        (mean,), (error,) = over_folds(np.array([[one[name].value for one in scores]]))
        error = np.nan if np.isnan(mean) else float(error)
        found[name] = Score(float(mean), error, score.of)
    return found


def out_of_fold(
    estimator: Search, given: Given, folds: Sequence[tuple[Any, Any]], Y: Any, shared: Any
) -> Any:
    """Return predictions of every row by a model that has not seen it, shaped like `shared`.

    A search shares one X among its folds, and `shared` are its predictions. Where gaps were
    filled, that X also holds means of held-out rows. Each fold is then fitted again at the chosen
    penalty, with gaps filled, columns standardised and sketches made from its training rows alone.
    A ready sketch cannot be made again. Y (m, t) has one column per model.
    """
    if given.gaps is None or given.impute is None or isinstance(estimator.sketch, sl.Sketch):
        return shared
    assert given.encoding is not None
    model = sl.SqrtLasso()
    common = estimator.get_params().keys() & model.get_params().keys()
    model.set_params(**{name: getattr(estimator, name) for name in common}).set_params(
        verbose=False
    )
    if estimator.sketch_ is None:
        model.set_params(sketch=None)
    alphas, radii = np.atleast_1d(estimator.alpha_), np.atleast_1d(estimator.radius_)
    found = np.full(Y.shape, np.nan)
    for train, test in folds:
        X = given.encoding.refilled(given.X, given.gaps, train, given.impute)
        for j, (alpha, radius) in enumerate(zip(alphas, radii, strict=True)):
            # One response at a time: each has its own radius.
            model.set_params(alpha=alpha, radius=None if estimator.sketch_ is None else radius)
            with warnings.catch_warnings():
                # The warning is for the model that the user gets, not for those of the folds.
                warnings.simplefilter("ignore", EmptyModelWarning)
                model.fit(X[train], Y[train, j])
            found[test, j] = model.predict(X[test])
    return found.reshape(shared.shape)
