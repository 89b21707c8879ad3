"""Additive statistics of rows: what an instance knows of its data.

They are sums over rows, so changing rows is adding or subtracting k x k numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.types import FloatArray, RealArray

__all__ = ["Statistics", "row_statistics"]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Weighted sums over a set of rows of Q (., k) and Y (., t).

    Attributes
    ----------
    weight : float
        Sum of the weights.
    q_sum : ndarray of shape (k,)
        Q'W1.
    y_sum : ndarray of shape (t,)
        Y'W1.
    K : ndarray of shape (k, k)
        Q'WQ.
    g : ndarray of shape (k, t)
        Q'WY.
    yy : ndarray of shape (t,)
        Diagonal of Y'WY.
    """

    weight: float
    q_sum: FloatArray
    y_sum: FloatArray
    K: FloatArray
    g: FloatArray
    yy: FloatArray

    def __add__(self, other: Statistics) -> Statistics:
        return self._combined(other, 1.0)

    def __sub__(self, other: Statistics) -> Statistics:
        return self._combined(other, -1.0)

    def _combined(self, other: Statistics, sign: float) -> Statistics:
        return Statistics(
            weight=self.weight + sign * other.weight,
            q_sum=self.q_sum + sign * other.q_sum,
            y_sum=self.y_sum + sign * other.y_sum,
            K=self.K + sign * other.K,
            g=self.g + sign * other.g,
            yy=self.yy + sign * other.yy,
        )

    def centred(self) -> Statistics:
        """The same rows with the weighted mean projected out: the instance has an intercept."""
        return Statistics(
            weight=self.weight,
            q_sum=np.zeros_like(self.q_sum),
            y_sum=np.zeros_like(self.y_sum),
            K=self.K - np.outer(self.q_sum, self.q_sum) / self.weight,
            g=self.g - np.outer(self.q_sum, self.y_sum) / self.weight,
            yy=np.maximum(self.yy - self.y_sum**2 / self.weight, 0.0),
        )


def row_statistics(Q: RealArray, Y: FloatArray, weights: FloatArray | None = None) -> Statistics:
    """Statistics of the rows of Q (r, k) and Y (r, t), with weights (r,) or all one."""
    Q = Q.astype(np.float64, copy=False)
    weighted = Q if weights is None else Q * weights[:, None]
    scaled = Y if weights is None else Y * weights[:, None]
    return Statistics(
        weight=float(len(Q) if weights is None else weights.sum()),
        q_sum=weighted.sum(axis=0),
        y_sum=scaled.sum(axis=0),
        K=weighted.T @ Q,
        g=weighted.T @ Y,
        yy=np.sum(scaled * Y, axis=0),
    )
