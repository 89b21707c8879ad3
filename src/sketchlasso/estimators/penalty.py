"""Penalties in the units of other packages, and those that need no cross-validation."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from sketchlasso.data import MatrixLike, as_rows
from sketchlasso.data.transform import column_scales
from sketchlasso.errors import InvalidInputError, ScaleWarning, unaccepted
from sketchlasso.estimators.parameters import SingleSpecification
from sketchlasso.estimators.task import Prepared, effective_unit
from sketchlasso.instances import check_weights
from sketchlasso.problem.terms import Terms
from sketchlasso.results.left_out import LeftOut
from sketchlasso.types import BoolArray, FloatArray, IntArray
from sketchlasso.warn import warn_user

PenaltyScale: TypeAlias = Literal[
    "sketchlasso", "skglm", "pycasso", "statsmodels", "scikit-learn", "celer", "glmnet"
]
# Belloni, Chernozhukov and Wang recommend these for the square-root LASSO.
SLACK = 1.1
FAILURE = 0.05
# Belloni, Chen, Chernozhukov and Hansen divide this by the logarithm of the number of samples.
RIGOROUS_FAILURE = 0.1
# Penalties with a loading for each feature, see rigorous.py.
RIGOROUS = ("rigorous", "rigorous-robust")
NAMED = ("pivotal", *RIGOROUS)
# Columns whose scales differ by more are not in the same unit.
WIDEST = 10.0
# Column sizes without single rows that are held at a time.
AT_A_TIME = 2**22


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
    return SLACK * noise_quantile(n_penalised, RIGOROUS_FAILURE / np.log(max(n_samples, 2.0)))


def noise_quantile(count: int, failure: float) -> float:
    """Bound on the size of `count` standard normal variables, with probability 1 - failure."""
    return -float(ndtri(failure / (2 * count))) if count else 0.0


def penalties(spec: SingleSpecification, data: Prepared) -> FloatArray:
    """The penalty of every response (t,) that `alpha` asks for."""
    alpha, t = spec.alpha, data.Y.shape[1]
    if isinstance(alpha, str):
        if alpha not in NAMED:
            raise unaccepted(
                "alpha", alpha, f"{', '.join(map(repr, NAMED))} or a number > 0 (or 0, on a sketch)"
            )
        weights = data.row_weights
        penalised = spec.terms.penalised(data.X.shape[1])
        if alpha in RIGOROUS:
            level = rigorous_level(int(penalised.sum()), float(weights.sum()))
        else:
            scales = column_scales(data.X, weights, spec.terms.fit_intercept)
            if spec.ready is not None and spec.ready.column_scales is not None:
                scales = scales / spec.ready.column_scales
            if data.scales is None:
                _warn_of_scales(scales[penalised], ready=spec.ready is not None)
            level = SLACK * outweighing(scales, penalised, FAILURE)
        # Where nothing varies or nothing is penalised, every penalty gives the same model.
        return np.full(t, level or 1.0)
    try:
        values = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if values.shape not in ((1,), (t,)) or not np.isfinite(values).all() or (values < 0).any():
        names, each = ", ".join(map(repr, NAMED)), f", or one for each of the {t} targets"
        accepted = f"{names} or a finite number > 0 (or 0, on a sketch){each if t > 1 else ''}"
        given = alpha if values.size <= 10 else f"an array of shape {values.shape}"
        raise unaccepted("alpha", given, accepted)
    return np.broadcast_to(values / data.penalty_unit, (t,))


def _warn_of_scales(scales: FloatArray, ready: bool) -> None:
    """Warn about one penalty for columns of very different scales (p,).

    The remedy depends on whether the sketch was made before (`ready`).
    """
    used = scales[scales > 0]
    if len(used) == 0 or used.max() <= WIDEST * used.min():
        return
    remedy = "make the sketch with scale=True" if ready else "use standardize=True"
    warn_user(
        ScaleWarning(
            f"the columns have standard deviations from {used.min():.3g} to {used.max():.3g}, and "
            "the pivotal penalty is set by the largest, so the model hardly uses the small ones; "
            f"{remedy}, or choose the penalty by cross-validation."
        )
    )


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
    for name, value in (("source", source), ("target", target)):
        if value not in get_args(PenaltyScale):
            known = ", ".join(map(repr, get_args(PenaltyScale)))
            raise unaccepted(name, value, f"one of {known}")
    if not n_samples > 0:
        raise unaccepted(
            "n_samples",
            n_samples,
            "a positive number",
            "pass the number of samples, or the sum of their weights",
        )
    values = np.asarray(alpha, dtype=np.float64)
    result = values * _unit(source, n_samples, residual_norm)
    result = result / _unit(target, n_samples, residual_norm)
    return float(result) if result.ndim == 0 else result


def _unit(package: PenaltyScale, m: float, residual_norm: ArrayLike | None) -> Any:
    """A penalty of one in the package, in our units."""
    if package in ("sketchlasso", "skglm"):
        return 1.0
    if package == "pycasso":
        return np.sqrt(m)
    if package == "statsmodels":
        return 1.0 / np.sqrt(m)
    if residual_norm is None:
        raise InvalidInputError(
            f"{package!r} solves the LASSO, whose penalty corresponds to ours through the "
            "residual at the solution; pass residual_norm=||y - X w||."
        )
    return m / np.asarray(residual_norm, dtype=np.float64)


def left_out_problems(spec: SingleSpecification, data: Prepared, target: int) -> LeftOut:
    """The full problem of one target without each row, as a fit without the row would state it.

    Standard deviations of the columns and the pivotal penalty are those of the other rows. The
    data are those of all rows, without weights.
    """
    X: Any = as_rows(data.X)
    m, n = X.shape
    plain = spec.terms.factors(n)
    sizes = _SizesWithout(X)
    pivotal = isinstance(spec.alpha, str)
    assert not pivotal or spec.alpha == "pivotal"

    def divisors(rows: IntArray) -> FloatArray:
        """What standardisation would divide the columns of `data.X` by without a row (r, n)."""
        own = sizes(rows, centred=True)
        assert data.scales is not None
        return np.where(own > 0, own, 1.0 / data.scales)

    def factor(rows: IntArray) -> FloatArray:
        if data.scales is None:
            return np.broadcast_to(plain, (len(rows), n))
        with np.errstate(invalid="ignore"):
            return np.asarray(plain * divisors(rows))

    alpha = np.full(m, penalties(spec, data)[target])
    if pivotal:
        step, penalised = max(1, AT_A_TIME // n), spec.terms.penalised(n)
        for first in range(0, m, step):
            rows = np.arange(first, min(first + step, m))
            own = sizes(rows, centred=spec.terms.fit_intercept)
            own = own if data.scales is None else own / divisors(rows)
            levels = [SLACK * outweighing(line, penalised, FAILURE) for line in own]
            alpha[rows] = [level or 1.0 for level in levels]
    return LeftOut(
        X,
        data.Y[:, target],
        alpha,
        factor,
        same=not pivotal and data.scales is None,
        fit_intercept=spec.terms.fit_intercept,
        positive=spec.terms.positive,
    )


class _SizesWithout:
    """Root mean squares of the columns over all rows but one."""

    def __init__(self, X: Any) -> None:
        self._X, self._m = X, X.shape[0]
        ones = np.ones(self._m)
        self._means = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        self._centred = self._m * column_scales(X, ones) ** 2
        self._raw = self._m * column_scales(X, ones, centred=False) ** 2

    def __call__(self, rows: IntArray, centred: bool) -> FloatArray:
        """Sizes (r, n) without each of some rows; zero where only rounding is left."""
        part = self._X[rows]
        entries = part if isinstance(part, np.ndarray) else part.toarray()
        values = np.asarray(entries, dtype=np.float64)
        m, total = self._m, self._centred if centred else self._raw
        if centred:
            rest = total - m / (m - 1) * np.square(values - self._means)
        else:
            rest = total - np.square(values)
        rounding = np.finfo(np.float64).eps
        # Differences from a mean are as exact as the values they are differences of.
        lost = rest <= 4 * m * rounding * total + 16 * rounding**2 * self._raw
        return np.sqrt(np.where(lost, 0.0, rest) / (m - 1))
