"""One square-root LASSO per column of X: each regressed on the others, on the full data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import BlockMatrix, MatrixLike, as_rows, spread
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.inference.column_problems import (
    ColumnProblems,
    ColumnSolutions,
    column_rows,
    slices,
)
from sketchlasso.linalg.device import CPU
from sketchlasso.solvers import Settings, Status
from sketchlasso.solvers.solution import warn_of_ending
from sketchlasso.types import BoolArray, FloatArray, IntArray

__all__ = [
    "Nodewise",
    "as_nodewise",
    "check_row_count",
    "checked_columns",
    "nodewise",
    "solve_columns",
]

# Columns of residuals that are computed at a time.
RESIDUALS_AT_A_TIME = 512
FEWEST_ROWS = 3


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
    coef: sparse.csr_array[Any, tuple[int, int]]
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

    def warn_if_unsolved(self) -> None:
        """Issue an :class:`InaccurateWarning` where a regression fell short."""
        warn_of_ending(self.status, self.relative_gap)

    def take(self, rows: IntArray) -> Nodewise:
        """Some of the regressions (b,), counted as one penalty per target."""
        return Nodewise(
            self.targets[rows],
            self.coef[rows],
            self.intercept[rows],
            self.alpha[rows],
            self.residual_norm[rows],
            self.relative_gap[rows],
            self.status[rows],
            self.n_samples,
            1,
            self.standardized,
        )

    def penalty(self, number: int) -> Nodewise:
        """The regressions of one of the penalties, one row per target."""
        if not -self.n_penalties <= number < self.n_penalties:
            raise InvalidInputError(
                f"penalty {number} was asked for, but there are {self.n_penalties} per column; "
                f"pass a number from 0 to {self.n_penalties - 1}."
            )
        return self.take(np.arange(number % self.n_penalties, len(self.targets), self.n_penalties))

    def residuals(self, X: MatrixLike) -> FloatArray:
        """x_j - X gamma_j - intercept of every regression (m, B), on the full data.

        Parameters
        ----------
        X : array-like, sparse matrix, BlockMatrix or dask array of shape (m, n)
            What the regressions were made from, or other rows of the same columns.

        Returns
        -------
        ndarray of shape (m, B)
        """
        entries = as_rows(X)
        m, n = entries.shape
        if n != self.coef.shape[1]:
            raise InvalidInputError(
                f"X has {n} columns, but the regressions are of {self.coef.shape[1]}; pass the "
                "columns that they were made from."
            )
        found = np.empty((m, len(self.targets)))
        for part in slices(len(self.targets), RESIDUALS_AT_A_TIME):
            found[:, part] = self._residuals(entries, part)
        return found

    def _residuals(self, entries: Any, part: slice) -> FloatArray:
        """Residuals (m, b) of some regressions."""
        own = self.targets[part]
        size = len(own)
        identity = sparse.csr_array(
            (np.ones(size), own, np.arange(size + 1)), shape=(size, entries.shape[1])
        )
        # x_j - X gamma_j as one product, which loses fewer digits than a difference of two.
        contrast: Any = sparse.csr_array(identity - self.coef[part])
        return np.asarray(BlockMatrix.of(entries) @ contrast.T - self.intercept[part])


@spread
def nodewise(
    X: MatrixLike,
    alpha: float | str | ArrayLike = "pivotal",
    *,
    targets: ArrayLike | None = None,
    predictors: ArrayLike | None = None,
    standardize: bool = True,
    tol: float = 1e-6,
    n_threads: int = -1,
    device: str = CPU,
    progress: Callable[[int, int], None] | None = None,
) -> Nodewise:
    """Regress columns of X on other columns by the square-root LASSO, on the full data.

    ::

        minimise over g, b    || x_j - X g - b ||_2  +  alpha * sum_k s_k |g_k| ,    g_j = 0

    with s_k the standard deviation of column k (divisor m), or 1 without `standardize`. No
    sketch is involved: the problems are those of the data, and the gap proves each of them.

    Parameters
    ----------
    X : array-like, sparse matrix, BlockMatrix or dask array of shape (m, n)
    alpha : "pivotal", float, or array-like of shape (a,) or (t, a)
        One penalty, or several per column that are solved in one walk down the path; (t, a) has
        one row per target. ``"pivotal"`` is 1.1 Phi^-1(1 - 0.05 / 2p) for p predictors of
        standard deviation one, as :func:`pivotal_alpha`.
    targets : array-like of shape (t,), optional
        Columns to explain, as indices or a mask; all by default.
    predictors : array-like of shape (p,), optional
        Columns that may explain them, as indices or a mask; all by default. A target is never
        its own predictor.
    standardize : bool
        Whether penalties are of columns with standard deviation one.
    tol : float
        Relative duality gap on the full data at which a regression counts as solved.
    n_threads : int
        -1 for all cores.
    device : str
        Where to solve, see :class:`Settings`.
    progress : callable, optional
        Called with the targets done and their number after each part.

    Returns
    -------
    Nodewise
        Regressions that fell short carry a status and a warning is issued. Constant columns have
        no coefficients. Inside a :func:`cluster` with workers the regressions go there. Ctrl-C
        raises KeyboardInterrupt.

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso.inference import nodewise
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> X[:, 1] += X[:, 0]
    >>> found = nodewise(X, targets=[0])
    >>> found.coef.indices.tolist()
    [1]
    """
    columns = column_rows(X, standardize)
    check_row_count(columns.n_samples, FEWEST_ROWS)
    settings = Settings(tol=tol, n_threads=n_threads, device=device)
    chosen = checked_columns("targets", targets, columns.n_features)
    explaining = checked_columns("predictors", predictors, columns.n_features)
    problems = ColumnProblems(columns, chosen, explaining, alpha)
    found = solve_columns(problems, settings, progress)
    found.warn_if_unsolved()
    return found


def check_row_count(m: int, fewest: int) -> None:
    """Refuse data with too few rows."""
    if m < fewest:
        raise InvalidInputError(
            f"X has {m} row{'s' if m != 1 else ''} (n_samples={m}), but at least {fewest} are "
            "needed to regress columns on each other; collect more samples."
        )


def checked_columns(name: str, given: ArrayLike | None, n: int) -> IntArray:
    """Indices of columns (c,), from indices or a mask (n,); all n by default."""
    if given is None:
        return np.arange(n)
    values = np.asarray(given)
    if values.dtype == bool:
        if values.shape != (n,):
            raise InvalidInputError(
                f"{name} is a mask of shape {values.shape}, but X has {n} columns; pass a mask of "
                f"shape ({n},), or indices."
            )
        values = np.flatnonzero(values)
    whole = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iu"
    if not whole or values.min() < -n or values.max() >= n:
        raise InvalidInputError(
            Argument(name, _short(given), "s"),
            f" was given, but a list of column indices from 0 to {n - 1} is accepted; pass one.",
        )
    values = values.astype(np.intp) % n
    if len(np.unique(values)) < len(values):
        raise InvalidInputError(f"{name} names a column more than once; name each one once.")
    return values


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."


def solve_columns(
    problems: ColumnProblems,
    settings: Settings,
    progress: Callable[[int, int], None] | None = None,
) -> Nodewise:
    """Solve all regressions, some targets at a time."""
    total, parts = len(problems.targets), []
    for part in slices(total, problems.targets_per_part):
        parts.append(problems.solve(part, settings))
        if progress is not None:
            progress(part.stop, total)
    return as_nodewise(problems, parts)


def as_nodewise(problems: ColumnProblems, parts: Sequence[ColumnSolutions]) -> Nodewise:
    """The solutions of all parts, in order, as one object."""
    count = problems.grid.shape[1]
    return Nodewise(
        np.repeat(problems.targets, count),
        sparse.csr_array(sparse.vstack([part.coef for part in parts], format="csr")),
        np.concatenate([part.intercept for part in parts]),
        problems.grid.ravel(),
        np.concatenate([part.residual_norm for part in parts]),
        np.concatenate([part.relative_gap for part in parts]),
        np.concatenate([part.status for part in parts]),
        problems.columns.n_samples,
        count,
        problems.columns.standardized,
    )
