"""The factor Q of a sketch: an array in memory, or A W that is never formed, for tall A in blocks.

A sketch needs Q only through sums over its rows, and the blocks can add those up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sketchlasso.data.block_work import centred_product, strip_edges, strips
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.indirect import BlockStorage
from sketchlasso.data.matrix import DataMatrix
from sketchlasso.types import FloatArray, IntArray, RealArray


@dataclass(frozen=True, eq=False)
class ImplicitRows:
    """Q = A W, of shape (m, k), stored as W (n, k) and formed block by block where needed.

    The entries of A (m, n), the `base`, are in blocks. ``numpy.asarray(Q)`` and ``Q[rows]`` collect
    their rows in one pass over the data.
    """

    base: DataMatrix
    W: RealArray

    ndim = 2

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, (m, k)."""
        return self.base.shape[0], self.W.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the rows."""
        return self.base.dtype

    @property
    def matrix(self) -> BlockMatrix:
        """The blocks of the data."""
        return self.base.blocks

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"ImplicitRows({self.shape[0]} x {self.shape[1]}, {self.dtype})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.base.matmat(self.W).astype(self.dtype if dtype is None else dtype, copy=False)

    def __getitem__(self, key: object) -> Any:
        """Return ``Q[:, columns]``, still implicit, or the collected ``Q[rows]``."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        W = self.W[:, columns]
        if isinstance(rows, slice) and rows == slice(None):
            return ImplicitRows(self.base, W)
        wanted, place = np.unique(np.arange(len(self))[rows], return_inverse=True)
        storage = BlockStorage(self.matrix[wanted])
        near = None if self.base.near is None else storage.in_double()
        part = DataMatrix(storage, self.base.transform, self.base.meter, near=near)
        return part.matmat(W)[place]

    def __matmul__(self, T: RealArray) -> RealArray:
        """Return Q T, of shape (m, j), for T of shape (k, j): one pass."""
        return self.base.matmat(self.W @ T)


@dataclass(frozen=True, eq=False)
class BlockRows:
    """The rows (r, k) of Q in one block: X V - 1 shift' in strips that are not kept.

    Without V they are the entries themselves, in one strip.
    """

    entries: Any
    V: RealArray | None
    shift: RealArray | None

    @property
    def edges(self) -> IntArray:
        """Rows (s + 1,) at which strips begin and end."""
        if self.V is None:
            return np.array([0, self.entries.shape[0]])
        return strip_edges(self.entries.shape, self.V.shape[1])

    def __iter__(self) -> Iterator[RealArray]:
        if self.V is None:
            yield self.entries
            return
        for strip in strips(self.entries, self.V.shape[1]):
            yield centred_product(strip, self.V, self.shift)


RowFactor: TypeAlias = "RealArray | ImplicitRows"


def blocks_of(Q: RowFactor) -> BlockMatrix:
    """Return the blocks that the rows of Q lie in; one block where Q is in memory."""
    return Q.matrix if isinstance(Q, ImplicitRows) else BlockMatrix.of(Q)


def sum_over_rows(
    Q: RowFactor, work: Callable[..., Any], each: Sequence[tuple[Any, ...]] | None = None
) -> Any:
    """Return the sum of ``work(rows, *each[i])`` over :func:`blocks_of` Q: one pass.

    The rows of Q in a block come as :class:`BlockRows`.
    """
    V, shift = None, None
    if isinstance(Q, ImplicitRows):
        Q.base.meter.count(Q.W.shape[1])
        V, shift = Q.base.inner_factor(Q.W)
    return blocks_of(Q).run_sum(_with_rows, (work, V, shift), each)


def _with_rows(entries: Any, work: Any, V: Any, shift: Any, *rest: Any) -> Any:
    return work(BlockRows(entries, V, shift), *rest)


def gram_of(Q: RowFactor) -> FloatArray:
    """Return Q'Q, of shape (k, k), in doubles."""
    if isinstance(Q, ImplicitRows):
        return np.asarray(Q.W.T @ Q.base.gram_matmat(Q.W), dtype=np.float64)
    rows = np.asarray(Q, dtype=np.float64)
    return rows.T @ rows
