"""Estimates, errors and tests of all coefficients by the desparsified square-root LASSO."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.data import BlockMatrix, MatrixLike, as_entries, as_responses, as_rows
from sketchlasso.errors import (
    EmptyModelWarning,
    InvalidInputError,
    UncertainIntervalWarning,
    unaccepted,
)
from sketchlasso.estimators import SqrtLasso
from sketchlasso.estimators.penalty import FAILURE, SLACK, noise_quantile
from sketchlasso.inference.checks import (
    as_numbers,
    check_choice,
    check_enough_rows,
    check_own_effects,
    checked_columns,
    column_names,
    listed,
)
from sketchlasso.inference.columns import column_rows
from sketchlasso.inference.estimates import Desparsified
from sketchlasso.inference.regressions import Progress
from sketchlasso.inference.scores import (
    CentredColumns,
    LeastSquares,
    about_mean,
    largest_score_penalty,
    made_scores,
)
from sketchlasso.linalg.device import CPU
from sketchlasso.solvers import Settings
from sketchlasso.types import BoolArray, FloatArray, IntArray
from sketchlasso.warn import not_warning_of, warn_user

Errors: TypeAlias = Literal["equal", "robust"]


def desparsified(
    X: MatrixLike,
    y: ArrayLike,
    *,
    features: ArrayLike | None = None,
    alpha: float | str = "auto",
    score_alpha: float | str = "auto",
    errors: Errors = "equal",
    scores: ArrayLike | None = None,
    initial: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    tol: float = 1e-6,
    n_threads: int = -1,
    device: str = CPU,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Desparsified:
    """Confidence intervals and p-values for every coefficient of a high-dimensional linear model.

    ::

        estimate_j = b_j + z_j'(y - X b) / z_j'x_j,    error_j = sigma ||z_j|| / |z_j'x_j|

    b is the square-root LASSO estimate and z_j the residual of x_j regressed on the other columns,
    both on the full data. Where columns are at most three quarters of the rows, neither regression
    is penalised: the results are those of least squares. Elsewhere the estimate is about normal if
    few coefficients are not zero. Coefficients whose interval may cover less often than it says
    are `flagged`, and cause an :class:`UncertainIntervalWarning`.

    C.-H. Zhang and S. S. Zhang, JRSS B 76 (2014). S. van de Geer, P. Buehlmann, Y. Ritov and
    R. Dezeure, Annals of Statistics 42 (2014).

    Parameters
    ----------
    X : array-like, sparse matrix, BlockMatrix or dask array of shape (m, n)
        For X in blocks, the scores (m, c) and an array (n, min(m, n)) are in memory.
    y : array-like of shape (m,) or (m, t)
        Several responses share the scores, so they cost little more than one.
    features : array-like of shape (c,), optional
        Columns to estimate, as indices or a mask; all by default.
    alpha : float or str
        Penalty of the initial estimate on columns of standard deviation one. ``"auto"`` is none
        where the scores have none, and ``"pivotal"`` elsewhere; otherwise as in
        :class:`SqrtLasso`.
    score_alpha : float or "auto"
        Penalty of the regressions that make the scores, on columns of standard deviation one. A
        smaller one leaves less bias but larger errors. ``"auto"`` is none where columns are at most
        three quarters of the rows, and at most half of Phi^-1(1 - 0.05 / (2 n - 2)) elsewhere:
        less for columns that others explain well, more for those that they explain completely.
    errors : {"equal", "robust"}
        For noise of equal variance, or the sandwich formula for any noise (HC1).
    scores : array-like of shape (m, c), optional
        Ready scores, such as ``nodewise(X).residuals(X)``; `bias_bound` measures their quality.
    initial : array-like of shape (n,) or (t, n), optional
        An estimate b in the units of X and y.
    noise : float or array-like of shape (t,), optional
        The standard deviation of the noise; by default ||y - X b|| / sqrt(m - 1 - k), with k the
        coefficients of b that are not zero.
    feature_names : sequence of str of length n, optional
        By default those of a data frame, or numbered ones.
    tol : float
        Relative duality gap of all regressions on the full data.
    n_threads : int
        -1 for all cores.
    device : str
        Where the regressions of the scores are solved, see :class:`Settings`.
    checkpoint : path-like, optional
        An interrupted call continues from parts that are kept beside this path.
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
    entries = as_rows(X)
    as_entries(X)
    m, n = entries.shape
    check_enough_rows(m)
    given = getattr(X, "columns", None) if feature_names is None else feature_names
    names = column_names(given, n)
    Y = as_responses(y, m)
    if (np.ptp(Y, axis=0) == 0).any():
        raise InvalidInputError(
            "y is constant, so there is nothing to explain; pass responses that vary."
        )
    which = checked_columns("features", features, n)
    names_of = [names[j] for j in which]
    rows = column_rows(entries, True)
    check_own_effects(rows, names)
    columns = CentredColumns(entries, rows)
    settings = Settings(tol=tol, n_threads=n_threads, device=device)
    ready = None if scores is None else about_mean(_ready("scores", scores, (m, len(which))))
    used = None
    if initial is not None:
        b = _ready("initial", initial, (Y.shape[1], n))
    elif isinstance(alpha, str) and alpha == "auto":
        if ready is None and score_alpha == "auto" and columns.enough_rows:
            b = LeastSquares(columns).coef(about_mean(Y))
        else:
            b, used = _sparse_initial(columns, Y, settings)
    else:
        b = _penalised(columns, Y, alpha, settings)
    counts = np.count_nonzero(b, axis=1)
    residual = about_mean(Y - (np.asarray(entries @ b.T) - columns.means @ b.T))
    sigma, degrees = _noise(residual, counts, noise)
    Z = ready
    if Z is None:
        Z = made_scores(columns, which, score_alpha, settings, checkpoint, progress)
    inner = columns.own_products(which, Z)
    _check_left(Z, inner, columns.lengths[which], names_of)
    estimate = b[:, which].T + (Z.T @ residual) / inner[:, None]
    if errors == "robust":
        free = np.maximum(m - 1 - counts, 1)
        deviation = np.sqrt(np.square(Z).T @ np.square(residual) * (m / free))
    else:
        deviation = np.linalg.norm(Z, axis=0)[:, None] * sigma
    bounds = columns.bias_bounds(which, Z)
    flagged = _flagged(Z, inner, bounds, counts if used is None else used, n, names_of)
    column, row = (np.s_[:, 0], 0) if np.ndim(y) == 1 else (np.s_[:], np.s_[:])
    return Desparsified(
        estimate=estimate[column],
        standard_error=(deviation / np.abs(inner)[:, None])[column],
        flagged=flagged[column],
        bias_bound=bounds,
        noise=sigma[row],
        degrees_of_freedom=degrees[row],
        initial=b[row],
        scores=Z,
        residual=residual[column],
        features=which,
        names=tuple(names_of),
        errors=errors,
    )


def _sparse_initial(
    columns: CentredColumns, Y: FloatArray, settings: Settings
) -> tuple[FloatArray, IntArray]:
    """Coefficients (t, n), and how many (t,) are not zero at the pivotal penalty.

    The penalty is raised for responses that would leave few degrees of freedom for the noise.
    """
    m, n = columns.shape
    b = _penalised(columns, Y, "pivotal", settings)
    used = np.count_nonzero(b, axis=1)
    alpha = SLACK * noise_quantile(n, FAILURE)
    # Above sqrt(m) no column has a coefficient.
    while alpha < np.sqrt(m):
        many = np.flatnonzero(np.count_nonzero(b, axis=1) > 0.5 * m)
        if len(many) == 0:
            break
        alpha *= 1.25
        b[many] = _penalised(columns, Y[:, many], alpha, settings)
    return b, used


def _penalised(
    columns: CentredColumns, Y: FloatArray, alpha: Any, settings: Settings
) -> FloatArray:
    """Coefficients (t, n) of the square-root LASSO, in the units of X and Y."""
    model: Any = SqrtLasso(
        alpha, standardize=True, sketch=None, tol=settings.tol, n_jobs=settings.n_threads
    )
    if isinstance(columns.X, BlockMatrix):
        # At radius 0 an exact sketch has the same problem as X itself.
        model.set_params(sketch="exact", radius=0.0)
    with not_warning_of(EmptyModelWarning):
        model.fit(columns.X, Y)
    return np.array(model.coef_, dtype=np.float64).reshape(Y.shape[1], columns.shape[1])


def _ready(name: str, values: ArrayLike, shape: tuple[int, int]) -> FloatArray:
    """An argument of the user's as finite numbers of this shape."""
    array = np.atleast_2d(as_numbers(name, values))
    if array.shape != shape or not np.isfinite(array).all():
        raise InvalidInputError(
            f"{name} has shape {np.shape(values)}, but finite numbers of shape {shape}, in the "
            "units of X, are needed; pass those."
        )
    return array


def _noise(
    residual: FloatArray, used: IntArray, noise: ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Standard deviations (t,) of the noise and their degrees of freedom, infinite if given."""
    m, t = residual.shape
    if noise is None:
        free = np.maximum(m - 1.0 - used, 1.0)
        sigma = np.linalg.norm(residual, axis=0) / np.sqrt(free)
        if not (sigma > 0).all():
            raise InvalidInputError(
                "the initial estimate fits y without any residual, so the noise cannot be "
                "estimated from it; pass noise=, or a larger alpha."
            )
        return np.asarray(sigma), free
    sigma = np.atleast_1d(as_numbers("noise", noise))
    if sigma.shape not in ((1,), (t,)) or not (np.isfinite(sigma) & (sigma > 0)).all():
        each = f", or one for each of the {t} responses" if t > 1 else ""
        raise unaccepted("noise", noise, f"a finite number > 0{each}")
    return np.broadcast_to(sigma, (t,)), np.full(t, np.inf)


def _check_left(
    Z: FloatArray, inner: FloatArray, lengths: FloatArray, names: Sequence[str]
) -> None:
    """Refuse columns that the other columns explain completely."""
    short = (np.linalg.norm(Z, axis=0) <= 1e-8 * lengths) & (np.abs(inner) <= 1e-8 * lengths**2)
    gone = np.flatnonzero(short | (inner == 0.0))
    if len(gone):
        raise InvalidInputError(
            f"the score of column {names[gone[0]]} is zero compared with the column, so there is "
            "nothing to estimate its coefficient from; use a larger score_alpha."
        )


def _flagged(
    Z: FloatArray,
    inner: FloatArray,
    bounds: FloatArray,
    used: IntArray,
    n: int,
    names: Sequence[str],
) -> BoolArray:
    """Which intervals (c, t) may cover less often than they say, with warnings why.

    Those of columns whose score is short compared with z_j'x_j, or less orthogonal to another
    column than the usual penalty allows; and all of a response whose initial estimate is not
    sparse. None if scores are orthogonal to the other columns, up to rounding.
    """
    m = len(Z)
    short = np.sum(Z**2, axis=0) < 0.1 * np.abs(inner)
    loose = bounds > 1.01 * largest_score_penalty(n)  # that of a score is at most its penalty
    dense = used > 0.25 * m
    flagged = np.asarray((bounds > 1e-3)[:, None] & ((short | loose)[:, None] | dense))
    dense &= flagged.any()
    if dense.any():
        which = "all intervals" if dense.all() else f"the intervals of {dense.sum()} responses"
        warn_user(
            UncertainIntervalWarning(
                f"{which} may miss the true coefficients more often than they say, because the "
                f"initial estimate needs {used[dense].max()} of {n} columns to explain {m} rows, "
                "and the method assumes that few columns matter; collect more rows, or leave "
                "columns out."
            )
        )
    poor = np.flatnonzero(flagged[:, ~dense].any(axis=1))
    if len(poor):
        warn_user(
            UncertainIntervalWarning(
                f"{len(poor)} of {len(names)} intervals ({listed(names, poor)}) may miss the true "
                f"coefficient more often than they say, because {m} rows cannot tell the effect of "
                "such a column from those of similar columns; collect more rows, or leave similar "
                "columns out."
            )
        )
    return flagged
