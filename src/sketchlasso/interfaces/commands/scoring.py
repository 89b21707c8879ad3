"""How good predictions are: R2, or accuracy and F1, with their standard errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import EmptyModelWarning
from sketchlasso.interfaces import Model, Search, class_signs
from sketchlasso.interfaces.commands.data import Given
from sketchlasso.interfaces.commands.report import Facts, counted, label
from sketchlasso.interfaces.commands.screen import Note
from sketchlasso.interfaces.plots.search import over_folds
from sketchlasso.types import FloatArray

# Values count as equal if leaving one value out reduces their sum of squares about the mean to
# less than this share of it.
ALIKE = 1e-12


class Score(NamedTuple):
    """A score and its standard error."""

    value: float
    standard_error: float

    def __str__(self) -> str:
        if np.isnan(self.value):
            return "not defined for a constant target"
        error = "" if np.isnan(self.standard_error) else f" +- {self.standard_error:.4f}"
        return f"{self.value:.4f}{error}"


def score_facts(scores: dict[str, Score], where: str = "") -> Facts:
    """Return scores for people; `where` says on which rows."""
    return tuple((name, f"{score} {where}".rstrip()) for name, score in scores.items())


def score_data(scores: dict[str, Score]) -> dict[str, dict[str, float]]:
    """Return scores for machines."""
    return {name: score._asdict() for name, score in scores.items()}


def model_scores(model: Model, given: Given, predicted: Any) -> dict[str, Score]:
    """Score a model's predictions (m,) of the rows of a file."""
    y = given.response
    if not hasattr(model, "classes_"):
        return {"R2": r2(y, predicted)}
    classes = model.classes_
    kinds = {y.dtype.kind, classes.dtype.kind}
    if kinds & {"U", "O"} and kinds != {"U"}:
        # Labels may be numbers here and text there; text of data frames comes as objects.
        y, predicted, classes = map(_as_text, (y, predicted, classes))
    strange = ~np.isin(y, classes)
    if strange.any():
        warnings.warn(
            f"the target of {given.source} holds {label(y[strange][0])!r}, which is none of the "
            f"model's classes; {counted(int(strange.sum()), 'row')} of such classes count as "
            "mistakes",
            Note,
            stacklevel=2,
        )
    return class_scores(y, predicted, classes[1] if len(classes) == 2 else None)


def _as_text(labels: Any) -> Any:
    """Return labels (m,) as text."""
    different, places = np.unique(labels, return_inverse=True)
    return np.array([label(value) for value in different])[places]


def training_scores(model: Model, given: Given) -> dict[str, Score]:
    """Score a model on the rows it was fitted to; their standard errors would mislead."""
    found = model_scores(model, given, model.predict(given.X))
    return {name: score._replace(standard_error=np.nan) for name, score in found.items()}


def r2(y: FloatArray, predicted: FloatArray) -> Score:
    """Return R2 of predictions (m,), with its standard error by the jackknife.

    Without row i the sums of squares, of residuals r and about the mean, are smaller by

        r_i^2    and    (y_i - mean(y))^2 m / (m - 1)
    """
    m, unit = len(y), float(np.abs(y).max()) or 1.0
    # R2 has no unit, and squares of huge numbers overflow.
    y, predicted = y / unit, predicted / unit
    residuals, spreads = (y - predicted) ** 2, (y - y.mean()) ** 2
    total = float(spreads.sum()) or np.nan
    rest = total - spreads * m / max(m - 1, 1)
    # Without the only row that differs, the rest is zero up to rounding.
    rest = np.where(rest > ALIKE * total, rest, np.nan)
    without = 1.0 - (residuals.sum() - residuals) / rest
    return Score(1.0 - float(residuals.sum()) / total, _jackknife(without, np.ones(m)))


def class_scores(y: Any, predicted: Any, positive: Any = None) -> dict[str, Score]:
    """Return accuracy and F1 of predicted classes (m,), with standard errors by the jackknife.

    F1 is that of the class `positive`, and without one the mean over the classes.
    """
    labels, codes = np.unique(np.concatenate([y, predicted]), return_inverse=True)
    true, guessed = codes[: len(y)], codes[len(y) :]
    table = np.zeros((len(labels), len(labels)))
    np.add.at(table, (true, guessed), 1.0)
    judged = np.ones(len(labels), dtype=bool) if positive is None else labels == positive

    def f1(table: FloatArray) -> float:
        twice = table.sum(axis=0) + table.sum(axis=1)
        each = 2.0 * np.diag(table) / np.maximum(twice, 1.0)
        among = judged & ((twice > 0) | (positive is not None))
        return float(each[among].mean()) if among.any() else 0.0

    def accuracy(table: FloatArray) -> float:
        return float(np.trace(table) / table.sum())

    return {"accuracy": _of_table(accuracy, table), "F1": _of_table(f1, table)}


def _of_table(score: Callable[[FloatArray], float], table: FloatArray) -> Score:
    """Score a table (k, k) of rows by class and prediction: all rows of a cell count alike."""
    cells = np.argwhere(table > 0)
    without = []
    for place in map(tuple, cells):
        one_less = table.copy()
        one_less[place] -= 1.0
        without.append(score(one_less) if one_less.any() else np.nan)
    return Score(score(table), _jackknife(np.array(without), table[tuple(cells.T)]))


def _jackknife(without: FloatArray, counts: FloatArray) -> float:
    """Return the standard error of a score from its values without each of m rows.

        sqrt((m - 1) / m  sum over rows of (value without it - their mean)^2)

    Each value of `without` is that of `counts` rows.
    """
    m = counts.sum()
    mean = counts @ without / m
    return float(np.sqrt((m - 1) / m * (counts @ (without - mean) ** 2)))


def held_out_scores(
    estimator: Search, given: Given, folds: Sequence[tuple[Any, Any]]
) -> dict[str, Score]:
    """Return mean and standard error over the folds of R2, or of accuracy and F1.

    The scores are those of out-of-fold predictions. F1 is that of the second of two classes, and
    the mean over the classes of more. The `folds` are the rows that each trained on and held out.
    """
    given.note_on_gaps(
        "gaps were filled from all rows, because --sketch was made from them"
        if isinstance(estimator.sketch, sl.Sketch)
        else "gaps were filled from all rows to choose the penalty, and from each fold's training "
        "rows for the score"
    )
    y = given.response
    if isinstance(estimator, sl.SqrtLassoCV):
        values = out_of_fold(estimator, given, folds, y[:, None], estimator.oof_prediction_)
        scores = [{"R2": r2(y[rows], values[rows])} for _, rows in folds]
    else:
        classes, own = np.unique(y, return_inverse=True)
        two = len(classes) == 2
        signs = class_signs(y, classes).reshape(len(own), -1)
        values = out_of_fold(estimator, given, folds, signs, estimator.oof_decision_)
        codes = (values > 0).astype(int) if two else values.argmax(axis=1)
        scores = [class_scores(own[rows], codes[rows], 1 if two else None) for _, rows in folds]
    return {name: _over_folds([one[name].value for one in scores]) for name in scores[0]}


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
        model.set_params(sketch=None, radius=None)
    alphas, radii = np.atleast_1d(estimator.alpha_), np.atleast_1d(estimator.radius_)
    found = np.full(Y.shape, np.nan)
    for train, test in folds:
        X = given.filled_from(train)
        for j, (alpha, radius) in enumerate(zip(alphas, radii, strict=True)):
            # One response at a time: each has its own radius.
            model.set_params(alpha=alpha, radius=radius if sketched else None)
            with warnings.catch_warnings():
                # The warning is for the model that the user gets, not for those of the folds.
                warnings.simplefilter("ignore", EmptyModelWarning)
                model.fit(X[train], Y[train, j])
            found[test, j] = model.predict(X[test])
    return found.reshape(shared.shape)


def _over_folds(values: Sequence[float]) -> Score:
    """Return mean and standard error over the folds where a score is defined."""
    (mean,), (error,) = over_folds(np.array([values]))
    return Score(float(mean), np.nan if np.isnan(mean) else float(error))
