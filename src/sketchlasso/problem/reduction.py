"""From the statistics of an instance to its reduced form, and back.

An instance sees its data only through K = Q'WQ, g = Q'Wy and yy = y'Wy. With K = L L':

    ||QP'w - y||_W^2 = ||c - R'w||^2 + s^2,    R = P L,  c = L+ g,  s^2 = yy - c'c
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.factor import psd_root, solve_root
from sketchlasso.types import FloatArray

__all__ = ["Reduced", "reduce_statistics", "unreachable_part"]

# yy - c'c carries this relative rounding error; a smaller remainder is taken as zero.
ROUNDING_OF_REMAINDER = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Reduced:
    """The reduced form (L, c, s) of one Gram matrix and t responses.

    Attributes
    ----------
    root : ndarray of shape (k, k)
        L with K = L L'.
    c : ndarray of shape (t, k)
    s : ndarray of shape (t,)
    """

    root: FloatArray
    c: FloatArray
    s: FloatArray

    def statistics(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The inverse of the reduction: K (k, k), g (k, t), yy (t,)."""
        return (
            self.root @ self.root.T,
            self.root @ self.c.T,
            np.sum(self.c**2, axis=1) + self.s**2,
        )


def reduce_statistics(K: FloatArray, g: FloatArray, yy: FloatArray | float) -> Reduced:
    """Reduce K (k, k), g (k,) or (k, t), yy scalar or (t,); K may be singular."""
    targets = g[:, None] if g.ndim == 1 else g
    energies = np.atleast_1d(np.asarray(yy, dtype=np.float64))
    if energies.shape != targets.shape[1:]:
        raise InvalidInputError(
            f"g holds {targets.shape[1]} responses but yy has shape {energies.shape}"
        )
    root, inverse = psd_root(K)
    c = solve_root(inverse, targets).T
    return Reduced(root=root, c=c, s=unreachable_part(energies, c))


def unreachable_part(yy: FloatArray, c: FloatArray) -> FloatArray:
    """S = sqrt(yy - c'c), with a remainder of the size of rounding taken as zero."""
    remainder = yy - np.sum(c**2, axis=-1)
    return np.sqrt(np.where(remainder > ROUNDING_OF_REMAINDER * yy, remainder, 0.0))
