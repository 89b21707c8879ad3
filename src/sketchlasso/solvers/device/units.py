"""Problems in units of their own size, so that no number leaves the range of single precision.

With null = ||(c, s)|| and size the length of the longest row of R, w = (null / size) w' turns an
instance into one with c / null, s / null, R / size, alpha / size and radius / size, whose optimum
is that of the original over null; dual points do not change. Both are rounded to powers
of two, so that the conversion is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.problem.batch import Batch
from sketchlasso.problem.objective import null_value
from sketchlasso.solvers.algorithms.protocol import Iterates
from sketchlasso.types import FloatArray, IntArray, SparseRows

__all__ = ["Units"]


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a batch.

    Attributes
    ----------
    size : float
        Of its rows.
    null : ndarray of shape (B,)
        Of its responses.
    """

    size: float
    null: FloatArray

    @classmethod
    def of(cls, batch: Batch) -> Units:
        """The units in which a batch is neither large nor small."""
        P = np.asarray(batch.P, dtype=np.float64)
        largest = float(np.abs(P).max())
        # Squares of very small or large entries would underflow or overflow.
        length = largest * np.sqrt(np.max(np.sum((P / (largest or 1.0)) ** 2, axis=1)))
        if batch.roots is not None:
            length *= float(np.linalg.norm(batch.roots, axis=(1, 2)).max())
        return cls(float(_power_of_two(np.array(length))), _power_of_two(null_value(batch)))

    def scaled(self, batch: Batch) -> Batch:
        """The batch in these units, P in double precision."""
        return replace(
            batch,
            P=np.asarray(batch.P, dtype=np.float64) / self.size,
            c=batch.c / self.null[:, None],
            s=batch.s / self.null,
            alpha=batch.alpha / self.size,
            radius=batch.radius / self.size,
        )

    def take(self, instances: IntArray) -> Units:
        """The units of some of the instances."""
        return Units(self.size, self.null[instances])

    def start(self, warm: Iterates) -> Iterates:
        """Starting points in these units."""
        return replace(warm, coef=self._times(warm.coef, self.size / self.null))

    def coef(self, coef: Any) -> SparseRows:
        """Coefficients (B, n) of the original batch from those of the scaled one."""
        return self._times(coef, self.null / self.size)

    def _times(self, coef: Any, factor: FloatArray) -> SparseRows:
        each = np.repeat(factor, np.diff(coef.indptr))
        return sparse.csr_array((coef.data * each, coef.indices, coef.indptr), shape=coef.shape)


def _power_of_two(values: FloatArray) -> FloatArray:
    """The power of two (B,) next below each number; 1 for 0."""
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(values))
    return np.asarray(np.where(values > 0, np.exp2(np.where(values > 0, exponent, 0.0)), 1.0))
