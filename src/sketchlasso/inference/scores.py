"""Score vectors: residuals of each column on the others, always on the full data."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils import gen_batches

from sketchlasso.errors import unaccepted
from sketchlasso.estimators.penalty import FAILURE, noise_quantile
from sketchlasso.inference.checks import dense_matrix
from sketchlasso.inference.columns import ColumnRows
from sketchlasso.inference.regressions import ColumnSolver, Nodewise, Progress
from sketchlasso.solvers import Settings
from sketchlasso.storage import Parts
from sketchlasso.types import FloatArray, IntArray, is_number

COLUMNS_AT_A_TIME = 1024


class CentredColumns:
    """Products with the columns of X (m, n), centred but not stored.

    `rows` are the same columns of standard deviation one in a small basis.
    """

    def __init__(self, X: Any, rows: ColumnRows) -> None:
        self.X, self.rows = X, rows
        self.means, self.lengths = rows.means, rows.lengths
        self.shape: tuple[int, int] = X.shape

    @property
    def enough_rows(self) -> bool:
        """Whether rows suffice for least squares on all columns.

        From 0.75 columns per row on standard errors are more than twice those of many more rows.
        """
        return self.shape[1] <= 0.75 * (self.shape[0] - 1)

    def products(self, Y: FloatArray) -> FloatArray:
        """Products (n, t) of the centred columns with Y (m, t)."""
        return np.asarray(self.X.T @ Y) - np.outer(self.means, Y.sum(axis=0))

    def own_products(self, which: IntArray, Z: FloatArray) -> FloatArray:
        """z_j'x_j (c,) of some columns with a score (m, c) each."""
        inner = np.empty(len(which))
        for part in gen_batches(len(which), COLUMNS_AT_A_TIME):
            columns = dense_matrix(self.X[:, which[part]]) - self.means[which[part]]
            inner[part] = np.sum(Z[:, part] * columns, axis=0)
        return inner

    def bias_bounds(self, which: IntArray, Z: FloatArray) -> FloatArray:
        """max_k |z_j'x_k| / ||z_j|| (c,) over the other columns, each of standard deviation one."""
        scales = self.lengths / np.sqrt(self.shape[0])
        bounds = np.zeros(len(which))
        for part in gen_batches(len(which), COLUMNS_AT_A_TIME):
            z = Z[:, part]
            inner = np.abs(self.products(z)) / scales[:, None]
            inner[which[part], np.arange(z.shape[1])] = 0.0
            bounds[part] = inner.max(axis=0) / np.linalg.norm(z, axis=0)
        return bounds


def about_mean(values: FloatArray) -> FloatArray:
    """Columns (m, c) less their means: twice, as a large mean leaves rounding the first time."""
    values = values - values.mean(axis=0)
    return np.asarray(values - values.mean(axis=0))


def largest_score_penalty(n: int) -> float:
    """Penalty of the score of a column that is uncorrelated with the n - 1 others.

    Half the bound for pure noise: a smaller one leaves less bias and larger errors.
    """
    return 0.5 * noise_quantile(max(n - 1, 1), FAILURE)


def made_scores(
    columns: CentredColumns,
    features: IntArray,
    alpha: Any,
    settings: Settings,
    checkpoint: str | os.PathLike[str] | None,
    progress: Progress | None,
) -> FloatArray:
    """Scores (m, c) of some columns by regressions on all the others.

    With ``alpha="auto"`` there is no penalty where rows suffice. Elsewhere it is the smaller, the
    better the other columns explain a column; one of which too little is left is regressed again
    with twice the penalty.
    """
    rows, (m, n) = columns.rows, columns.shape
    automatic = isinstance(alpha, str) and alpha == "auto"
    if not automatic and not (is_number(alpha) and 0 < alpha < np.inf):
        raise unaccepted("score_alpha", alpha, "'auto' or a number > 0")
    if automatic and columns.enough_rows:
        Z = LeastSquares(columns).residuals(features)
        if progress is not None:
            progress(len(features), len(features))
        return Z
    penalty = np.full(len(features), float(largest_score_penalty(n) if automatic else alpha))
    if automatic:
        # Columns that others explain need smaller penalties, but with few rows per column those
        # only fit the noise in a column.
        least = max(0.4, 1.0 - 1.2 * m / n)
        penalty *= np.clip(1.0 / ridge_inflation(rows)[features], least, 1.0)

    def residuals(regressions: Nodewise) -> FloatArray:
        regressions.warn_if_unsolved()
        return about_mean(regressions.residuals(columns.X))

    decisive = {
        "tol": settings.tol,
        "device": settings.device,
        "P": rows.P,
        "targets": features,
        "alpha": penalty,
    }
    with Parts.beside(checkpoint, decisive, "data set") as parts:
        solver = ColumnSolver(settings, progress=progress, parts=parts)
        Z = residuals(solver.solve(rows, penalty[:, None], features))
    while automatic:
        over = np.flatnonzero(_inflation(columns, features, Z) > 5.0)
        # A penalty above sqrt(m) changes no column.
        if len(over) == 0 or penalty[over].min() > np.sqrt(m):
            break
        penalty[over] *= 2.0
        again = ColumnSolver(settings).solve(rows, penalty[over, None], features[over])
        Z[:, over] = residuals(again)
    return Z


class LeastSquares:
    """Least squares on the centred columns of X, which are independent and fewer than the rows."""

    def __init__(self, columns: CentredColumns) -> None:
        self.columns = columns
        self._scales = columns.lengths / np.sqrt(columns.shape[0])
        self._factor = linalg.qr(columns.rows.P.T, mode="r")[0][: columns.shape[1]]

    def coef(self, Y: FloatArray) -> FloatArray:
        """Coefficients (t, n) of centred responses Y (m, t), in the units of X."""
        b = self._solve(self._products(Y))
        b += self._solve(self._products(Y - self._combined(b)))
        return np.asarray((b / self._scales[:, None]).T)

    def residuals(self, features: IntArray) -> FloatArray:
        """Residuals (m, c) of some columns after least squares on all the others.

        That of column j is a combination w of all columns with w_j = 1 whose products with the
        others are zero: a column of the inverse of A'A over its diagonal entry, improved once.
        """
        m, n = self.columns.shape
        Z = np.empty((m, len(features)))
        for part in gen_batches(len(features), COLUMNS_AT_A_TIME):
            own = (features[part], np.arange(part.stop - part.start))
            w = np.zeros((n, part.stop - part.start))
            w[own] = 1.0
            w = self._solve(w)
            w /= w[own]
            excess = self._products(self._combined(w))
            excess[own] = 0.0
            w -= self._solve(excess)
            w /= w[own]
            Z[:, part] = self._combined(w) * self._scales[features[part]]
        return Z

    def _solve(self, right: FloatArray) -> FloatArray:
        """(A'A)^-1 times some vectors (n, t), A the columns with standard deviation one."""
        return np.asarray(linalg.cho_solve((self._factor, False), right))

    def _products(self, Y: FloatArray) -> FloatArray:
        """A'Y (n, t) of centred Y (m, t)."""
        return self.columns.products(Y) / self._scales[:, None]

    def _combined(self, w: FloatArray) -> FloatArray:
        """A w (m, t), centred."""
        return about_mean(np.asarray(self.columns.X @ (w / self._scales[:, None])))


def ridge_inflation(rows: ColumnRows) -> FloatArray:
    """About how much the others, as far as the rows show it, enlarge the error of a column (n,).

    A ridge regression of column j on the others with penalty k leaves the share

        u_j = k h_j / ((1 - h_j) m),    h_j = p_j' (k I + P'P)^-1 p_j,

    and of a column uncorrelated with the others the mean u of k times the eigenvalues of that
    inverse. The result is the root of u / u_j, with k the number of columns.
    """
    P, m, k = rows.P, rows.n_samples, float(rows.n_features)
    inverse = linalg.inv(k * np.eye(P.shape[1]) + P.T @ P)
    h = np.einsum("ij,ij->i", P @ inverse, P)
    left = k * h / ((1.0 - h) * m)
    usual = (k * np.trace(inverse) + (m - P.shape[1])) / m
    return np.asarray(np.sqrt(usual / left))


def _inflation(columns: CentredColumns, features: IntArray, Z: FloatArray) -> FloatArray:
    """||z_j|| ||x_j|| / |z_j'x_j| (c,), at least 1; infinite where nothing is left of x_j."""
    own = columns.lengths[features]
    lengths = np.linalg.norm(Z, axis=0)
    lengths = np.where(lengths > 1e-8 * own, lengths, np.inf)  # a shorter one is rounding
    with np.errstate(divide="ignore"):
        return np.asarray(lengths * own / np.abs(columns.own_products(features, Z)))
