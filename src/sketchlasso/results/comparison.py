"""What a sketch costs and what it gains: the same penalties with it and without."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.data import as_responses, as_rows
from sketchlasso.errors import InvalidInputError
from sketchlasso.problem.terms import Terms
from sketchlasso.results.cross_validation import cross_validate, sqrt_lasso_path
from sketchlasso.results.fitting import Path
from sketchlasso.results.models import LinearModels, fitted_values
from sketchlasso.results.radius_policy import RadiusLike, RadiusPolicy, radius_policies
from sketchlasso.results.scores import Metric, check_metric, greater_is_better, score
from sketchlasso.sketches import Sketch
from sketchlasso.sketches.matching import check_sketch_of
from sketchlasso.solvers import Settings, Solver
from sketchlasso.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison: the models of all penalties, with the sketch or without."""

    models: LinearModels  # of all rows, one per penalty
    score: FloatArray  # (a,): on rows that the models have not seen
    full_gap: FloatArray  # (a,): relative duality gap in the full problem
    n_nonzero: IntArray  # (a,)
    best: int  # the penalty with the best score
    seconds: float  # for the models of all rows; the sketch is not counted
    scoring_seconds: float  # for the cross-validation, if there was one


@dataclass(frozen=True, eq=False)
class Comparison:
    """Sketched against full models, penalty by penalty.

    Attributes
    ----------
    alphas : ndarray of shape (a,)
        Largest first, the same on both sides.
    metric : str
    judged_on : str
        Where the scores come from, in words.
    sketched, full : Side
    common : ndarray of shape (a,)
        Features that both sides select.
    jaccard : ndarray of shape (a,)
        Features that both select over those that either does; 1 where neither selects any.
    coef_distance : ndarray of shape (a,)
        ||w_sketched - w_full|| / ||w_full||, 0 where both are zero.
    prediction_distance : ndarray of shape (a,)
        The same for the predictions on X, centred.
    radius : RadiusPolicy
    rank : int
    sketch_seconds : float
        To make the sketch.
    """

    alphas: FloatArray
    metric: Metric
    judged_on: str
    sketched: Side
    full: Side
    common: IntArray
    jaccard: FloatArray
    coef_distance: FloatArray
    prediction_distance: FloatArray
    radius: RadiusPolicy
    rank: int
    sketch_seconds: float

    @property
    def speedup(self) -> float:
        """Seconds without a sketch over seconds with it, the making of the sketch included."""
        with_it = self.sketched.seconds + self.sketched.scoring_seconds + self.sketch_seconds
        return (self.full.seconds + self.full.scoring_seconds) / max(with_it, 1e-9)

    def summary(self, rows: int = 10) -> str:
        """A table of some penalties, the best of both sides among them, and the times.

        Parameters
        ----------
        rows : int
            Largest number of penalties, evenly spaced, besides the two best.
        """
        own, full = self.sketched, self.full
        count = len(self.alphas)
        shown = np.linspace(0, count - 1, max(1, min(rows, count))).round().astype(int)
        head = (
            f"{'':2}{'alpha':>10}{self.metric + ' sketched':>16}{'full':>11}{'gap':>9}"
            f"{'features':>10}{'full':>6}{'common':>8}{'jaccard':>9}{'w off':>8}{'Xw off':>8}"
        )
        lines = [head]
        for place in np.union1d(shown, [own.best, full.best]):
            mark = ("s" if place == own.best else "") + ("f" if place == full.best else "")
            lines.append(
                f"{mark:2}{self.alphas[place]:>10.4g}{own.score[place]:>16.4g}"
                f"{full.score[place]:>11.4g}{own.full_gap[place]:>9.1e}{own.n_nonzero[place]:>10}"
                f"{full.n_nonzero[place]:>6}{self.common[place]:>8}{self.jaccard[place]:>9.2f}"
                f"{self.coef_distance[place]:>8.3f}{self.prediction_distance[place]:>8.3f}"
            )
        return "\n".join(
            [
                f"rank {self.rank}, radius {self.radius}, scores by {self.judged_on} "
                "(s, f: best sketched, best full)",
                *lines,
                f"seconds: sketch {self.sketch_seconds:.3g}; models {own.seconds:.3g} sketched, "
                f"{full.seconds:.3g} full; scores {own.scoring_seconds:.3g} sketched, "
                f"{full.scoring_seconds:.3g} full; {self.speedup:.3g} times as fast in all",
            ]
        )

    def __str__(self) -> str:
        return self.summary()


def compare(
    X: Any,
    y: ArrayLike,
    sketch: Sketch,
    *,
    alphas: int | ArrayLike = 30,
    alpha_min_ratio: float | None = None,
    cv: Any = 5,
    groups: Any = None,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    metric: Metric = "mse",
    radius: RadiusLike | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    penalty_factor: ArrayLike | None = None,
    positive: bool = False,
    solver: Solver = "newton",
    settings: Settings | None = None,
) -> Comparison:
    """Solve the same penalties on a sketch and on X itself, and compare the models.

    Both sides minimise over w, b

        ||A w + b - y||_2 + radius ||w||_2 + alpha * sum_j f_j |w_j|

    with A the sketch, or with A = X and radius = 0.

    Parameters
    ----------
    X : array or sparse matrix of shape (m, n)
    y : array-like of shape (m,)
    sketch : Sketch
        Of X.
    alphas : int or array-like of shape (a,)
        Penalties, or how many to space evenly in log scale from the smallest at which the full
        model is empty.
    alpha_min_ratio : float, optional
        See :func:`cross_validate`; of the full problem.
    cv, groups
        See :func:`cross_validate`; not used where test rows are given.
    X_test, y_test : array-like of shapes (r, n) and (r,), optional
        Rows to score the models on, in place of cross-validation.
    metric : {"mse", "mae", "r2", "accuracy", "f1", "auc"}
    radius : float, str or RadiusPolicy, optional
        One policy, ``"realised"`` unless the sketch was given a number.
    sample_weight : array-like of shape (m,), optional
    fit_intercept, penalty_factor, positive
        See :func:`build_problems`.
    solver : str
        On the sketch.
    settings : Settings, optional

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> import sketchlasso as sl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 8)) @ rng.standard_normal((8, 60))
    >>> y = X[:, 0] + rng.standard_normal(200)
    >>> found = sl.compare(X, y, sl.sketch(X, rank=8, center=True, random_state=0), alphas=10)
    >>> bool(found.prediction_distance.max() < 1e-3)
    True
    """
    entries = as_rows(X)
    target = _one_response(y, entries.shape[0])
    check_sketch_of(sketch, entries)
    check_metric(metric, target)
    judge = _Judge(entries, target, metric, cv, groups, *_test_rows(X_test, y_test, entries))
    options: dict[str, Any] = {
        "sample_weight": sample_weight,
        "fit_intercept": fit_intercept,
        "positive": positive,
        "solver": solver,
        "settings": settings,
    }
    # The full problem is on the scale of X, that of a scaled sketch on its own scale.
    on_sketch = {**options, "penalty_factor": penalty_factor}
    terms = Terms(penalty_factor=penalty_factor).scaled(sketch.column_scales)
    on_data = {**options, "penalty_factor": terms.penalty_factor}
    full, full_side = judge.side(None, None, alphas, alpha_min_ratio, on_data)
    grid = full.alphas.ravel()
    policy = _one_policy(radius, sketch)
    own, own_side = judge.side(sketch, policy, grid, None, on_sketch)
    return Comparison(
        alphas=grid,
        metric=metric,
        judged_on=judge.words,
        sketched=own_side,
        full=full_side,
        radius=policy,
        rank=sketch.rank,
        sketch_seconds=sketch.cost.seconds,
        **_distances(entries, own.models, full.models),
    )


def _one_response(y: ArrayLike, m: int) -> FloatArray:
    target = as_responses(y, m)
    if target.shape[1] != 1:
        raise InvalidInputError(
            f"y has {target.shape[1]} columns, but one response is compared at a time; pass them "
            "one by one."
        )
    return target


def _one_policy(radius: Any, sketch: Sketch) -> RadiusPolicy:
    policies = radius_policies(radius, sketch)
    if len(policies) != 1:
        raise InvalidInputError(
            f"{len(policies)} radii were given, but one radius is compared at a time; pass one."
        )
    return policies[0]


def _test_rows(X_test: Any, y_test: Any, X: Any) -> tuple[Any, FloatArray | None]:
    if (X_test is None) != (y_test is None):
        missing = "y_test" if y_test is None else "X_test"
        raise InvalidInputError(
            f"{missing} is missing, but test rows need both X_test and y_test; pass both, or "
            "neither for cross-validation."
        )
    if X_test is None:
        return None, None
    entries = as_rows(X_test)
    if entries.ndim != 2 or entries.shape[1] != X.shape[1]:
        raise InvalidInputError(
            f"X_test has shape {entries.shape} but X has {X.shape[1]} features; pass rows with "
            "the same features."
        )
    return entries, _one_response(cast(ArrayLike, y_test), entries.shape[0])


@dataclass(frozen=True, eq=False)
class _Judge:
    """Fits a side of the comparison, and scores it on rows it has not seen."""

    X: Any
    Y: FloatArray
    metric: Metric
    cv: Any
    groups: Any
    X_test: Any
    Y_test: FloatArray | None

    @property
    def words(self) -> str:
        """Where the scores come from."""
        return "cross-validation" if self.Y_test is None else f"{len(self.Y_test)} test rows"

    def side(
        self,
        sketch: Sketch | None,
        radius: RadiusPolicy | None,
        alphas: int | ArrayLike,
        ratio: float | None,
        options: dict[str, Any],
    ) -> tuple[Path, Side]:
        """Models of all penalties, with their scores and certificates."""
        # The first call compiles kernels, which must not count.
        sqrt_lasso_path(self.X, self.Y, sketch, alphas=1, radius=radius, **options)
        start = perf_counter()
        path = sqrt_lasso_path(
            self.X, self.Y, sketch, alphas=alphas, alpha_min_ratio=ratio, radius=radius, **options
        )
        fitted = perf_counter()
        scores = self._scores(path, sketch, options)
        judged = perf_counter()
        best = np.nanargmax if greater_is_better(self.metric) else np.nanargmin
        return path, Side(
            models=path.models,
            score=scores,
            full_gap=path.full_gap,
            n_nonzero=path.models.n_nonzero,
            best=int(best(scores)),
            seconds=fitted - start,
            scoring_seconds=judged - fitted,
        )

    def _scores(self, path: Path, sketch: Sketch | None, options: dict[str, Any]) -> FloatArray:
        if self.Y_test is not None:
            predicted = path.models.predict(self.X_test)
            check_metric(self.metric, self.Y_test)
            return score(self.metric, self.Y_test[:, 0], predicted)
        found = cross_validate(
            sketch,
            self.X,
            self.Y,
            cv=self.cv,
            groups=self.groups,
            metrics=(self.metric,),
            alphas=path.alphas.ravel(),
            radii=None if sketch is None else path.radii,
            **options,
        )
        return found.mean()[0, 0]


def _distances(X: Any, own: LinearModels, full: LinearModels) -> dict[str, Any]:
    """How far the two sides are from each other, penalty by penalty."""
    # Booleans, so that a feature counts once regardless of its coefficients.
    ours, theirs = own.coef.astype(bool), full.coef.astype(bool)
    common = np.asarray(ours.multiply(theirs).sum(axis=1)).ravel().astype(np.intp)
    either = own.n_nonzero + full.n_nonzero - common
    predicted = [fitted_values(X, models.coef) for models in (own, full)]
    predicted = [values - values.mean(axis=0) for values in predicted]
    return {
        "common": common,
        "jaccard": np.where(either > 0, common / np.maximum(either, 1), 1.0),
        "coef_distance": _relative(
            np.sqrt(np.asarray((own.coef - full.coef).power(2).sum(axis=1)).ravel()),
            np.sqrt(np.asarray(full.coef.power(2).sum(axis=1)).ravel()),
        ),
        "prediction_distance": _relative(
            np.linalg.norm(predicted[0] - predicted[1], axis=0),
            np.linalg.norm(predicted[1], axis=0),
        ),
    }


def _relative(distance: FloatArray, size: FloatArray) -> FloatArray:
    """Distance over size; infinite where only the size is zero."""
    infinite = np.where(distance > 0, np.inf, 0.0)
    return np.where(size > 0, distance / np.where(size > 0, size, 1.0), infinite)
