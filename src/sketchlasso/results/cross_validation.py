"""Cross-validation: every fold, response, penalty and radius, judged on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.data import as_responses, as_rows, spread
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances import RowSets, check_weights, splitter_rows
from sketchlasso.problem.terms import Terms
from sketchlasso.results.exact_search import ExactSearch, search_exact
from sketchlasso.results.fitting import Fitted, Task, fit_all
from sketchlasso.results.held_out import LazyPredictions, judge
from sketchlasso.results.models import LinearModels
from sketchlasso.results.radius_policy import RadiusLike, RadiusPolicy
from sketchlasso.results.scores import Metric, check_metric, greater_is_better
from sketchlasso.results.staged import can_stage, search
from sketchlasso.sketches import Sketch
from sketchlasso.solvers import Settings, Solver
from sketchlasso.types import FloatArray, IntArray

__all__ = ["Choice", "CrossValidation", "cross_validate"]

TIE = 1e-10


@dataclass(frozen=True)
class Choice:
    """A point of the grid: its penalty and radius policy, and where they stand."""

    alpha: float
    radius: RadiusPolicy
    alpha_index: int
    radius_index: int


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Scores of every fold, response, radius and penalty, on held-out rows of the real X.

    Attributes
    ----------
    scores : dict of ndarray of shape (folds, responses, radii, alphas)
        One entry per metric, in the order given.
    alphas : ndarray of shape (responses, radii, alphas)
    radii : tuple of RadiusPolicy
    radius : ndarray of shape (folds, responses, radii, alphas)
        The radius every instance was solved with; zero for the full model.
    predictions : ndarray or LazyPredictions of shape (m, responses, radii, alphas)
        Out-of-fold predictions, averaged where a row was held out more than once, NaN where
        never. For X in blocks they are computed on access, in one pass over the data:
        ``predictions[:, response, radius, alpha]``.
    models : LinearModels
        Models of all instances; alphas vary fastest, folds slowest.
    relative_gap, status, n_nonzero : ndarray of shape (folds, responses, radii, alphas)
    rows : RowSets
    seconds : float
        Time in the solver.
    on_all_rows : LinearModels or None
        Of responses x alphas, fitted to all rows, where the search solved them on its way.
    """

    scores: dict[Metric, FloatArray]
    alphas: FloatArray
    radii: tuple[RadiusPolicy, ...]
    radius: FloatArray
    predictions: FloatArray | LazyPredictions
    models: LinearModels
    relative_gap: FloatArray
    status: IntArray
    n_nonzero: IntArray
    rows: RowSets
    seconds: float
    on_all_rows: LinearModels | None = None

    @property
    def first_metric(self) -> Metric:
        """The metric that decides by default."""
        return next(iter(self.scores))

    def mean(self, metric: Metric | None = None) -> FloatArray:
        """Mean score (responses, radii, alphas) over the folds; NaN for points left out."""
        return _mean(self._of(metric))

    def standard_error(self, metric: Metric | None = None) -> FloatArray:
        """Standard error (responses, radii, alphas) of the mean over the folds."""
        return _standard_error(self._of(metric))

    def best(
        self,
        metric: Metric | None = None,
        response: int = 0,
        rule: str = "min",
        max_nonzero: float | None = None,
    ) -> Choice:
        """The best grid point of a response.

        Parameters
        ----------
        metric : str, optional
            The first one scored by default.
        response : int
        rule : {"min", "1se"}
            The best mean score, or the largest penalty (at the best point's radius) whose mean
            is within one standard error of it.
        max_nonzero : float, optional
            Consider only points whose models have at most this many non-zeros, on average over
            the folds.
        """
        if rule not in ("min", "1se"):
            raise InvalidInputError(f"rule={rule!r} is unknown; choose 'min' or '1se'")
        name = metric or self.first_metric
        sign = -1.0 if greater_is_better(name) else 1.0
        values = self._of(name)[:, response]
        cost = sign * _mean(values)
        if max_nonzero is not None:
            small = self.n_nonzero[:, response].mean(axis=0) <= max_nonzero
            small &= np.isfinite(cost)
            if not small.any():
                raise InvalidInputError(
                    f"max_nonzero={max_nonzero!r} was given, but no model of the grid is that "
                    "small; add larger penalties"
                )
            cost = np.where(small, cost, np.inf)
        # Scores that differ by rounding only are a tie, and the larger penalty wins it.
        lowest = np.nanmin(cost)
        tied = cost <= lowest + TIE * _size(name, cost, lowest)
        radius_index, alpha_index = np.unravel_index(np.argmax(tied), cost.shape)
        if rule == "1se":
            error = _standard_error(values)[radius_index, alpha_index]
            line = cost[radius_index]
            alpha_index = np.flatnonzero(line <= line[alpha_index] + error)[0]
        return Choice(
            alpha=float(self.alphas[response, radius_index, alpha_index]),
            radius=self.radii[radius_index],
            alpha_index=int(alpha_index),
            radius_index=int(radius_index),
        )

    def start_of(self, response: int, choice: Choice) -> Any:
        """Coefficients (1, n) on all rows at a grid point; None where they were not solved."""
        if self.on_all_rows is None:
            return None
        row = response * self.alphas.shape[2] + choice.alpha_index
        return self.on_all_rows.coef[[row]]

    def support_share(self, response: int, choice: Choice) -> FloatArray:
        """Share (n,) of the folds in which a feature has a part, at a grid point."""
        shape = self.relative_gap.shape
        at = (response, choice.radius_index, choice.alpha_index)
        rows = [np.ravel_multi_index((fold, *at), shape) for fold in range(shape[0])]
        coef = self.models.coef[rows]
        used = coef.indices[coef.data != 0]
        return np.bincount(used, minlength=coef.shape[1]) / shape[0]

    def _of(self, metric: Metric | None) -> FloatArray:
        return self.scores[metric or self.first_metric]


def _mean(values: FloatArray) -> FloatArray:
    """Mean over the first axis of the values that are known; NaN where none is."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _standard_error(values: FloatArray) -> FloatArray:
    """Standard error of the mean over the first axis."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    squares = np.where(known, (values - _mean(values)) ** 2, 0.0).sum(axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(count - 1, 1) / np.maximum(count, 1)))


def _size(metric: Metric, cost: FloatArray, lowest: float) -> float:
    """The size that differences of costs are measured by: theirs, not that of one.

    Scores without a unit are at most one. An error has the unit of y, and that of an exact fit
    is rounding, which the error of the worst model of the grid separates from errors that differ.
    """
    if greater_is_better(metric):
        return max(1.0, abs(lowest))
    finite = cost[np.isfinite(cost)]
    return max(abs(lowest), float(finite.max(initial=0.0)))


@spread
def cross_validate(
    sketch: Sketch | None,
    X: Any,
    y: ArrayLike,
    *,
    cv: Any = 5,
    groups: Any = None,
    metrics: tuple[Metric, ...] = ("mse",),
    alphas: int | ArrayLike = 100,
    alpha_min_ratio: float | None = None,
    radii: RadiusLike | Sequence[RadiusLike] | None = None,
    refine: Literal["exact"] | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    nonnegative: bool = False,
    solver: Solver = "newton",
    settings: Settings | None = None,
) -> CrossValidation:
    """Score every penalty and radius on held-out rows.

    The training problems use the sketch, the scores use the real rows of X. The response of a
    held-out row never affects the model that is scored on it: a sketch that has seen y is made
    again for every fold, from its training rows and their responses. Only the automatic
    penalties depend on the responses of all rows.

    Parameters
    ----------
    sketch : Sketch or None
        Of X. None solves the full problems, without any approximation.
    X : array, sparse matrix, BlockMatrix or dask array of shape (m, n)
        The data that were sketched.
    y : array-like of shape (m,) or (m, t)
    cv : int, splitter, iterable of (train, test), or RowSets
    groups : array-like of shape (m,), optional
    metrics : tuple of {"mse", "mae", "r2", "accuracy", "f1", "auc"}
        What to score; by default the first one decides.
    alphas : int or array-like of shape (a,)
        Penalties, or how many to space evenly in log scale from alpha_max down. On a sketch, 24
        or more automatic penalties are searched in stages if `radii` is not given: points
        that cannot be chosen have status LEFT_OUT and NaN for numbers, and the grid is
        extended if its last penalty is the best.
    alpha_min_ratio : float, optional
        Smallest over largest automatic penalty; 1e-3 with a realised radius and where m >= n,
        else 1e-2.
    radii : float, str, RadiusPolicy or a sequence of them, optional
        What to try: numbers, ``"spectral"``, ``"realised"``, multiples as ``"0.3*spectral"``.
        By default the number the sketch was given, else 0.1, 0.3, 1 and 3 times the realised
        radius.
    refine : {"exact"}, optional
        Take the sketched solutions as starting points and solve the full problems.
    sample_weight : array-like of shape (m,), optional
        Weights of the rows, in training and in the scores.
    fit_intercept, penalty_factor, nonnegative
        See :func:`build_problems`.
    solver : str
    settings : Settings, optional

    Returns
    -------
    CrossValidation
    """
    entries = as_rows(X)
    Y = as_responses(y, entries.shape[0])
    for metric in metrics:
        check_metric(metric, Y)
    target = Y[:, 0] if Y.shape[1] == 1 else None
    rows = cv if isinstance(cv, RowSets) else splitter_rows(cv, len(Y), target, groups)
    if any(len(row_set.test) == 0 for row_set in rows):
        raise InvalidInputError("a fold holds out no row; every fold needs rows to be judged on")
    weights = None
    if sample_weight is not None:
        weights = check_weights(sample_weight, len(Y))
        rows = rows.weighted(weights)
    task = Task(
        entries,
        Y,
        weights=weights,
        alphas=alphas,
        alpha_min_ratio=alpha_min_ratio,
        terms=Terms(fit_intercept, penalty_factor, nonnegative),
        solver=solver,
        settings=settings,
    )
    if sketch is None and radii is None and isinstance(alphas, int | np.integer):
        return _searched(search_exact(task, rows, metrics), rows)
    fitted, scores, predictions = _fit_and_judge(task, sketch, radii, rows, refine, metrics)
    return CrossValidation(
        scores=scores,
        alphas=fitted.alphas,
        radii=fitted.policies,
        radius=fitted.fits.radius.reshape(fitted.shape),
        predictions=predictions,
        models=fitted.fits.models,
        relative_gap=fitted.fits.relative_gap.reshape(fitted.shape),
        status=fitted.fits.status.reshape(fitted.shape),
        n_nonzero=fitted.fits.models.n_nonzero.reshape(fitted.shape),
        rows=rows,
        seconds=fitted.fits.seconds,
    )


def _searched(found: ExactSearch, rows: RowSets) -> CrossValidation:
    """The search without a sketch in the terms of all searches."""
    found.solution.warn_if_unsolved()
    shape = (len(rows), found.alphas.shape[0], 1, found.alphas.shape[1])
    solution = found.solution
    return CrossValidation(
        scores={name: values[:, :, None] for name, values in found.scores.items()},
        alphas=found.alphas[:, None],
        radii=(RadiusPolicy("given", 0.0),),
        radius=np.zeros(shape),
        predictions=found.predictions[:, :, None],
        models=LinearModels(solution.coef, solution.intercept),
        relative_gap=solution.relative_gap.reshape(shape),
        status=solution.status.reshape(shape),
        n_nonzero=solution.n_nonzero.reshape(shape),
        rows=rows,
        seconds=solution.seconds,
        on_all_rows=found.on_all_rows,
    )


def _fit_and_judge(
    task: Task,
    sketch: Sketch | None,
    radii: Any,
    rows: RowSets,
    refine: Literal["exact"] | None,
    metrics: tuple[Metric, ...],
) -> tuple[Fitted, dict[Metric, FloatArray], FloatArray | LazyPredictions]:
    """Fits of every fold, their scores, and the out-of-fold predictions."""
    free = radii is None and refine is None
    if free and isinstance(sketch, Sketch) and can_stage(task, sketch, rows):
        found = search(task, sketch, rows, metrics)
        return found.fitted, found.scores, found.predictions
    fitted = fit_all(task, sketch, radii, rows, refine)
    predictions = LazyPredictions(rows, fitted.shape, fitted.fits.models, task.X)
    return fitted, *judge(predictions, task.Y, task.weights, metrics)
