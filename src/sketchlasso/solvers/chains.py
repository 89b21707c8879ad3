"""Chains of instances that differ in alpha only: solved coarse to fine, each warm-started.

Every 32nd instance of a chain is solved first, then the midpoints, again and again. A
midpoint starts between its two solved neighbours, where the dual point of a path, which is
nearly smooth in log(alpha), is nearly solved already; and whole levels go through the solver
at once, which a walk along the path would not allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sketchlasso.kernels.signals import raise_signals
from sketchlasso.kernels.sparse_rows import mix_rows
from sketchlasso.solvers.algorithms.protocol import Iterates
from sketchlasso.types import FloatArray, IntArray

__all__ = ["Level", "between", "chain_levels"]

# Stride of the first level.
COARSEST = 32
_mix_rows = raise_signals(mix_rows)


@dataclass(frozen=True, eq=False)
class Level:
    """Instances to solve together, and the solved neighbours they start from.

    Attributes
    ----------
    instances : ndarray of shape (b,)
    left, right : ndarray of shape (b,), or None on the coarsest level
        Neighbours of larger and of smaller alpha; equal at the end of a chain.
    """

    instances: IntArray
    left: IntArray | None = None
    right: IntArray | None = None

    def of(self, instances: IntArray) -> Level:
        """The same level with its numbers, positions in `instances`, replaced by what is there."""
        if self.left is None or self.right is None:
            return Level(instances[self.instances])
        return Level(instances[self.instances], instances[self.left], instances[self.right])


def chain_levels(chain: IntArray, alpha: FloatArray) -> list[Level]:
    """Levels from coarse to fine; instances with one chain number form a chain by alpha."""
    order = np.lexsort((-alpha, chain))
    starts = np.flatnonzero(np.r_[True, np.diff(chain[order]) != 0])
    lengths = np.diff(np.r_[starts, len(order)])
    place = np.arange(len(order)) - np.repeat(starts, lengths)
    last = np.repeat(starts + lengths - 1, lengths)
    levels = [Level(order[place % COARSEST == 0])]
    stride = COARSEST
    while stride > 1:
        half = stride // 2
        here = np.flatnonzero(place % stride == half)
        if here.size:
            beyond = here + half
            right = np.where(beyond <= last[here], beyond, here - half)
            levels.append(Level(order[here], order[here - half], order[right]))
        stride = half
    return levels


def between(left: Iterates, right: Iterates, share: FloatArray) -> Iterates:
    """Iterates at `share` (b,) of the way from left to right; their indices are sorted."""
    indptr, indices, values = _mix_rows(
        left.coef.indptr,
        left.coef.indices,
        left.coef.data,
        right.coef.indptr,
        right.coef.indices,
        right.coef.data,
        share,
    )
    coef = sparse.csr_array((values, indices, indptr), shape=left.coef.shape)
    dual = (1.0 - share)[:, None] * left.dual + share[:, None] * right.dual
    return Iterates(coef, dual, np.zeros(len(share), dtype=np.intp))
