"""The columns of X as the rows of one small matrix that keeps every inner product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchlasso.data import DataMatrix, MatrixLike
from sketchlasso.linalg.operator import as_dense
from sketchlasso.types import BoolArray, FloatArray

__all__ = ["ColumnRows", "column_rows"]

# Rows of X beyond the columns that join the triangle at a time.
ROWS_AT_A_TIME = 1024


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
    # Every other column has mean square one.
    constant = A.column_lengths() < 0.5 * m
    P = _centred(as_dense(A)).T if m <= n else _triangle(A).T
    P = np.ascontiguousarray(P)
    P[constant] = 0.0
    if not standardize:
        P *= scales[:, None]
        scales = np.ones(n)
    return ColumnRows(P, means * unit, scales, constant, unit, m, standardize)


def _centred(A: Any) -> FloatArray:
    """A (m, n) less the rounding that the means left in its column sums."""
    return np.asarray(A - A.mean(axis=0))


def _triangle(A: DataMatrix) -> FloatArray:
    """R (n, n) of A = Q R for tall A, some rows at a time."""
    n = A.shape[1]
    if A.keeps_rows:
        return np.asarray(A.triangle(np.eye(n)))
    R = np.empty((0, n))
    for block in A.row_blocks(n + ROWS_AT_A_TIME):
        R = np.asarray(np.linalg.qr(np.vstack([R, as_dense(block)]), mode="r"))
    return R
