"""The pipeline that is timed: sketch, every fold and penalty, choice, refit, test score."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

import sketchlasso as sl
from reproduction.data import SEED, Split, folds
from sketchlasso.errors import InvalidInputError

__all__ = ["Fitted", "cross_validated", "solve_settings"]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What the pipeline made.

    Attributes
    ----------
    seconds : float
        All of it: sketch, cross-validation, refit.
    sketch_seconds : float
    test_f1, cv_score : float or None
        None where the radius leaves no feature at any penalty.
    nonzeros : int
    alpha, radius : float
        Of the refit.
    at_edge : bool
        Whether the smallest penalty of the grid was the best.
    worst_gap : float
    sketch : Sketch or None
    """

    seconds: float
    sketch_seconds: float
    test_f1: float | None
    cv_score: float | None
    nonzeros: int
    alpha: float
    radius: float
    at_edge: bool
    worst_gap: float
    sketch: sl.Sketch | None

    def row(self) -> dict[str, Any]:
        """All but the sketch, for a results file."""
        return {name: value for name, value in vars(self).items() if name != "sketch"}


def solve_settings(tol: float = 1e-6) -> sl.Settings:
    """Settings of every timed solve."""
    return sl.Settings(tol=tol)


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
) -> Fitted:
    """Everything that a user waits for; ``rank=None`` is the full model, solved exactly."""
    start = perf_counter()
    made = None
    if rank is not None:
        seen = split.y if method == "response" else None
        made = sl.sketch(split.X, seen, rank=rank, method=method, random_state=SEED)
    radii = None if made is None else [radius]
    options: dict[str, Any] = {} if made is None else {"settings": solve_settings(tol)}
    try:
        found = sl.cross_validate(
            made,
            split.X,
            split.y,
            cv=folds(len(split.y), n_folds),
            metrics=("f1", "mse"),
            alphas=alphas,
            alpha_min_ratio=ratio,
            radii=radii,
            **options,
        )
    except InvalidInputError:
        # The radius makes w = 0 optimal at every penalty.
        return _nothing(split, made, perf_counter() - start)
    best = found.best("f1")
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
    gaps = [float(np.max(found.relative_gap)), float(np.max(path.relative_gap))]
    return Fitted(
        seconds=seconds,
        sketch_seconds=0.0 if made is None else made.cost.seconds,
        test_f1=float(f1_score(split.y_test > 0, predicted)),
        cv_score=float(found.mean("f1")[0, best.radius_index, best.alpha_index]),
        nonzeros=int(np.diff(path.models.coef.indptr)[0]),
        alpha=best.alpha,
        radius=float(np.ravel(path.radius)[0]) if made is not None else 0.0,
        at_edge=best.alpha_index == alphas - 1,
        worst_gap=max(gaps),
        sketch=made,
    )


def _nothing(split: Split, made: sl.Sketch | None, seconds: float) -> Fitted:
    """The empty model: it predicts the most frequent training class for every row."""
    says = np.full(len(split.y_test), split.y.mean() > 0)
    f1 = float(f1_score(split.y_test > 0, says, zero_division=0.0))
    cost = 0.0 if made is None else made.cost.seconds
    return Fitted(seconds, cost, f1, None, 0, 0.0, 0.0, False, 0.0, made)
