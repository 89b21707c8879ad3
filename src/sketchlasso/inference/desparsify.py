"""Estimates, errors and tests of all coefficients by the desparsified square-root LASSO."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.data import BlockMatrix, MatrixLike, as_responses, as_rows, spread
from sketchlasso.data.transform import column_scales
from sketchlasso.data.validate import as_storage
from sketchlasso.errors import Argument, InvalidInputError, unaccepted
from sketchlasso.estimators import SqrtLasso
from sketchlasso.inference.checks import (
    as_numbers,
    check_choice,
    check_enough_rows,
    check_own_columns,
    checked_columns,
    column_names,
)
from sketchlasso.inference.column_problems import ColumnProblems, column_rows, with_responses
from sketchlasso.inference.estimates import Desparsified
from sketchlasso.inference.nodewise import solve_columns
from sketchlasso.inference.scores import CentredColumns, bias_bounds, made_scores, ready_scores
from sketchlasso.linalg.device import CPU
from sketchlasso.solvers import Settings
from sketchlasso.types import FloatArray

Errors: TypeAlias = Literal["equal", "robust"]


@spread
def desparsified(
    X: MatrixLike,
    y: ArrayLike,
    *,
    features: ArrayLike | None = None,
    alpha: float | str = "pivotal",
    score_alpha: float | str = "auto",
    errors: Errors = "equal",
    scores: Any = None,
    initial: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    tol: float = 1e-6,
    n_threads: int = -1,
    device: str = CPU,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Desparsified:
    """Confidence intervals and p-values for every coefficient of a high-dimensional linear model.

    ::

        estimate_j = b_j + z_j'(y - X b) / z_j'x_j,    error_j = sigma ||z_j|| / |z_j'x_j|

    b is the square-root LASSO estimate on the full data, z_j the residual of x_j regressed on
    the other columns, also on the full data. The second term removes the penalty's bias from b_j,
    and the estimate is about normal if few coefficients are not zero: see the page on the
    mathematics of inference for every assumption.

    C.-H. Zhang and S. S. Zhang, "Confidence intervals for low dimensional parameters in high
    dimensional linear models", Journal of the Royal Statistical Society B 76 (2014).
    S. van de Geer, P. Buehlmann, Y. Ritov and R. Dezeure, "On asymptotically optimal confidence
    regions and tests for high-dimensional models", Annals of Statistics 42 (2014).

    Parameters
    ----------
    X : array-like, sparse matrix, BlockMatrix or dask array of shape (m, n)
        Names come from data frames. For X in blocks only the scores, of shape (m, c), and an
        array of shape (n, min(m, n)) are in memory; each takes a few passes over X.
    y : array-like of shape (m,) or (m, t)
        Several responses share the scores, so they cost little more than one.
    features : array-like of shape (c,), optional
        Columns to estimate, as indices or a mask; all by default.
    alpha : float or str
        Penalty of the initial estimate on columns of standard deviation one, as in
        :class:`SqrtLasso`; a number or ``"pivotal"`` where X is in blocks.
    score_alpha : float or "auto"
        Penalty of the regressions that make the scores, on columns of standard deviation one.
        ``"auto"`` is half of Phi^-1(1 - 0.05 / (2 n - 2)), more for columns that others explain
        almost completely. A smaller penalty leaves less bias but larger errors.
    errors : {"equal", "robust"}
        For noise of equal variance, or the sandwich formula for any noise.
    scores : ndarray of shape (m, c), Nodewise or sparse matrix of shape (c, n), optional
        Ready scores, or coefficients of the regressions that make them, for example from a
        sketch; residuals are always those on the full X. `bias_bound` measures their quality.
    initial : array-like of shape (n,) or (t, n), optional
        An estimate b in the units of X and y.
    noise : float or array-like of shape (t,), optional
        The standard deviation of the noise; ||y - X b|| / sqrt(m) by default.
    feature_names : sequence of str of length n, optional
        By default those of a data frame, or numbered ones.
    tol : float
        Relative duality gap of all regressions on the full data.
    n_threads : int
        -1 for all cores.
    device : str
        Where the regressions of the scores are solved, see :class:`Settings`.
    checkpoint : path-like, optional
        Finished parts of the scores are kept in a folder beside this path until the call
        returns. If it is interrupted, the same call continues from there.
    progress : callable, optional
        Called with the scores done and their number.

    Returns
    -------
    Desparsified

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso.inference import desparsified
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 150))
    >>> y = X[:, 0] - X[:, 1] + rng.standard_normal(100)
    >>> found = desparsified(X, y)
    >>> np.flatnonzero(found.adjusted("holm") < 0.05).tolist()
    [0, 1]
    """
    check_choice("errors", errors, get_args(Errors))
    columns, names = _columns(X, feature_names)
    m, n = columns.entries.shape
    Y = as_responses(y, m)
    _check_varying(Y)
    chosen = checked_columns("features", features, n)
    b = _initial(columns, Y, initial, alpha, tol, n_threads)
    centred = Y - Y.mean(axis=0)
    residual = centred - (np.asarray(columns.entries @ b.T) - columns.means @ b.T)
    sigma = _noise(residual, noise)
    if scores is None:
        settings = Settings(tol=tol, n_threads=n_threads, device=device)
        Z = made_scores(columns, chosen, score_alpha, settings, checkpoint, progress)
    else:
        Z = ready_scores(columns, chosen, scores)
    inner = columns.own_products(chosen, Z)
    _check_left(Z, inner, columns, chosen, names)
    estimate = b[:, chosen].T + (Z.T @ residual) / inner[:, None]
    if errors == "robust":
        deviation = np.sqrt(np.square(Z).T @ np.square(residual))
    else:
        deviation = np.linalg.norm(Z, axis=0)[:, None] * sigma
    error = deviation / np.abs(inner)[:, None]
    single = np.ndim(y) == 1
    return Desparsified(
        estimate=estimate[:, 0] if single else estimate,
        standard_error=error[:, 0] if single else error,
        bias_bound=bias_bounds(columns, chosen, Z),
        noise=sigma[0] if single else sigma,
        initial=b[0] if single else b,
        scores=Z,
        residual=residual[:, 0] if single else residual,
        features=chosen,
        names=tuple(names[j] for j in chosen),
        errors=errors,
    )


def _columns(X: MatrixLike, given: Sequence[str] | None) -> tuple[CentredColumns, tuple[str, ...]]:
    """The checked columns of X, and their names."""
    entries = as_rows(X)
    as_storage(X)
    m = entries.shape[0]
    check_enough_rows(m)
    names = column_names(getattr(X, "columns", None) if given is None else given, entries.shape[1])
    means = BlockMatrix.of(entries).sum(axis=0) / m
    lengths = np.sqrt(m) * column_scales(entries, np.ones(m))
    columns = CentredColumns(entries, means, lengths)
    check_own_columns(columns.entries, columns.lengths, names)
    return columns, names


def _check_varying(Y: FloatArray) -> None:
    constant = np.flatnonzero(np.ptp(Y, axis=0) == 0)
    if len(constant):
        raise InvalidInputError(
            f"response {constant[0]} of y is constant, so there is nothing to explain; leave it "
            "out."
            if Y.shape[1] > 1
            else "y is constant, so there is nothing to explain; pass a response that varies."
        )


def _initial(
    columns: CentredColumns,
    Y: FloatArray,
    initial: ArrayLike | None,
    alpha: Any,
    tol: float,
    n_threads: int,
) -> FloatArray:
    """Coefficients (t, n) in the units of X and Y."""
    X, t, n = columns.entries, Y.shape[1], columns.entries.shape[1]
    if initial is None and isinstance(X, BlockMatrix):
        rows = with_responses(column_rows(X, True), X, Y)
        problems = ColumnProblems(rows, alpha, np.arange(n, n + t), np.arange(n))
        found = solve_columns(problems, Settings(tol=tol, n_threads=n_threads))
        found.warn_if_unsolved()
        return np.asarray(found.coef[:, :n].toarray())
    if initial is None:
        model: Any = SqrtLasso(alpha, standardize=True, sketch=None, tol=tol, n_jobs=n_threads)
        return np.asarray(model.fit(X, Y).coef_, dtype=np.float64).reshape(t, n)
    b = np.atleast_2d(as_numbers("initial", initial))
    if b.shape != (t, n) or not np.isfinite(b).all():
        wanted = f"({n},)" if t == 1 else f"({t}, {n})"
        raise InvalidInputError(
            f"initial has shape {np.shape(initial)}, but finite coefficients of shape {wanted} in "
            "the units of X are needed; pass those."
        )
    return b


def _noise(residual: FloatArray, noise: ArrayLike | None) -> FloatArray:
    """Standard deviations (t,) of the noise."""
    m, t = residual.shape
    if noise is None:
        found = np.linalg.norm(residual, axis=0) / np.sqrt(m)
        if not (found > 0).all():
            raise InvalidInputError(
                "the initial estimate fits y without any residual, so the noise cannot be "
                "estimated from it; pass ",
                Argument("noise"),
                ", or a larger alpha.",
            )
        return np.asarray(found)
    given = np.atleast_1d(as_numbers("noise", noise))
    if given.shape not in ((1,), (t,)) or not (np.isfinite(given) & (given > 0)).all():
        each = f", or one for each of the {t} responses" if t > 1 else ""
        raise unaccepted("noise", noise, f"a finite number > 0{each}")
    return np.broadcast_to(given, (t,))


def _check_left(
    Z: FloatArray, inner: FloatArray, columns: CentredColumns, features: Any, names: tuple[str, ...]
) -> None:
    """Refuse columns that the other columns explain completely."""
    lengths = columns.lengths[features]
    short = (np.linalg.norm(Z, axis=0) <= 1e-8 * lengths) & (np.abs(inner) <= 1e-8 * lengths**2)
    gone = np.flatnonzero(short | (inner == 0.0))
    if len(gone):
        raise InvalidInputError(
            f"the score of column {names[features[gone[0]]]} is zero compared with the column, so "
            "there is nothing to estimate its coefficient from; use a larger score_alpha."
        )
