"""One penalty per target: every response fitted once, on all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sketchlasso.estimators.base import ResponseFit, fit_response
from sketchlasso.estimators.penalty import RIGOROUS, penalties
from sketchlasso.estimators.rigorous import rigorous_fits
from sketchlasso.estimators.task import Prepared, constant_responses, sketches
from sketchlasso.sketches import Sketch

__all__ = ["fit_responses"]


def fit_responses(estimator: Any, data: Prepared) -> tuple[list[ResponseFit], Sketch | None]:
    """Fit every response; those that share sketch and penalty in one go.

    Returns
    -------
    fits : list of ResponseFit
    sketch : Sketch or None
        Of the first response.
    """
    alphas = penalties(estimator, data)
    radius = data.radius_in_units(estimator.radius)
    constant = constant_responses(estimator, data)
    fits: list[ResponseFit] = []
    first = None
    for columns, sketch in sketches(estimator, data):
        first = sketch if not fits else first
        for level in np.unique(alphas[columns]):
            part = columns[alphas[columns] == level]
            if isinstance(estimator.alpha, str) and estimator.alpha in RIGOROUS:
                fits += rigorous_fits(estimator, data, part, sketch, level, radius)
                continue
            # Without a sketch a penalty of 0 is refused, but here any gives the same answer.
            unneeded = sketch is None and level == 0 and bool(constant[part].all())
            used = 1.0 if unneeded else level
            fit = fit_response(estimator, data, part, sketch, [used], radius)
            fits.append(replace(fit, alpha=np.zeros_like(fit.alpha)) if unneeded else fit)
    if not isinstance(estimator.sketch, Sketch):
        return fits, data.original_sketch(first)
    return fits, None if first is None else estimator.sketch
