"""Statistics of many row sets from one total, by downdates of k x k numbers.

A downdate total - removed loses accuracy when the removed rows hold nearly all the weight
of some direction. With K = L L' that is visible in the eigenvalues of L+ K_removed L+',
which then come close to 1; such sets are rebuilt from the rows that remain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.data import ImplicitRows, RowFactor
from sketchlasso.instances.block_sums import block_sums, summed_choice, training_choices
from sketchlasso.instances.rows import RowSet, RowSets
from sketchlasso.instances.statistics import (
    Statistics,
    StatisticsStack,
    row_statistics,
    without_each,
)
from sketchlasso.linalg.centring import centre
from sketchlasso.linalg.factor import psd_root
from sketchlasso.problem.reduction import reduce_statistics
from sketchlasso.types import FloatArray, IntArray, RealArray

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


def reduce_row_sets(Q: RowFactor, Y: FloatArray, rows: RowSets, fit_intercept: bool) -> ReducedSets:
    """Reduce every row set of Q (m, k) with responses Y (m, t).

    With an intercept the means of the responses come off before any sum is formed: sums of
    squares around a large mean would keep none of the digits of the spread.
    """
    shifted, shift = Y, np.zeros(Y.shape[1])
    if fit_intercept:
        shifted, shift = centre(Y, _weights_of_all(rows))
    if isinstance(Q, ImplicitRows):
        stack, rebuilt = _stacked_over_blocks(Q, shifted, rows)
    else:
        total = row_statistics(Q, shifted)
        _, inverse = psd_root(total.K)
        stack, rebuilt = _stacked(Q, shifted, rows, total, inverse)
    shifts = np.tile(shift, (len(rows), 1))
    # What the sums of every set were formed from or taken from.
    sizes = stack.yy.copy()
    sizes[_downdated(rows)] = np.sum(shifted**2, axis=0)
    means, stack = _centred(stack, shifts, fit_intercept)
    drowned = np.flatnonzero((stack.yy < SAFE_SHARE * sizes).any(axis=1))
    if len(drowned):
        parts, shifts[drowned] = _around_own_means(Q, Y, rows, drowned, fit_intercept)
        own, parts = _centred(parts, shifts[drowned], fit_intercept)
        stack, means[drowned] = stack.with_sets(drowned, parts), own
    reduced = reduce_statistics(stack.K, stack.g, stack.yy)
    return ReducedSets(
        roots=reduced.roots,
        c=reduced.c,
        s=reduced.s,
        y_mean=means,
        energy=stack.yy,
        rebuilt=rebuilt + len(drowned),
    )


def _centred(
    stack: StatisticsStack, shifts: FloatArray, fit_intercept: bool
) -> tuple[FloatArray, StatisticsStack]:
    """Means (G, t) of the responses, and the statistics around them."""
    if not fit_intercept:
        return np.zeros_like(stack.y_sum), stack
    return shifts + stack.y_sum / stack.weight[:, None], stack.centred()


def _weights_of_all(rows: RowSets) -> FloatArray | None:
    """Weights (m,) of rows over all sets, where all sets have weights of their own."""
    weights = [chosen.weights for chosen in rows if chosen.weights is not None]
    return np.sum(weights, axis=0) if len(weights) == len(rows) else None


def _downdated(rows: RowSets) -> IntArray:
    """Row sets whose statistics may be the total less those of removed rows."""
    return np.array(
        [i for i, chosen in enumerate(rows) if chosen.weights is None and len(chosen.removed)],
        dtype=np.intp,
    )


def _around_own_means(
    Q: RowFactor, Y: FloatArray, rows: RowSets, places: IntArray, fit_intercept: bool
) -> tuple[StatisticsStack, FloatArray]:
    """Statistics of some row sets whose responses hardly vary next to those of all rows.

    They are summed from the rows themselves, the responses less the means of these rows;
    returned with the means (p, t).
    """
    parts, shifts = [], np.zeros((len(places), Y.shape[1]))
    for i, choice in enumerate(training_choices(rows, places)):
        own = Y
        if fit_intercept:
            own = np.zeros_like(Y)
            own[choice.rows], shifts[i] = centre(Y[choice.rows], choice.weights)
        if isinstance(Q, ImplicitRows):
            parts += block_sums(Q, own, [choice])[1]
        else:
            parts.append(row_statistics(Q[choice.rows], own[choice.rows], choice.weights))
    return StatisticsStack.of(parts), shifts


def _stacked(
    Q: RealArray, Y: FloatArray, rows: RowSets, total: Statistics, inverse: FloatArray
) -> tuple[StatisticsStack, int]:
    """Statistics of every row set, and how many unsafe downdates were rebuilt."""
    if _single_deletions(rows):
        gone = np.concatenate([row_set.removed for row_set in rows])
        if (_leverage(Q[gone], inverse) <= 1.0 - SAFE_SHARE).all():
            return without_each(total, Q, Y, gone), 0
    parts, rebuilt = [], 0
    for row_set in rows:
        statistics, again = set_statistics(Q, Y, row_set, total, inverse)
        rebuilt += again
        parts.append(statistics)
    return StatisticsStack.of(parts), rebuilt


def _single_deletions(rows: RowSets) -> bool:
    return all(row_set.weights is None and len(row_set.removed) == 1 for row_set in rows)


def _leverage(q: RealArray, inverse: FloatArray) -> FloatArray:
    """Share (r,) that each row has of the weight of its own direction."""
    return np.sum((q.astype(np.float64) @ inverse.T) ** 2, axis=1)


def _stacked_over_blocks(
    Q: ImplicitRows, Y: FloatArray, rows: RowSets
) -> tuple[StatisticsStack, int]:
    """Statistics of every row set from one pass, and a second one for unsafe downdates."""
    if _single_deletions(rows):
        gone = np.concatenate([row_set.removed for row_set in rows])
        wanted, place = np.unique(gone, return_inverse=True)
        total, _, q = block_sums(Q, Y, [], wanted)
        q = q[place]
        stack = without_each(total, q, Y[gone], np.arange(len(gone)))
        risky = _leverage(q, psd_root(total.K)[1]) > 1.0 - SAFE_SHARE
        unsafe = np.flatnonzero(risky)
    else:
        choices = [summed_choice(row_set, len(Q)) for row_set in rows]
        total, sums, _ = block_sums(Q, Y, choices)
        _, inverse = psd_root(total.K)
        removed = np.array([choice.removed and len(choice.rows) > 0 for choice in choices])
        stack = StatisticsStack.of(
            [
                total - part if choice.removed else part
                for choice, part in zip(choices, sums, strict=True)
            ]
        )
        unsafe = np.array(
            [i for i in np.flatnonzero(removed) if not _safe_gram(inverse @ sums[i].K @ inverse.T)],
            dtype=np.intp,
        )
    if unsafe.size:
        _, again, _ = block_sums(Q, Y, training_choices(rows, unsafe))
        stack = stack.with_sets(unsafe, StatisticsStack.of(again))
    return stack, len(unsafe)


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
    return _safe_gram(small)


def _safe_gram(whitened: FloatArray) -> bool:
    """Whether the removed rows' Gram matrix, in units of that of all rows, is safely below 1."""
    return bool(np.linalg.eigvalsh(whitened)[-1] <= 1.0 - SAFE_SHARE)
