"""Common parts of the estimators: scores, predictions, fitted attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sketchlasso.data import BlockMatrix, MatrixLike, as_blocks
from sketchlasso.data.transform import column_scales
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.blocks import in_memory, linear_values, validated_rows
from sketchlasso.estimators.callbacks import CallbackSupport
from sketchlasso.estimators.fit import Fitted, Prepared, prepare, sketch_method
from sketchlasso.estimators.parameters import check_parameters, ready_sketch
from sketchlasso.estimators.summary import ModelSummary, summary_of
from sketchlasso.sketches import Sketch
from sketchlasso.types import FloatArray

# Attributes of some fits only.
OPTIONAL = ("penalised_coef", "penalised_intercept", "loadings")


class Scored(CallbackSupport):
    """Scores of scikit-learn's mixins for X in blocks; comes before the mixin among the bases."""

    def score(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R2 of a regressor, or the accuracy of a classifier (the share of correct labels).

        Parameters
        ----------
        X : array-like, sparse matrix, dask array or BlockMatrix of shape (n_samples, n_features)
        y : array-like or dask array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(super().score(as_blocks(X), in_memory(y), in_memory(sample_weight)))


class LinearModel(BaseEstimator):
    """Prediction and tags of the linear estimators."""

    coef_: FloatArray
    intercept_: Any
    alpha_: Any
    radius_: Any
    dual_gap_: Any
    full_gap_: Any
    n_iter_: int
    sketch_: Sketch | None
    standardized_: bool
    scale_: FloatArray | None
    feature_std_: FloatArray | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def summary(self, feature_names: Sequence[str] | None = None) -> ModelSummary:
        """Effects per standard deviation and per unit, score, penalty, radius and gap in one table.

        It prints as one screen of text, and as HTML in notebooks.

        Parameters
        ----------
        feature_names : sequence of str of length n_features, optional
            By default the names that the fit has seen, or x0, x1 and so on.

        Returns
        -------
        ModelSummary
            :meth:`ModelSummary.table` and :meth:`ModelSummary.to_frame` return all effects.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sketchlasso import SqrtLassoCV
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> SqrtLassoCV(selection="1se").fit(X, y).summary()  # doctest: +ELLIPSIS
        SqrtLassoCV: 5 of 10 features used
        score    mse 3092 +- 83 on held-out rows
        penalty  1.731
        radius   0
        gap      no other coefficients lower the objective by more than a ... share
        <BLANKLINE>
        feature   per std. dev.   per unit   in folds
        bmi               24.28      510.5   100%
        s5                21.36        449   100%
        bp                10.83      227.8   100%
        s3               -7.678     -161.4   100%
        sex              -3.032     -63.75   100%
        """
        return summary_of(self, feature_names)

    @property
    def sparse_coef_(self) -> Any:
        """Coefficients as a sparse matrix of shape (1, n_features) or (n_targets, n_features)."""
        check_is_fitted(self)
        return sparse.csr_array(np.atleast_2d(self.coef_))

    @property
    def sketch_method_(self) -> str | None:
        """The method of the sketch that was used; None where the full problem was solved."""
        check_is_fitted(self)
        sketch = getattr(self, "sketch_", None)
        return None if sketch is None else str(sketch.method)

    def _linear(self, X: MatrixLike) -> Any:
        """Values of the linear functions; a dask array for a dask array, not yet computed."""
        check_is_fitted(self)
        return linear_values(validated_rows(self, X), self.coef_, self.intercept_)

    def _prepared(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> Prepared:
        """Data ready to be fitted; checks the parameters, and sets standardized_ and scale_."""
        model: Any = self
        check_parameters(model, X.shape[1])
        if isinstance(X, BlockMatrix) and model.sketch is None:
            raise InvalidInputError(
                "sketch=None was given, but it solves the full problem, which needs X in memory, "
                "and X is in blocks; leave it out, or pass an array or a sparse matrix."
            )
        ready = ready_sketch(model)
        data = prepare(
            X,
            y,
            sample_weight,
            model.standardize,
            ready,
            fit_intercept=bool(model.fit_intercept),
            single=ready is not None or sketch_method(model, X) is not None,
        )
        self.standardized_, self.scale_ = data.scales is not None, data.scales
        return data


def keep_fits(estimator: LinearModel, fits: Sequence[Fitted], data: Prepared, single: bool) -> None:
    """Write the fitted attributes; those of a single response without their first axis."""
    order = np.argsort(np.concatenate([columns for columns, _ in fits]))
    for name in OPTIONAL:
        estimator.__dict__.pop(f"{name}_", None)
    for name in fits[0][1]:
        values = np.concatenate([fit[name] for _, fit in fits])[order]
        setattr(estimator, f"{name}_", values[0] if single else values)
    estimator.n_iter_ = int(np.max(estimator.n_iter_))
    deviations = data.scales
    if deviations is None and not data.in_blocks:
        deviations = column_scales(data.X, data.row_weights) * data.x_unit
    if deviations is not None:
        deviations = np.where(np.atleast_2d(estimator.coef_).any(axis=0), deviations, 0.0)
    estimator.feature_std_ = deviations
