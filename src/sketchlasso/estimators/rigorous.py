"""Fits with one penalty per target, including rigorous penalties.

Rigorous penalties have a loading for each feature, so that one level outweighs the noise in all:

    alpha * f_j * psi_j    with alpha from `rigorous_level`

Under noise of equal variance psi_j is the standard deviation of feature j. Under any other it is
sqrt( mean x_j^2 e^2 / mean e^2 ), with e the residual of the refit on the selected features,
which depends on the penalty in turn: the two are iterated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sketchlasso.data.transform import column_scales, robust_scales
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.base import (
    Attributes,
    Fitted,
    fit_response,
    refit_on_support,
    warn_of_empty_models,
)
from sketchlasso.estimators.parameters import SingleSpecification
from sketchlasso.estimators.penalty import RIGOROUS, penalties
from sketchlasso.estimators.task import Prepared, sketch_plans
from sketchlasso.problem.terms import Terms
from sketchlasso.sketches import Sketch
from sketchlasso.types import BoolArray, FloatArray, IntArray

# The first residual is that of least squares on this many features, the most correlated with y.
FIRST_FEATURES = 5
MAX_ITERATIONS = 15  # as in the R package hdm


def rigorous_fits(
    spec: SingleSpecification,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    alpha: float,
) -> Iterator[Fitted]:
    """Fits of ``data.Y[:, columns]`` with loadings for equal variances, or robust ones."""
    if spec.alpha == "rigorous":
        loadings = scale_loadings(data, spec.terms.fit_intercept)
        yield columns, _fit(spec, data, columns, sketch, alpha, loadings)
        return
    if data.in_blocks:
        raise InvalidInputError(
            "alpha='rigorous-robust' cannot be used for X in blocks, because its loadings need "
            "single columns of X in memory; pass an array or a sparse matrix, or alpha='rigorous'."
        )
    for column in columns:
        yield np.array([column]), _robust_fit(spec, data, column, sketch, alpha)


def _robust_fit(
    spec: SingleSpecification,
    data: Prepared,
    column: int,
    sketch: Sketch | None,
    alpha: float,
) -> Attributes:
    """Fit one response, then loadings from its residual, until the support stays."""
    y, intercept, part = data.Y[:, column], spec.terms.fit_intercept, np.array([column])
    rows = int(np.count_nonzero(data.row_weights))
    residual = first_guess(data, y, intercept, np.isfinite(spec.terms.factors(data.X.shape[1])))
    penalised = replace(spec, relaxed=False)
    seen: list[bytes] = []
    for _ in range(MAX_ITERATIONS):
        loadings = residual_loadings(data, residual, intercept)
        fit = _fit(penalised, data, part, sketch, alpha, loadings)
        support = fit["coef"][0] != 0
        # Least squares on as many features as rows has no residual.
        if support.tobytes() in seen or support.sum() + intercept >= rows:
            break
        seen.append(support.tobytes())
        residual = refit_residual(data, y, support, intercept)
    if not spec.relaxed:
        return fit
    return _fit(spec, data, part, sketch, alpha, loadings)


def first_guess(
    data: Prepared, y: FloatArray, fit_intercept: bool, allowed: BoolArray | None = None
) -> FloatArray:
    """Residual (m,) of least squares on the features most correlated with y (m,).

    `allowed` (n,) marks the features that may be chosen; all by default.
    """
    weights = data.row_weights
    target = weights * (y - weights @ y / weights.sum() if fit_intercept else y)
    scales = column_scales(data.X, weights, fit_intercept)
    sizes = np.abs(np.asarray(data.X.T @ target).ravel()) / np.where(scales > 0, scales, np.inf)
    if allowed is not None:
        sizes = np.where(allowed, sizes, 0.0)
    count = min(FIRST_FEATURES, int(np.count_nonzero(weights)) - 2)
    chosen = np.argsort(-sizes, kind="stable")[: max(count, 0)]
    support = np.zeros(len(sizes), dtype=bool)
    support[chosen] = sizes[chosen] > 0
    return refit_residual(data, y, support, fit_intercept)


def residual_loadings(data: Prepared, residual: FloatArray, fit_intercept: bool) -> FloatArray:
    """Loadings (n,) that allow for noise whose variance depends on the features."""
    scales = scale_loadings(data, fit_intercept)
    if not (data.row_weights @ np.square(residual) > 0):
        return scales
    loadings = robust_scales(data.X, data.row_weights, residual, fit_intercept)
    return np.where(loadings > 0, loadings, scales)


def scale_loadings(data: Prepared, fit_intercept: bool) -> FloatArray:
    """Loadings (n,) for noise of equal variance: the standard deviations of the features."""
    scales = column_scales(data.X, data.row_weights, fit_intercept)
    # A loading of zero would remove the penalty.
    return np.where(scales > 0, scales, 1.0)


def refit_residual(data: Prepared, y: FloatArray, support: Any, intercept: bool) -> FloatArray:
    """Residual (m,) of least squares on the features of `support` (n,)."""
    coef, shift = refit_on_support(data, y, support.astype(np.float64), Terms(intercept))
    return np.asarray(y - data.X @ coef - shift)


def _fit(
    spec: SingleSpecification,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    alpha: float,
    loadings: FloatArray,
) -> Attributes:
    """Fit with given loadings (n,), which are on the scale of ``data.X``."""
    terms = spec.terms.scaled(loadings)
    if sketch is not None and sketch.column_scales is not None:
        terms = terms.scaled(1.0 / sketch.column_scales)
    fit = fit_response(replace(spec, terms=terms), data, columns, sketch, alpha)
    return {
        **fit,
        # The loadings carry the unit of X, so that the level has none.
        "alpha": fit["alpha"] / data.x_unit,
        "loadings": np.tile(loadings * data.divisors, (len(columns), 1)),
    }


def fit_responses(spec: SingleSpecification, data: Prepared) -> tuple[list[Fitted], Sketch | None]:
    """Fit every response, those that share sketch and penalty together.

    Returns columns and attributes of the fits, see
    :func:`~sketchlasso.estimators.base.fit_response`, and the sketch of the first response.
    """
    alphas = penalties(spec, data)
    constant = data.constant_responses(spec.terms.fit_intercept)
    fits: list[Fitted] = []
    first = None
    for columns, make in sketch_plans(spec, data):
        sketch = make()
        first = sketch if not fits else first
        for level in np.unique(alphas[columns]):
            part = columns[alphas[columns] == level]
            if isinstance(spec.alpha, str) and spec.alpha in RIGOROUS:
                fits += rigorous_fits(spec, data, part, sketch, level)
                continue
            # Without a sketch a penalty of 0 is refused, but a constant response has one solution.
            unneeded = sketch is None and level == 0 and bool(constant[part].all())
            used = 1.0 if unneeded else level
            fit = fit_response(spec, data, part, sketch, used)
            fits.append((part, {**fit, "alpha": 0.0 * fit["alpha"]} if unneeded else fit))
    warn_of_empty_models(fits, constant)
    return fits, data.original_sketch(first, spec.ready)
