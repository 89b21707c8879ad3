"""The columns of X as the rows of one small matrix that keeps every inner product."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sketchlasso.data import ColumnTransform, DataMatrix, MatrixLike
from sketchlasso.linalg.operator import as_dense
from sketchlasso.types import BoolArray, FloatArray

__all__ = ["ColumnRows", "column_rows", "with_responses"]

# A scaled column varies if its mean square is one up to this.
CONSTANT = 1e-3


@dataclass(frozen=True, eq=False)
class ColumnRows:
    """Centred columns of X in an orthonormal basis of the rows: P P' = A'A.

    Where m <= n the basis is the rows themselves, and P = A'. Where m > n it comes from A = Q R
    without Q, and P = R'. Either way regressions of columns on columns are those of the data.

    Attributes
    ----------
    P : ndarray of shape (n, min(m, n))
        Row j stands for column j of X, centred and, where asked, of standard deviation one.
    means, scales : ndarray of shape (n,)
        In the units of X; the scales are 1 where columns keep their own.
    constant : ndarray of shape (n,)
        Columns without spread; their rows of P are zero.
    unit : float
        What X was divided by before anything else, a power of two.
    n_samples : int
    standardized : bool
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
    def transform(self) -> ColumnTransform:
        """From X to the columns that P stands for; a unit of all of X changes no coefficient."""
        return ColumnTransform(self.means, self.scales)


def column_rows(X: MatrixLike, standardize: bool) -> ColumnRows:
    """Centre the columns of X (m, n), and scale them to standard deviation one where asked.

    Raises
    ------
    InvalidInputError
        X is not a matrix of finite real numbers.
    """
    A, unit = DataMatrix.in_own_units(X, center=True, scale=True)
    A = A.in_double()
    m, n = A.shape
    means, scales = A.transform.means, A.transform.scales
    assert means is not None and scales is not None
    # Every other column has mean square one; a constant one keeps the rounding of its mean.
    constant = np.abs(A.column_lengths() / m - 1.0) > CONSTANT
    P = _centred(as_dense(A)).T if m <= n else A.triangle(np.eye(n)).T
    P = np.ascontiguousarray(P, dtype=np.float64)
    P[constant] = 0.0
    if not standardize:
        P *= scales[:, None]
        scales = np.ones(n)
    return ColumnRows(P, means * unit, scales, constant, unit, m, standardize)


def with_responses(columns: ColumnRows, X: Any, Y: FloatArray) -> ColumnRows:
    """Append responses as further columns, after those of X.

    Where m > n the basis has one more direction, outside of the columns of X. All responses
    share it, so they must not be regressed on each other.

    Parameters
    ----------
    columns : ColumnRows
        Of X, standardised.
    X : ndarray, csr_array or BlockMatrix of shape (m, n)
    Y : ndarray of shape (m, t)
        Each varies.
    """
    m, n = X.shape
    means = Y.mean(axis=0)
    centred = Y - means
    spreads = np.linalg.norm(centred, axis=0) / np.sqrt(m)
    units = centred / spreads
    P = columns.P
    if m <= n:
        rows = units.T
    else:
        products = np.asarray(X.T @ units) / (columns.scales * columns.unit)[:, None]
        products[columns.constant] = 0.0
        inside = np.linalg.lstsq(P, products, rcond=None)[0]
        outside = np.sqrt(np.maximum(m - np.sum(inside**2, axis=0), 0.0))
        rows = np.vstack([inside, outside]).T
        P = np.hstack([P, np.zeros((n, 1))])
    return replace(
        columns,
        P=np.ascontiguousarray(np.vstack([P, rows])),
        means=np.concatenate([columns.means, means]),
        scales=np.concatenate([columns.scales, spreads / columns.unit]),
        constant=np.concatenate([columns.constant, np.zeros(Y.shape[1], dtype=bool)]),
    )


def _centred(A: Any) -> FloatArray:
    """A (m, n) less the rounding that the means left in its column sums."""
    return np.asarray(A - A.mean(axis=0))
