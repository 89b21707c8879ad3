"""Powers of two that scale data of any size so that squares neither overflow nor vanish.

Division by a power of two is exact, so a fit of data and a fit of the same data in other units
differ in nothing but the units.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.types import FloatArray

__all__ = ["column_units", "in_units", "matrix_unit", "unit_of"]

# Largest entries within these powers of two are left as they are, which saves a copy of X: the
# fourth powers of their sums neither overflow nor vanish.
COMFORT = {np.dtype(np.float64): 64, np.dtype(np.float32): 12}


def unit_of(size: float) -> float:
    """Return the largest power of two that is at most `size`; 1 for 0, infinity and NaN."""
    if not (np.isfinite(size) and size > 0):
        return 1.0
    return float(np.ldexp(1.0, int(np.frexp(size)[1]) - 1))


def matrix_unit(X: Any) -> float:
    """Return the unit (a power of two) of an array or sparse matrix X of shape (m, n).

    1 where the largest entry needs no scaling.
    """
    stored: Any = X
    values = stored.data if sparse.issparse(X) else stored
    if values.size == 0:
        return 1.0
    unit = unit_of(max(float(values.max()), -float(values.min())))
    limit = COMFORT.get(values.dtype, COMFORT[np.dtype(np.float64)])
    return 1.0 if abs(np.log2(unit)) <= limit else unit


def in_units(X: Any, unit: float) -> Any:
    """Return an array or sparse matrix X divided by `unit`, a power of two; X itself for 1."""
    if unit == 1.0:
        return X
    exponent = 1 - int(np.frexp(unit)[1])
    if sparse.issparse(X):
        scaled: Any = X
        scaled = scaled.copy()
        scaled.data = np.ldexp(scaled.data, exponent)
        return scaled
    return np.ldexp(np.asarray(X), exponent)


def column_units(Y: FloatArray) -> FloatArray:
    """Return the unit (t,) of every column of Y (m, t)."""
    return np.array([unit_of(float(size)) for size in np.abs(Y).max(axis=0, initial=0.0)])
