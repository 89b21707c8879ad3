"""One square-root LASSO per column of X: each regressed on the others, on the full data."""

from __future__ import annotations

from collections.abc import Callable

from numpy.typing import ArrayLike

from sketchlasso.data import MatrixLike
from sketchlasso.inference.checks import check_enough_rows, checked_columns
from sketchlasso.inference.columns import column_rows
from sketchlasso.inference.regressions import ColumnSolver, Nodewise
from sketchlasso.linalg.device import CPU
from sketchlasso.solvers import Settings


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

    with s_k the standard deviation of column k (divisor m), or 1 without `standardize`.

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
        Regressions that fall short cause a warning. Constant columns have no coefficients. Inside a
        :func:`cluster` with workers, these solve the regressions.

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
    explained = checked_columns("targets", targets, columns.n_features)
    explaining = checked_columns("predictors", predictors, columns.n_features)
    settings = Settings(tol=tol, n_threads=n_threads, device=device)
    solver = ColumnSolver(settings, progress=progress)
    regressions = solver.solve(columns, alpha, explained, explaining)
    regressions.warn_if_unsolved()
    return regressions
