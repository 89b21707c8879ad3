"""Statistics of many row sets from one total, by downdates of k x k numbers.

A downdate total - removed loses accuracy when the removed rows hold nearly all the weight
of some direction. With K = L L' that is visible in the eigenvalues of L+ K_removed L+',
which then come close to 1; such sets are rebuilt from the rows that remain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.instances.rows import RowSet, RowSets
from sketchlasso.instances.statistics import (
    Statistics,
    StatisticsStack,
    row_statistics,
    without_each,
)
from sketchlasso.linalg.factor import psd_root
from sketchlasso.problem.reduction import reduce_statistics
from sketchlasso.types import FloatArray, RealArray

__all__ = ["ReducedSets", "reduce_row_sets", "set_statistics"]

# A direction that keeps less than this share of its weight is not trusted to a downdate.
SAFE_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class ReducedSets:
    """Reduced forms of G row sets and t responses.

    Attributes
    ----------
    roots : ndarray of shape (G, k, k)
    c : ndarray of shape (G, t, k)
    s : ndarray of shape (G, t)
    y_mean : ndarray of shape (G, t)
        Weighted mean of the responses over the training rows; zero without an intercept.
    energy : ndarray of shape (G, t)
        Weighted sum of squares of the (centred) responses.
    rebuilt : int
        Sets that were rebuilt from their rows because a downdate was not safe.
    """

    roots: FloatArray
    c: FloatArray
    s: FloatArray
    y_mean: FloatArray
    energy: FloatArray
    rebuilt: int


def reduce_row_sets(Q: RealArray, Y: FloatArray, rows: RowSets, fit_intercept: bool) -> ReducedSets:
    """Reduce every row set of Q (m, k) with responses Y (m, t)."""
    total = row_statistics(Q, Y)
    _, inverse = psd_root(total.K)
    stack, rebuilt = _stacked(Q, Y, rows, total, inverse)
    means = np.zeros_like(stack.y_sum)
    if fit_intercept:
        means = stack.y_sum / stack.weight[:, None]
        stack = stack.centred()
    reduced = reduce_statistics(stack.K, stack.g, stack.yy)
    return ReducedSets(
        roots=reduced.roots,
        c=reduced.c,
        s=reduced.s,
        y_mean=means,
        energy=stack.yy,
        rebuilt=rebuilt,
    )


def _stacked(
    Q: RealArray, Y: FloatArray, rows: RowSets, total: Statistics, inverse: FloatArray
) -> tuple[StatisticsStack, int]:
    """Statistics of every row set, and how many unsafe downdates were rebuilt."""
    if all(row_set.weights is None and len(row_set.removed) == 1 for row_set in rows):
        gone = np.concatenate([row_set.removed for row_set in rows])
        leverage = np.sum((Q[gone].astype(np.float64) @ inverse.T) ** 2, axis=1)
        if (leverage <= 1.0 - SAFE_SHARE).all():
            return without_each(total, Q, Y, gone), 0
    parts, rebuilt = [], 0
    for row_set in rows:
        statistics, again = set_statistics(Q, Y, row_set, total, inverse)
        rebuilt += again
        parts.append(statistics)
    return StatisticsStack.of(parts), rebuilt


def set_statistics(
    Q: RealArray, Y: FloatArray, row_set: RowSet, total: Statistics, inverse: FloatArray
) -> tuple[Statistics, bool]:
    """Statistics of one row set, and whether an unsafe downdate was replaced by a rebuild.

    `inverse` is L+ of the total's K = L L'.
    """
    if row_set.weights is not None:
        used = np.flatnonzero(row_set.weights)
        return row_statistics(Q[used], Y[used], row_set.weights[used]), False
    removed = row_set.removed
    if len(removed) == 0:
        return total, False
    if 2 * len(removed) < len(Q):
        gone = row_statistics(Q[removed], Y[removed])
        if _safe_to_remove(inverse @ Q[removed].T.astype(np.float64)):
            return total - gone, False
        unsafe = True
    else:
        unsafe = False
    train = row_set.train(len(Q))
    return row_statistics(Q[train], Y[train]), unsafe


def _safe_to_remove(whitened: FloatArray) -> bool:
    """Whether no direction loses nearly all its weight; `whitened` is L+ Q_removed' (k, r)."""
    energy = float(np.sum(whitened**2))
    if energy <= 1.0 - SAFE_SHARE:
        return True  # the largest eigenvalue cannot exceed the trace
    small = (
        whitened @ whitened.T if whitened.shape[0] <= whitened.shape[1] else whitened.T @ whitened
    )
    return bool(np.linalg.eigvalsh(small)[-1] <= 1.0 - SAFE_SHARE)
