"""Cross-validation over one sketch: every fold, penalty and radius as one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import ProblemSet, RowSets, build_problems, splitter_rows
from sketchlasso.instances.build import check_response
from sketchlasso.results.models import LinearModels, held_out_predictions, linear_models, rows_of
from sketchlasso.results.scores import Metric, check_metric, greater_is_better, score
from sketchlasso.sketch import Sketch
from sketchlasso.solve import Settings, Solution, Solver, solve
from sketchlasso.types import FloatArray

__all__ = ["Choice", "CrossValidation", "cross_validate"]


@dataclass(frozen=True)
class Choice:
    """A point of the grid: its penalty and radius, and where they stand."""

    alpha: float
    radius: float
    alpha_index: int
    radius_index: int


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of every fold, response, radius and penalty, on held-out rows of the real X.

    Attributes
    ----------
    scores : dict of ndarray of shape (folds, responses, radii, alphas)
        One entry per metric, in the order they were asked for.
    alphas : ndarray of shape (responses, radii, alphas)
    radii : ndarray of shape (radii,)
    predictions : ndarray of shape (m, responses, radii, alphas)
        Out-of-fold predictions, averaged where a row was held out more than once, NaN where
        never.
    problems : ProblemSet
    solution : Solution
    models : LinearModels
    """

    scores: dict[Metric, FloatArray]
    alphas: FloatArray
    radii: FloatArray
    predictions: FloatArray
    problems: ProblemSet
    solution: Solution
    models: LinearModels

    @property
    def first_metric(self) -> Metric:
        """The metric that decides by default."""
        return next(iter(self.scores))

    def mean(self, metric: Metric | None = None) -> FloatArray:
        """Mean score (responses, radii, alphas) over the folds."""
        return np.nanmean(self._of(metric), axis=0)

    def standard_error(self, metric: Metric | None = None) -> FloatArray:
        """Standard error (responses, radii, alphas) of the mean over the folds."""
        values = self._of(metric)
        folds = np.sum(np.isfinite(values), axis=0)
        spread = (
            np.nanstd(values, axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1:])
        )
        return spread / np.sqrt(np.maximum(folds, 1))

    def best(self, metric: Metric | None = None, response: int = 0, rule: str = "min") -> Choice:
        """The best grid point of a response.

        Parameters
        ----------
        metric : str, optional
            The first one scored by default.
        response : int
        rule : {"min", "1se"}
            The best mean score, or the largest penalty (at the best point's radius) whose mean
            is within one standard error of it.
        """
        if rule not in ("min", "1se"):
            raise InvalidInputError(f"rule={rule!r} is unknown; choose 'min' or '1se'")
        name = metric or self.first_metric
        sign = -1.0 if greater_is_better(name) else 1.0
        cost = sign * self.mean(name)[response]
        radius_index, alpha_index = np.unravel_index(np.nanargmin(cost), cost.shape)
        if rule == "1se":
            error = self.standard_error(name)[response, radius_index, alpha_index]
            line = cost[radius_index]
            alpha_index = np.flatnonzero(line <= line[alpha_index] + error)[0]
        return Choice(
            alpha=float(self.alphas[response, radius_index, alpha_index]),
            radius=float(self.radii[radius_index]),
            alpha_index=int(alpha_index),
            radius_index=int(radius_index),
        )

    def _of(self, metric: Metric | None) -> FloatArray:
        return self.scores[metric or self.first_metric]


def cross_validate(
    sketch: Sketch,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 5,
    groups: Any = None,
    metrics: tuple[Metric, ...] = ("mse",),
    alphas: int | ArrayLike = 100,
    alpha_min_ratio: float | None = None,
    radii: ArrayLike | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    nonnegative: bool = False,
    solver: Solver = "newton",
    settings: Settings | None = None,
) -> CrossValidation:
    """Score every penalty and radius on held-out rows, all folds in one batch.

    The training problems use the sketch, the scores the real rows of X.

    Parameters
    ----------
    sketch : Sketch
        Of X, without looking at y.
    X : array or sparse matrix of shape (m, n)
        The data that were sketched.
    y : array-like of shape (m,) or (m, t)
    cv : int, splitter, iterable of (train, test), or RowSets
    groups : array-like of shape (m,), optional
    metrics : tuple of {"mse", "mae", "r2", "accuracy", "f1", "auc"}
        What to score; the first decides by default.
    alphas, alpha_min_ratio, radii, fit_intercept, penalty_factor, nonnegative
        See :func:`build_problems`.
    solver : str
    settings : Settings, optional

    Returns
    -------
    CrossValidation
    """
    Y = check_response(y, sketch.n_samples)
    for metric in metrics:
        check_metric(metric, Y)
    target = Y[:, 0] if Y.shape[1] == 1 else None
    rows = cv if isinstance(cv, RowSets) else splitter_rows(cv, sketch.n_samples, target, groups)
    if any(len(row_set.test) == 0 for row_set in rows):
        raise InvalidInputError("a fold holds out no row; every fold needs rows to be judged on")
    problems = build_problems(
        sketch,
        Y,
        alphas=alphas,
        alpha_min_ratio=alpha_min_ratio,
        radii=radii,
        rows=rows,
        fit_intercept=fit_intercept,
        penalty_factor=penalty_factor,
        nonnegative=nonnegative,
    )
    entries = rows_of(X)
    solution = solve(problems.batch, solver, settings, chain=problems.chain)
    solution.warn_if_unsolved()
    models = linear_models(problems, solution.coef, sketch.transform, entries)
    scores, predictions = _judge(problems, models, entries, Y, metrics)
    grid = problems.fold_out(problems.batch.alpha)[0]
    return CrossValidation(
        scores=scores,
        alphas=grid,
        radii=problems.fold_out(problems.batch.radius)[0, 0, :, 0],
        predictions=predictions,
        problems=problems,
        solution=solution,
        models=models,
    )


def _judge(
    problems: ProblemSet,
    models: LinearModels,
    X: Any,
    Y: FloatArray,
    metrics: tuple[Metric, ...],
) -> tuple[dict[Metric, FloatArray], FloatArray]:
    """Scores of every fold, and the out-of-fold predictions."""
    scores = {metric: np.empty(problems.shape) for metric in metrics}
    total = np.zeros((len(Y), *problems.shape[1:]))
    times = np.zeros(len(Y))
    for fold, (test, predicted) in enumerate(held_out_predictions(problems, models, X)):
        np.add.at(total, test, predicted)
        np.add.at(times, test, 1.0)
        for metric in metrics:
            for response in range(Y.shape[1]):
                scores[metric][fold, response] = score(
                    metric, Y[test, response], predicted[:, response]
                )
    times[times == 0] = np.nan
    return scores, total / times.reshape((-1,) + (1,) * (total.ndim - 1))
