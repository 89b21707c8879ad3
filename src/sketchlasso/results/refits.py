"""Least-squares refits of models on their selected features (the post-LASSO), and their scores.

A mixture of the penalised fit and its refit, as in Meinshausen's relaxed LASSO, was tried on seven
kinds of data: chosen by cross-validation, it predicted no better than the refit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, optimize

from sketchlasso.linalg.rows import stack_rows
from sketchlasso.problem.terms import Terms
from sketchlasso.results.choices import CrossValidation, judged
from sketchlasso.results.path import LinearModels, Problem
from sketchlasso.results.scores import Metric, held_out_scores
from sketchlasso.types import FloatArray, IntArray

# A search refits no larger models: they take long.
MOST_FEATURES = 1000


class Refitter:
    """Least squares on any of some columns (c,) of X (r, n), with weights (r,)."""

    def __init__(self, X: Any, weights: FloatArray | None, columns: IntArray, terms: Terms) -> None:
        part = X[:, columns]
        dense = part if isinstance(part, np.ndarray) else part.toarray()
        entries = np.asarray(dense, dtype=np.float64)
        self._shares = np.ones(len(entries)) if weights is None else weights
        self._shares = self._shares / self._shares.sum()
        self._columns, self._terms = columns, terms
        means = self._shares @ entries if terms.fit_intercept else np.zeros(len(columns))
        self._means, self._root = means, np.sqrt(self._shares)
        self._A = self._root[:, None] * (entries - means)

    def refit(self, y: FloatArray, support: IntArray) -> tuple[FloatArray, float]:
        """Coefficients (s,) of the columns `support` (s,), and the intercept, for y (r,)."""
        mean = float(self._shares @ y) if self._terms.fit_intercept else 0.0
        places = np.searchsorted(self._columns, support)
        A, b = self._A[:, places], self._root * (y - mean)
        if len(support) == 0:
            values = np.zeros(0)
        elif self._terms.positive:
            values = optimize.nnls(A, b)[0]
        else:
            values = linalg.lstsq(A, b, check_finite=False)[0]
        return values, mean - float(self._means[places] @ values)


def refitted(
    found: CrossValidation, problem: Problem, metrics: tuple[Metric, ...]
) -> CrossValidation:
    """A cross-validation over the refits of its models, with their scores and predictions.

    Models with as many features as training rows, or too many to refit, have no score.
    """
    fits, rows, shape = found.fits, found.rows, found.fits.shape
    coef: Any = fits.models.coef
    supports = np.split(coef.indices, coef.indptr[1:-1])
    tried = np.isfinite(fits.models.intercept)
    refits = [(support, np.zeros(len(support))) for support in supports]
    intercept = np.zeros(len(supports))
    for fold, numbers in enumerate(np.split(np.arange(len(supports)), len(rows))):
        train, weights = rows[fold].training(rows.n_samples)
        most = min(MOST_FEATURES, len(train) - 1 - problem.terms.fit_intercept)
        tried[numbers] &= fits.models.n_nonzero[numbers] <= most
        numbers = numbers[tried[numbers]]
        columns = np.unique(np.concatenate([supports[number] for number in numbers]))
        refitter = Refitter(problem.X[train], weights, columns, problem.terms)
        known: dict[tuple[int, bytes], tuple[FloatArray, float]] = {}
        for number in numbers:
            response = int(np.unravel_index(number, shape)[1])
            # Neighbours on a path often have the same features.
            key = response, supports[number].tobytes()
            if key not in known:
                known[key] = refitter.refit(problem.Y[train, response], supports[number])
            refits[number] = supports[number], known[key][0]
            intercept[number] = known[key][1]
    models = LinearModels(stack_rows(refits, coef.shape[1]), intercept)
    scores = held_out_scores(
        problem.X,
        problem.Y,
        problem.weights,
        models,
        np.repeat(np.arange(shape[1]), shape[2] * shape[3]),
        rows,
        metrics,
    )
    everywhere = tried.reshape(shape).all(axis=0)
    return judged(
        problem.X,
        replace(fits, models=models),
        {name: np.where(everywhere, one.reshape(shape), np.nan) for name, one in scores.items()},
        rows,
    )
