"""Calibrations of prediction intervals as arrays of a model file, and back."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from sketchlasso.estimators.calibration import Calibration, IntervalMethod, TargetResiduals
from sketchlasso.results.models import LinearModels
from sketchlasso.storage.door import UnfitError, check_numbers
from sketchlasso.storage.sparse import checked_csr

__all__ = ["packed_calibration", "unpacked_calibration"]

SPARSE = ("data", "indices", "indptr")


def packed_calibration(found: Calibration) -> dict[str, NDArray[Any]]:
    """Arrays of a calibration, named after the target's number and the part.

    ``calibration.0.residuals`` (m,); except for "split" also ``.groups`` (m,), ``.intercept``
    (g,) and the coefficients (g, n) as ``.data``, ``.indices`` and ``.indptr``.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for number, target in enumerate(found.targets):
        name = f"calibration.{number}"
        arrays[f"{name}.residuals"] = target.residuals
        if target.models is not None and target.groups is not None:
            arrays[f"{name}.groups"] = target.groups
            arrays[f"{name}.intercept"] = target.models.intercept
            arrays |= {f"{name}.{part}": getattr(target.models.coef, part) for part in SPARSE}
    return arrays


def unpacked_calibration(
    method: Any, arrays: dict[str, NDArray[Any]], targets: int, n_features: int
) -> Calibration:
    """A calibration from the arrays of a file, each checked."""
    if method not in get_args(IntervalMethod):
        raise UnfitError(f"it was calibrated by {method!r}, which is no method known here")
    return Calibration(
        method,
        tuple(_target(method, arrays, f"calibration.{k}", n_features) for k in range(targets)),
    )


def _target(
    method: IntervalMethod, arrays: dict[str, NDArray[Any]], name: str, n: int
) -> TargetResiduals:
    residuals = arrays[f"{name}.residuals"]
    check_numbers(residuals, f"{name}.residuals")
    if residuals.ndim != 1 or len(residuals) == 0:
        raise UnfitError(f"{name}.residuals has the shape {residuals.shape}")
    if method == "split":
        return TargetResiduals(residuals)
    groups, intercept = arrays[f"{name}.groups"], arrays[f"{name}.intercept"]
    check_numbers(groups, f"{name}.groups", "iu")
    check_numbers(intercept, f"{name}.intercept")
    count = len(np.atleast_1d(intercept))
    fits = intercept.shape == (count,) and groups.shape == residuals.shape
    if not fits or groups.min() < 0 or groups.max() >= count:
        raise UnfitError(f"{name} has {count} models and groups of the shape {groups.shape}")
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in SPARSE)
    check_numbers(data, f"{name}.data")
    coef = checked_csr(data, indices, indptr, (count, n))
    return TargetResiduals(residuals, LinearModels(coef, intercept), groups.astype(np.intp))
