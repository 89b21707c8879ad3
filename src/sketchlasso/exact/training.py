"""The rows one problem trains on: weights, means, residuals and correlations on the real X."""

from __future__ import annotations

import numpy as np

from sketchlasso.exact.columns import Columns
from sketchlasso.instances.rows import RowSet
from sketchlasso.linalg.centring import centre
from sketchlasso.types import FloatArray, IntArray

__all__ = ["TrainingRows"]


class TrainingRows:
    """A row set of X, centred where the problems have an intercept.

    Attributes
    ----------
    columns : Columns
    weights : ndarray of shape (m,)
        Zero on rows that do not train.
    weight : float
        Their sum.
    gram_weights : ndarray of shape (m,) or None
        The weights, None where all are one.
    means : ndarray of shape (n,)
        Weighted means of the columns; zero without an intercept.
    shifted_sums : ndarray of shape (n,)
        Weighted sums of the shifted columns, which centring subtracts.
    """

    def __init__(self, columns: Columns, row_set: RowSet, fit_intercept: bool) -> None:
        m = columns.shape[0]
        self.columns = columns
        self.fit_intercept = fit_intercept
        self.weights = np.ones(m) if row_set.weights is None else row_set.weights.astype(float)
        self.weights[row_set.removed] = 0.0
        self.weight = float(self.weights.sum())
        self.gram_weights = None if (self.weights == 1.0).all() else self.weights
        sums = columns.correlate(self.weights)
        none = np.zeros(columns.shape[1])
        self.means = sums / self.weight if fit_intercept else none
        self.shifted_sums = sums - columns.shift * self.weight if fit_intercept else none

    def centre_response(self, y: FloatArray) -> tuple[FloatArray, float]:
        """A response (m,) less its weighted mean over the rows, and the mean."""
        if not self.fit_intercept:
            return y, 0.0
        centred, means = centre(y[:, None], self.weights)
        return centred[:, 0], float(means[0])

    def residual(self, y: FloatArray, support: IntArray, values: FloatArray) -> FloatArray:
        """Y - X w with the best intercept (m,), for a centred y and w given on its support."""
        rest = y - self.columns.combine(support, values)
        if self.fit_intercept:
            # Centring the difference, not its parts, keeps its mean at zero to the last digit.
            rest -= float(self.weights @ rest) / self.weight
        return rest

    def square(self, vector: FloatArray) -> float:
        """||v||_W^2."""
        return float(self.weights @ (vector * vector))

    def correlate(self, vectors: FloatArray) -> FloatArray:
        """Centred x_j'W v (n,) of a vector (m,), or (n, a) of vectors (m, a)."""
        weighted = (self.weights * vectors.T).T
        seen = self.columns.correlate(weighted)
        if self.fit_intercept:
            seen -= np.multiply.outer(self.means, weighted.sum(axis=0))
        return seen

    def scaled(self, chosen: IntArray) -> FloatArray:
        """Centred columns (m, c), rows scaled by the root of their weights."""
        centred = self.columns.dense(chosen) - self.means[chosen]
        return np.asarray(np.sqrt(self.weights)[:, None] * centred)
