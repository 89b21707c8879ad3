"""Many regressions of columns on columns: the one loop that all of inference shares.

Targets are solved part by part, in bounded memory and on all threads; finished parts can be kept.
Solutions come back in the units of X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import gen_batches

from sketchlasso.cluster import active_engine
from sketchlasso.data import BlockMatrix, MatrixLike, as_rows
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.estimators.penalty import FAILURE, SLACK, outweighing
from sketchlasso.exact import solve_many
from sketchlasso.inference.columns import ColumnRows
from sketchlasso.instances.build import excluded_rows
from sketchlasso.linalg.device import CPU
from sketchlasso.linalg.rows import replace_rows
from sketchlasso.problem.batch import Batch
from sketchlasso.solvers import Settings, Status, solve_or_raise
from sketchlasso.solvers.solution import status_of, warn_of_ending
from sketchlasso.storage import Parts
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows

# At most this many targets are solved together.
TARGETS_PER_PART = 512
# Vectors of the solutions, and their types.
VECTORS = {"intercept": "f", "residual_norm": "f", "relative_gap": "f", "status": "i"}

Progress = Callable[[int, int], None]
Solved = tuple[SparseRows, FloatArray, IntArray]


@dataclass(frozen=True, eq=False)
class Nodewise:
    """Regressions of columns of X on other columns, one row per column and penalty.

    Rows are ordered by target, and within a target by penalty as given.

    Attributes
    ----------
    targets : ndarray of shape (B,)
        The column that each row explains.
    coef : csr_array of shape (B, n)
        gamma_j on the scale of X; ``coef[i, targets[i]]`` is 0.
    intercept : ndarray of shape (B,)
    alpha : ndarray of shape (B,)
        Penalties, of columns with standard deviation one where `standardized`.
    residual_norm : ndarray of shape (B,)
        ||x_j - X gamma_j - intercept||_2 on the full data, in the units of X.
    relative_gap : ndarray of shape (B,)
        Duality gap on the full data over the objective.
    status : ndarray of shape (B,)
        Values of :class:`Status`.
    n_samples : int
    n_penalties : int
        Penalties a per target; B is a times the number of targets.
    standardized : bool
    """

    targets: IntArray
    coef: SparseRows
    intercept: FloatArray
    alpha: FloatArray
    residual_norm: FloatArray
    relative_gap: FloatArray
    status: IntArray
    n_samples: int
    n_penalties: int
    standardized: bool

    def __repr__(self) -> str:
        return (
            f"<Nodewise: {len(self.targets) // self.n_penalties} columns x {self.n_penalties} "
            f"penalties on {self.coef.shape[1]} columns, worst gap {self.worst_gap:.1e}>"
        )

    @property
    def worst_gap(self) -> float:
        """The largest relative gap."""
        return float(self.relative_gap.max(initial=0.0))

    @property
    def solved(self) -> BoolArray:
        """Whether each regression reached the tolerance (B,)."""
        return np.asarray(self.status == Status.SOLVED)

    def fits_exactly(self, lengths: FloatArray) -> BoolArray:
        """Whether the others fit a column up to 1e-6 (B,); `lengths` (n,) are of the columns."""
        return np.asarray(self.residual_norm <= 1e-6 * lengths[self.targets])

    def warn_if_unsolved(self) -> None:
        """Issue an :class:`InaccurateWarning` where a regression fell short."""
        warn_of_ending(self.status, self.relative_gap)

    def take(self, rows: IntArray) -> Nodewise:
        """Some of the regressions (b,), counted as one penalty per target."""
        names = ("targets", "coef", "alpha", *VECTORS)
        return replace(self, n_penalties=1, **{name: getattr(self, name)[rows] for name in names})

    def penalty(self, number: int) -> Nodewise:
        """The regressions of one of the penalties, one row per target."""
        number = range(self.n_penalties)[number]
        return self.take(np.arange(number, len(self.targets), self.n_penalties))

    def residuals(self, X: MatrixLike) -> FloatArray:
        """x_j - X gamma_j - intercept of every regression (m, B).

        Parameters
        ----------
        X : array-like, sparse matrix, BlockMatrix or dask array of shape (m, n)

        Returns
        -------
        ndarray of shape (m, B)
        """
        rows = as_rows(X)
        m, n = rows.shape
        if n != self.coef.shape[1]:
            raise InvalidInputError(
                f"X has {n} columns, but the regressions are of {self.coef.shape[1]}; pass the "
                "columns that they were made from."
            )
        identity: Any = sparse.eye_array(n, format="csr")
        residuals = np.empty((m, len(self.targets)))
        for part in gen_batches(max(1, len(self.targets)), TARGETS_PER_PART):
            # x_j - X gamma_j as one product, which loses fewer digits than a difference of two.
            contrast: Any = sparse.csr_array(identity[self.targets[part]] - self.coef[part])
            residuals[:, part] = BlockMatrix.of(rows) @ contrast.T - self.intercept[part]
        return residuals


class _Part(NamedTuple):
    coef: SparseRows
    intercept: FloatArray
    residual_norm: FloatArray
    relative_gap: FloatArray
    status: IntArray


class ColumnSolver:
    """Solves sets of regressions, `total` targets in all, part by part.

    Finished parts are read from and kept in `parts`; `progress` hears of every one.
    """

    def __init__(
        self,
        settings: Settings,
        total: int = 0,
        progress: Progress | None = None,
        parts: Parts | None = None,
    ) -> None:
        self._settings, self._total, self._progress = settings, total, progress
        self._parts = Parts(None) if parts is None else parts
        self._number = self._done = 0

    def solve(
        self,
        columns: ColumnRows,
        alpha: float | str | ArrayLike,
        targets: IntArray | None = None,
        predictors: IntArray | None = None,
    ) -> Nodewise:
        """Regress the targets (t,) on the predictors (p,), each all columns by default.

        Constant predictors are dropped. `alpha` is as in :func:`nodewise`.
        """
        everyone = np.arange(columns.n_features)
        targets = everyone if targets is None else targets
        predictors = everyone if predictors is None else predictors
        predictors = predictors[~columns.constant[predictors]]
        grid = penalty_table(columns, alpha, targets, predictors)
        whole = len(predictors) == columns.n_features
        P = columns.P if whole else columns.P[predictors]
        count = grid.shape[1]
        # Correlations of at most 128 MiB at a time.
        size = 2**24 // (max(*P.shape, 1) * count)
        parts = []
        for part in gen_batches(len(targets), int(np.clip(size, 1, TARGETS_PER_PART))):
            make = partial(self._solve_part, columns, P, predictors, targets[part], grid[part])
            shape = ((part.stop - part.start) * count, columns.n_features)
            parts.append(self._parts.resumed(self._number, make, shape, VECTORS, _Part))
            self._number += 1
            self._done += part.stop - part.start
            if self._progress is not None:
                self._progress(self._done, self._total or len(targets))
        coef, *vectors = zip(*parts, strict=True)
        return Nodewise(
            targets=np.repeat(targets, count),
            coef=sparse.csr_array(sparse.vstack(coef, format="csr")),
            alpha=grid.ravel(),
            n_samples=columns.n_samples,
            n_penalties=count,
            standardized=columns.standardized,
            **dict(zip(VECTORS, map(np.concatenate, vectors), strict=True)),
        )

    def _solve_part(
        self,
        columns: ColumnRows,
        P: FloatArray,
        predictors: IntArray,
        targets: IntArray,
        alphas: FloatArray,
    ) -> _Part:
        """Regress some targets (t,) on the rows of P (p, k), at the penalties (t, a)."""
        count = alphas.shape[1]
        repeated = np.repeat(targets, count)
        w = sparse.csr_array((len(repeated), len(predictors)))
        gap = np.zeros(len(repeated))
        status = status_of(gap, self._settings.tol, Status.STALLED)
        # A constant target, and one without predictors, is explained by its mean.
        varies = ~columns.constant[targets]
        if varies.any() and len(predictors):
            own = np.full(columns.n_features, -1, dtype=np.intp)
            own[predictors] = np.arange(len(predictors))
            Y, own = columns.P[targets[varies]], own[targets[varies]]
            rows = np.flatnonzero(np.repeat(varies, count))
            solved = self._solve(P, Y, own, alphas[varies] / columns.penalty_unit)
            w, gap[rows], status[rows] = replace_rows(w, rows, solved[0]), solved[1], solved[2]
        residual = columns.P[repeated] - w @ P
        lengths = np.linalg.norm(residual, axis=1) * columns.scales[repeated] * columns.unit
        on_columns = sparse.csr_array(
            (w.data, predictors[w.indices], w.indptr), shape=(len(repeated), columns.n_features)
        )
        coef = columns.transform.unscale(on_columns, columns.scales[repeated])
        intercept = columns.means[repeated] - columns.transform.shift(coef)
        return _Part(coef, intercept, lengths, gap, status)

    def _solve(self, P: FloatArray, Y: FloatArray, own: IntArray, alphas: FloatArray) -> Solved:
        """Coefficients, gaps and statuses of responses Y (t, k), all of which vary.

        A response must not use the row of P in `own` (t,); -1 for none.
        """
        engine, settings = active_engine(), self._settings
        every = np.arange(alphas.size)
        if settings.device != CPU or (engine is not None and engine.remote):
            return self._solve_batch(P, Y, own, alphas, every)
        coef, gap = solve_many(P, Y, own, alphas, settings.tol, settings.n_threads)
        status = status_of(gap, settings.tol, Status.STALLED)
        again = every[~(gap <= settings.tol)]
        if len(again):
            rest, gap[again], status[again] = self._solve_batch(P, Y, own, alphas, again)
            coef = replace_rows(coef, again, rest)
        return coef, gap, status

    def _solve_batch(
        self, P: FloatArray, Y: FloatArray, own: IntArray, alphas: FloatArray, rows: IntArray
    ) -> Solved:
        """The same for some problems (b,), numbered with the penalty fastest, as one batch."""
        response = rows // alphas.shape[1]
        excluded = None
        if (own >= 0).any():
            left_out = [column[column >= 0] for column in own[response][:, None]]
            excluded = excluded_rows(left_out, len(P))
        batch = Batch.build(P, Y[response], 0.0, alpha=alphas.ravel()[rows], excluded=excluded)
        solution = solve_or_raise(batch, settings=self._settings, chain=response)
        return solution.coef, solution.relative_gap, solution.status


def penalty_table(
    columns: ColumnRows, alpha: float | str | ArrayLike, targets: IntArray, predictors: IntArray
) -> FloatArray:
    """Penalties (t, a) of every target, as given.

    The pivotal one outweighs noise, by the number of predictors other than the target.
    """
    if isinstance(alpha, str):
        if alpha != "pivotal":
            raise unaccepted("alpha", alpha, "'pivotal' or numbers > 0")
        sizes = np.linalg.norm(columns.P[predictors], axis=1) / np.sqrt(columns.n_samples)
        sizes *= columns.penalty_unit
        every = np.ones(len(sizes), dtype=bool)
        whole = SLACK * outweighing(sizes, every, FAILURE)
        others = SLACK * outweighing(sizes[1:], every[1:], FAILURE)
        inside = np.isin(targets, predictors)
        # Where there is nothing to penalise, every penalty gives the same model.
        return np.where(inside, others or 1.0, whole or 1.0)[:, None]
    values = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    fits = values.ndim == 1 or (values.ndim == 2 and len(values) == len(targets))
    if not fits or values.size == 0 or not (np.isfinite(values) & (values > 0)).all():
        raise InvalidInputError(
            f"alpha={alpha!r} was given, but 'pivotal', a finite number > 0, or "
            f"such numbers of shape (a,) or ({len(targets)}, a) are accepted; pass one of them."
        )
    return np.broadcast_to(values, (len(targets), values.shape[-1]))
