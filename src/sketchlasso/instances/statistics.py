"""Sums over rows, which are all that an instance needs of its data, and their reduced form.

Changing the rows of an instance means adding or subtracting k x k numbers. A downdate
total - removed loses accuracy when the removed rows hold nearly all the weight of some direction.
With K = L L' the eigenvalues of L+ K_removed L+' then come close to 1; such sets are rebuilt from
the rows that remain.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from sketchlasso.cluster.engine import add
from sketchlasso.data import RowFactor
from sketchlasso.data.block_work import Stacked
from sketchlasso.data.implicit import BlockRows, blocks_of, sum_over_rows
from sketchlasso.data.opening import split_choice, split_rows
from sketchlasso.instances.rows import RowSets
from sketchlasso.linalg.factor import psd_root
from sketchlasso.linalg.rows import centre
from sketchlasso.problem.reduction import reduce_statistics
from sketchlasso.types import FloatArray, IntArray, RealArray

# Sorted rows (r,) to sum over, and their weights (r,) or None for one.
Chosen: TypeAlias = "tuple[IntArray, FloatArray | None]"
# A direction that keeps less than this share of its weight is not trusted to a downdate.
SAFE_SHARE = 1e-4
# Below this share of ||y|| a difference of squares leaves too few digits of what Q cannot reach.
CANCELLED = 1e-3
# And below this share it is rounding.
EXACT = 1e-13
# Row numbers that are held at a time where such parts are found.
MOST_NUMBERS = 1 << 22


@dataclass(frozen=True, eq=False)
class Statistics:
    """Weighted sums over rows of Q (., k) and Y (., t).

    They belong to one set of rows, or to G sets: every attribute then has a leading axis G.
    """

    weight: Any  # float or ndarray (G,): sum of the weights
    q_sum: FloatArray  # (k,): Q'W1
    y_sum: FloatArray  # (t,): Y'W1
    K: FloatArray  # (k, k): Q'WQ
    g: FloatArray  # (k, t): Q'WY
    yy: FloatArray  # (t,): diagonal of Y'WY

    def _arrays(self) -> list[Any]:
        return [getattr(self, field.name) for field in fields(self)]

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(*map(operator.add, self._arrays(), other._arrays()))

    def __sub__(self, other: Statistics) -> Statistics:
        return Statistics(*map(operator.sub, self._arrays(), other._arrays()))

    @staticmethod
    def stack(parts: Sequence[Statistics]) -> Statistics:
        """Statistics of G sets from those of single ones."""
        return Statistics(*map(np.stack, zip(*(part._arrays() for part in parts), strict=True)))

    def with_sets(self, places: IntArray, parts: Statistics) -> Statistics:
        """The same sets with other statistics at some places (p,)."""
        arrays = [values.copy() for values in self._arrays()]
        for values, own in zip(arrays, parts._arrays(), strict=True):
            values[places] = own
        return Statistics(*arrays)

    def centred(self) -> Statistics:
        """G sets of the same rows with the weighted means projected out, for an intercept."""
        scaled = self.q_sum / self.weight[:, None]
        return Statistics(
            weight=self.weight,
            q_sum=np.zeros_like(self.q_sum),
            y_sum=np.zeros_like(self.y_sum),
            K=self.K - scaled[:, :, None] * self.q_sum[:, None, :],
            g=self.g - scaled[:, :, None] * self.y_sum[:, None, :],
            yy=np.maximum(self.yy - self.y_sum**2 / self.weight[:, None], 0.0),
        )

    def without_each(self, Q: RealArray, Y: FloatArray) -> Statistics:
        """Statistics of G sets, each without one of the rows Q (G, k) and Y (G, t)."""
        Q = Q.astype(np.float64)
        return Statistics(
            weight=np.full(len(Q), self.weight - 1.0),
            q_sum=self.q_sum - Q,
            y_sum=self.y_sum - Y,
            K=self.K - Q[:, :, None] * Q[:, None, :],
            g=self.g - Q[:, :, None] * Y[:, None, :],
            yy=self.yy - Y**2,
        )


def row_statistics(Q: RealArray, Y: FloatArray, weights: FloatArray | None = None) -> Statistics:
    """Statistics of the rows of Q (r, k) and Y (r, t), with weights (r,) or all one."""
    Q = Q.astype(np.float64, copy=False)
    weighted = Q if weights is None else Q * weights[:, None]
    scaled = Y if weights is None else Y * weights[:, None]
    return Statistics(
        weight=float(len(Q) if weights is None else weights.sum()),
        q_sum=weighted.sum(axis=0),
        y_sum=scaled.sum(axis=0),
        K=weighted.T @ Q,
        g=weighted.T @ Y,
        yy=np.sum(scaled * Y, axis=0),
    )


def row_sums(
    Q: RowFactor, Y: FloatArray, choices: Sequence[Chosen], single: IntArray | None = None
) -> tuple[Statistics, list[Statistics], RealArray]:
    """Return sums over all rows and over each choice, and single rows of Q: one pass.

    The rows of Q (m, k) and Y (m, t) correspond. `single` (r,) are sorted numbers of rows; these
    rows of Q are returned (r, k).
    """
    matrix = blocks_of(Q)
    local = [split_choice(rows, weights, matrix.edges) for rows, weights in choices]
    alone = split_rows(np.empty(0, np.intp) if single is None else single, matrix.edges)
    each = [
        (responses, tuple(part[i] for part in local), alone[i])
        for i, responses in enumerate(matrix.split(Y))
    ]
    total, parts, stacked = sum_over_rows(Q, _sums_of_block, each)
    return total, list(parts), stacked.rows


def _sums_of_block(
    block: BlockRows,
    Y: FloatArray,
    choices: tuple[Chosen, ...],
    single: IntArray,
) -> tuple[Statistics, tuple[Statistics, ...], Stacked]:
    edges = block.edges
    local = [split_choice(rows, weights, edges) for rows, weights in choices]
    alone = split_rows(single, edges)
    found: Any = None
    for i, (Q, responses) in enumerate(zip(block, np.split(Y, edges[1:-1]), strict=True)):
        own = (part[i] for part in local)
        sums = tuple(row_statistics(Q[rows], responses[rows], weights) for rows, weights in own)
        part = row_statistics(Q, responses), sums, Stacked(Q[alone[i]])
        found = part if found is None else add(found, part)
    return found


@dataclass(frozen=True, eq=False)
class ReducedSets:
    """Reduced forms of G row sets and t responses."""

    roots: FloatArray  # (G, k, k)
    c: FloatArray  # (G, t, k)
    s: FloatArray  # (G, t)
    # (G, t): weighted mean of the responses over the training rows; zero without an intercept.
    y_mean: FloatArray
    energy: FloatArray  # (G, t): weighted sum of squares of the (centred) responses


def reduce_row_sets(Q: RowFactor, Y: FloatArray, rows: RowSets, fit_intercept: bool) -> ReducedSets:
    """Reduce every row set of Q (m, k) with responses Y (m, t).

    With an intercept the means of the responses are subtracted before any sum is formed: sums of
    squares around a large mean would keep none of the digits of the spread.
    """
    shifted, shift = Y, np.zeros(Y.shape[1])
    if fit_intercept:
        shifted, shift = centre(Y, _weights_of_all(rows))
    stack = _stacked(Q, shifted, rows)
    shifts = np.tile(shift, (len(rows), 1))
    # Sums of squares that those of every set come from, before any subtraction.
    sizes = stack.yy.copy()
    sizes[_downdated(rows)] = np.sum(shifted**2, axis=0)
    q_means = stack.q_sum / stack.weight[:, None]
    means, stack = _centred(stack, shifts, fit_intercept)
    drowned = np.flatnonzero((stack.yy < SAFE_SHARE * sizes).any(axis=1))
    if len(drowned):
        parts, shifts[drowned] = _around_own_means(Q, Y, rows, drowned, fit_intercept)
        own, parts = _centred(parts, shifts[drowned], fit_intercept)
        stack, means[drowned] = stack.with_sets(drowned, parts), own
    roots, c, s = reduce_statistics(stack.K, stack.g, stack.yy)
    cancelled = np.flatnonzero((s < CANCELLED * np.sqrt(stack.yy)).any(axis=1))
    if len(cancelled):
        together = max(1, MOST_NUMBERS // rows.n_samples)
        for first in range(0, len(cancelled), together):
            some = cancelled[first : first + together]
            own = q_means[some] if fit_intercept else np.zeros_like(q_means[some])
            s[some] = _unreachable_parts(Q, Y, rows, some, stack, own, fit_intercept)
    return ReducedSets(
        roots=roots,
        c=c,
        s=s,
        y_mean=means,
        energy=stack.yy,
    )


def _unreachable_parts(
    Q: RowFactor,
    Y: FloatArray,
    rows: RowSets,
    places: IntArray,
    stack: Statistics,
    q_means: FloatArray,
    fit_intercept: bool,
) -> FloatArray:
    """Lengths (p, t) of the least-squares residuals of responses on Q less its means (p, k).

    They come from the residuals themselves, r = y - Q b, less what one more step
    b + K^+ Q'Wr would take off: r'Wr - r'WQ K^+ Q'Wr. One pass.
    """
    matrix = blocks_of(Q)
    inverses = [psd_root(K)[1] for K in stack.K[places]]
    fits = [own.T @ (own @ g) for own, g in zip(inverses, stack.g[places], strict=True)]
    choices, shifts = [], np.zeros((len(places), Y.shape[1]))
    for i, place in enumerate(places):
        used, weights = rows[place].training(rows.n_samples)
        choices.append(split_choice(used, weights, matrix.edges))
        if fit_intercept:
            shifts[i] = centre(Y[used], weights)[1] - q_means[i] @ fits[i]
    each = [
        (own, tuple(part[i] for part in choices), shifts, fits)
        for i, own in enumerate(matrix.split(Y))
    ]
    sums = sum_over_rows(Q, _residual_sums, each)
    left = np.empty((len(places), Y.shape[1]))
    for i, (own, inverse) in enumerate(zip(sums, inverses, strict=True)):
        # An intercept takes off the mean of the fit.
        own = Statistics.stack([own])
        own = own.centred() if fit_intercept else own
        left[i] = own.yy[0] - np.sum((inverse @ own.g[0]) ** 2, axis=0)
    energy = stack.yy[places]
    return np.sqrt(np.where(left > EXACT**2 * energy, left, 0.0))


def _residual_sums(
    block: BlockRows,
    Y: FloatArray,
    choices: tuple[Chosen, ...],
    shifts: FloatArray,
    fits: list[FloatArray],
) -> tuple[Statistics, ...]:
    """Sums over the rows of a block of Q and of the residuals of every row set."""
    edges = block.edges
    local = [split_choice(rows, weights, edges) for rows, weights in choices]
    found: Any = None
    for i, (Q, responses) in enumerate(zip(block, np.split(Y, edges[1:-1]), strict=True)):
        sums = []
        for own, shift, fit in zip(local, shifts, fits, strict=True):
            rows, weights = own[i]
            part = Q[rows].astype(np.float64)
            sums.append(row_statistics(part, responses[rows] - shift - part @ fit, weights))
        found = tuple(sums) if found is None else add(found, tuple(sums))
    return found


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
    for i, place in enumerate(places):
        used, weights = rows[place].training(rows.n_samples)
        own = Y
        if fit_intercept:
            own = np.zeros_like(Y)
            own[used], shifts[i] = centre(Y[used], weights)
        parts += row_sums(Q, own, [(used, weights)])[1]
    return Statistics.stack(parts), shifts


def _stacked(Q: RowFactor, Y: FloatArray, rows: RowSets) -> Statistics:
    """Statistics of every row set from one pass, and a second one for unsafe downdates."""
    if all(row_set.weights is None and len(row_set.removed) == 1 for row_set in rows):
        gone = np.concatenate([row_set.removed for row_set in rows])
        wanted, place = np.unique(gone, return_inverse=True)
        total, _, q = row_sums(Q, Y, [], wanted)
        q = q[place]
        stack = total.without_each(q, Y[gone])
        # The share that each row has of the weight of its own direction.
        leverage = np.sum((q.astype(np.float64) @ psd_root(total.K)[1].T) ** 2, axis=1)
        unsafe = np.flatnonzero(leverage > 1.0 - SAFE_SHARE)
    else:
        # Sums over removed rows take less work where these are fewer than half.
        few = [own.weights is None and 2 * len(own.removed) < rows.n_samples for own in rows]
        choices: list[Chosen] = [
            (own.removed, None) if less else own.training(rows.n_samples)
            for own, less in zip(rows, few, strict=True)
        ]
        total, sums, _ = row_sums(Q, Y, choices)
        stack = Statistics.stack(
            [total - part if less else part for part, less in zip(sums, few, strict=True)]
        )
        removed = [i for i, own in enumerate(rows) if few[i] and len(own.removed)]
        unsafe = np.array(_unsafe(total, sums, removed), dtype=np.intp)
    if unsafe.size:
        whole = [rows[int(place)].training(rows.n_samples) for place in unsafe]
        _, again, _ = row_sums(Q, Y, whole)
        stack = stack.with_sets(unsafe, Statistics.stack(again))
    return stack


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
