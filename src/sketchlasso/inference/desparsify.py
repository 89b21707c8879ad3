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
from sketchlasso.errors import (
    EmptyModelWarning,
    InvalidInputError,
    UncertainIntervalWarning,
    UnusableColumnsError,
    unaccepted,
)
from sketchlasso.estimators import SqrtLasso
from sketchlasso.estimators.penalty import FAILURE, SLACK, noise_quantile
from sketchlasso.inference.checks import (
    as_numbers,
    check_choice,
    check_enough_rows,
    check_own_columns,
    checked_columns,
    collinear_groups,
    column_names,
)
from sketchlasso.inference.column_problems import (
    ColumnProblems,
    ColumnRows,
    column_rows,
    with_responses,
)
from sketchlasso.inference.estimates import Desparsified
from sketchlasso.inference.nodewise import solve_columns
from sketchlasso.inference.scores import (
    CentredColumns,
    LeastSquares,
    about_mean,
    bias_bounds,
    largest_score_penalty,
    made_scores,
    ready_scores,
    unpenalised,
)
from sketchlasso.linalg.device import CPU
from sketchlasso.solvers import Settings
from sketchlasso.types import BoolArray, FloatArray, IntArray
from sketchlasso.warn import not_warning_of, warn_user

Errors: TypeAlias = Literal["equal", "robust"]
# An initial estimate with more coefficients than this share of the rows is not sparse.
DENSE = 0.25
# A score shorter than this share of z_j'x_j / ||z_j|| says little about its own column.
SHORT = 0.1
# The penalty of the initial estimate is raised until it has at most this share of the rows.
MOST_USED = 0.5
# The bias bound of least squares is rounding; that of a penalised score is at most its penalty.
NO_BIAS = 1e-3
ROUNDING_OF_PENALTY = 1e-2


@spread
def desparsified(
    X: MatrixLike,
    y: ArrayLike,
    *,
    features: ArrayLike | None = None,
    alpha: float | str = "auto",
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
    the other columns, also on the full data. The second term removes the penalty's bias from b_j.

    Where columns are at most three quarters of the rows, neither regression is penalised: the
    estimates, errors and intervals are those of least squares. Elsewhere the estimate is about
    normal if few coefficients are not zero: see the page on the mathematics of inference for every
    assumption. Coefficients whose interval may cover less often than it says are `flagged`, and
    cause an :class:`UncertainIntervalWarning`.

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
        Penalty of the initial estimate on columns of standard deviation one. ``"auto"`` is none
        where the scores have none, and ``"pivotal"`` elsewhere; otherwise as in
        :class:`SqrtLasso`, but a number or ``"pivotal"`` where X is in blocks.
    score_alpha : float or "auto"
        Penalty of the regressions that make the scores, on columns of standard deviation one. A
        smaller one leaves less bias but larger errors. ``"auto"`` is none where columns are at most
        three quarters of the rows, and at most half of Phi^-1(1 - 0.05 / (2 n - 2)) elsewhere:
        less for columns that others explain well, more for those that they explain completely.
    errors : {"equal", "robust"}
        For noise of equal variance, or the sandwich formula for any noise (HC1).
    scores : ndarray of shape (m, c), Nodewise or sparse matrix of shape (c, n), optional
        Ready scores, or coefficients of the regressions that make them, for example from a
        sketch; residuals are always those on the full X. `bias_bound` measures their quality.
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
    rows = column_rows(columns.entries, True)
    _check_independent(rows, names)
    automatic = isinstance(alpha, str) and alpha == "auto"
    used = None
    if initial is not None:
        b = _checked_initial(initial, Y.shape[1], n)
    elif automatic and scores is None and score_alpha == "auto" and unpenalised(m, n):
        b = LeastSquares(columns, rows).coef(about_mean(Y))
    elif automatic:
        b, used = _sparse_initial(columns, rows, Y, tol, n_threads)
    else:
        b = _penalised(columns, rows, Y, alpha, tol, n_threads)
    fitted = np.asarray(columns.entries @ b.T) - columns.means @ b.T
    residual = about_mean(Y - fitted)
    kept = np.count_nonzero(b, axis=1)
    used = kept if used is None else used
    sigma, degrees = _noise(residual, kept, noise)
    if scores is None:
        settings = Settings(tol=tol, n_threads=n_threads, device=device)
        Z = made_scores(columns, rows, chosen, score_alpha, settings, checkpoint, progress)
    else:
        Z = ready_scores(columns, chosen, scores)
    inner = columns.own_products(chosen, Z)
    _check_left(Z, inner, columns, chosen, names)
    estimate = b[:, chosen].T + (Z.T @ residual) / inner[:, None]
    if errors == "robust":
        free = np.maximum(m - 1 - kept, 1)
        deviation = np.sqrt(np.square(Z).T @ np.square(residual) * (m / free))
    else:
        deviation = np.linalg.norm(Z, axis=0)[:, None] * sigma
    error = deviation / np.abs(inner)[:, None]
    bounds = bias_bounds(columns, chosen, Z)
    flagged = _flagged(Z, inner, bounds, used, n)
    _warn_of_flagged(flagged, used, m, n, [names[j] for j in chosen])
    single = np.ndim(y) == 1
    return Desparsified(
        estimate=estimate[:, 0] if single else estimate,
        standard_error=error[:, 0] if single else error,
        flagged=flagged[:, 0] if single else flagged,
        bias_bound=bounds,
        noise=sigma[0] if single else sigma,
        degrees_of_freedom=degrees[0] if single else degrees,
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


def _check_independent(rows: ColumnRows, names: Sequence[str]) -> None:
    """Refuse columns that are exact combinations of others, where rows suffice to tell."""
    if rows.n_features >= rows.n_samples:
        return
    groups = collinear_groups(rows.P)
    if groups:
        listed = ", ".join(str(names[j]) for j in groups[0][:5])
        more = f" and {len(groups[0]) - 5} more" if len(groups[0]) > 5 else ""
        raise UnusableColumnsError(
            f"columns {listed}{more} are exact combinations of each other, so none has an effect "
            "of its own; leave one of them out.",
            groups[0][-1:],
        )


def _check_varying(Y: FloatArray) -> None:
    constant = np.flatnonzero(np.ptp(Y, axis=0) == 0)
    if len(constant):
        raise InvalidInputError(
            f"response {constant[0]} of y is constant, so there is nothing to explain; leave it "
            "out."
            if Y.shape[1] > 1
            else "y is constant, so there is nothing to explain; pass a response that varies."
        )


def _sparse_initial(
    columns: CentredColumns, rows: ColumnRows, Y: FloatArray, tol: float, n_threads: int
) -> tuple[FloatArray, IntArray]:
    """Coefficients (t, n), and how many (t,) are not zero at the pivotal penalty.

    The penalty is raised for responses that would leave few degrees of freedom for the noise.
    """
    m, n = columns.entries.shape
    b = _penalised(columns, rows, Y, "pivotal", tol, n_threads)
    used = np.count_nonzero(b, axis=1)
    alpha = SLACK * noise_quantile(n, FAILURE)
    # Above sqrt(m) no column has a coefficient.
    while alpha < np.sqrt(m):
        many = np.flatnonzero(np.count_nonzero(b, axis=1) > MOST_USED * m)
        if len(many) == 0:
            break
        alpha *= 1.25
        b[many] = _penalised(columns, rows, Y[:, many], alpha, tol, n_threads)
    return b, used


def _penalised(
    columns: CentredColumns, rows: ColumnRows, Y: FloatArray, alpha: Any, tol: float, n_threads: int
) -> FloatArray:
    """Coefficients (t, n) of the square-root LASSO, in the units of X and Y."""
    X, t, n = columns.entries, Y.shape[1], columns.entries.shape[1]
    if isinstance(X, BlockMatrix):
        both = with_responses(rows, X, Y)
        problems = ColumnProblems(both, alpha, np.arange(n, n + t), np.arange(n))
        found = solve_columns(problems, Settings(tol=tol, n_threads=n_threads))
        found.warn_if_unsolved()
        return np.asarray(found.coef[:, :n].toarray())
    model: Any = SqrtLasso(alpha, standardize=True, sketch=None, tol=tol, n_jobs=n_threads)
    with not_warning_of(EmptyModelWarning):
        model.fit(X, Y)
    return np.array(model.coef_, dtype=np.float64).reshape(t, n)


def _checked_initial(initial: ArrayLike, t: int, n: int) -> FloatArray:
    b = np.atleast_2d(as_numbers("initial", initial))
    if b.shape != (t, n) or not np.isfinite(b).all():
        wanted = f"({n},)" if t == 1 else f"({t}, {n})"
        raise InvalidInputError(
            f"initial has shape {np.shape(initial)}, but finite coefficients of shape {wanted} in "
            "the units of X are needed; pass those."
        )
    return b


def _noise(
    residual: FloatArray, used: IntArray, noise: ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Standard deviations (t,) of the noise and their degrees of freedom, infinite if given."""
    m, t = residual.shape
    if noise is None:
        free = np.maximum(m - 1.0 - used, 1.0)
        found = np.linalg.norm(residual, axis=0) / np.sqrt(free)
        if not (found > 0).all():
            raise InvalidInputError(
                "the initial estimate fits y without any residual, so the noise cannot be "
                "estimated from it; pass noise=, or a larger alpha."
            )
        return np.asarray(found), free
    given = np.atleast_1d(as_numbers("noise", noise))
    if given.shape not in ((1,), (t,)) or not (np.isfinite(given) & (given > 0)).all():
        each = f", or one for each of the {t} responses" if t > 1 else ""
        raise unaccepted("noise", noise, f"a finite number > 0{each}")
    return np.broadcast_to(given, (t,)), np.full(t, np.inf)


def _flagged(
    Z: FloatArray, inner: FloatArray, bounds: FloatArray, used: IntArray, n: int
) -> BoolArray:
    """Which intervals (c, t) may cover less often than they say.

    Those of columns whose score is short compared with z_j'x_j, as the penalty then makes up the
    rest, or less orthogonal to another column than the usual penalty allows; and all of a response
    whose initial estimate is not sparse. None if scores are orthogonal to the other columns.
    """
    short = np.sum(Z**2, axis=0) < SHORT * np.abs(inner)
    loose = bounds > (1.0 + ROUNDING_OF_PENALTY) * largest_score_penalty(n)
    dense = used > DENSE * len(Z)
    return np.asarray((bounds > NO_BIAS)[:, None] & ((short | loose)[:, None] | dense))


def _warn_of_flagged(
    flagged: BoolArray, used: IntArray, m: int, n: int, names: Sequence[str]
) -> None:
    """Say which intervals are flagged, why, and what would help."""
    dense = (used > DENSE * m) & flagged.any()
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
        few = ", ".join(names[j] for j in poor[:3]) + (", ..." if len(poor) > 3 else "")
        warn_user(
            UncertainIntervalWarning(
                f"{len(poor)} of {len(names)} intervals ({few}) may miss the true coefficient more "
                f"often than they say, because {m} rows cannot tell the effect of such a column "
                "from those of similar columns; collect more rows, or leave similar columns out."
            )
        )


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
