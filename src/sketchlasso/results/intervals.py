"""Prediction intervals from residuals on rows that the models have not seen.

With m residuals R_i and level 1 - a, let k = ceil((1 - a)(m + 1)). The split interval is the
prediction -+ the k-th smallest R_i. The jackknife+ and CV+ intervals reach from the k-th largest
mu_i(x) - R_i to the k-th smallest mu_i(x) + R_i, where mu_i is the model that has not seen row i.
Where k > m there are too few residuals: the interval is the whole line.

R. F. Barber, E. J. Candes, A. Ramdas and R. J. Tibshirani, "Predictive inference with the
jackknife+", Annals of Statistics 49 (2021).
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from sketchlasso.errors import unaccepted
from sketchlasso.types import FloatArray, IntArray


def check_level(level: Any) -> float:
    """A probability strictly between 0 and 1."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not (number and 0 < level < 1):
        raise unaccepted(
            "level", level, "a probability strictly between 0 and 1", "pass for example 0.9"
        )
    return float(level)


def conformal_rank(level: float, count: int) -> int:
    """The rank ceil(level (m + 1)) among m residuals; above m where they are too few."""
    # 0.9 * 10 is 9 up to rounding, and must not become 10.
    return ceil(level * (count + 1) - 1e-9)


def split_intervals(predictions: FloatArray, residuals: FloatArray, level: float) -> FloatArray:
    """Intervals (p, 2) of the same width around predictions (p,).

    The residuals (m,) are those of rows that the model has not seen; their signs play no role.
    """
    rank = conformal_rank(level, len(residuals))
    half = np.inf
    if rank <= len(residuals):
        half = float(np.partition(np.abs(residuals), rank - 1)[rank - 1])
    return np.column_stack([predictions - half, predictions + half])


def plus_intervals(
    predictions: FloatArray, groups: IntArray, residuals: FloatArray, level: float
) -> FloatArray:
    """Jackknife+ or CV+ intervals (p, 2) from predictions (p, g) of new rows by each of g models.

    `groups` (m,) are the models that have not seen each row, `residuals` (m,) those of the rows by
    these models; their signs play no role.
    """
    m = len(residuals)
    rank = conformal_rank(level, m)
    if rank > m:
        return np.tile([-np.inf, np.inf], (len(predictions), 1))
    own, sizes = predictions[:, groups], np.abs(residuals)
    lower = np.partition(own - sizes, m - rank, axis=1)[:, m - rank]
    upper = np.partition(own + sizes, rank - 1, axis=1)[:, rank - 1]
    return np.column_stack([lower, upper])
