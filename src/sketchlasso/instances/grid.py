"""Grids of penalties."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.types import FloatArray

__all__ = ["alpha_grid", "check_alphas", "check_nonnegative", "default_ratio"]


def check_alphas(alphas: ArrayLike) -> FloatArray:
    """Given penalties (a,), sorted from the largest down."""
    try:
        values = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidInputError(
            Argument("alphas", alphas),
            " was given, but a number of penalties or a list of them is accepted; pass one of "
            "these.",
        ) from None
    if values.ndim != 1 or values.size == 0:
        raise InvalidInputError(f"alphas has shape {values.shape}; give a list of penalties")
    if not np.isfinite(values).all() or (values < 0).any():
        raise InvalidInputError(
            "alphas contains NaN, infinity or a negative value, but finite numbers > 0 (or 0, on a "
            "sketch) are accepted; give those."
        )
    return np.sort(values)[::-1]


def check_nonnegative(name: str, values: ArrayLike) -> FloatArray:
    """Numbers >= 0 (inf allowed), as an array of at least one dimension."""
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if np.isnan(array).any() or (array < 0).any():
        raise InvalidInputError(
            f"{name} contains NaN or a negative value; every value must be >= 0"
        )
    return array


def default_ratio(shape: tuple[int, int]) -> float:
    """Smallest over largest automatic penalty for X of a shape (m, n), as in glmnet."""
    m, n = shape
    return 1e-2 if m < n else 1e-3


def alpha_grid(largest: FloatArray, count: int, ratio: ArrayLike) -> FloatArray:
    """Log-spaced grids (., count) from each largest penalty (.,) down to `ratio` times it."""
    if count < 1:
        raise InvalidInputError(
            Argument("alphas", count), " must be at least 1, or a list of penalties"
        )
    ratios = np.asarray(ratio, dtype=np.float64)
    if not ((ratios > 0) & (ratios < 1)).all():
        raise InvalidInputError(
            Argument("alpha_min_ratio", ratio), " must lie strictly between 0 and 1"
        )
    steps = ratios[..., None] ** np.linspace(0.0, 1.0, count)
    return np.maximum(largest, 1e-300)[..., None] * steps
