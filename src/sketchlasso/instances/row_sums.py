"""Statistics of chosen rows as sums over the blocks that Q lies in, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchlasso.cluster.engine import add
from sketchlasso.data import RowFactor
from sketchlasso.data.block_work import Stacked
from sketchlasso.data.implicit import BlockRows, blocks_of, sum_over_rows
from sketchlasso.data.selection import split_choice, split_rows
from sketchlasso.instances.rows import RowSet, RowSets
from sketchlasso.instances.statistics import Statistics, row_statistics
from sketchlasso.types import FloatArray, IntArray, RealArray

__all__ = ["Choice", "row_sums", "summed_choice", "training_choices"]


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
