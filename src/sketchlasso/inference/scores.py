"""Score vectors: residuals of each column on the others, always on the full data."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from sketchlasso.data import MatrixLike
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.estimators.penalty import FAILURE, noise_quantile
from sketchlasso.inference.checks import as_numbers, dense_matrix
from sketchlasso.inference.column_problems import ColumnProblems, ColumnRows, slices
from sketchlasso.inference.nodewise import Nodewise, part_solver, solve_columns
from sketchlasso.solvers import Settings
from sketchlasso.types import FloatArray, IntArray, is_number

# Scores are residuals of least squares where columns are at most this share of the rows: standard
# errors are then at most twice those that many more rows would give.
UNPENALISED = 0.75
# Largest penalty over the bound for pure noise. A smaller one leaves less bias and larger errors.
SCORE_SHARE = 0.5
# Columns that others explain need smaller penalties, down to this part of the largest one.
SMALLEST_SHARE = 0.4
# Largest ratio of an error to that of a column that is uncorrelated with the others.
LARGEST_INFLATION = 5.0
COLUMNS_AT_A_TIME = 1024
# A score shorter than this share of its column is rounding.
ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class CentredColumns:
    """Columns of X (m, n) with their means (n,), and the lengths (n,) of the centred columns."""

    entries: Any
    means: FloatArray
    lengths: FloatArray

    def products(self, Y: FloatArray) -> FloatArray:
        """Products (n, t) of the centred columns with Y (m, t)."""
        return np.asarray(self.entries.T @ Y) - np.outer(self.means, Y.sum(axis=0))

    def centred(self, which: IntArray) -> FloatArray:
        """Some columns (m, c), dense and centred."""
        return dense_matrix(self.entries[:, which]) - self.means[which]

    def own_products(self, which: IntArray, Z: FloatArray) -> FloatArray:
        """z_j'x_j (c,) of some columns with a score (m, c) each."""
        found = np.empty(len(which))
        for part in slices(len(which), COLUMNS_AT_A_TIME):
            found[part] = np.sum(Z[:, part] * self.centred(which[part]), axis=0)
        return found


def about_mean(values: FloatArray) -> FloatArray:
    """Columns (m, c) less their means: twice, as a large mean leaves rounding the first time."""
    values = values - values.mean(axis=0)
    return np.asarray(values - values.mean(axis=0))


def unpenalised(m: int, n: int) -> bool:
    """Whether m rows suffice for least squares on n columns."""
    return n <= UNPENALISED * (m - 1)


def largest_score_penalty(n: int) -> float:
    """Penalty of the score of a column that is uncorrelated with the n - 1 others."""
    return SCORE_SHARE * noise_quantile(max(n - 1, 1), FAILURE)


def made_scores(
    columns: CentredColumns,
    rows: ColumnRows,
    features: IntArray,
    alpha: Any,
    settings: Settings,
    checkpoint: str | os.PathLike[str] | None,
    progress: Callable[[int, int], None] | None,
) -> FloatArray:
    """Scores (m, c) of some columns by regressions on all the others.

    With ``alpha="auto"`` there is no penalty where rows suffice. Elsewhere it is the smaller, the
    better the other columns explain a column, because their bias then adds up. A column of which
    too little is left is regressed again with twice the penalty.
    """
    X, (m, n) = columns.entries, columns.entries.shape
    automatic = isinstance(alpha, str) and alpha == "auto"
    if not automatic and not (is_number(alpha) and 0 < alpha < np.inf):
        raise unaccepted("score_alpha", alpha, "'auto' or a number > 0")
    if automatic and unpenalised(m, n):
        Z = LeastSquares(columns, rows).residuals(features)
        if progress is not None:
            progress(len(features), len(features))
        return Z
    penalty = np.full(len(features), float(largest_score_penalty(n) if automatic else alpha))
    if automatic:
        # With few rows per column smaller penalties only fit the noise in a column.
        least = max(SMALLEST_SHARE, 1.0 - 1.2 * m / n)
        penalty *= np.clip(1.0 / ridge_inflation(rows)[features], least, 1.0)
    problems = ColumnProblems(rows, penalty[:, None], features)
    arrays = {"P": rows.P, "targets": features, "alpha": problems.grid}
    decisive = {"tol": settings.tol, "device": settings.device, **arrays}
    with part_solver(checkpoint, decisive, len(features), progress) as solve:
        Z = _centred_residuals(solve(problems, settings), X)
    while automatic:
        over = np.flatnonzero(_inflation(columns, features, Z) > LARGEST_INFLATION)
        # A penalty above sqrt(m) changes no column.
        if len(over) == 0 or penalty[over].min() > np.sqrt(m):
            break
        penalty[over] *= 2.0
        problems = ColumnProblems(rows, penalty[over, None], features[over])
        Z[:, over] = _centred_residuals(solve_columns(problems, settings), X)
    return Z


class LeastSquares:
    """Least squares on the centred columns of X, which are independent and fewer than the rows."""

    def __init__(self, columns: CentredColumns, rows: ColumnRows) -> None:
        self.columns = columns
        self._scales = columns.lengths / np.sqrt(columns.entries.shape[0])
        self._factor = linalg.qr(rows.P.T, mode="r")[0][: rows.n_features]

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
        X = self.columns.entries
        Z = np.empty((X.shape[0], len(features)))
        for part in slices(len(features), COLUMNS_AT_A_TIME):
            own = (features[part], np.arange(part.stop - part.start))
            w = np.zeros((X.shape[1], part.stop - part.start))
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
        inner = linalg.solve_triangular(self._factor, right, trans="T")
        return np.asarray(linalg.solve_triangular(self._factor, inner))

    def _products(self, Y: FloatArray) -> FloatArray:
        """A'Y (n, t) of centred Y (m, t)."""
        return self.columns.products(Y) / self._scales[:, None]

    def _combined(self, w: FloatArray) -> FloatArray:
        """A w (m, t), centred."""
        found = np.asarray(self.columns.entries @ (w / self._scales[:, None]))
        return about_mean(found)


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


def _centred_residuals(found: Nodewise, X: MatrixLike) -> FloatArray:
    """Residuals (m, c) of one regression per feature, about their means."""
    found.warn_if_unsolved()
    Z = found.residuals(X)
    return about_mean(Z)


def _inflation(columns: CentredColumns, features: IntArray, Z: FloatArray) -> FloatArray:
    """||z_j|| ||x_j|| / |z_j'x_j| (c,), at least 1; infinite where nothing is left of x_j."""
    own = columns.lengths[features]
    lengths = np.linalg.norm(Z, axis=0)
    lengths = np.where(lengths > ROUNDING * own, lengths, np.inf)
    with np.errstate(divide="ignore"):
        return np.asarray(lengths * own / np.abs(columns.own_products(features, Z)))


def ready_scores(columns: CentredColumns, features: IntArray, scores: Any) -> FloatArray:
    """Scores (m, c) from the user: ready, or residuals on the full X of given coefficients."""
    m, n = columns.entries.shape
    c, given = len(features), scores
    if isinstance(scores, Nodewise):
        if not np.array_equal(scores.targets, features):
            raise InvalidInputError(
                f"scores are regressions of {len(scores.targets)} columns, but there are {c} "
                "features; pass one regression for each of them, in their order."
            )
        Z = scores.residuals(columns.entries)
    elif sparse.issparse(scores):
        if given.shape != (c, n):
            raise InvalidInputError(
                f"scores is a sparse matrix of shape {given.shape}, but coefficients of "
                f"regressions of {c} columns on {n} are needed; pass them in shape ({c}, {n})."
            )
        Z = columns.centred(features) - dense_matrix(columns.entries @ given.T)
    else:
        Z = as_numbers("scores", scores)
    if Z.shape != (m, c):
        raise InvalidInputError(
            f"scores has shape {Z.shape}, but one column of {m} numbers for each of {c} features "
            f"is needed; pass scores of shape ({m}, {c})."
        )
    if not np.isfinite(Z).all():
        raise InvalidInputError(
            "scores holds NaN or infinity, but every score must be finite; make them again."
        )
    return about_mean(Z)


def bias_bounds(columns: CentredColumns, features: IntArray, Z: FloatArray) -> FloatArray:
    """max_k |z_j'x_k| / ||z_j|| (c,) over the other columns, each of standard deviation one."""
    m, n = columns.entries.shape
    scales = columns.lengths / np.sqrt(m)
    found = np.empty(len(features))
    for part in slices(len(features), COLUMNS_AT_A_TIME):
        z, own = Z[:, part], features[part]
        inner = np.abs(columns.products(z).T) / scales
        inner[np.arange(len(own)), own] = 0.0
        largest = inner.max(axis=1) if n > 1 else np.zeros(len(own))
        found[part] = largest / np.linalg.norm(z, axis=0)
    return found
