"""Responses less their weighted means, without losing digits to the size of the mean."""

from __future__ import annotations

import numpy as np

from sketchlasso.types import FloatArray

__all__ = ["centre"]

# Numbers that differ from their mean by no more than this share of their size are constant.
CONSTANT_SHARE = 4 * np.finfo(np.float64).eps


def centre(values: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Values less their weighted means, and the means.

    Taken off twice: the first mean is rounded to the size of the values, the second to the
    size of their spread. Columns that are constant up to rounding become zero exactly.

    Parameters
    ----------
    values : ndarray of shape (m, t)
    weights : ndarray of shape (m,), optional
        At least one is positive. Rows of weight zero count for nothing, but are shifted too.

    Returns
    -------
    centred : ndarray of shape (m, t)
    means : ndarray of shape (t,)
    """
    used = slice(None) if weights is None else weights > 0
    if weights is None:
        first = values.mean(axis=0)
        centred = values - first
        second = centred.mean(axis=0)
    else:
        # In units of the largest, sums of huge or tiny weights stay finite.
        shares = weights / weights.max()
        shares = shares / shares.sum()
        first = shares @ values
        centred = values - first
        second = shares @ centred
    centred -= second
    spread = np.abs(centred[used]).max(axis=0, initial=0.0)
    size = np.abs(values[used]).max(axis=0, initial=0.0)
    centred[:, spread <= CONSTANT_SHARE * size] = 0.0
    return centred, first + second
