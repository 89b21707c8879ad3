"""The pipeline that is timed: sketch, every fold and penalty, choice, refit, test score."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
from sklearn.metrics import f1_score

import sketchlasso as sl
from benchmarks.datasets import SEED, Split, folds
from sketchlasso.engine import linear_models, weighted_rows
from sketchlasso.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class Fitted:
    """What the pipeline made.

    Attributes
    ----------
    seconds : float
        All of it: sketch, cross-validation, refit.
    sketch_seconds, solve_seconds : float
        Of them the sketch, and the solves of all folds and penalties.
    test_f1 : float
    nonzeros : int
    alpha, radius : float
        Of the refit.
    alpha_share : float
        The penalty over the largest of the grid.
    at_edge : bool
        Whether the smallest penalty of the grid was the best.
    worst_gap : float
    unsolved : int
        Problems that did not reach the tolerance.
    sketch : Sketch or None
    """

    seconds: float
    sketch_seconds: float
    solve_seconds: float
    test_f1: float
    nonzeros: int
    alpha: float
    radius: float
    alpha_share: float
    at_edge: bool
    worst_gap: float
    unsolved: int
    sketch: sl.Sketch | None

    def row(self) -> dict[str, Any]:
        """All but the sketch, for a results file."""
        return {name: value for name, value in vars(self).items() if name != "sketch"}


def cross_validated(
    split: Split,
    *,
    rank: int | None,
    method: Any = "randomized",
    radius: str = "spectral",
    alphas: int = 100,
    ratio: float = 1e-3,
    n_folds: int = 5,
    tol: float = 1e-6,
    metric: Literal["f1", "mse"] = "f1",
) -> Fitted:
    """Everything that a user waits for; ``rank=None`` is the full model, solved exactly."""
    start = perf_counter()
    made = None
    if rank is not None:
        seen = split.y if method == "response" else None
        made = sl.sketch(split.X, seen, rank=rank, method=method, random_state=SEED)
    radii = None if made is None else [radius]
    options: dict[str, Any] = {} if made is None else {"settings": sl.Settings(tol=tol)}
    try:
        found = sl.cross_validate(
            made,
            split.X,
            split.y,
            cv=folds(len(split.y), n_folds),
            metrics=tuple(dict.fromkeys((metric, "mse"))),
            alphas=alphas,
            alpha_min_ratio=ratio,
            radii=radii,
            **options,
        )
    except InvalidInputError:
        # The radius makes w = 0 optimal at every penalty.
        return _nothing(split, made, perf_counter() - start)
    best = found.best(metric)
    path = sl.sqrt_lasso_path(
        split.X,
        split.y,
        made,
        alphas=[best.alpha],
        radius=None if made is None else best.radius,
        **options,
    )
    seconds = perf_counter() - start
    predicted = path.models.predict(split.X_test)[:, 0] > 0
    gaps = np.append(found.relative_gap, path.relative_gap)
    status = np.append(found.status, path.status)
    return Fitted(
        seconds=seconds,
        sketch_seconds=0.0 if made is None else made.cost.seconds,
        solve_seconds=found.seconds,
        test_f1=float(f1_score(split.y_test > 0, predicted)),
        nonzeros=int(np.diff(path.models.coef.indptr)[0]),
        alpha=best.alpha,
        radius=float(np.ravel(path.radius)[0]) if made is not None else 0.0,
        alpha_share=best.alpha / float(found.alphas.max()),
        at_edge=best.alpha_index == alphas - 1,
        worst_gap=float(gaps.max()),
        unsolved=int(np.sum(status != sl.Status.SOLVED)),
        sketch=made,
    )


def _nothing(split: Split, made: sl.Sketch | None, seconds: float) -> Fitted:
    """The empty model: it predicts the most frequent training class for every row."""
    says = np.full(len(split.y_test), split.y.mean() > 0)
    f1 = float(f1_score(split.y_test > 0, says, zero_division=0.0))
    cost = 0.0 if made is None else made.cost.seconds
    return Fitted(seconds, cost, 0.0, f1, 0, 0.0, 0.0, 0.0, False, 0.0, 0, made)


def left_out_errors(
    split: Split, fitted: Fitted, found: sl.LeaveOneOut, count: int, tol: float = 1e-10
) -> tuple[np.ndarray, np.ndarray]:
    """Errors of left-out predictions of some rows, and the effects of leaving these rows out.

    The rows are refitted from scratch: statistics of the other rows, no warm start, a finer gap.
    An effect is the change of a row's prediction when the row is left out.
    """
    assert fitted.sketch is not None
    m = len(split.y)
    rows = np.random.default_rng(SEED).choice(m, min(count, m), replace=False)
    weights = np.ones((len(rows) + 1, m))  # the last set keeps all rows
    weights[np.arange(len(rows)), rows] = 0.0
    problems = sl.build_problems(
        fitted.sketch,
        split.y,
        alphas=[fitted.alpha],
        radii=[fitted.radius],
        rows=weighted_rows(weights),
    )
    solution = sl.solve(problems.batch, settings=sl.Settings(tol=tol))
    models = linear_models(problems, solution.coef, fitted.sketch.transform, split.X)
    predicted = models.predict(split.X[rows])
    refitted, with_all = np.diagonal(predicted), predicted[:, -1]
    return np.abs(refitted - found.predictions[rows]), np.abs(refitted - with_all)
