"""What the estimators share: parameters, the fit on all rows, and the fitted attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from sketchlasso.data.block_handles import is_dask_array
from sketchlasso.estimators.blocks import linear_values, validated
from sketchlasso.estimators.relaxed import refit_on_support
from sketchlasso.estimators.task import Prepared, settings_of
from sketchlasso.results import Path, sqrt_lasso_path
from sketchlasso.sketch import Sketch
from sketchlasso.types import FloatArray, IntArray

__all__ = ["LinearModel", "ResponseFit", "fit_response", "keep_fits"]


@dataclass(frozen=True, eq=False)
class ResponseFit:
    """The final model of some responses, one row each, on the scale of the user's X.

    Attributes
    ----------
    coef : ndarray of shape (t, n)
    intercept, alpha, radius, dual_gap, full_gap, n_iter : ndarray of shape (t,)
    columns : ndarray of shape (t,)
        Which responses they are.
    """

    coef: FloatArray
    intercept: FloatArray
    alpha: FloatArray
    radius: FloatArray
    dual_gap: FloatArray
    full_gap: FloatArray
    n_iter: IntArray
    columns: IntArray


class LinearModel(BaseEstimator):
    """Prediction and tags of the linear estimators."""

    coef_: FloatArray
    intercept_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def sparse_coef_(self) -> Any:
        """Coefficients as a sparse matrix of shape (1, n_features) or (n_targets, n_features)."""
        return sparse.csr_array(np.atleast_2d(self.coef_))

    def _linear(self, X: Any) -> Any:
        """Values of the linear functions; a dask array for a dask array, not yet computed."""
        check_is_fitted(self)
        if is_dask_array(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        else:
            X = validated(self, X, reset=False)
        return linear_values(X, self.coef_, self.intercept_)


def fit_response(
    estimator: Any,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    alphas: ArrayLike,
    radius: Any,
) -> ResponseFit:
    """Fit responses that share a sketch and a penalty on all rows.

    Parameters
    ----------
    estimator : estimator
    data : Prepared
    columns : ndarray of shape (t,)
        Which columns of ``data.Y``.
    sketch : Sketch or None
    alphas : array-like of shape (1,)
    radius : float, str, RadiusPolicy or None
    """
    path: Path = sqrt_lasso_path(
        data.matrix_for(sketch),
        data.Y[:, columns],
        sketch,
        alphas=alphas,
        radius=radius if sketch is not None else None,
        refine=estimator.refine if sketch is not None else None,
        sample_weight=data.weights,
        fit_intercept=estimator.fit_intercept,
        penalty_factor=estimator.penalty_factor,
        nonnegative=estimator.positive,
        solver=estimator.solver,
        settings=settings_of(estimator, sketch),
    )
    coef, intercept = path.models.coef.toarray(), path.models.intercept
    if estimator.relaxed:
        for row, column in enumerate(columns):
            coef[row], intercept[row] = refit_on_support(
                data, data.Y[:, column], coef[row], estimator.fit_intercept, estimator.positive
            )
    return ResponseFit(
        coef=data.to_original(coef, columns),
        intercept=intercept * data.y_units[columns],
        alpha=path.alphas.reshape(len(columns), -1)[:, 0] * data.x_unit,
        radius=path.radius * data.x_unit,
        dual_gap=np.maximum(path.primal - path.dual, 0.0) * data.y_units[columns],
        full_gap=path.full_gap,
        n_iter=path.n_iter,
        columns=columns,
    )


def keep_fits(estimator: Any, fits: Sequence[ResponseFit], single: bool, dtype: Any) -> None:
    """Write the fitted attributes; those of a single response without their first axis."""
    order = np.argsort(np.concatenate([fit.columns for fit in fits]))

    def joined(name: str) -> Any:
        values = np.concatenate([getattr(fit, name) for fit in fits])[order]
        return values[0] if single else values

    estimator.coef_ = joined("coef").astype(dtype, copy=False)
    estimator.intercept_ = joined("intercept").astype(dtype)
    estimator.alpha_ = joined("alpha")
    estimator.radius_ = joined("radius")
    estimator.dual_gap_ = joined("dual_gap")
    estimator.full_gap_ = joined("full_gap")
    estimator.n_iter_ = int(max(int(np.max(fit.n_iter)) for fit in fits))
