"""What the estimators share: the fit on all rows, the refit after selection, fitted attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sketchlasso.data import BlockMatrix
from sketchlasso.errors import Argument, EmptyModelWarning, InaccurateWarning
from sketchlasso.estimators.blocks import linear_values, validated_rows
from sketchlasso.estimators.parameters import Radii, Specification
from sketchlasso.estimators.task import Prepared, prepare, task_of
from sketchlasso.problem.terms import Terms
from sketchlasso.results.fitting import fit_all
from sketchlasso.sketches import Sketch
from sketchlasso.types import BoolArray, FloatArray, IntArray, SparseRows
from sketchlasso.warn import warn_user

__all__ = [
    "LinearModel",
    "ResponseFit",
    "fit_response",
    "keep_fits",
    "refit_on_support",
    "warn_of_empty_models",
]

# An empty model with a larger gap in the full problem is not that problem's solution.
EMPTY_GAP = 1e-6
# Attributes of some fits only.
OPTIONAL = ("penalised_coef", "penalised_intercept", "loadings")


@dataclass(frozen=True, eq=False)
class ResponseFit:
    """The final model of some responses, one row each, on the scale of the user's X.

    Attributes
    ----------
    coef : ndarray of shape (t, n)
    intercept, alpha, radius, dual_gap, full_gap, n_iter : ndarray of shape (t,)
    columns : ndarray of shape (t,)
        Which responses they are.
    emptied : ndarray of shape (t,)
        Whether the radius alone leaves no feature.
    penalised_coef, penalised_intercept : ndarray of shape (t, n) and (t,), or None
        Before the refit, where there was one.
    loadings : ndarray of shape (t, n) or None
        Factors of the penalty that the fit has found itself.
    """

    coef: FloatArray
    intercept: FloatArray
    alpha: FloatArray
    radius: FloatArray
    dual_gap: FloatArray
    full_gap: FloatArray
    n_iter: IntArray
    columns: IntArray
    emptied: BoolArray
    penalised_coef: FloatArray | None = None
    penalised_intercept: FloatArray | None = None
    loadings: FloatArray | None = None


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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def sparse_coef_(self) -> Any:
        """Coefficients as a sparse matrix of shape (1, n_features) or (n_targets, n_features)."""
        return sparse.csr_array(np.atleast_2d(self.coef_))

    @property
    def sketch_method_(self) -> str | None:
        """The method of the sketch that was used; None where the full problem was solved."""
        check_is_fitted(self)
        sketch = getattr(self, "sketch_", None)
        return None if sketch is None else str(sketch.method)

    def _linear(self, X: Any) -> Any:
        """Values of the linear functions; a dask array for a dask array, not yet computed."""
        check_is_fitted(self)
        return linear_values(validated_rows(self, X), self.coef_, self.intercept_)

    def _prepared(
        self, spec: Specification, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> Prepared:
        """Data ready to be fitted; sets standardized_ and scale_."""
        if isinstance(X, BlockMatrix):
            spec.check_for_blocks()
        data = prepare(X, y, sample_weight, spec.standardize, spec.ready)
        self.standardized_, self.scale_ = data.scales is not None, data.scales
        return data


def fit_response(
    spec: Specification,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    alpha: float,
    radius: Radii,
    start: SparseRows | None = None,
) -> ResponseFit:
    """Fit responses that share a sketch and a penalty on all rows.

    Parameters
    ----------
    spec : Specification
    data : Prepared
    columns : ndarray of shape (t,)
        Which columns of ``data.Y``.
    sketch : Sketch or None
    alpha : float
    radius : float, str, RadiusPolicy or None
    start : csr_array of shape (t, n), optional
        Coefficients near the solution of the full problem.
    """
    task = replace(task_of(spec, data, columns, sketch, [alpha]), start=start)
    path = fit_all(
        task,
        sketch,
        radius if sketch is not None else None,
        task.all_rows,
        spec.refine if sketch is not None else None,
    )
    coef, intercept = path.models.coef.toarray(), path.models.intercept
    # Where the problem without a radius has features, only the radius keeps them out.
    empty = ~coef.any(axis=1) & (path.radius > 0) & (path.full_gap > EMPTY_GAP)
    before = None
    if spec.relaxed:
        before = coef.copy(), intercept.copy()
        for row, column in enumerate(columns):
            coef[row], intercept[row] = refit_on_support(
                data, data.Y[:, column], coef[row], spec.terms
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
        emptied=empty,
        penalised_coef=None if before is None else data.to_original(before[0], columns),
        penalised_intercept=None if before is None else before[1] * data.y_units[columns],
    )


def warn_of_empty_models(fits: Sequence[ResponseFit]) -> None:
    """Warn where a radius leaves no feature although the full problem chooses some."""
    emptied = np.concatenate([fit.columns[fit.emptied] for fit in fits])
    if len(emptied) == 0:
        return
    radius = max(float(fit.radius[fit.emptied].max(initial=0.0)) for fit in fits)
    total = sum(len(fit.columns) for fit in fits)
    whose = "the model has" if total == 1 else f"{len(emptied)} of {total} models have"
    warn_user(
        EmptyModelWarning(
            f"{whose} no feature because of the sketch's radius ({radius:.3g}), but the full "
            "problem has some at this penalty; use ",
            Argument("sketch", None),
            ", a larger rank or a smaller radius.",
        )
    )


def keep_fits(
    estimator: LinearModel, fits: Sequence[ResponseFit], single: bool, dtype: np.dtype[Any]
) -> None:
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
    for name in OPTIONAL:
        estimator.__dict__.pop(f"{name}_", None)
        if getattr(fits[0], name) is not None:
            setattr(estimator, f"{name}_", joined(name).astype(dtype, copy=False))
    estimator.n_iter_ = int(max(int(np.max(fit.n_iter)) for fit in fits))


def refit_on_support(
    data: Prepared, y: FloatArray, coef: FloatArray, terms: Terms
) -> tuple[FloatArray, float]:
    """Coefficients (n,) and intercept of the least-squares fit on the support of `coef`.

    Parameters
    ----------
    data : Prepared
    y : ndarray of shape (r,)
    coef : ndarray of shape (n,)
        On the scale of ``data.X``.
    terms : Terms
        Its intercept and the sign of its coefficients count.
    """
    fit_intercept = terms.fit_intercept
    support = np.flatnonzero(coef)
    weights = np.ones(len(y)) if data.weights is None else data.weights
    mean = float(weights @ y / weights.sum()) if fit_intercept else 0.0
    if support.size == 0:
        return np.zeros_like(coef), mean
    rows = int(np.count_nonzero(weights))
    if support.size + fit_intercept >= rows:
        warn_user(
            InaccurateWarning(
                f"{support.size} features were selected from {rows} rows, so the relaxed fit would "
                "interpolate; the penalised coefficients are kept. Use a larger penalty."
            )
        )
        support_coef = coef[support]
        columns = _columns(data.X, support)
        shift = float(weights @ (y - columns @ support_coef) / weights.sum())
        return coef, shift if fit_intercept else 0.0
    columns = _columns(data.X, support)
    means = weights @ columns / weights.sum() if fit_intercept else np.zeros(len(support))
    root = np.sqrt(weights)
    A, b = root[:, None] * (columns - means), root * (y - mean)
    values = optimize.nnls(A, b)[0] if terms.positive else np.linalg.lstsq(A, b, rcond=None)[0]
    relaxed = np.zeros_like(coef)
    relaxed[support] = values
    return relaxed, mean - float(means @ values)


def _columns(X: Any, support: Any) -> FloatArray:
    chosen = X[:, support]
    dense = chosen if isinstance(chosen, np.ndarray) else chosen.toarray()
    return np.asarray(dense, dtype=np.float64)
