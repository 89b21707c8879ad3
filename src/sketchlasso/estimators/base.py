"""Common parts of the estimators: scores, fits on all rows, refits, fitted attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sketchlasso.data import BlockMatrix, MatrixLike, as_blocks
from sketchlasso.data.transform import column_scales
from sketchlasso.errors import EmptyModelWarning, InaccurateWarning
from sketchlasso.estimators.blocks import in_memory, linear_values, validated_rows
from sketchlasso.estimators.callbacks import CallbackSupport
from sketchlasso.estimators.parameters import Radii, Specification
from sketchlasso.estimators.summary import ModelSummary, summary_of
from sketchlasso.estimators.task import Prepared, prepare, problem_of, sketch_method
from sketchlasso.problem.terms import Terms
from sketchlasso.results.full_data import certify_with_bound
from sketchlasso.results.path import Grid, Path, Problem
from sketchlasso.results.radius import RadiusPolicy
from sketchlasso.results.refits import Refitter
from sketchlasso.results.search import fit_all
from sketchlasso.sketches import Sketch
from sketchlasso.types import BoolArray, FloatArray, IntArray
from sketchlasso.warn import warn_user

# An empty model with a larger gap in the full problem is not that problem's solution.
EMPTY_GAP = 1e-6
# Attributes of some fits only.
OPTIONAL = ("penalised_coef", "penalised_intercept", "loadings")

# Fitted attributes by name, without the underscore: arrays with one row per response.
Attributes: TypeAlias = "dict[str, NDArray[Any]]"
# Which responses (t,), and their attributes.
Fitted: TypeAlias = "tuple[IntArray, Attributes]"


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

    def _prepared(
        self, spec: Specification, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> Prepared:
        """Data ready to be fitted; sets standardized_ and scale_."""
        if isinstance(X, BlockMatrix):
            spec.check_for_blocks()
        data = prepare(
            X,
            y,
            sample_weight,
            spec.standardize,
            spec.ready,
            fit_intercept=spec.terms.fit_intercept,
            single=spec.ready is not None or sketch_method(spec, X) is not None,
        )
        self.standardized_, self.scale_ = data.scales is not None, data.scales
        return data


def fit_response(
    spec: Specification,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    alpha: float,
    radius: RadiusPolicy | None = None,
    path: Path | None = None,
) -> Attributes:
    """Fit responses that share a sketch and a penalty on all rows, in the units of the user.

    Or take the fit from a `path` of that one penalty.

    The responses are the `columns` (t,) of ``data.Y``; the radius is that of the specification by
    default. Returns arrays (t, ...): coef, intercept, alpha, radius, dual_gap, full_gap and n_iter;
    with ``relaxed`` also penalised_coef and penalised_intercept.
    """
    problem = problem_of(spec, data, columns, sketch)
    radii: Radii = data.radius_in_units(spec.radius) if radius is None else radius
    if sketch is None and spec.sketch is not None:
        radii = None
    if path is None:
        path = fit_all(problem, Grid([alpha], radii=radii), sketch, problem.all_rows)
        path.warn_if_unsolved()
    coef, intercept = path.models.coef.toarray(), path.models.intercept
    units = data.y_units[columns]
    found: Attributes = {
        "coef": data.to_original(coef, columns),
        "intercept": data.original_intercept(coef, intercept, units),
        "alpha": path.alphas.reshape(len(columns), -1)[:, 0] * data.penalty_unit,
        "radius": path.radius * data.penalty_unit,
        "dual_gap": np.maximum(path.primal - path.dual, 0.0) * units * data.loss_unit,
        "n_iter": path.n_iter,
    }
    if data.given is None:
        found["full_gap"] = _full_gap(path, problem)
    else:
        # The gap is that of the user's coefficients on the user's data.
        found["full_gap"] = certify_with_bound(
            data.given,
            data.Y[:, columns] * units,
            found["coef"],
            found["alpha"],
            terms=spec.terms.scaled(data.scales),
            sample_weight=data.row_weights * data.weight_unit,
        ).relative_gap
    if not spec.relaxed:
        return found
    relaxed, shifts = coef.copy(), intercept.copy()
    for row, column in enumerate(columns):
        relaxed[row], shifts[row] = refit_on_support(data, data.Y[:, column], coef[row], spec.terms)
    return {
        **found,
        "coef": data.to_original(relaxed, columns),
        "intercept": data.original_intercept(relaxed, shifts, units),
        "penalised_coef": found["coef"],
        "penalised_intercept": found["intercept"],
    }


def _full_gap(path: Path, problem: Problem) -> FloatArray:
    """Relative gaps (t,) in the problem without a sketch, which without one are proved already."""
    if path.proved:
        return path.relative_gap
    return path.certificate(problem.X, problem.Y, problem.weights).relative_gap


def empty_models(found: Attributes) -> BoolArray:
    """Which models (t,) have no feature."""
    coef = found["penalised_coef" if "penalised_coef" in found else "coef"]
    return np.asarray(~coef.any(axis=1))


def warn_of_empty_models(fits: Sequence[Fitted], constant: BoolArray) -> None:
    """Warn of models without a feature, for all of one cause together.

    Responses that are `constant` (t,) have no other.
    """
    radii: list[float] = []
    alphas: list[float] = []
    flat, total = 0, sum(len(columns) for columns, _ in fits)
    for columns, found in fits:
        empty = empty_models(found)
        # Where the problem without a radius has features, only the radius keeps them out.
        radius = empty & (found["full_gap"] > EMPTY_GAP) & (found["radius"] > 0)
        flat += int(np.count_nonzero(constant[columns]))
        radii += found["radius"][radius].tolist()
        alphas += found["alpha"][empty & ~radius & ~constant[columns]].tolist()

    def whose(count: int) -> str:
        return "the model has" if total == 1 else f"{count} of {total} models have"

    if radii:
        warn_user(
            EmptyModelWarning(
                f"{whose(len(radii))} no feature because of the sketch's radius ({max(radii):.3g}),"
                " but the full problem has some at this penalty; use sketch=None, a larger rank "
                "or a smaller radius."
            )
        )
    if alphas:
        warn_user(
            EmptyModelWarning(
                f"{whose(len(alphas))} no feature, with one prediction for every row: none "
                f"outweighs the penalty ({max(alphas):.3g}); use a smaller one, unless no feature "
                "is to be expected."
            )
        )
    if flat:
        warn_user(EmptyModelWarning(f"{whose(flat)} no feature, because the response is constant."))


def keep_fits(estimator: LinearModel, fits: Sequence[Fitted], data: Prepared, single: bool) -> None:
    """Write the fitted attributes; those of a single response without their first axis."""
    order = np.argsort(np.concatenate([columns for columns, _ in fits]))
    for name in OPTIONAL:
        estimator.__dict__.pop(f"{name}_", None)
    for name in fits[0][1]:
        values = np.concatenate([found[name] for _, found in fits])[order]
        setattr(estimator, f"{name}_", values[0] if single else values)
    estimator.n_iter_ = int(np.max(estimator.n_iter_))
    deviations = data.scales
    if deviations is None and not data.in_blocks:
        deviations = column_scales(data.X, data.row_weights) * data.x_unit
    if deviations is not None:
        deviations = np.where(np.atleast_2d(estimator.coef_).any(axis=0), deviations, 0.0)
    estimator.feature_std_ = deviations


def refit_on_support(
    data: Prepared, y: FloatArray, coef: FloatArray, terms: Terms
) -> tuple[FloatArray, float]:
    """Coefficients (n,) and intercept of the least-squares fit of y (r,) on the support of `coef`.

    `coef` (n,) is on the scale of ``data.X``; the penalty factors of `terms` are not used.
    """
    fit_intercept = terms.fit_intercept
    support = np.flatnonzero(coef)
    weights = data.row_weights
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
        residual = y - data.X[:, support] @ coef[support]
        return coef, float(weights @ residual / weights.sum()) if fit_intercept else 0.0
    relaxed = np.zeros_like(coef)
    relaxed[support], intercept = Refitter(data.X, weights, support, terms).refit(y, support)
    return relaxed, intercept
