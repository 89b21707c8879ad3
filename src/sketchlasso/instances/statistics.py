"""Additive statistics of rows, all that an instance needs of its data.

They are sums over rows, so changing rows is adding or subtracting k x k numbers.
"""

from __future__ import annotations

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
    """Weighted sums over a set of rows of Q (., k) and Y (., t).

    Attributes
    ----------
    weight : float
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

    weight: float
    q_sum: FloatArray
    y_sum: FloatArray
    K: FloatArray
    g: FloatArray
    yy: FloatArray

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            weight=self.weight + other.weight,
            q_sum=self.q_sum + other.q_sum,
            y_sum=self.y_sum + other.y_sum,
            K=self.K + other.K,
            g=self.g + other.g,
            yy=self.yy + other.yy,
        )

    def __sub__(self, other: Statistics) -> Statistics:
        return Statistics(
            weight=self.weight - other.weight,
            q_sum=self.q_sum - other.q_sum,
            y_sum=self.y_sum - other.y_sum,
            K=self.K - other.K,
            g=self.g - other.g,
            yy=self.yy - other.yy,
        )


@dataclass(frozen=True, eq=False)
class StatisticsStack:
    """Statistics of G row sets; the attributes of :class:`Statistics` with a leading axis G."""

    weight: FloatArray
    q_sum: FloatArray
    y_sum: FloatArray
    K: FloatArray
    g: FloatArray
    yy: FloatArray

    @classmethod
    def of(cls, parts: Sequence[Statistics]) -> StatisticsStack:
        """Stack single statistics."""
        return cls(
            weight=np.array([part.weight for part in parts]),
            q_sum=np.stack([part.q_sum for part in parts]),
            y_sum=np.stack([part.y_sum for part in parts]),
            K=np.stack([part.K for part in parts]),
            g=np.stack([part.g for part in parts]),
            yy=np.stack([part.yy for part in parts]),
        )

    def with_sets(self, places: IntArray, parts: StatisticsStack) -> StatisticsStack:
        """The same stack with other statistics at some places (p,)."""
        columns = {field.name: getattr(self, field.name).copy() for field in fields(self)}
        for name, values in columns.items():
            values[places] = getattr(parts, name)
        return StatisticsStack(**columns)

    def centred(self) -> StatisticsStack:
        """The same rows with the weighted means projected out: the instances have intercepts."""
        scaled = self.q_sum / self.weight[:, None]
        return StatisticsStack(
            weight=self.weight,
            q_sum=np.zeros_like(self.q_sum),
            y_sum=np.zeros_like(self.y_sum),
            K=self.K - scaled[:, :, None] * self.q_sum[:, None, :],
            g=self.g - scaled[:, :, None] * self.y_sum[:, None, :],
            yy=np.maximum(self.yy - self.y_sum**2 / self.weight[:, None], 0.0),
        )


def without_each(total: Statistics, Q: RealArray, Y: FloatArray, rows: IntArray) -> StatisticsStack:
    """Statistics of all rows but one, for each of `rows` (G,): downdates by single rows."""
    q, y = Q[rows].astype(np.float64), Y[rows]
    return StatisticsStack(
        weight=np.full(len(rows), total.weight - 1.0),
        q_sum=total.q_sum - q,
        y_sum=total.y_sum - y,
        K=total.K - q[:, :, None] * q[:, None, :],
        g=total.g - q[:, :, None] * y[:, None, :],
        yy=total.yy - y**2,
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
    """Rows to sum over.

    Attributes
    ----------
    rows : ndarray of shape (r,)
        Sorted.
    weights : ndarray of shape (r,) or None
    removed : bool
        Whether the sum is to be taken from that of all rows.
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

    Parameters
    ----------
    Q : ndarray or ImplicitRows of shape (m, k)
    Y : ndarray of shape (m, t)
    choices : sequence of Choice
    single : ndarray of shape (r,), optional
        Sorted numbers of rows whose own k numbers are wanted.

    Returns
    -------
    total : Statistics
    parts : list of Statistics
        One for each choice.
    rows : ndarray of shape (r, k)
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
