"""X and responses as the full problem sees them: weighted, centred where there is an intercept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.centring import centre
from sketchlasso.types import FloatArray

__all__ = ["FullView", "unit"]


@dataclass(frozen=True, eq=False)
class FullView:
    """X and responses with rows scaled by the roots of their weights.

    Attributes
    ----------
    X : ndarray, csr_array or BlockMatrix of shape (m, n)
    weights : ndarray of shape (m,)
    fit_intercept : bool
        Whether weighted means are taken off.
    """

    X: Any
    weights: FloatArray
    fit_intercept: bool
    root: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", np.sqrt(self.weights))

    @property
    def size(self) -> float:
        """Entries of X that a product touches."""
        return float(getattr(self.X, "nnz", self.X.shape[0] * self.X.shape[1]))

    def scale(self, values: FloatArray) -> FloatArray:
        """Values (m, p) on the rows, less their weighted mean, scaled."""
        if self.fit_intercept:
            values, _ = centre(values, self.weights)
        return self.root[:, None] * values

    def columns(self, chosen: Any) -> FloatArray:
        """The chosen columns (m, c), centred and scaled."""
        part = self.X[:, chosen]
        part = part if isinstance(part, np.ndarray) else part.toarray()
        return self.scale(np.asarray(part, dtype=np.float64))

    def centre(self, directions: FloatArray) -> FloatArray:
        """Directions on scaled rows less what an intercept sees of them."""
        if not self.fit_intercept:
            return directions
        ones = unit(self.root[:, None])[:, 0]
        for _ in range(2):
            directions = directions - np.outer(ones, ones @ directions)
        return directions

    def correlate(self, directions: FloatArray) -> FloatArray:
        """What the columns see (n, p) of centred directions (m, p) on scaled rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            seen = np.asarray(self.X.T @ (self.root[:, None] * directions))
        if not np.isfinite(seen).all():
            column = int(np.argwhere(~np.isfinite(seen))[0, 0])
            raise InvalidInputError(
                f"column {column} of X holds numbers that are not finite or too large for sums of "
                "them, so that nothing can be proved; scale that column down."
            )
        return seen


def unit(directions: FloatArray) -> FloatArray:
    """Directions (m, p) of length one; those that are zero stay so."""
    largest = np.abs(directions).max(axis=0, initial=0.0)
    directions = directions / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(directions, axis=0)
    return np.asarray(directions / np.where(length > 0, length, 1.0))
