"""The problem of a few columns, known by their Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.kernels.coordinate import gram_gap
from sketchlasso.types import FloatArray

__all__ = ["Restricted"]


@dataclass(eq=False)
class Restricted:
    """State of the problem of p columns; w and q change in place.

    Attributes
    ----------
    G : ndarray of shape (c, c), c >= p
        Its leading (p, p) part is the Gram matrix.
    q : ndarray of shape (p,)
        X'r.
    w : ndarray of shape (p,)
    thresholds : ndarray of shape (p,)
        alpha f_j.
    square : float
        ||r||^2.
    nonnegative : bool
    """

    G: FloatArray
    q: FloatArray
    w: FloatArray
    thresholds: FloatArray
    square: float
    nonnegative: bool

    @property
    def objective(self) -> float:
        """||r|| + sum_j t_j |w_j|."""
        return self.objective_of(self.w, self.square)

    def objective_of(self, w: FloatArray, square: float) -> float:
        """The objective of other coefficients with their ||r||^2."""
        return float(np.sqrt(max(square, 0.0)) + self.thresholds @ np.abs(w))

    def relative_gap(self, w: FloatArray, q: FloatArray, square: float) -> float:
        """Gap / objective of coefficients with their X'r and ||r||^2."""
        primal, gap = gram_gap(self.G, q, w, self.thresholds, square, self.nonnegative)
        return float(gap / primal) if primal > 0.0 else 0.0
