"""Score vectors: residuals of each column on the others, always on the full data."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.data import MatrixLike
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.estimators.penalty import FAILURE, noise_quantile
from sketchlasso.inference.checks import as_numbers, dense_matrix
from sketchlasso.inference.column_problems import ColumnProblems, column_rows, slices
from sketchlasso.inference.nodewise import Nodewise, part_solver, solve_columns
from sketchlasso.solvers import Settings
from sketchlasso.types import FloatArray, IntArray, is_number

# Penalty of the regressions over the bound for pure noise. A smaller one leaves less bias and
# larger errors; at a half, intervals have the right coverage in benchmarks/inference.
SCORE_SHARE = 0.5
# Largest ratio of an error to that of a column that is uncorrelated with the others.
LARGEST_INFLATION = 3.0
COLUMNS_AT_A_TIME = 1024
# A score shorter than this share of its column is rounding.
ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class CentredColumns:
    """Columns of X (m, n) with their means (n,), and the lengths (n,) of the centred columns."""

    entries: Any
    means: FloatArray
    lengths: FloatArray

    def centred(self, which: IntArray) -> FloatArray:
        """Some columns (m, c), dense and centred."""
        return dense_matrix(self.entries[:, which]) - self.means[which]

    def own_products(self, which: IntArray, Z: FloatArray) -> FloatArray:
        """z_j'x_j (c,) of some columns with a score (m, c) each."""
        found = np.empty(len(which))
        for part in slices(len(which), COLUMNS_AT_A_TIME):
            found[part] = np.sum(Z[:, part] * self.centred(which[part]), axis=0)
        return found


def made_scores(
    columns: CentredColumns,
    features: IntArray,
    alpha: Any,
    settings: Settings,
    checkpoint: str | os.PathLike[str] | None,
    progress: Callable[[int, int], None] | None,
) -> FloatArray:
    """Scores (m, c) of some columns by regressions on all the others.

    With ``alpha="auto"`` columns whose errors are more than three times those of an uncorrelated
    column are regressed again with twice the penalty.
    """
    X, n = columns.entries, columns.entries.shape[1]
    automatic = isinstance(alpha, str) and alpha == "auto"
    if automatic:
        alpha = SCORE_SHARE * noise_quantile(max(n - 1, 1), FAILURE)
    elif not (is_number(alpha) and 0 < alpha < np.inf):
        raise unaccepted("score_alpha", alpha, "'auto' or a number > 0")
    rows = column_rows(X, True)
    problems = ColumnProblems(rows, alpha, features)
    arrays = {"P": rows.P, "targets": features, "alpha": problems.grid}
    decisive = {"tol": settings.tol, "device": settings.device, **arrays}
    with part_solver(checkpoint, decisive, len(features), progress) as solve:
        Z = _centred_residuals(solve(problems, settings), X)
    # A penalty above sqrt(m) changes no column.
    while automatic:
        over = np.flatnonzero(_inflation(columns, features, Z) > LARGEST_INFLATION)
        if len(over) == 0 or alpha > np.sqrt(X.shape[0]):
            break
        alpha = 2 * alpha
        problems = ColumnProblems(rows, alpha, features[over])
        Z[:, over] = _centred_residuals(solve_columns(problems, settings), X)
    return Z


def _centred_residuals(found: Nodewise, X: MatrixLike) -> FloatArray:
    """Residuals (m, c) of one regression per feature, about their means."""
    found.warn_if_unsolved()
    Z = found.residuals(X)
    return np.asarray(Z - Z.mean(axis=0))


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
    return np.asarray(Z - Z.mean(axis=0))


def bias_bounds(columns: CentredColumns, features: IntArray, Z: FloatArray) -> FloatArray:
    """max_k |z_j'x_k| / ||z_j|| (c,) over the other columns, each of standard deviation one."""
    m, n = columns.entries.shape
    scales = columns.lengths / np.sqrt(m)
    found = np.empty(len(features))
    for part in slices(len(features), COLUMNS_AT_A_TIME):
        z, own = Z[:, part], features[part]
        inner = np.abs(np.asarray(columns.entries.T @ z).T) / scales
        inner[np.arange(len(own)), own] = 0.0
        largest = inner.max(axis=1) if n > 1 else np.zeros(len(own))
        found[part] = largest / np.linalg.norm(z, axis=0)
    return found
