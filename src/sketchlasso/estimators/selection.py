"""Choosing penalties and radii by cross-validation, and what is kept of the search."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchlasso.errors import GridEdgeWarning, InvalidInputError
from sketchlasso.estimators.base import ResponseFit, fit_response
from sketchlasso.estimators.task import Prepared, settings_of, sketches
from sketchlasso.instances import splitter_rows
from sketchlasso.results import Choice, CrossValidation, cross_validate
from sketchlasso.sketch import Sketch
from sketchlasso.types import FloatArray, IntArray

__all__ = ["Chosen", "choose", "keep_choices"]

FOLDS = 5


@dataclass(frozen=True, eq=False)
class Chosen:
    """What cross-validation says of one response.

    Attributes
    ----------
    used, best, one_standard_error : Choice
    alphas : ndarray of shape (n_alphas,)
    mse, scores, n_nonzero : ndarray of shape (n_alphas, n_folds)
    predictions : ndarray of shape (r,)
        Out of fold, at the penalty used.
    sketch : Sketch or None
    """

    used: Choice
    best: Choice
    one_standard_error: Choice
    alphas: FloatArray
    mse: FloatArray
    scores: FloatArray
    n_nonzero: IntArray
    predictions: FloatArray
    sketch: Sketch | None


def choose(
    estimator: Any, data: Prepared, target: Any, groups: Any
) -> tuple[list[ResponseFit], list[Chosen]]:
    """Cross-validate every response and fit it at its choice on all rows."""
    if estimator.selection not in ("min", "1se"):
        raise InvalidInputError(
            f"selection={estimator.selection!r} was given, but 'min' or '1se' is accepted; pass "
            "one of them."
        )
    cv = FOLDS if estimator.cv is None else estimator.cv
    rows = splitter_rows(cv, len(data.Y), target, groups)
    fits, choices = [], []
    for columns, sketch in sketches(estimator, data):
        found = cross_validate(
            sketch,
            data.X,
            data.Y[:, columns],
            cv=rows,
            metrics=tuple(dict.fromkeys((estimator.scoring, "mse"))),
            alphas=estimator.alphas,
            alpha_min_ratio=estimator.alpha_min_ratio,
            radii=estimator.radius if sketch is not None else None,
            refine=estimator.refine if sketch is not None else None,
            sample_weight=data.weights,
            fit_intercept=estimator.fit_intercept,
            penalty_factor=estimator.penalty_factor,
            nonnegative=estimator.positive,
            solver=estimator.solver,
            settings=settings_of(estimator),
        )
        for place, column in enumerate(columns):
            chosen = _chosen(estimator, found, place, sketch)
            choices.append(chosen)
            fits.append(
                fit_response(
                    estimator,
                    data,
                    np.array([column]),
                    sketch,
                    [chosen.used.alpha],
                    chosen.used.radius if sketch is not None else None,
                )
            )
    return fits, choices


def _chosen(estimator: Any, found: CrossValidation, response: int, sketch: Sketch | None) -> Chosen:
    best = found.best(estimator.scoring, response)
    careful = found.best(estimator.scoring, response, rule="1se")
    used = best if estimator.selection == "min" else careful
    alphas = found.alphas[response, best.radius_index]
    _warn_at_the_edge(best, alphas, estimator.alphas)
    at = (response, best.radius_index)
    return Chosen(
        used=used,
        best=best,
        one_standard_error=careful,
        alphas=alphas,
        mse=found.scores["mse"][:, *at].T,
        scores=found.scores[estimator.scoring][:, *at].T,
        n_nonzero=found.n_nonzero[:, *at].T,
        predictions=found.predictions[:, response, used.radius_index, used.alpha_index],
        sketch=sketch,
    )


def _warn_at_the_edge(best: Choice, alphas: FloatArray, asked: Any) -> None:
    if len(alphas) < 3:
        return
    if best.alpha_index == len(alphas) - 1:
        remedy = (
            "lower alpha_min_ratio"
            if isinstance(asked, int | np.integer)
            else "add smaller penalties"
        )
        warnings.warn(
            f"the best penalty, {best.alpha:.3g}, is the smallest of the grid, so a smaller one "
            f"may be better; {remedy}.",
            GridEdgeWarning,
            stacklevel=6,
        )
    elif best.alpha_index == 0:
        warnings.warn(
            f"the best penalty, {best.alpha:.3g}, is the largest of the grid: no feature predicts "
            "better than the mean does.",
            GridEdgeWarning,
            stacklevel=6,
        )


def keep_choices(estimator: Any, choices: list[Chosen], single: bool) -> None:
    """Write the attributes that tell of the search."""

    def each(values: list[Any]) -> Any:
        return values[0] if single else np.array(values)

    estimator.alpha_min_ = each([chosen.best.alpha for chosen in choices])
    estimator.alpha_1se_ = each([chosen.one_standard_error.alpha for chosen in choices])
    estimator.alphas_ = each([chosen.alphas for chosen in choices])
    estimator.mse_path_ = each([chosen.mse for chosen in choices])
    estimator.score_path_ = each([chosen.scores for chosen in choices])
    estimator.n_nonzero_path_ = each([chosen.n_nonzero for chosen in choices])
    predictions = np.column_stack([chosen.predictions for chosen in choices])
    estimator.oof_prediction_ = predictions[:, 0] if single else predictions
    estimator.sketch_ = choices[0].sketch
