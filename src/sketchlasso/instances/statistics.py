"""Sums over rows, which are all that an instance needs of its data, and their reduced form.

Changing the rows of an instance means adding or subtracting k x k numbers. A difference
total - removed loses digits where the removed rows hold nearly all the weight of a direction: with
K = L L' an eigenvalue of L+ K_removed L+' then comes close to 1. The same holds for the squares of
a response. Such sets are summed again from the rows that remain.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sketchlasso.data import RowFactor
from sketchlasso.data.matrix import Strips, blocks_of, sum_over_rows
from sketchlasso.instances.rows import RowSets, all_rows, weights_of
from sketchlasso.linalg.factor import psd_root
from sketchlasso.linalg.rows import CONSTANT_SHARE, centre
from sketchlasso.problem.reduction import reduce_statistics
from sketchlasso.types import FloatArray, IntArray, RealArray

# A direction that keeps less than this share of its weight is not trusted to a difference.
SAFE_SHARE = 1e-4
# Below this share of ||y|| a difference of squares leaves too few digits of what Q cannot reach.
CANCELLED = 1e-3
# Weights of rows that are held at a time.
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

    def put(self, sets: IntArray, parts: Statistics) -> None:
        """Replace the statistics of some sets."""
        for values, own in zip(self._arrays(), parts._arrays(), strict=True):
            values[sets] = own

    def take(self, sets: IntArray) -> Statistics:
        """The statistics of some sets."""
        return Statistics(*(values[sets] for values in self._arrays()))

    def centred(self) -> Statistics:
        """G sets of the same rows with the weighted means projected out, for an intercept."""
        scaled = self.q_sum / self.weight[:, None]
        K = scaled[:, :, None] * self.q_sum[:, None, :]
        return Statistics(
            weight=self.weight,
            q_sum=np.zeros_like(self.q_sum),
            y_sum=np.zeros_like(self.y_sum),
            K=np.subtract(self.K, K, out=K),
            g=self.g - scaled[:, :, None] * self.y_sum[:, None, :],
            yy=np.maximum(self.yy - self.y_sum**2 / self.weight[:, None], 0.0),
        )


def row_statistics(Q: RealArray, Y: FloatArray, weights: FloatArray) -> Statistics:
    """Statistics of the rows of Q (r, k) and Y (r, t), with weights (r,)."""
    Q = Q.astype(np.float64, copy=False)
    weighted, scaled = Q * weights[:, None], Y * weights[:, None]
    return Statistics(
        weight=float(weights.sum()),
        q_sum=weighted.sum(axis=0),
        y_sum=scaled.sum(axis=0),
        K=weighted.T @ Q,
        g=weighted.T @ Y,
        yy=np.sum(scaled * Y, axis=0),
    )


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
    shifts, shifted = np.zeros((len(rows), Y.shape[1])), Y
    if fit_intercept:
        shifted, mean = centre(Y, _weights_of_all(rows))
        shifts += mean
    stack, lost = _sets_from_total(Q, shifted, rows, fit_intercept)
    if len(lost):
        for i in lost if fit_intercept else ():
            used, weights = rows[int(i)].training(rows.n_samples)
            shifts[i] = centre(Y[used], weights)[1]
        stack.put(lost, _sums(Q, Y, rows, lost, shifts))
    q_means, means = stack.q_sum / stack.weight[:, None], np.zeros_like(shifts)
    if fit_intercept:
        means = shifts + stack.y_sum / stack.weight[:, None]
        stack = stack.centred()
        rounding = stack.weight[:, None] * (CONSTANT_SHARE * means) ** 2
        stack.yy[stack.yy <= rounding] = 0.0
    roots, c, s = reduce_statistics(stack.K, stack.g, stack.yy)
    cancelled = np.flatnonzero((s < CANCELLED * np.sqrt(stack.yy)).any(axis=1))
    if len(cancelled):
        s[cancelled] = _residual_lengths(
            Q, Y, rows, cancelled, stack.take(cancelled), q_means, means, fit_intercept
        )
    return ReducedSets(roots, c, s, means, stack.yy)


def _sets_from_total(
    Q: RowFactor, Y: FloatArray, rows: RowSets, fit_intercept: bool
) -> tuple[Statistics, IntArray]:
    """Statistics of every row set, and the numbers of those that have lost digits.

    Sets of more than half of the rows are all rows less the removed ones.
    """
    m, t = Y.shape
    no_shifts = np.zeros((len(rows), t))
    less = np.array([own.weights is None and 2 * len(own.removed) < m for own in rows])
    single = less.all() and all(len(own.removed) == 1 for own in rows)
    if single:
        gone = np.concatenate([own.removed for own in rows])
        q, y = np.asarray(Q[gone], dtype=np.float64), Y[gone]
        products = q[:, :, None] * q[:, None, :], q[:, :, None] * y[:, None, :]
        stack = Statistics(np.ones(len(q)), q, y, *products, y**2)
    else:
        stack = _sums(Q, Y, rows, np.arange(len(rows)), no_shifts, less)
    if not less.any():
        return stack, np.empty(0, dtype=np.intp)
    total = _sums(Q, Y, all_rows(m), np.zeros(1, dtype=np.intp), no_shifts)
    inverse = psd_root(total.K[0])[1]
    # The largest eigenvalue cannot exceed the trace, and is the trace where one row is removed.
    traces = stack.K.reshape(len(rows), -1) @ (inverse.T @ inverse).ravel()
    doubtful = less & (traces > 1.0 - SAFE_SHARE)
    for i in np.flatnonzero(doubtful & (not single)):
        share = np.linalg.eigvalsh(inverse @ stack.K[i] @ inverse.T)[-1]
        doubtful[i] = share > 1.0 - SAFE_SHARE
    if less.all():  # in place, as single rows are many
        for removed, whole in zip(stack._arrays(), total._arrays(), strict=True):
            np.subtract(whole, removed, out=removed)
    else:
        stack.put(np.flatnonzero(less), total - stack.take(np.flatnonzero(less)))
    centring = stack.y_sum**2 / stack.weight[:, None] if fit_intercept else 0.0
    drowned = less & (stack.yy - centring < SAFE_SHARE * total.yy).any(axis=1)
    return stack, np.flatnonzero(doubtful | drowned)


def _weights_of_all(rows: RowSets) -> FloatArray | None:
    """Weights (m,) of rows over all sets, where all sets have weights of their own."""
    weights = [chosen.weights for chosen in rows if chosen.weights is not None]
    return np.sum(weights, axis=0) if len(weights) == len(rows) else None


def _residual_lengths(
    Q: RowFactor,
    Y: FloatArray,
    rows: RowSets,
    sets: IntArray,
    stack: Statistics,
    q_means: FloatArray,
    means: FloatArray,
    fit_intercept: bool,
) -> FloatArray:
    """Lengths (p, t) of the least-squares residuals of responses on Q, of some sets.

    They come from the residuals themselves, r = y - Q b, less what one more step
    b + K^+ Q'Wr would take off: r'Wr - r'WQ K^+ Q'Wr.
    """
    inverses = np.stack([psd_root(K)[1] for K in stack.K])
    fits = np.zeros((len(rows), *stack.g.shape[1:]))
    fits[sets] = inverses.transpose(0, 2, 1) @ (inverses @ stack.g)
    shifts = np.zeros_like(means)
    if fit_intercept:
        shifts[sets] = means[sets] - np.einsum("gk,gkt->gt", q_means[sets], fits[sets])
    sums = _sums(Q, Y, rows, sets, shifts, fits=fits)
    sums = sums.centred() if fit_intercept else sums
    left = sums.yy - np.sum((inverses @ sums.g) ** 2, axis=1)
    # Less than 1e-13 of ||y|| is rounding.
    return np.sqrt(np.where(left > 1e-26 * stack.yy, left, 0.0))


def _sums(
    Q: RowFactor,
    Y: FloatArray,
    rows: RowSets,
    sets: IntArray,
    shifts: FloatArray,
    removed: Any = None,
    fits: FloatArray | None = None,
) -> Statistics:
    """Statistics of some sets, the responses less shifts (G, t) and less Q times fits (G, k, t).

    They are those of the removed rows where `removed` (G,) says so.
    """
    matrix, parts = blocks_of(Q), []
    together = max(1, MOST_NUMBERS // rows.n_samples)
    for first in range(0, len(sets), together):
        some = sets[first : first + together]
        chosen = [
            (rows[i].removed, None)
            if removed is not None and removed[i]
            else rows[i].training(rows.n_samples)
            for i in map(int, some)
        ]
        each = list(zip(matrix.split(Y), matrix.split(weights_of(chosen, len(Y))), strict=True))
        shared = (shifts[some], None if fits is None else fits[some])
        parts += sum_over_rows(Q, _sums_of_block, shared, each)
    return Statistics.stack(parts)


def _sums_of_block(
    block: Strips, shifts: FloatArray, fits: FloatArray | None, Y: FloatArray, weights: Any
) -> tuple[Statistics, ...]:
    total: list[Statistics] = []
    for strip, Q in block:
        own, responses, sums = weights[strip].tocsc(), Y[strip], []
        for g in range(len(shifts)):
            members = slice(own.indptr[g], own.indptr[g + 1])
            chosen = own.indices[members]
            part = Q[chosen].astype(np.float64, copy=False)
            values = responses[chosen] - shifts[g]
            if fits is not None:
                values -= part @ fits[g]
            sums.append(row_statistics(part, values, own.data[members]))
        total = [a + b for a, b in zip(total, sums, strict=True)] if total else sums
    return tuple(total)
