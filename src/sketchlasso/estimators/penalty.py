"""Penalties in the units of other packages, and those that need no cross-validation."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from sketchlasso.data import MatrixLike, as_rows
from sketchlasso.data.transform import column_scales
from sketchlasso.errors import InvalidInputError, ScaleWarning, unaccepted
from sketchlasso.estimators.fit import Prepared, effective_unit
from sketchlasso.estimators.parameters import SinglePenalty, ready_sketch, terms_of
from sketchlasso.instances import check_weights
from sketchlasso.problem.terms import Terms
from sketchlasso.results.left_out import LeftOut
from sketchlasso.types import BoolArray, FloatArray, IntArray
from sketchlasso.warn import warn_user

PenaltyScale: TypeAlias = Literal[
    "sketchlasso", "skglm", "pycasso", "statsmodels", "scikit-learn", "celer", "glmnet"
]
# Belloni, Chernozhukov and Wang recommend these for the square-root LASSO.
SLACK, FAILURE = 1.1, 0.05
# Penalties with a loading for each feature, see rigorous.py.
RIGOROUS = ("rigorous", "rigorous-robust")


def pivotal_alpha(
    X: MatrixLike,
    *,
    slack: float = SLACK,
    failure: float = FAILURE,
    penalty_factor: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
) -> float:
    """Penalty that outweighs noise of any level with probability 1 - failure.

        alpha = slack * Phi^-1(1 - failure / (2 n)) * max_j sqrt( mean_i x_ij^2 )

    At the true coefficients the residual is the noise e, and x_j'e / ||e|| does not depend on
    the noise level: for normal noise it is close to normal with the root mean square of x_j as
    its standard deviation. The penalty exceeds the largest of n such numbers, by `slack`.

    A. Belloni, V. Chernozhukov and L. Wang, "Square-root lasso: pivotal recovery of sparse
    signals via conic programming", Biometrika 98 (2011), whose lambda is sqrt(m) times this
    for columns of mean square one.

    Parameters
    ----------
    X : array or sparse matrix of shape (m, n)
    slack : float
        Their c.
    failure : float
        Their alpha, the probability that the penalty is too small.
    penalty_factor : array-like of shape (n,), optional
        Features with factor 0 (no penalty) or inf (excluded) are not counted.
    sample_weight : array-like of shape (m,), optional
        They count as (sum w)^2 / sum w^2 rows, so that weights times any number lead to the same
        model: the penalty is that of weights of this sum, times sqrt(sum w^2 / sum w).
    fit_intercept : bool
        Whether columns are centred.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso import pivotal_alpha
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], size=(100, 1000))
    >>> round(pivotal_alpha(X, fit_intercept=False), 3)  # 1.1 * Phi^-1(1 - 0.05 / 2000)
    4.461
    """
    if not slack > 0:
        raise unaccepted("slack", slack, "a number > 0")
    if not 0 < failure < 1:
        raise unaccepted("failure", failure, "a probability strictly between 0 and 1")
    entries = as_rows(X)
    m = entries.shape[0]
    weights = np.ones(m) if sample_weight is None else check_weights(sample_weight, m)
    scales = column_scales(entries, weights, fit_intercept)
    penalised = Terms(penalty_factor=penalty_factor).penalised(len(scales))
    level = slack * outweighing(scales, penalised, failure)
    return level * float(np.sqrt(effective_unit(weights)))


def outweighing(scales: FloatArray, penalised: BoolArray, failure: float) -> float:
    """Quantile of the largest correlation of the `penalised` columns (n,) with pure noise.

    The scales (n,) are the root mean squares of the columns.
    """
    largest = float(scales[penalised].max(initial=0.0))
    return noise_quantile(int(penalised.sum()), failure) * largest


def rigorous_level(n_penalised: int, n_samples: float) -> float:
    """Penalty of features of unit loading: 1.1 Phi^-1(1 - gamma / (2 n)), gamma = 0.1 / log m.

    A. Belloni, D. Chen, V. Chernozhukov and C. Hansen, "Sparse models and methods for optimal
    instruments with an application to eminent domain", Econometrica 80 (2012).
    """
    return SLACK * noise_quantile(n_penalised, 0.1 / np.log(max(n_samples, 2.0)))


def noise_quantile(count: int, failure: float) -> float:
    """Bound on the size of `count` standard normal variables, with probability 1 - failure."""
    return -float(ndtri(failure / (2 * count))) if count else 0.0


def penalties(model: SinglePenalty, data: Prepared) -> FloatArray:
    """The penalty of every response (t,) that `alpha` asks for."""
    alpha, t, ready = model.alpha, data.Y.shape[1], ready_sketch(model)
    named = "'pivotal', 'rigorous', 'rigorous-robust' or a finite number > 0 (or 0, on a sketch)"
    if isinstance(alpha, str):
        if alpha not in ("pivotal", *RIGOROUS):
            raise unaccepted("alpha", alpha, named)
        weights = data.row_weights
        penalised = terms_of(model).penalised(data.X.shape[1])
        if alpha in RIGOROUS:
            level = rigorous_level(int(penalised.sum()), float(weights.sum()))
        else:
            scales = column_scales(data.X, weights, bool(model.fit_intercept))
            if ready is not None and ready.column_scales is not None:
                scales = scales / ready.column_scales
            used = scales[penalised & (scales > 0)]
            # Columns whose scales differ by more than ten are not in the same unit.
            if data.scales is None and len(used) and used.max() > 10.0 * used.min():
                remedy = "make the sketch with scale=True" if ready else "use standardize=True"
                warn_user(
                    ScaleWarning(
                        f"the columns have standard deviations from {used.min():.3g} to "
                        f"{used.max():.3g}, and the pivotal penalty is set by the largest, so the "
                        f"model hardly uses the small ones; {remedy}, or choose the penalty by "
                        "cross-validation."
                    )
                )
            level = SLACK * outweighing(scales, penalised, FAILURE)
        # Where nothing varies or nothing is penalised, every penalty gives the same model.
        return np.full(t, level or 1.0)
    try:
        values = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if values.shape not in ((1,), (t,)) or not np.isfinite(values).all() or (values < 0).any():
        accepted = f"{named}, or one for each of the {t} targets" if t > 1 else named
        given = alpha if values.size <= 10 else f"an array of shape {values.shape}"
        raise unaccepted("alpha", given, accepted)
    return np.broadcast_to(values / data.penalty_unit, (t,))


def convert_alpha(
    alpha: ArrayLike,
    *,
    n_samples: float,
    source: PenaltyScale = "sketchlasso",
    target: PenaltyScale = "scikit-learn",
    residual_norm: ArrayLike | None = None,
) -> Any:
    """Convert a penalty from one package's objective to another's.

    With r = y - X w, m samples and the same w as the solution:

    ============================  =================================  =================
    package                       objective                          our alpha is
    ============================  =================================  =================
    sketchlasso, skglm SqrtLasso  ||r|| + a ||w||_1                  a
    pycasso, flare                ||r|| / sqrt(m) + a ||w||_1        a sqrt(m)
    statsmodels sqrt_lasso        ||r|| / sqrt(m) + (a / m) ||w||_1  a / sqrt(m)
    scikit-learn, celer, glmnet   ||r||^2 / (2 m) + a ||w||_1        a m / ||r||
    ============================  =================================  =================

    The last row is the LASSO, not the square-root LASSO: the two share their solutions along
    the path, and the penalties correspond through ||r|| at the solution. glmnet also divides
    by the standard deviation of y internally and standardises X by default.

    Parameters
    ----------
    alpha : float or array-like
        In the units of `source`.
    n_samples : float
        Number m of samples; with sample weights, their sum.
    source, target : str
        Packages, as in the table.
    residual_norm : float or array-like, optional
        ||y - X w|| at the solution; needed from and to the LASSO's scale.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> from sketchlasso import convert_alpha
    >>> convert_alpha(2.0, n_samples=100, target="pycasso")
    0.2
    >>> convert_alpha(2.0, n_samples=100, target="scikit-learn", residual_norm=5.0)
    0.1
    """
    m = n_samples
    if not m > 0:
        raise unaccepted(
            "n_samples", m, "a positive number", "pass the number of rows, or the sum of weights"
        )
    units: dict[str, Any] = {
        "sketchlasso": 1.0,
        "skglm": 1.0,
        "pycasso": np.sqrt(m),
        "statsmodels": 1.0 / np.sqrt(m),
    }
    norm = np.nan if residual_norm is None else np.asarray(residual_norm, dtype=np.float64)
    units |= dict.fromkeys(("scikit-learn", "celer", "glmnet"), m / norm)
    for name, package in (("source", source), ("target", target)):
        if package not in units:
            raise unaccepted(name, package, f"one of {', '.join(map(repr, units))}")
        if residual_norm is None and package in ("scikit-learn", "celer", "glmnet"):
            raise InvalidInputError(
                f"{package!r} solves the LASSO, whose penalty corresponds to ours through the "
                "residual at the solution; pass residual_norm=||y - X w||."
            )
    result = np.asarray(alpha, dtype=np.float64) * units[source] / units[target]
    return float(result) if result.ndim == 0 else result


def left_out_problems(model: SinglePenalty, data: Prepared, target: int) -> LeftOut:
    """The full problem of one target without each row, as a fit without the row would state it.

    Standard deviations of the columns and the pivotal penalty are those of the other rows. The
    data are those of all rows, without weights.
    """
    X: Any = as_rows(data.X)
    m, n = X.shape
    plain, ones = terms_of(model).factors(n), np.ones(m)
    means = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    totals = [m * column_scales(X, ones, centred) ** 2 for centred in (False, True)]

    def sizes(rows: IntArray, centred: bool) -> FloatArray:
        """Root mean squares (r, n) of the columns over all rows but one; zero for rounding."""
        part, total = X[rows], totals[centred]
        entries = part if isinstance(part, np.ndarray) else part.toarray()
        squares = np.square(entries - means if centred else entries, dtype=np.float64)
        rest = total - (m / (m - 1) if centred else 1.0) * squares
        return np.sqrt(np.where(rest <= 1e-12 * total, 0.0, rest) / (m - 1))

    def divisors(rows: IntArray) -> FloatArray:
        """What standardisation would divide the columns of `data.X` by without a row (r, n)."""
        own = sizes(rows, centred=True)
        # Columns that are constant without the row have no coefficient, whatever their penalty.
        return np.where(own > 0, own, 1.0)

    def factor(rows: IntArray) -> FloatArray:
        if data.scales is None:
            return np.broadcast_to(plain, (len(rows), n))
        return np.asarray(plain * divisors(rows))

    alpha = np.full(m, penalties(model, data)[target])
    pivotal = isinstance(model.alpha, str)
    # Columns that are centred and divided by their sizes are all of size one.
    if pivotal and not (data.scales is not None and bool(model.fit_intercept)):
        penalised = terms_of(model).penalised(n)
        for row in np.arange(m)[:, None]:
            own = sizes(row, bool(model.fit_intercept))
            own = own if data.scales is None else own / divisors(row)
            alpha[row] = SLACK * outweighing(own[0], penalised, FAILURE) or 1.0
    return LeftOut(
        X,
        data.Y[:, target],
        alpha,
        factor,
        same=not pivotal and data.scales is None,
        fit_intercept=bool(model.fit_intercept),
        positive=bool(model.positive),
    )
