"""One penalty a target: every response fitted once, on all rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.estimators.base import ResponseFit, fit_response
from sketchlasso.estimators.penalty import penalties
from sketchlasso.estimators.task import Prepared, sketches
from sketchlasso.sketch import Sketch

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
    fits: list[ResponseFit] = []
    first = None
    for columns, sketch in sketches(estimator, data):
        first = sketch if not fits else first
        for level in np.unique(alphas[columns]):
            part = columns[alphas[columns] == level]
            fits.append(fit_response(estimator, data, part, sketch, [level], radius))
    if not isinstance(estimator.sketch, Sketch):
        return fits, data.original_sketch(first)
    return fits, None if first is None else estimator.sketch
