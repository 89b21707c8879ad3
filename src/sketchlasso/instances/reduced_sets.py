"""Statistics of many row sets, each from the total of all rows less the rows removed.

A downdate total - removed loses accuracy when the removed rows hold nearly all the weight
of some direction. With K = L L' the eigenvalues of L+ K_removed L+' then come close to 1; such
sets are rebuilt from the rows that remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sketchlasso.data import RowFactor
from sketchlasso.instances.rows import RowSets
from sketchlasso.instances.statistics import (
    Statistics,
    row_sums,
    summed_choice,
    training_choices,
)
from sketchlasso.linalg.factor import psd_root
from sketchlasso.linalg.rows import centre
from sketchlasso.problem.reduction import reduce_statistics
from sketchlasso.types import FloatArray, IntArray, RealArray

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

    With an intercept the means of the responses are subtracted before any sum is formed: sums of
    squares around a large mean would keep none of the digits of the spread.
    """
    shifted, shift = Y, np.zeros(Y.shape[1])
    if fit_intercept:
        shifted, shift = centre(Y, _weights_of_all(rows))
    stack, rebuilt = _stacked(Q, shifted, rows)
    shifts = np.tile(shift, (len(rows), 1))
    # Sums of squares that those of every set come from, before any subtraction.
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
    stack: Statistics, shifts: FloatArray, fit_intercept: bool
) -> tuple[FloatArray, Statistics]:
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
) -> tuple[Statistics, FloatArray]:
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
        parts += row_sums(Q, own, [choice])[1]
    return Statistics.stack(parts), shifts


def _stacked(Q: RowFactor, Y: FloatArray, rows: RowSets) -> tuple[Statistics, int]:
    """Statistics of every row set from one pass, and a second one for unsafe downdates.

    Returned with the number of unsafe ones.
    """
    if all(row_set.weights is None and len(row_set.removed) == 1 for row_set in rows):
        gone = np.concatenate([row_set.removed for row_set in rows])
        wanted, place = np.unique(gone, return_inverse=True)
        total, _, q = row_sums(Q, Y, [], wanted)
        q = q[place]
        stack = total.without_each(q, Y[gone])
        unsafe = np.flatnonzero(_leverage(q, psd_root(total.K)[1]) > 1.0 - SAFE_SHARE)
    else:
        choices = [summed_choice(row_set, rows.n_samples) for row_set in rows]
        total, sums, _ = row_sums(Q, Y, choices)
        stack = Statistics.stack(
            [
                total - part if choice.removed else part
                for choice, part in zip(choices, sums, strict=True)
            ]
        )
        removed = [i for i, own in enumerate(choices) if own.removed and len(own.rows)]
        unsafe = np.array(_unsafe(total, sums, removed), dtype=np.intp)
    if unsafe.size:
        _, again, _ = row_sums(Q, Y, training_choices(rows, unsafe))
        stack = stack.with_sets(unsafe, Statistics.stack(again))
    return stack, len(unsafe)


def _leverage(q: RealArray, inverse: FloatArray) -> FloatArray:
    """Share (r,) that each row has of the weight of its own direction."""
    return np.sum((q.astype(np.float64) @ inverse.T) ** 2, axis=1)


def _unsafe(total: Statistics, sums: Sequence[Statistics], removed: Sequence[int]) -> list[int]:
    """Those of the removed sets of rows without which some direction loses nearly all weight."""
    if not removed:
        return []
    _, inverse = psd_root(total.K)
    # The largest eigenvalue cannot exceed the trace.
    metric = inverse.T @ inverse
    doubtful = [i for i in removed if np.sum(metric * sums[i].K) > 1.0 - SAFE_SHARE]
    return [
        i
        for i in doubtful
        if np.linalg.eigvalsh(inverse @ sums[i].K @ inverse.T)[-1] > 1.0 - SAFE_SHARE
    ]
