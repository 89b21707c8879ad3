"""Square-root LASSO regression in scikit-learn's terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin

from sketchlasso.data import MatrixLike
from sketchlasso.estimators.base import Scored, reported, validated
from sketchlasso.estimators.fit import Prepared, keep_fits, prepare_fit
from sketchlasso.estimators.intervals import PredictionIntervals, row_keys
from sketchlasso.estimators.parameters import PenaltySearch, SinglePenalty, parameters_of
from sketchlasso.estimators.rigorous import fit_responses
from sketchlasso.estimators.selection import choose

METRICS = ("mse", "mae", "r2")


class _Regressor(Scored, MultiOutputMixin, RegressorMixin, PredictionIntervals):
    """Predicts by linear functions."""

    def predict(self, X: MatrixLike) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Of a dask array a dask array in the same chunks of rows, not yet computed.
        """
        return self._linear(X)

    def _validated(self, X: MatrixLike, y: ArrayLike) -> Any:
        return validated(self, X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)

    def _prepared(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Prepared:
        model: Any = self
        data = prepare_fit(model, X, y, sample_weight)
        self._weighted = sample_weight is not None
        self._row_keys = row_keys(X, np.asarray(y, dtype=np.float64))
        # Residuals of an earlier fit do not belong to this one.
        self.__dict__.pop("calibration_", None)
        return data

    def _with_fixed_penalty(self, target: int) -> SqrtLasso:
        radius = float(np.atleast_1d(self.radius_)[target])
        single = SqrtLasso(alpha=float(np.atleast_1d(self.alpha_)[target]))
        given = parameters_of(self)
        shared = (parameters_of(single).keys() & given.keys()) - {"alpha"}
        single.set_params(**{name: given[name] for name in shared})
        if isinstance(self, PenaltySearch):
            sketched = getattr(self, "sketch_", None) is not None
            # A search may have left out its automatic sketch for some targets.
            sketched = sketched and not (self.sketch == "auto" and radius == 0)
            single.set_params(
                radius=radius if sketched else None, sketch=self.sketch if sketched else None
            )
        return single


@dataclass(eq=False, repr=False)
class SqrtLasso(_Regressor, SinglePenalty):
    """Square-root LASSO with one penalty, on a sketch of the data or on the data themselves.

    ::

        minimise over w, b   ||Q P'w + b - y||_2 + radius ||w||_2 + alpha * sum_j f_j |w_j|

    with X ~ Q P' the sketch; without a sketch ||X w + b - y||_2 + alpha * sum_j f_j |w_j|.

    Parameters
    ----------
    alpha : float, array-like of shape (n_targets,) or str
        Penalty, not divided by the number of samples (:func:`convert_alpha` converts to
        other scales). ``"pivotal"`` needs neither cross-validation nor the noise level, see
        :func:`pivotal_alpha`. ``"rigorous"`` is 1.1 Phi^-1(1 - gamma / (2 n)) with
        gamma = 0.1 / log m, times a loading for each feature: its standard deviation. With
        ``"rigorous-robust"`` the loadings also allow for noise whose variance depends on the
        features; they are found by iteration, on X in memory.
    fit_intercept : bool
    standardize : bool or "auto"
        Whether to divide columns by their standard deviations for the fit; coefficients are
        always on the original scale. ``"auto"`` standardises dense columns, and leaves sparse
        data and ready sketches as they are; `standardized_` reports what was done.
    penalty_factor : array-like of shape (n_features,), optional
        f; 0 leaves a feature unpenalised, inf excludes it.
    positive : bool
        Whether coefficients must be >= 0.
    rank : int
        Columns of the sketch; lowered silently to the smaller side of X.
    sketch : "auto", str, Sketch or None
        Method of :func:`sketch`, a ready sketch of X to share, or None for the full problem.
        ``"auto"`` solves the full problem unless a sketch pays, see :func:`automatic_method`;
        `sketch_method_` is the method chosen.
    radius : float, str, RadiusPolicy or None
        See `radii` of :func:`cross_validate`.
    relaxed : bool
        Refit by least squares on the selected features (the post-LASSO): `coef_` are those of
        the refit, `penalised_coef_` those before it. A search over penalties refits the models of
        every fold, with up to 1,000 features, so that its scores and predictions are those of
        refits.
    solver : str
        See :func:`solve`.
    tol : float
        Relative duality gap, on the sketch or on the full data; at least 1e-6 on sketches in
        single precision, which cannot prove a smaller one.
    n_jobs : int or None
        Threads: -1 for all cores, None for one.
    random_state : int, RandomState or None
        Of the sketch.
    verbose : bool, int or callable
        Whether progress is written to a terminal; a callable is called with a
        :class:`Progress` after each round instead.
    device : {"cpu", "cuda", "cuda:1", ..., "auto", "torch"}
        Where to compute the products of X in memory and solve the problems; see
        :class:`Settings`. A GPU pays from a few hundred problems on.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    sparse_coef_ : csr_array of shape (n_targets, n_features)
    alpha_, radius_ : float or ndarray of shape (n_targets,)
        Penalty and radius used.
    dual_gap_ : float or ndarray of shape (n_targets,)
        Objective minus its proved lower bound, for the problem that was solved.
    full_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap of the penalised coefficients in the problem without a sketch.
    loadings_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Factors of the penalty that rigorous penalties found, in the units of X.
    penalised_coef_, penalised_intercept_
        Shaped as `coef_` and `intercept_`: the penalised fit, where `relaxed` refitted it.
    standardized_ : bool
        Whether columns were divided by their standard deviations.
    scale_ : ndarray of shape (n_features,) or None
        Their divisors. `alpha_` is the penalty of the divided columns: the same fit on X itself has
        ``penalty_factor=scale_``.
    feature_std_ : ndarray of shape (n_features,) or None
        Standard deviations of the features that have a coefficient, zero for the others. None for X
        in blocks that was not standardised.
    sketch_ : Sketch or None
        Of the first target that has one. Targets whose `radius_` is 0 may have been fitted without.
    sketch_method_ : str or None
        Its method; None where the full problem was solved.
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

    @reported
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SqrtLasso:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)
        y : array-like or dask array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            Weights times any number lead to the same model, unless the penalty is a number. Named
            penalties count them as (sum w)^2 / sum w^2 rows; for a number the objective has the
            length of the residual with the weights as they are: 2 is then the same as giving the
            row twice.

        Returns
        -------
        SqrtLasso
        """
        rows, targets = self._validated(X, y)
        data = self._prepared(rows, targets, sample_weight)
        fits, self.sketch_ = fit_responses(self, data)
        keep_fits(self, fits, data, single=targets.ndim == 1)
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class SqrtLassoCV(_Regressor, PenaltySearch):
    """Square-root LASSO with penalty and radius chosen by cross-validation.

    Every target has its own penalty. The response of a held-out row never affects the model that
    is scored on it: the part of a sketch that depends on y is made again for every fold.

    Parameters
    ----------
    alphas : int or array-like of shape (n_alphas,)
        Penalties, or how many to space evenly in log scale from the smallest that leaves no
        feature.
    alpha_min_ratio : float, optional
        Smallest over largest automatic penalty; see :func:`cross_validate`.
    cv : int, splitter, iterable of (train, test), or None
        None means 5. Folds given by number are shuffled by `random_state`; for rows in order of
        time pass ``TimeSeriesSplit``, for folds of consecutive rows ``KFold``.
    scoring : {"mse", "mae", "r2"}
        Score that decides.
    selection : {"min", "1se"}
        The best mean score, or the largest penalty within one standard error of it.
    fit_intercept, standardize, penalty_factor, positive, rank, sketch, relaxed, solver, tol
        See :class:`SqrtLasso`.
    radius : float, str, RadiusPolicy, a list of them, or None
        A list is searched together with the penalties.
    random_state : int, RandomState or None
        Of the folds and the sketch; None always gives the same folds.
    n_jobs, verbose, device
        See :class:`SqrtLasso`.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
        Penalty used, chosen by the rule in `selection`.
    alpha_min_, alpha_1se_ : float or ndarray of shape (n_targets,)
        Penalties by both rules.
    alphas_ : ndarray of shape (n_alphas,) or (n_targets, n_alphas)
        At the radius chosen, largest first. Automatic grids are continued where the best penalty
        would be their last.
    mse_path_ : ndarray of shape (n_alphas, n_folds) or (n_targets, n_alphas, n_folds)
        At the radius chosen; NaN for penalties that the search could leave out.
    score_path_ : ndarray like mse_path_
        The score that decided.
    n_nonzero_path_ : ndarray like mse_path_
        Coefficients that are not zero.
    fold_share_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Share of the folds in which a feature has a coefficient, at the penalty used.
    oof_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Out-of-fold predictions at the penalty used; NaN for rows never held out.
    coef_, intercept_, sparse_coef_, radius_, dual_gap_, full_gap_, standardized_, scale_,
    feature_std_, sketch_, n_iter_
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

    @reported
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> SqrtLassoCV:
        """Choose penalty and radius by cross-validation, then fit on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)
        y : array-like or dask array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            In training and in the scores.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        SqrtLassoCV
        """
        rows, targets = self._validated(X, y)
        data = self._prepared(rows, targets, sample_weight)
        single = targets.ndim == 1
        kinds = targets if single else None
        fits, held_out, self.sketch_ = choose(self, data, kinds, groups, METRICS)
        keep_fits(self, fits, data, single=single)
        self.oof_prediction_ = held_out[:, 0] if single else held_out
        return self
