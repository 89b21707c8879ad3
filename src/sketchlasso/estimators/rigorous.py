"""Fits with one penalty per target, including rigorous penalties.

Rigorous penalties have a loading for each feature, so that one level outweighs the noise in all:

    alpha * f_j * psi_j    with alpha from `rigorous_level`

Under noise of equal variance psi_j is the standard deviation of feature j. Under any other it is
sqrt( mean x_j^2 e^2 / mean e^2 ), with e the residual of the refit on the selected features,
which depends on the penalty in turn: the two are iterated.
"""

from __future__ import annotations

import numpy as np

from sketchlasso.data.transform import column_scales, robust_scales
from sketchlasso.errors import InvalidInputError
from sketchlasso.estimators.base import Watcher, reporter
from sketchlasso.estimators.fit import (
    Attributes,
    Fitted,
    Prepared,
    fit_response,
    refit_on_support,
    sketches,
    warn_of_empty_models,
)
from sketchlasso.estimators.parameters import SinglePenalty, ready_sketch, terms_of
from sketchlasso.estimators.penalty import RIGOROUS, penalties
from sketchlasso.problem.terms import Terms
from sketchlasso.sketches import Sketch
from sketchlasso.types import BoolArray, FloatArray, IntArray


def fit_responses(model: SinglePenalty, data: Prepared) -> tuple[list[Fitted], Sketch | None]:
    """Fit every response, those that share sketch and penalty together.

    Returns columns and attributes of the fits, see
    :func:`~sketchlasso.estimators.fit.fit_response`, and the sketch of the first response.
    """
    alphas, report = penalties(model, data), reporter(model)
    constant = data.constant_responses(bool(model.fit_intercept))
    fits: list[Fitted] = []
    first = None
    for columns, sketch in sketches(model, data):
        first = sketch if not fits else first
        for level in np.unique(alphas[columns]):
            part = columns[alphas[columns] == level]
            if isinstance(model.alpha, str) and model.alpha in RIGOROUS:
                fits += _rigorous_fits(model, data, part, sketch, level, report)
                continue
            # Without a sketch a penalty of 0 is refused, but a constant response has one solution.
            unneeded = sketch is None and level == 0 and bool(constant[part].all())
            used = 1.0 if unneeded else level
            fit = fit_response(model, data, part, sketch, used, report=report)
            fits.append((part, {**fit, "alpha": 0.0 * fit["alpha"]} if unneeded else fit))
    warn_of_empty_models(fits, constant)
    return fits, data.original_sketch(first, ready_sketch(model))


def _rigorous_fits(
    model: SinglePenalty,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    alpha: float,
    report: Watcher | None,
) -> list[Fitted]:
    """Fits of ``data.Y[:, columns]`` with loadings for equal variances, or robust ones."""
    scales = column_scales(data.X, data.row_weights, bool(model.fit_intercept))
    if model.alpha == "rigorous":
        loadings = np.where(scales > 0, scales, 1.0)  # zero would remove the penalty
        return [(columns, _fit(model, data, columns, sketch, alpha, loadings, report))]
    if data.in_blocks:
        raise InvalidInputError(
            "alpha='rigorous-robust' cannot be used for X in blocks, because its loadings need "
            "single columns of X in memory; pass an array or a sparse matrix, or alpha='rigorous'."
        )
    parts = columns[:, None]
    return [(part, _robust_fit(model, data, part, sketch, alpha, scales, report)) for part in parts]


def _robust_fit(
    model: SinglePenalty,
    data: Prepared,
    column: IntArray,
    sketch: Sketch | None,
    alpha: float,
    scales: FloatArray,
    report: Watcher | None,
) -> Attributes:
    """Fit with loadings from the residual of the last fit, until the support stays.

    The first residual is that of least squares on the five features most correlated with y.
    """
    y, weights, intercept = data.Y[:, column[0]], data.row_weights, bool(model.fit_intercept)
    rows = int(np.count_nonzero(weights))
    target = weights * (y - weights @ y / weights.sum() if intercept else y)
    sizes = np.abs(np.asarray(data.X.T @ target).ravel()) / np.where(scales > 0, scales, np.inf)
    sizes[~np.isfinite(terms_of(model).factors(len(scales)))] = 0.0
    support: BoolArray = np.zeros(len(scales), dtype=bool)
    support[np.argsort(-sizes, kind="stable")[: max(min(5, rows - 2), 0)]] = True
    support &= sizes > 0
    seen: list[bytes] = []
    for _ in range(15):  # as in the R package hdm
        coef, shift = refit_on_support(data, y, support.astype(np.float64), Terms(intercept))
        residual = np.asarray(y - data.X @ coef - shift)
        loadings = np.where(scales > 0, scales, 1.0)
        if weights @ np.square(residual) > 0:
            robust = robust_scales(data.X, weights, residual, intercept)
            loadings = np.where(robust > 0, robust, loadings)
        fit = _fit(model, data, column, sketch, alpha, loadings, report, relaxed=False)
        support = fit["coef"][0] != 0
        # Least squares on as many features as rows has no residual.
        if support.tobytes() in seen or support.sum() + intercept >= rows:
            break
        seen.append(support.tobytes())
    if not model.relaxed:
        return fit
    return _fit(model, data, column, sketch, alpha, loadings, report)


def _fit(
    model: SinglePenalty,
    data: Prepared,
    columns: IntArray,
    sketch: Sketch | None,
    alpha: float,
    loadings: FloatArray,
    report: Watcher | None,
    *,
    relaxed: bool | None = None,
) -> Attributes:
    """Fit with given loadings (n,), which are on the scale of ``data.X``."""
    terms = terms_of(model).scaled(loadings)
    if sketch is not None and sketch.column_scales is not None:
        terms = terms.scaled(1.0 / sketch.column_scales)
    fit = fit_response(
        model, data, columns, sketch, alpha, report=report, terms=terms, relaxed=relaxed
    )
    return {
        **fit,
        # The loadings carry the unit of X, so that the level has none.
        "alpha": fit["alpha"] / data.x_unit,
        "loadings": np.tile(loadings * data.divisors, (len(columns), 1)),
    }
