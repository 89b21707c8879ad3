"""One penalty per target: every response fitted once, on all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sketchlasso.estimators.base import ResponseFit, fit_response, warn_of_empty_models
from sketchlasso.estimators.parameters import SingleSpecification
from sketchlasso.estimators.penalty import RIGOROUS, penalties
from sketchlasso.estimators.rigorous import rigorous_fits
from sketchlasso.estimators.task import Prepared, sketches
from sketchlasso.sketches import Sketch

__all__ = ["fit_responses"]


def fit_responses(
    spec: SingleSpecification, data: Prepared
) -> tuple[list[ResponseFit], Sketch | None]:
    """Fit every response; those that share sketch and penalty in one go.

    Returns
    -------
    fits : list of ResponseFit
    sketch : Sketch or None
        Of the first response.
    """
    alphas = penalties(spec, data)
    radius = data.radius_in_units(spec.radius)
    constant = data.constant_responses(spec.terms.fit_intercept)
    fits: list[ResponseFit] = []
    first = None
    for columns, sketch in sketches(spec, data):
        first = sketch if not fits else first
        for level in np.unique(alphas[columns]):
            part = columns[alphas[columns] == level]
            if isinstance(spec.alpha, str) and spec.alpha in RIGOROUS:
                fits += rigorous_fits(spec, data, part, sketch, level, radius)
                continue
            # Without a sketch a penalty of 0 is refused, but here any gives the same answer.
            unneeded = sketch is None and level == 0 and bool(constant[part].all())
            used = 1.0 if unneeded else level
            fit = fit_response(spec, data, part, sketch, used, radius)
            fits.append(replace(fit, alpha=np.zeros_like(fit.alpha)) if unneeded else fit)
    warn_of_empty_models(fits)
    return fits, data.original_sketch(first, spec.ready)
