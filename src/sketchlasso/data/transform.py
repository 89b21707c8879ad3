"""Centring and scaling of columns, and the inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sketchlasso.types import FloatArray, SparseRows

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

    def unscale(self, coef: SparseRows) -> SparseRows:
        """Return v = w / scales (t, n), the coefficients for X, from those for A (t, n)."""
        if self.scales is None:
            return coef
        return sparse.csr_array(coef @ sparse.diags_array(1.0 / self.scales))

    def shift(self, coef: SparseRows) -> FloatArray:
        """Return means'v (t,) for coefficients v (t, n) for X; zeros without means."""
        if self.means is None:
            return np.zeros(coef.shape[0])
        return np.asarray(coef @ self.means)
