"""Euclidean lengths of vectors whose squares may leave the range of doubles."""

from __future__ import annotations

import numpy as np

from sketchlasso.types import FloatArray

__all__ = ["lengths"]


def lengths(directions: FloatArray) -> FloatArray:
    """Lengths (p,) of directions (m, p), whose squares may be too large or small for doubles."""
    largest = np.abs(directions).max(axis=0, initial=0.0)
    units = directions / np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.linalg.norm(units, axis=0))
