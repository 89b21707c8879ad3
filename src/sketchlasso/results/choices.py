"""Scores of every fold, response, penalty and radius, and the choice that they lead to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.instances import RowSets
from sketchlasso.results.path import LinearModels, Path
from sketchlasso.results.radius import RadiusPolicy
from sketchlasso.results.reprs import Screen, Shown, search_screen
from sketchlasso.results.scores import SCORES, Metric, averaged_predictions
from sketchlasso.solvers import Status
from sketchlasso.types import FloatArray, IntArray

TIE = 1e-10
# A penalty is out when its cost exceeds the best by so many standard errors of the difference: of
# five folds, chance alone exceeds them once in twenty. With one, 7 of 360 searches on few rows
# ended at a minimum whose error was up to 16 % above that of the whole grid; with two, only 1 did.
STANDARD_ERRORS = 2.0
# The search ends when so many penalties in a row are out.
IN_A_ROW = 6
# A fall of the mean cost by less than this share of its standard error makes no better model.
WORTHWHILE = 0.1
# Differences below this share of the spread of the costs, or of the least cost where that is
# smaller, are ties, not losses.
SMALLEST_RISE = 1e-3


@dataclass(frozen=True)
class Choice:
    """A point of the grid: its penalty and radius policy, and where they stand."""

    alpha: float
    radius: RadiusPolicy
    alpha_index: int
    radius_index: int


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Shown):
    """Scores of every fold, response, radius and penalty, on held-out rows of the real X.

    Attributes
    ----------
    fits : Path
        Models of every fold, response, radius and penalty, with their certificates.
    scores : dict of ndarray of shape (folds, responses, radii, alphas)
        One entry per metric, in the order given.
    rows : RowSets
    predictions : ndarray of shape (m, responses)
        Out-of-fold predictions at the best point by the first metric; means where a row was held
        out more than once, NaN where never. :meth:`out_of_fold` has those of other points.
    """

    fits: Path
    scores: dict[Metric, FloatArray]
    rows: RowSets
    predictions: FloatArray
    # Models of all rows at the same penalties, where the search has solved them on the way.
    on_all_rows: Path | None = None

    def fit_on_all_rows(self, response: int, choice: Choice, tol: float) -> Path | None:
        """The model of all rows at a grid point, if it is known to a relative gap of `tol`."""
        path = self.on_all_rows
        if path is None:
            return None
        at = [response * path.alphas.shape[2] + choice.alpha_index]
        if not path.relative_gap[at[0]] <= tol:
            return None
        numbers = ("primal", "dual", "null", "n_iter", "status", "radius")
        return replace(
            path,
            models=path.models.of(np.array(at)),
            alphas=np.full((1, 1, 1), choice.alpha),
            **{name: getattr(path, name)[at] for name in numbers},
        )

    def _screen(self) -> Screen:
        return search_screen(self)

    def out_of_fold(self, X: Any, response: int, choice: Choice) -> FloatArray:
        """Out-of-fold predictions (m,) at a grid point, from the X (m, n) of the search.

        Means where a row was held out more than once, NaN where never.
        """
        at = (response, choice.radius_index, choice.alpha_index)
        models = self.models.of(self._instances(at))
        return averaged_predictions(X, self.rows, models)[:, 0]

    @property
    def alphas(self) -> FloatArray:
        """Penalties (responses, radii, alphas)."""
        return self.fits.alphas

    @property
    def radii(self) -> tuple[RadiusPolicy, ...]:
        """Radius policies that were tried."""
        return self.fits.radii

    @property
    def models(self) -> LinearModels:
        """Models of all instances; alphas vary fastest, folds slowest."""
        return self.fits.models

    @property
    def radius(self) -> FloatArray:
        """Radius of every instance (folds, responses, radii, alphas); zero for the full model."""
        return self.fits.radius.reshape(self.fits.shape)

    @property
    def relative_gap(self) -> FloatArray:
        """Relative gap of every instance (folds, responses, radii, alphas)."""
        return self.fits.relative_gap.reshape(self.fits.shape)

    @property
    def status(self) -> IntArray:
        """Values of :class:`Status` (folds, responses, radii, alphas)."""
        return self.fits.status.reshape(self.fits.shape)

    @property
    def interrupted(self) -> bool:
        """Whether the search was stopped before its end."""
        return bool((self.fits.status == Status.INTERRUPTED).any())

    @property
    def n_nonzero(self) -> IntArray:
        """Coefficients of every instance that are not zero (folds, responses, radii, alphas)."""
        return self.fits.models.n_nonzero.reshape(self.fits.shape)

    @property
    def seconds(self) -> float:
        """Time in the solver."""
        return self.fits.seconds

    @property
    def first_metric(self) -> Metric:
        """The metric that decides by default."""
        return next(iter(self.scores))

    def mean(self, metric: Metric | None = None) -> FloatArray:
        """Mean score (responses, radii, alphas) over the folds; NaN for points left out."""
        return mean_of(self.scores[metric or self.first_metric])

    def standard_error(self, metric: Metric | None = None) -> FloatArray:
        """Standard error (responses, radii, alphas) of the mean over the folds."""
        return standard_error_of(self.scores[metric or self.first_metric])

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
        if not isinstance(rule, str) or rule not in ("min", "1se"):
            raise unaccepted("rule", rule, "'min' or '1se'")
        values = self._costs(metric)[:, response]
        cost = mean_of(values)
        if max_nonzero is not None:
            small = self.n_nonzero[:, response].mean(axis=0) <= max_nonzero
            if not (small & np.isfinite(cost)).any():
                raise InvalidInputError(
                    f"max_nonzero={max_nonzero!r} was given, but no model of the grid is that "
                    "small; add larger penalties."
                )
            cost = np.where(small, cost, np.inf)
        # Where no score is defined, as R2 of a constant response, any penalty is as good.
        cost = np.where(np.isnan(cost), np.inf, cost)
        lowest = float(cost.min())
        # Scores that differ by rounding only are a tie: the larger penalty is chosen.
        tied = cost <= lowest + (TIE * self._scale(cost, metric) if np.isfinite(lowest) else 0.0)
        radius, alpha = np.unravel_index(int(np.argmax(tied)), cost.shape)
        if rule == "1se" and np.isfinite(lowest):
            error = standard_error_of(values)[radius, alpha]
            alpha = np.argmax(cost[radius] <= cost[radius, alpha] + error)
        penalty = float(self.alphas[response, radius, alpha])
        return Choice(penalty, self.radii[radius], int(alpha), int(radius))

    def _scale(self, cost: FloatArray, metric: Metric | None) -> float:
        """The size relative to which differences of costs are ties.

        Scores without a unit are at most one. An error has the unit of y, and the error of an exact
        fit is rounding: only next to the error of the worst model is it seen to be small.
        """
        if SCORES[metric or self.first_metric].greater_is_better:
            return max(1.0, abs(float(cost.min())))
        return float(np.abs(cost[np.isfinite(cost)]).max())

    def _costs(self, metric: Metric | None) -> FloatArray:
        """Scores, of which smaller ones are better (folds, responses, radii, alphas)."""
        name = metric or self.first_metric
        return -self.scores[name] if SCORES[name].greater_is_better else self.scores[name]

    def clearly_better(self, other: CrossValidation, metric: Metric) -> bool:
        """Whether the best point of the first response beats that of another search.

        By more than the standard error of the difference, in the metric and in the squared error:
        among the shares of correct labels at many penalties, some look better by chance.
        """
        mine, theirs = self.best(metric), other.best(metric)
        for name in dict.fromkeys((metric, "mse")):
            gain = other._costs(name)[:, 0, theirs.radius_index, theirs.alpha_index]
            gain = gain - self._costs(name)[:, 0, mine.radius_index, mine.alpha_index]
            if not gain.mean() > standard_error_of(gain):
                return False
        return True

    def support_share(self, response: int, choice: Choice) -> FloatArray:
        """Share (n,) of the folds in which a feature has a part, at a grid point."""
        at = (response, choice.radius_index, choice.alpha_index)
        coef = self.models.coef[self._instances(at)]
        used = coef.indices[coef.data != 0]
        return np.bincount(used, minlength=coef.shape[1]) / coef.shape[0]

    def _instances(self, at: tuple[int, int, int]) -> IntArray:
        """Instances (folds,) of the models of all folds at (response, radius, alpha)."""
        shape = self.fits.shape
        return np.ravel_multi_index(at, shape[1:]) + np.arange(shape[0]) * np.prod(shape[1:])


def judged(
    X: Any,
    fits: Path,
    scores: dict[Metric, FloatArray],
    rows: RowSets,
) -> CrossValidation:
    """A cross-validation of X (m, n), with the predictions of the best models: one pass over X."""
    responses = len(fits.alphas)
    found = CrossValidation(fits, scores, rows, np.empty((0, responses)))
    points = [found.best(response=response) for response in range(responses)]
    best = [found._instances((r, p.radius_index, p.alpha_index)) for r, p in enumerate(points)]
    models = fits.models.of(np.stack(best, axis=1).ravel())
    return replace(found, predictions=averaged_predictions(X, rows, models))


def mean_of(values: FloatArray) -> FloatArray:
    """Mean over the first axis of the values that are known; NaN where none is."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def standard_error_of(values: FloatArray) -> FloatArray:
    """Standard error of the mean over the first axis."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    squares = np.where(known, (values - mean_of(values)) ** 2, 0.0).sum(axis=0)
    return np.asarray(np.sqrt(squares / np.maximum(count - 1, 1) / np.maximum(count, 1)))


def decided(cost: FloatArray, in_a_row: int = IN_A_ROW) -> bool:
    """Whether the costs (folds, a) of decreasing penalties are well past their minimum.

    The last `in_a_row` penalties have to be out. Folds differ in difficulty, so costs are compared
    fold by fold: the mean of the differences has a far smaller standard error than the mean cost.
    """
    # A fold on which the score is undefined does not count.
    cost = cost[np.isfinite(cost).all(axis=1)]
    if len(cost) == 0:
        return False
    mean = cost.mean(axis=0)
    best = int(np.argmin(mean))
    if cost.shape[1] - 1 - best < in_a_row:
        return False
    rise = cost[:, -in_a_row:] - cost[:, [best]]
    error = rise.std(axis=0, ddof=1) / np.sqrt(len(rise)) if len(rise) > 1 else 0.0
    # With little noise the least cost is so small next to the spread that it may double unnoticed.
    size = min(mean.max() - mean[best], abs(mean[best]))
    least = np.maximum(STANDARD_ERRORS * error, SMALLEST_RISE * size)
    return bool(np.all(rise.mean(axis=0) > least))


def settled(cost: FloatArray) -> bool:
    """Whether the last of decreasing penalties hardly lowers the mean of the costs (folds, a)."""
    mean = mean_of(cost)
    if len(mean) < 2:
        return False
    return bool(mean[-2] - mean[-1] <= WORTHWHILE * standard_error_of(cost[:, -1]))
