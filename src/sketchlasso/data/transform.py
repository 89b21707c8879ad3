"""Centring and scaling of columns, beside its inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.types import FloatArray

__all__ = ["ColumnTransform"]


@dataclass(frozen=True, eq=False)
class ColumnTransform:
    """The map X -> A = (X - 1 means') diag(1 / scales), and the way back for coefficients.

    A prediction is the same on both scales:

        A w + b  =  X v + d    with    v = w / scales,    d = b - means'v

    Attributes
    ----------
    means : ndarray of shape (n,) or None
        None when the columns were not centred.
    scales : ndarray of shape (n,) or None
        None when the columns were not scaled.
    """

    means: FloatArray | None = None
    scales: FloatArray | None = None

    @property
    def is_identity(self) -> bool:
        """Whether A is X itself."""
        return self.means is None and self.scales is None

    def to_original(
        self, coef: FloatArray, intercept: FloatArray | float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """Return coefficients and intercepts for X from those for A.

        Parameters
        ----------
        coef : ndarray of shape (n,) or (t, n)
        intercept : float or ndarray of shape (t,)

        Returns
        -------
        coef : ndarray of shape (n,) or (t, n)
        intercept : ndarray of shape () or (t,)
        """
        coef = np.asarray(coef, dtype=np.float64)
        if self.scales is not None:
            coef = coef / self.scales
        shift = 0.0 if self.means is None else coef @ self.means
        return coef, np.asarray(intercept - shift)

    def to_sketched(
        self, coef: FloatArray, intercept: FloatArray | float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """Return coefficients and intercepts for A from those for X; undoes `to_original`.

        Parameters
        ----------
        coef : ndarray of shape (n,) or (t, n)
        intercept : float or ndarray of shape (t,)

        Returns
        -------
        coef : ndarray of shape (n,) or (t, n)
        intercept : ndarray of shape () or (t,)
        """
        coef = np.asarray(coef, dtype=np.float64)
        shift = 0.0 if self.means is None else coef @ self.means
        if self.scales is not None:
            coef = coef * self.scales
        return coef, np.asarray(intercept + shift)
