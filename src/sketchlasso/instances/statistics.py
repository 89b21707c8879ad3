"""Sums over rows, which are all that an instance needs of its data.

Changing the rows of an instance means adding or subtracting k x k numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sketchlasso.cluster.engine import add
from sketchlasso.data import RowFactor
from sketchlasso.data.block_work import Stacked
from sketchlasso.data.implicit import BlockRows, blocks_of, sum_over_rows
from sketchlasso.data.opening import split_choice, split_rows
from sketchlasso.instances.rows import RowSet, RowSets
from sketchlasso.types import FloatArray, IntArray, RealArray


@dataclass(frozen=True, eq=False)
class Statistics:
    """Weighted sums over rows of Q (., k) and Y (., t).

    They belong to one set of rows, or to G sets: every attribute then has a leading axis G.

    Attributes
    ----------
    weight : float or ndarray of shape (G,)
        Sum of the weights.
    q_sum : ndarray of shape (k,)
        Q'W1.
    y_sum : ndarray of shape (t,)
        Y'W1.
    K : ndarray of shape (k, k)
        Q'WQ.
    g : ndarray of shape (k, t)
        Q'WY.
    yy : ndarray of shape (t,)
        Diagonal of Y'WY.
    """

    weight: Any
    q_sum: FloatArray
    y_sum: FloatArray
    K: FloatArray
    g: FloatArray
    yy: FloatArray

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


@dataclass(frozen=True, eq=False)
class Choice:
    """Sorted rows (r,) to sum over, with weights (r,) or all one.

    `removed` says whether their sum is subtracted from that of all rows.
    """

    rows: IntArray
    weights: FloatArray | None = None
    removed: bool = False


def summed_choice(row_set: RowSet, n_samples: int) -> Choice:
    """Return the rows to sum over for the statistics of a row set with the least work."""
    if row_set.weights is None and 2 * len(row_set.removed) < n_samples:
        return Choice(row_set.removed, removed=True)
    return Choice(*row_set.training(n_samples))


def row_sums(
    Q: RowFactor, Y: FloatArray, choices: Sequence[Choice], single: IntArray | None = None
) -> tuple[Statistics, list[Statistics], RealArray]:
    """Return sums over all rows and over each choice, and single rows of Q: one pass.

    The rows of Q (m, k) and Y (m, t) correspond. `single` (r,) are sorted numbers of rows; these
    rows of Q are returned (r, k).
    """
    matrix = blocks_of(Q)
    local = [matrix.split_choice(choice.rows, choice.weights) for choice in choices]
    alone = matrix.split_rows(np.empty(0, dtype=np.intp) if single is None else single)
    each = [
        (responses, tuple(part[i] for part in local), alone[i])
        for i, responses in enumerate(matrix.split(Y))
    ]
    total, parts, stacked = sum_over_rows(Q, _sums_of_block, each)
    return total, list(parts), stacked.rows


def training_choices(rows: RowSets, places: IntArray) -> list[Choice]:
    """Return the training rows of some row sets, with their weights."""
    return [Choice(*rows[place].training(rows.n_samples)) for place in places]


def _sums_of_block(
    block: BlockRows,
    Y: FloatArray,
    choices: tuple[tuple[IntArray, FloatArray | None], ...],
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
