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
    """One run of the pipeline: seconds of all of it and of the sketch, and the refitted model.

    `worst_gap` and `unsolved` are over all problems; `at_edge` says whether the smallest penalty
    of the grid was the best.
    """

    seconds: float
    sketch: sl.Sketch | None
    sketch_seconds: float = 0.0
    test_f1: float = 0.0
    nonzeros: int = 0
    alpha: float = 0.0
    radius: float = 0.0
    at_edge: bool = False
    worst_gap: float = 0.0
    unsolved: int = 0

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
    options: dict[str, Any] = {}
    if rank is not None:
        seen = split.y if method == "response" else None
        made = sl.sketch(split.X, seen, rank=rank, method=method, random_state=SEED)
        options["settings"] = sl.Settings(tol=tol)
    cost = 0.0 if made is None else made.cost.seconds
    try:
        search = sl.cross_validate(
            made,
            split.X,
            split.y,
            cv=folds(len(split.y), n_folds),
            metrics=tuple(dict.fromkeys((metric, "mse"))),
            alphas=alphas,
            alpha_min_ratio=ratio,
            radii=None if made is None else [radius],
            **options,
        )
    except InvalidInputError:
        # The radius makes w = 0 optimal at every penalty: the most frequent class is predicted.
        says = np.full(len(split.y_test), split.y.mean() > 0)
        f1 = float(f1_score(split.y_test > 0, says, zero_division=0.0))
        return Fitted(perf_counter() - start, made, cost, f1)
    best = search.best(metric)
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
    status = np.append(search.status, path.status)
    return Fitted(
        seconds,
        made,
        cost,
        test_f1=float(f1_score(split.y_test > 0, predicted)),
        nonzeros=int(path.models.n_nonzero[0]),
        alpha=best.alpha,
        radius=0.0 if made is None else float(np.ravel(path.radius)[0]),
        at_edge=best.alpha_index == alphas - 1,
        worst_gap=float(np.append(search.relative_gap, path.relative_gap).max()),
        unsolved=int(np.sum(status != sl.Status.SOLVED)),
    )


def left_out_errors(
    split: Split, fitted: Fitted, left_out: sl.LeaveOneOut, count: int, tol: float = 1e-10
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
    return np.abs(refitted - left_out.predictions[rows]), np.abs(refitted - with_all)
