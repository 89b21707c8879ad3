"""Where a search over penalties and radii ended: the next response of the same data begins there.

Responses that share X share the error of its sketch, and with it the radii that suit them. Their
best penalties lie at about the same share of the largest. A search that begins there solves half
as many problems as one that walks down all penalties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Guide:
    """What the search of one response says about where to look for that of another.

    Attributes
    ----------
    best : int
        The radius policy with the lowest squared error.
    penalty : ndarray of shape (radii,)
        Place in the grid of the best penalty of every policy; -1 where none was tried.
    radius : ndarray of shape (radii, alphas)
        Radius at every point, NaN where it was not tried.
    """

    best: int
    penalty: IntArray
    radius: FloatArray

    @classmethod
    def of(cls, errors: FloatArray, radius: FloatArray) -> Guide:
        """From squared errors and radii (radii, alphas), NaN where a point was not tried."""
        known = np.where(np.isfinite(errors), errors, np.inf)
        penalty = np.where(np.isfinite(known).any(axis=1), known.argmin(axis=1), -1)
        return cls(int(known.min(axis=1).argmin()), penalty, radius)
