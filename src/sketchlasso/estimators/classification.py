"""Classification by square-root LASSO regression on targets of +1 and -1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from sketchlasso.data import MatrixLike
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.base import LinearModel, Scored, map_rows, reported, validated
from sketchlasso.estimators.fit import Prepared, keep_fits, prepare_fit
from sketchlasso.estimators.parameters import PenaltySearch, SinglePenalty
from sketchlasso.estimators.rigorous import fit_responses
from sketchlasso.estimators.selection import choose
from sketchlasso.results.scores import Metric
from sketchlasso.types import FloatArray

METRICS = ("accuracy", "f1", "auc", "mse")


class _SignClassifier(Scored, ClassifierMixin, LinearModel):
    """Decides by the sign of a linear function, or by the largest of several."""

    classes_: Any
    positive: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # With coefficients >= 0 no small value of a feature can indicate a class.
        tags.classifier_tags.poor_score = bool(self.positive)
        return tags

    def decision_function(self, X: MatrixLike) -> Any:
        """Signed scores, positive for ``classes_[1]`` where there are two classes.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of a dask array a dask array in the same chunks of rows, not yet computed.
        """
        scores = self._linear(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: MatrixLike) -> Any:
        """Predict class labels.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Of a dask array a dask array in the same chunks of rows, not yet computed.
        """
        return map_rows(self.decision_function(X), _chosen_labels, (), classes=self.classes_)

    def _signed(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Prepared:
        """Data with targets of +1 and -1.

        One target, +1 for the second class, where there are two; else one per class, against
        the rest.
        """
        model: Any = self
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        count = len(self.classes_)
        ours = np.arange(1, 2) if count == 2 else np.arange(count)
        signs = np.where(codes[:, None] == ours, 1.0, -1.0)
        data = prepare_fit(model, X, signs, sample_weight)
        if count < 2 or data.constant_responses(fit_intercept=True).all():
            label = self.classes_[codes[data.rows[:1]]].tolist()[0]
            raise InvalidInputError(
                f"y holds one class only, {label!r}, among the rows that have weight, but a "
                "classifier needs samples of at least 2 classes; add rows of another class."
            )
        return data


def _chosen_labels(scores: FloatArray, *, classes: Any) -> Any:
    """Labels (rows,) by the sign of scores (rows,), or by the largest of (rows, classes)."""
    chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)
    return classes[chosen]


@dataclass(eq=False, repr=False)
class SqrtLassoClassifier(_SignClassifier, SinglePenalty):
    """Square-root LASSO on +1/-1 targets, one against the rest where there are several classes.

    All classes share the directions of the sketch that do not depend on y.

    Parameters
    ----------
    alpha : float, array-like of shape (n_classes,) or str
        Penalty or its name, see :class:`SqrtLasso`.
    fit_intercept, standardize, penalty_factor, positive, rank, sketch, radius, relaxed
        See :class:`SqrtLasso`.
    solver, tol, n_jobs, random_state, verbose, device
        See :class:`SqrtLasso`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    alpha_, radius_, dual_gap_, full_gap_ : ndarray of shape (1,) or (n_classes,)
    standardized_, scale_, feature_std_, sketch_, n_iter_, sparse_coef_, n_features_in_,
    feature_names_in_
        See :class:`SqrtLasso`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sketchlasso import SqrtLassoClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(SqrtLassoClassifier(alpha=1.0).fit(X, y).score(X, y) > 0.75)
    True
    """

    @reported
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SqrtLassoClassifier:
        """Fit one model for two classes, else one for each class.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)
        y : array-like or dask array of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
            See :meth:`SqrtLasso.fit`.

        Returns
        -------
        SqrtLassoClassifier
        """
        rows, labels = validated(self, X, y, ensure_min_samples=2)
        data = self._signed(rows, labels, sample_weight)
        fits, self.sketch_ = fit_responses(self, data)
        keep_fits(self, fits, data, single=False)
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class SqrtLassoClassifierCV(_SignClassifier, PenaltySearch):
    """Square-root LASSO classifier with penalty and radius chosen by cross-validation.

    Every class has its own penalty; folds are shuffled and stratified by class unless `cv` is a
    splitter.

    Parameters
    ----------
    alphas, alpha_min_ratio, cv, selection
        See :class:`SqrtLassoCV`.
    scoring : {"accuracy", "f1", "auc", "mse"}
        Score that decides, for each class against the rest.
    fit_intercept, standardize, penalty_factor, positive, rank, sketch, radius, relaxed
        See :class:`SqrtLassoCV`.
    solver, tol, n_jobs, random_state, verbose, device
        See :class:`SqrtLassoCV`.

    Attributes
    ----------
    classes_, coef_, intercept_, radius_, dual_gap_, full_gap_
        See :class:`SqrtLassoClassifier`.
    alpha_, alpha_min_, alpha_1se_ : ndarray of shape (1,) or (n_classes,)
    alphas_ : ndarray of shape (1 or n_classes, n_alphas)
    mse_path_, score_path_, n_nonzero_path_ : ndarray of shape (1 or n_classes, n_alphas, n_folds)
    fold_share_ : ndarray of shape (1 or n_classes, n_features)
        Share of the folds in which a feature has a coefficient, at the penalty used.
    oof_decision_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Out-of-fold decision values.
    standardized_, scale_, feature_std_, sketch_, n_iter_, sparse_coef_, n_features_in_,
    feature_names_in_
        See :class:`SqrtLasso`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sketchlasso import SqrtLassoClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SqrtLassoClassifierCV(alphas=30).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    scoring: Metric = "accuracy"

    @reported
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> SqrtLassoClassifierCV:
        """Choose penalties and radii by cross-validation, then fit on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)
        y : array-like or dask array of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array-like of shape (n_samples,), optional
        groups : array-like of shape (n_samples,), optional

        Returns
        -------
        SqrtLassoClassifierCV
        """
        rows, labels = validated(self, X, y, ensure_min_samples=2)
        data = self._signed(rows, labels, sample_weight)
        fits, decisions, self.sketch_ = choose(self, data, labels, groups, METRICS, classes=True)
        keep_fits(self, fits, data, single=False)
        self.oof_decision_ = decisions[:, 0] if len(self.classes_) == 2 else decisions
        return self
