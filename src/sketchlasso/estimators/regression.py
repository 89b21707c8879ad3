"""Square-root LASSO regression in scikit-learn's terms."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import validate_data

from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.base import (
    ACCEPTED,
    LinearModelMixin,
    ResponseFit,
    check_penalty_factor,
    fit_response,
    keep_fits,
)
from sketchlasso.estimators.callbacks import CallbackSupport, reported
from sketchlasso.estimators.penalty import pivotal_alpha
from sketchlasso.estimators.selection import choose, keep_choices
from sketchlasso.estimators.task import Prepared, prepare, sketches
from sketchlasso.types import FloatArray

__all__ = ["SqrtLasso", "SqrtLassoCV"]


class SqrtLasso(CallbackSupport, MultiOutputMixin, RegressorMixin, LinearModelMixin):
    """Square-root LASSO with one penalty, on a sketch of the data or on the data themselves.

    ::

        minimise over w, b   ||Q P'w + b - y||_2 + radius ||w||_2 + alpha * sum_j f_j |w_j|

    with X ~ Q P' the sketch; without a sketch ||X w + b - y||_2 + alpha * sum_j f_j |w_j|.

    Parameters
    ----------
    alpha : float, array-like of shape (n_targets,) or "pivotal"
        Penalty, not divided by the number of samples (:func:`convert_alpha` speaks other
        scales). ``"pivotal"`` needs neither cross-validation nor the noise level, see
        :func:`pivotal_alpha`.
    fit_intercept : bool
    standardize : bool
        Whether to divide columns by their standard deviations for the fit; coefficients are
        always on the original scale.
    penalty_factor : array-like of shape (n_features,), optional
        f; 0 leaves a feature unpenalised, inf excludes it.
    positive : bool
        Whether coefficients must be >= 0.
    rank : int
        Columns of the sketch.
    sketch : "auto", str, Sketch or None
        Method of :func:`sketch`, a ready sketch of X to share, or None for the full problem.
        ``"auto"``: None where the smaller side of X is at most 500, else ``"response"``.
    radius : float, str, RadiusPolicy or None
        See `radii` of :func:`cross_validate`.
    refine : {"exact"} or None
        Go on from the sketched solution to that of the full problem.
    relaxed : bool
        Refit by least squares on the selected features.
    solver : str
        See :func:`solve`.
    tol : float
        Relative duality gap, on the sketch or on the full data.
    n_jobs : int, optional
        Threads; all by default.
    random_state : int, RandomState or None
        Of the sketch.
    verbose : bool, int or callable
        Whether progress is written to a terminal; a callable is called with a
        :class:`Progress` after each round instead.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    sparse_coef_ : csr_array of shape (n_targets, n_features)
    alpha_, radius_ : float or ndarray of shape (n_targets,)
        Penalty and radius used.
    dual_gap_ : float or ndarray of shape (n_targets,)
        Objective less its proven lower bound, of the problem that was solved.
    full_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap of the penalised coefficients in the problem without a sketch.
    sketch_ : Sketch or None
        Of the first target.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    SqrtLassoCV : Penalty and radius by cross-validation.

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso import SqrtLasso
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 30))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + rng.standard_normal(100)
    >>> np.flatnonzero(SqrtLasso().fit(X, y).coef_)
    array([0, 1])
    """

    def __init__(
        self,
        alpha: float | ArrayLike | Literal["pivotal"] = "pivotal",
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        rank: int = 50,
        sketch: Any = "auto",
        radius: Any = None,
        refine: Literal["exact"] | None = None,
        relaxed: bool = False,
        solver: Any = "newton",
        tol: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.penalty_factor = penalty_factor
        self.positive = positive
        self.rank = rank
        self.sketch = sketch
        self.radius = radius
        self.refine = refine
        self.relaxed = relaxed
        self.solver = solver
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @reported
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> SqrtLasso:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        SqrtLasso
        """
        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, ensure_min_samples=2, **ACCEPTED
        )
        check_penalty_factor(self, X.shape[1])
        data = prepare(X, y, sample_weight, self.standardize)
        alphas = penalties(self.alpha, data, self.fit_intercept)
        fits: list[ResponseFit] = []
        self.sketch_ = None
        for columns, own in sketches(self, data):
            self.sketch_ = own if not fits else self.sketch_
            same = np.all(alphas[columns] == alphas[columns[0]])
            for part in [columns] if same else np.split(columns, len(columns)):
                level = alphas[part[:1]]
                fits.append(fit_response(self, data, part, own, level, self.radius))
        keep_fits(self, fits, single=np.ndim(y) == 1, dtype=X.dtype)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._linear(X)


def penalties(alpha: Any, data: Prepared, fit_intercept: bool) -> FloatArray:
    """The penalty of every response (t,)."""
    t = data.Y.shape[1]
    if isinstance(alpha, str):
        if alpha != "pivotal":
            raise InvalidInputError(
                f"alpha={alpha!r} was given, but 'pivotal' or a number >= 0 is accepted; pass one "
                "of them."
            )
        level = pivotal_alpha(data.X, sample_weight=data.weights, fit_intercept=fit_intercept)
        return np.full(t, level)
    values = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    if values.shape not in ((1,), (t,)) or not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInputError(
            f"alpha={alpha!r} was given, but a finite number >= 0, or one for each of the {t} "
            "targets, is accepted; pass one of them, or 'pivotal'."
        )
    return np.broadcast_to(values, (t,))


class SqrtLassoCV(CallbackSupport, MultiOutputMixin, RegressorMixin, LinearModelMixin):
    """Square-root LASSO with penalty and radius chosen by cross-validation.

    Every target has its own penalty. No response of a held-out row shapes the model it is
    judged by: the part of the sketch that knows y is remade for every fold.

    Parameters
    ----------
    alphas : int or array-like of shape (n_alphas,)
        Penalties, or how many to space evenly in log scale from the smallest that leaves no
        feature.
    alpha_min_ratio : float, optional
        Smallest over largest automatic penalty; see :func:`cross_validate`.
    cv : int, splitter, iterable of (train, test), or None
        None means 5 folds.
    scoring : {"mse", "mae", "r2"}
        What decides.
    selection : {"min", "1se"}
        The best mean score, or the largest penalty within one standard error of it.
    fit_intercept, standardize, penalty_factor, positive, rank, sketch, refine, relaxed, solver, tol
        See :class:`SqrtLasso`.
    radius : float, str, RadiusPolicy, a list of them, or None
        A list is searched together with the penalties.
    n_jobs, random_state, verbose
        See :class:`SqrtLasso`.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        Penalty used, by the rule in `selection`.
    alpha_min_, alpha_1se_ : float or ndarray of shape (n_targets,)
        Penalties by both rules.
    alphas_ : ndarray of shape (n_alphas,) or (n_targets, n_alphas)
        At the radius chosen, largest first.
    mse_path_ : ndarray of shape (n_alphas, n_folds) or (n_targets, n_alphas, n_folds)
        At the radius chosen.
    score_path_ : ndarray like mse_path_
        The score that decided.
    n_nonzero_path_ : ndarray like mse_path_
        Coefficients that are not zero.
    oof_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Out-of-fold predictions at the penalty used; NaN for rows never held out.
    coef_, intercept_, sparse_coef_, radius_, dual_gap_, full_gap_, sketch_, n_iter_
        See :class:`SqrtLasso`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sketchlasso import SqrtLassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SqrtLassoCV(alphas=30, selection="1se").fit(X, y)
    >>> bool(model.alpha_1se_ >= model.alpha_min_)
    True
    """

    def __init__(
        self,
        *,
        alphas: int | ArrayLike = 100,
        alpha_min_ratio: float | None = None,
        cv: Any = None,
        scoring: Literal["mse", "mae", "r2"] = "mse",
        selection: Literal["min", "1se"] = "min",
        fit_intercept: bool = True,
        standardize: bool = False,
        penalty_factor: ArrayLike | None = None,
        positive: bool = False,
        rank: int = 50,
        sketch: Any = "auto",
        radius: Any = None,
        refine: Literal["exact"] | None = None,
        relaxed: bool = False,
        solver: Any = "newton",
        tol: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.alphas = alphas
        self.alpha_min_ratio = alpha_min_ratio
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.penalty_factor = penalty_factor
        self.positive = positive
        self.rank = rank
        self.sketch = sketch
        self.radius = radius
        self.refine = refine
        self.relaxed = relaxed
        self.solver = solver
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @reported
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: Any = None
    ) -> SqrtLassoCV:
        """Choose penalty and radius by cross-validation, then fit on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            In training and in the scores.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        SqrtLassoCV
        """
        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, ensure_min_samples=2, **ACCEPTED
        )
        check_penalty_factor(self, X.shape[1])
        data = prepare(X, y, sample_weight, self.standardize, drop=False)
        target = data.Y[:, 0] if data.Y.shape[1] == 1 else None
        fits, choices = choose(self, data, target, groups)
        single = np.ndim(y) == 1
        keep_fits(self, fits, single=single, dtype=X.dtype)
        keep_choices(self, choices, single)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._linear(X)
