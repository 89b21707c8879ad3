"""The columns of X as rows of a small matrix with the same inner products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import gen_batches

from sketchlasso.data import ColumnTransform, DataMatrix, MatrixLike
from sketchlasso.types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class ColumnRows:
    """Centred columns of X in an orthonormal basis of the rows: P P' = A'A.

    Where m <= n the basis is the rows themselves, and P = A'. Where m > n it comes from A = Q R
    without Q, and P = R'. Either way regressions of columns on columns are those of the data.

    Row j of P (n, min(m, n)) stands for column j of X, centred and, if `standardized`, of standard
    deviation one; rows of `constant` (n,) columns are zero. `means` and `scales` (n,) are in the
    units of X; the scales are 1 unless `standardized`. X was first divided by the power of two
    `unit`.
    """

    P: FloatArray
    means: FloatArray
    scales: FloatArray
    constant: BoolArray
    unit: float
    n_samples: int
    standardized: bool

    @property
    def n_features(self) -> int:
        """Number n of columns of X."""
        return self.P.shape[0]

    @property
    def lengths(self) -> FloatArray:
        """Lengths (n,) of the centred columns in the units of X; 0 for constant ones."""
        return np.asarray(np.linalg.norm(self.P, axis=1) * self.scales * self.unit)

    @property
    def penalty_unit(self) -> float:
        """What penalties of these columns are divided by; standardised columns have no unit."""
        return 1.0 if self.standardized else self.unit

    @property
    def transform(self) -> ColumnTransform:
        """The map from X to the columns in P; the unit of X changes no coefficient."""
        return ColumnTransform(self.means, self.scales)

    def largest_products(self) -> FloatArray:
        """Largest |p_i'p_j| (n,) of each row of P with another row."""
        largest = np.empty(self.n_features)
        for part in gen_batches(self.n_features, 512):
            products = np.abs(self.P[part] @ self.P.T)
            products[np.arange(len(products)), np.arange(part.start, part.stop)] = 0.0
            largest[part] = products.max(axis=1)
        return largest


def column_rows(X: MatrixLike, standardize: bool) -> ColumnRows:
    """Centre the columns of X (m, n), and optionally scale them to standard deviation one."""
    A, unit = DataMatrix.in_own_units(X, center=True, scale=True)
    A = A.in_double()
    m, n = A.shape
    means, scales = A.transform.means, A.transform.scales
    assert means is not None and scales is not None
    # All but constant columns, which hold the rounding of their means, have mean square one.
    constant = np.abs(A.column_lengths() / m - 1.0) > 1e-3
    if m <= n:
        dense = A.dense()
        P = (dense - dense.mean(axis=0)).T  # less the rounding that the means left in the sums
    else:
        P = A.triangle(np.eye(n)).T
    P = np.ascontiguousarray(P, dtype=np.float64)
    P[constant] = 0.0
    if not standardize:
        P *= scales[:, None]
        scales = np.ones(n)
    return ColumnRows(P, means * unit, scales, constant, unit, m, standardize)
