"""One square-root LASSO per column of X: each regressed on the others, on the full data."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.data import BlockMatrix, MatrixLike, as_rows, spread
from sketchlasso.errors import InvalidInputError
from sketchlasso.inference.checks import check_enough_rows, checked_columns
from sketchlasso.inference.column_problems import (
    ColumnProblems,
    ColumnSolutions,
    column_rows,
    slices,
)
from sketchlasso.linalg.device import CPU
from sketchlasso.solvers import Settings, Status
from sketchlasso.solvers.solution import warn_of_ending
from sketchlasso.storage import Parts
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows

# Vectors of the solutions, and their types.
VECTORS = {"intercept": "f", "residual_norm": "f", "relative_gap": "f", "status": "i"}


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

    def warn_if_unsolved(self) -> None:
        """Issue an :class:`InaccurateWarning` where a regression fell short."""
        warn_of_ending(self.status, self.relative_gap)

    def take(self, rows: IntArray) -> Nodewise:
        """Some of the regressions (b,), counted as one penalty per target."""
        chosen = {
            name: getattr(self, name)[rows] for name in ("targets", "coef", "alpha", *VECTORS)
        }
        return replace(self, n_penalties=1, **chosen)

    def penalty(self, number: int) -> Nodewise:
        """The regressions of one of the penalties, one row per target."""
        if not -self.n_penalties <= number < self.n_penalties:
            raise InvalidInputError(
                f"penalty {number} was requested, but there are {self.n_penalties} per column; "
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
        identity: Any = sparse.eye_array(n, format="csr")
        found = np.empty((m, len(self.targets)))
        for part in slices(len(self.targets), 512):
            # x_j - X gamma_j as one product, which loses fewer digits than a difference of two.
            contrast: Any = sparse.csr_array(identity[self.targets[part]] - self.coef[part])
            found[:, part] = BlockMatrix.of(entries) @ contrast.T - self.intercept[part]
        return found


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
    sketch is involved: the problems are those of the data, and each has a proved gap.

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
        The status says which regressions fell short; they also cause a warning. Constant columns
        have no coefficients. Inside a :func:`cluster` with workers, these solve the regressions.
        Ctrl-C raises KeyboardInterrupt.

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
    check_enough_rows(columns.n_samples, fewest=3)
    settings = Settings(tol=tol, n_threads=n_threads, device=device)
    chosen = checked_columns("targets", targets, columns.n_features)
    explaining = checked_columns("predictors", predictors, columns.n_features)
    problems = ColumnProblems(columns, alpha, chosen, explaining)
    found = solve_columns(problems, settings, progress)
    found.warn_if_unsolved()
    return found


@contextmanager
def part_solver(
    path: str | os.PathLike[str] | None,
    decisive: Mapping[str, Any],
    total: int,
    progress: Callable[[int, int], None] | None,
) -> Iterator[Callable[[ColumnProblems, Settings], Nodewise]]:
    """Yield a function that solves sets of regressions, with `total` targets in all.

    Finished parts are kept beside a path, if one is given, until the end, and used again.
    `decisive` are the settings and arrays that decide the answer.
    """
    # Hashing large arrays takes time, so only where their digests are stored.
    stamp = {} if path is None else {name: _stored(value) for name, value in decisive.items()}
    done, numbers = 0, count()

    def solve(problems: ColumnProblems, settings: Settings) -> Nodewise:
        nonlocal done
        found, penalties = [], problems.grid.shape[1]
        for part in slices(len(problems.targets), problems.targets_per_part):
            make = partial(problems.solve, part, settings)
            shape = ((part.stop - part.start) * penalties, problems.columns.n_features)
            found.append(parts.resumed(next(numbers), make, shape, VECTORS, ColumnSolutions))
            done += part.stop - part.start
            if progress is not None:
                progress(done, total)
        vectors = {
            name: np.concatenate([getattr(part, name) for part in found]) for name in VECTORS
        }
        return Nodewise(
            targets=np.repeat(problems.targets, penalties),
            coef=sparse.csr_array(sparse.vstack([part.coef for part in found], format="csr")),
            alpha=problems.grid.ravel(),
            n_samples=problems.columns.n_samples,
            n_penalties=penalties,
            standardized=problems.columns.standardized,
            **vectors,
        )

    with Parts.beside(path, stamp, "data set") as parts:
        yield solve


def solve_columns(
    problems: ColumnProblems,
    settings: Settings,
    progress: Callable[[int, int], None] | None = None,
) -> Nodewise:
    """Solve all regressions without keeping finished parts."""
    with part_solver(None, {}, len(problems.targets), progress) as solve:
        return solve(problems, settings)


def _stored(value: Any) -> Any:
    """The digest of an array, or a value that JSON can hold unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    stored = np.ascontiguousarray(value)
    digest = hashlib.sha256(f"{stored.dtype} {stored.shape}".encode())
    digest.update(stored.tobytes())
    return digest.hexdigest()
