"""Regressions of columns on columns as batches of problems without a radius.

The columns of X become the rows of a small matrix with the same inner products; solutions come
back in the units of X.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.cluster import active_engine
from sketchlasso.data import ColumnTransform, DataMatrix, MatrixLike
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.estimators.penalty import FAILURE, SLACK, outweighing
from sketchlasso.exact import solve_many
from sketchlasso.instances.build import excluded_rows
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import replace_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.solvers import Settings, Status, solve_or_raise
from sketchlasso.solvers.solution import status_of
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows

# At most this many entries of correlations, and this many targets, are solved together.
ENTRIES_PER_PART = 2**24
TARGETS_PER_PART = 512
# A residual of no more than this share of its column is an exact fit.
EXACT_FIT = 1e-6


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


def with_responses(columns: ColumnRows, X: Any, Y: FloatArray) -> ColumnRows:
    """Append responses Y (m, t), which vary, to the standardised columns of X (m, n).

    Where m > n the basis has one more direction, outside of the columns of X. All responses
    share it, so they must not be regressed on each other.
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


@dataclass(frozen=True, eq=False)
class ColumnSolutions:
    """Solved regressions, on the scale of X; see :class:`Nodewise` for the shapes."""

    coef: SparseRows
    intercept: FloatArray
    residual_norm: FloatArray
    relative_gap: FloatArray
    status: IntArray


class ColumnProblems:
    """The regressions of targets (t,) on predictors (p,), all by default.

    Constant predictors are dropped. `grid` (t, a) has the penalties of each target, in the units
    of X or of columns with standard deviation one.
    """

    def __init__(
        self,
        columns: ColumnRows,
        alpha: float | str | ArrayLike,
        targets: IntArray | None = None,
        predictors: IntArray | None = None,
    ) -> None:
        everyone = np.arange(columns.n_features)
        allowed = everyone if predictors is None else predictors
        self.columns = columns
        self.targets = everyone if targets is None else targets
        self.predictors = allowed[~columns.constant[allowed]]
        self.grid = penalty_table(columns, alpha, self.targets, self.predictors)
        whole = len(self.predictors) == columns.n_features
        self._P = columns.P if whole else columns.P[self.predictors]
        # Position of each column among the predictors, -1 for the others.
        self._place = np.full(columns.n_features, -1, dtype=np.intp)
        self._place[self.predictors] = np.arange(len(self.predictors))

    @property
    def targets_per_part(self) -> int:
        """Targets that are solved together in bounded memory."""
        width = max(self._P.shape[0], self._P.shape[1], 1) * self.grid.shape[1]
        return int(np.clip(ENTRIES_PER_PART // width, 1, TARGETS_PER_PART))

    def solve(self, part: slice, settings: Settings) -> ColumnSolutions:
        """Solve the regressions of some targets."""
        own, alphas = self.targets[part], self.grid[part] / self.columns.penalty_unit
        count = alphas.shape[1]
        size = len(own) * count
        w = sparse.csr_array((size, len(self.predictors)))
        gap = np.zeros(size)
        status = status_of(gap, settings.tol, Status.STALLED)
        # A constant target, and one without predictors, is explained by its mean.
        open_ = ~self.columns.constant[own]
        if open_.any() and len(self.predictors):
            rows = np.flatnonzero(np.repeat(open_, count))
            coef, gap[rows], status[rows] = self._solved(own[open_], alphas[open_], settings)
            w = replace_rows(w, rows, coef)
        columns, repeated = self.columns, np.repeat(own, count)
        residual = columns.P[repeated] - w @ self._P
        lengths = np.linalg.norm(residual, axis=1) * columns.scales[repeated] * columns.unit
        indices = self.predictors[w.indices]
        on_columns = sparse.csr_array((w.data, indices, w.indptr), shape=(size, columns.n_features))
        coef = columns.transform.unscale(on_columns, columns.scales[repeated])
        intercept = columns.means[repeated] - columns.transform.shift(coef)
        return ColumnSolutions(coef, intercept, lengths, gap, status)

    def _solved(
        self, own: IntArray, alphas: FloatArray, settings: Settings
    ) -> tuple[SparseRows, FloatArray, IntArray]:
        """Coefficients, gaps and statuses of targets that vary, on the scale of P."""
        engine = active_engine()
        elsewhere = settings.device != CPU or (engine is not None and engine.remote)
        every = np.arange(alphas.size)
        if elsewhere:
            return self._by_batch(own, alphas, every, settings)
        coef, gap = solve_many(
            self._P, self.columns.P[own], self._place[own], alphas, settings.tol, settings.n_threads
        )
        status = status_of(gap, settings.tol, Status.STALLED)
        again = every[~(gap <= settings.tol)]
        if len(again):
            rest, gap[again], status[again] = self._by_batch(own, alphas, again, settings)
            coef = replace_rows(coef, again, rest)
        return coef, gap, status

    def _by_batch(
        self, own: IntArray, alphas: FloatArray, rows: IntArray, settings: Settings
    ) -> tuple[SparseRows, FloatArray, IntArray]:
        """The same for some problems (b,), numbered with the penalty fastest, as one batch."""
        chain = rows // alphas.shape[1]
        repeated = own[chain]
        place = self._place[repeated]
        excluded = None
        if (place >= 0).any():
            left_out = [spot[spot >= 0] for spot in place[:, None]]
            excluded = excluded_rows(left_out, len(self.predictors))
        batch = Batch.build(
            self._P,
            self.columns.P[repeated],
            0.0,
            alpha=alphas.ravel()[rows],
            excluded=excluded,
        )
        found = solve_or_raise(batch, settings=settings, chain=chain)
        return found.coef, found.relative_gap, found.status


def penalty_table(
    columns: ColumnRows, alpha: float | str | ArrayLike, targets: IntArray, predictors: IntArray
) -> FloatArray:
    """Penalties (t, a) of every target, as given."""
    if isinstance(alpha, str):
        if alpha != "pivotal":
            raise unaccepted("alpha", alpha, "'pivotal' or numbers > 0")
        return _pivotal(columns, targets, predictors)
    try:
        values = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty((0, 0, 0))
    values = values[None] if values.ndim == 0 else values
    fits = values.ndim == 1 or (values.ndim == 2 and len(values) == len(targets))
    if not fits or values.size == 0 or not (np.isfinite(values) & (values > 0)).all():
        one = np.ndim(alpha) == 0
        given = f"alpha={alpha!r}" if one else f"alpha of shape {np.shape(alpha)}"
        raise InvalidInputError(
            f"{given} was given, but 'pivotal', a finite number > 0, or "
            f"such numbers of shape (a,) or ({len(targets)}, a) are accepted; pass one of them.",
        )
    return np.broadcast_to(values, (len(targets), values.shape[-1]))


def _pivotal(columns: ColumnRows, targets: IntArray, predictors: IntArray) -> FloatArray:
    """Penalties (t, 1) that outweigh noise, by the number of predictors other than the target."""
    sizes = np.linalg.norm(columns.P[predictors], axis=1) / np.sqrt(columns.n_samples)
    every = np.ones(len(sizes), dtype=bool)
    whole = SLACK * outweighing(sizes * columns.penalty_unit, every, FAILURE)
    others = SLACK * outweighing(sizes[1:] * columns.penalty_unit, every[1:], FAILURE)
    inside = np.isin(targets, predictors)
    # Where there is nothing to penalise, every penalty gives the same model.
    return np.where(inside, others or 1.0, whole or 1.0)[:, None]


def largest_products(P: FloatArray) -> FloatArray:
    """Largest |p_i'p_j| (n,) of each row of P (n, k) with another row."""
    largest = np.empty(len(P))
    for part in slices(len(P), 512):
        seen = np.abs(P[part] @ P.T)
        seen[np.arange(len(seen)), np.arange(part.start, part.stop)] = 0.0
        largest[part] = seen.max(axis=1)
    return largest


def slices(count: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` that cover range(count), which may be empty."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
