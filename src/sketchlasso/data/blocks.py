"""A data matrix in blocks of rows that are never all in memory together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.cluster import Each, Engine, Work, current_engine
from sketchlasso.data import block_work as at_blocks
from sketchlasso.data.opening import (
    BlockHandle,
    Part,
    check_alike,
    check_factor,
    dask_parts,
    row_numbers,
    split_choice,
    split_rows,
)
from sketchlasso.data.storage import check_two_axes, floating, is_dask_array
from sketchlasso.errors import InvalidInputError
from sketchlasso.types import FloatArray, IntArray


class BlockMatrix:
    """A matrix X of shape (m, n) in blocks of rows, each opened only where it is processed.

    It replaces X in :func:`sketch`, :func:`sqrt_lasso_path`, :func:`cross_validate`,
    :func:`leave_one_out` and the estimators. The blocks are processed one after another in
    this process, one in memory at a time, or on the workers of a :func:`cluster`.

    Parameters
    ----------
    handles : sequence of block handles
        Objects that can be pickled, with attributes ``rows``, ``columns``, ``dtype``,
        ``sparse`` and ``name``, and a method ``load()`` that returns the entries as an ndarray
        or csr_array of shape (rows, columns). Blocks without rows are dropped. The entries are
        checked when they are first loaded.

    Attributes
    ----------
    shape : tuple of int
        Samples and features, (m, n).
    dtype : dtype
        float32, or float64 for blocks of any other real type.
    sparse : bool
        Whether the handles declare sparse blocks.

    Notes
    -----
    Passes over the blocks of tall data (m > n), which ``Sketch.cost`` counts: one for means,
    scales, squares, digest and the check that entries are finite; then ``randomized`` 12,
    ``krylov`` 5, ``power`` 9, ``projection`` 1, ``nystrom`` 2, ``frequent_directions`` 2 and
    ``exact`` 1 for few features (n <= 64, or 3 times the rank), each one more where directions
    differ in size by more than 1e4; ``response`` those of ``randomized`` and two for every
    direction from y. A spectral radius takes 6 more, a few more for millions of features. A
    path takes 2, cross-validation 4 for any folds and penalties, and the search for
    realised radii 1 to 5. For n >= m a step of a Krylov space takes two passes instead of one.

    Memory in this process, beside one block: some (n, rank) arrays, and requested results with
    one row per sample (predictions). For n >= m and for ``response`` also Q, of shape (m, rank).

    Examples
    --------
    >>> import numpy as np
    >>> import sketchlasso as sl
    >>> X = sl.io.BlockMatrix.from_arrays([np.eye(3), np.ones((2, 3))])
    >>> X
    BlockMatrix(5 x 3, float64, 2 blocks)
    >>> X.sum(axis=0)
    array([3., 3., 3.])
    """

    ndim = 2

    def __init__(self, handles: Sequence[BlockHandle]) -> None:
        self._take_over(check_alike([Part.of(own, i) for i, own in enumerate(handles)]))

    @classmethod
    def of(cls, X: Any) -> BlockMatrix:
        """Return a BlockMatrix as it is, dask chunks as blocks, an array in memory as one block."""
        if isinstance(X, BlockMatrix):
            return X
        if is_dask_array(X):
            return cls.from_dask(X)
        return cls._of_parts([Part.of_entries(_matrix(X, "X"), whole=True)], checked=True)

    @classmethod
    def from_arrays(cls, arrays: Sequence[Any]) -> BlockMatrix:
        """Return the rows of several arrays, memory maps or sparse matrices (r_i, n)."""
        blocks = [_matrix(array, f"block {i} of X") for i, array in enumerate(arrays)]
        return cls._of_parts(check_alike([Part.of_entries(own, i) for i, own in enumerate(blocks)]))

    @classmethod
    def from_dask(cls, array: Any) -> BlockMatrix:
        """Return a dask array (m, n), dense or of scipy-sparse chunks, as blocks of rows.

        Chunks of columns are joined. Every pass over the data computes the chunks anew: persist
        the array first where the cluster's memory can hold it.
        """
        return cls._of_parts(check_alike(dask_parts(array)))

    @classmethod
    def _of_parts(cls, parts: list[Part], checked: bool = False) -> BlockMatrix:
        matrix = cls.__new__(cls)
        matrix._take_over(parts, checked)
        return matrix

    def _take_over(self, parts: list[Part], checked: bool = False) -> None:
        # One block always stays, so that sums have something to add up.
        kept = [part for part in parts if part.rows] or [
            replace(parts[0], chosen=np.empty(0, dtype=np.intp))
        ]
        self._parts = kept
        self._checked = checked
        self._survey: at_blocks.Survey | None = None
        # Row numbers (n_blocks + 1,) at which blocks begin and end.
        self.edges = np.concatenate([[0], np.cumsum([part.rows for part in kept])])
        self.shape = (int(self.edges[-1]), kept[0].shape[1])
        self.dtype = floating(kept[0].dtype)
        self.sparse = all(part.sparse for part in kept)

    @property
    def n_blocks(self) -> int:
        """Number of blocks that have rows."""
        return len(self._parts)

    @property
    def rows_per_block(self) -> tuple[int, ...]:
        """Rows of every block."""
        return tuple(part.rows for part in self._parts)

    @property
    def in_memory(self) -> bool:
        """Whether X is one array in memory: work on it runs in this process, without a copy."""
        return self._parts[0].whole

    @property
    def dask_value(self) -> Any:
        """A value that Dask computes for some block, or None."""
        sources = (part.source for part in self._parts)
        return next((own for own in sources if hasattr(own, "__dask_graph__")), None)

    @property
    def T(self) -> _Transposed:
        """The transpose, for products ``X.T @ U``."""
        return _Transposed(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        m, n = self.shape
        kind = "sparse " if self.sparse else ""
        return f"BlockMatrix({m} x {n}, {kind}{self.dtype}, {self.n_blocks} blocks)"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise InvalidInputError(
            f"an array of all entries was requested, but X is in {self.n_blocks} blocks because "
            "it may not fit in memory; use a function that takes blocks, or X.collect()."
        )

    def __getitem__(self, key: object) -> Any:
        """Return some rows, or some columns of all rows.

        ``X[rows]`` with increasing row numbers, a mask or a slice is a BlockMatrix over the same
        stored blocks, and moves no data. Rows in any other order are collected in that order.
        ``X[:, columns]`` is collected. Each collection is one pass over the blocks concerned.
        """
        if isinstance(key, tuple):
            rows, columns = key
            part = self if isinstance(rows, slice) and rows == slice(None) else self[rows]
            if not isinstance(part, BlockMatrix):
                return part[:, columns]
            return part._joined(part.run_collect(at_blocks.entries_of, (columns,)))
        rows = row_numbers(key, self.shape[0])
        if np.all(np.diff(rows) > 0):
            return self._select(rows)
        wanted, place = np.unique(rows, return_inverse=True)
        return self._select(wanted).collect()[place]

    def __matmul__(self, V: Any) -> FloatArray:
        """Return X V, of shape (m,) or (m, t), for V of shape (n,) or (n, t), dense or sparse."""
        single = np.ndim(V) == 1 and not sparse.issparse(V)
        factor = np.asarray(V)[:, None] if single else V
        check_factor(factor, self.shape[1])
        product = self.products([(None, factor)])[0]
        return product[:, 0] if single else product

    def sum(self, axis: int) -> FloatArray:
        """Return the sums of the columns, of shape (n,); only ``axis=0`` is offered."""
        if axis != 0:
            raise InvalidInputError(
                f"axis={axis!r} was given, but only sums of columns are offered; pass axis=0."
            )
        if self.in_memory:  # a survey also computes a digest
            return np.asarray(self.run_sum(at_blocks.of_storage, ("column_sums",)))
        return self.surveyed().sums.copy()

    def collect(self) -> Any:
        """Return all entries in memory, an ndarray or csr_array (m, n): one pass."""
        return self._joined(self.run_collect(at_blocks.entries_of, (None,)))

    def products(self, pairs: Sequence[tuple[IntArray | None, Any]]) -> list[FloatArray]:
        """Return X[rows] V for several pairs of rows (None: all) and V (n, t): one pass.

        Only blocks that hold some of the rows are opened.
        """
        order = [None if chosen is None else np.argsort(chosen) for chosen, _ in pairs]
        every: list[IntArray | None] = [None] * self.n_blocks
        rows = [
            every if place is None or chosen is None else split_rows(chosen[place], self.edges)
            for (chosen, _), place in zip(pairs, order, strict=True)
        ]
        local = [tuple(own[i] for own in rows) for i in range(self.n_blocks)]
        used = [i for i, own in enumerate(local) if any(r is None or len(r) for r in own)]
        factors = tuple(V for _, V in pairs)
        each = [(local[i],) for i in used]
        found = self.run_collect(at_blocks.multiply_parts, (factors,), each, used)
        products = []
        for p, place in enumerate(order):
            nothing = np.empty((0, factors[p].shape[1]))
            product = at_blocks.stacked([part[p] for part in found]) if found else nothing
            products.append(product if place is None else product[np.argsort(place)])
        return products

    def row_products(self, rows: IntArray, B: Any) -> FloatArray:
        """Return x_r'b_i (r,) for rows r_i of X in any order and rows b_i of a csr_array B."""
        owner = np.searchsorted(self.edges, rows, side="right") - 1
        members = [np.flatnonzero(owner == i) for i in range(self.n_blocks)]
        used = [i for i, own in enumerate(members) if len(own)]
        each = [(rows[members[i]] - self.edges[i], B[members[i]]) for i in used]
        products = np.empty(len(rows))
        if used:
            parts = self.run_collect(at_blocks.row_products, (), each, used)
            for i, part in zip(used, parts, strict=True):
                products[members[i]] = part
        return products

    def row_sums(self, choices: Sequence[tuple[IntArray, FloatArray | None]]) -> FloatArray:
        """Return sums (p, n) of sorted rows with their weights (None: one) each: one pass."""
        local = [split_choice(rows, weights, self.edges) for rows, weights in choices]
        each = [(tuple(own[i] for own in local),) for i in range(self.n_blocks)]
        return np.asarray(self.run_sum(at_blocks.sums_of_rows, (), each))

    def surveyed(self) -> at_blocks.Survey:
        """Return sums, spreads, squares and the digest: one pass, the first time."""
        if self._survey is None:
            self._survey = self.run_sum(at_blocks.survey, (), [(int(i),) for i in self.edges[:-1]])
        return self._survey

    @property
    def is_surveyed(self) -> bool:
        """Whether :meth:`surveyed` is known without another pass."""
        return self._survey is not None

    def split(self, values: Any) -> list[Any]:
        """Return the rows of values (m, ...) that belong to each block."""
        return [values[a:b] for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)]

    def run_sum(self, work: Work, shared: Sequence[Any] = (), each: Each = None) -> Any:
        """Return the sum over the blocks of ``work(entries, *shared, *each[i])``: one pass."""
        found = self._engine.sum(work, self._blocks(), shared, each)
        self._checked = True
        return found

    def run_collect(
        self,
        work: Work,
        shared: Sequence[Any] = (),
        each: Each = None,
        used: Sequence[int] | None = None,
    ) -> list[Any]:
        """Return ``work(entries, *shared, *each[i])`` of every block, in order: one pass.

        Only the blocks `used` are opened, if these are given.
        """
        blocks = self._blocks(used)
        found = self._engine.collect(work, blocks, shared, each)
        self._checked = self._checked or len(blocks) == self.n_blocks
        return found

    def run_chain(self, work: Work, state: Any, shared: Sequence[Any] = ()) -> Any:
        """Return the last ``state = work(entries, state, *shared)`` over all blocks: one pass."""
        found = self._engine.chain(work, self._blocks(), state, shared)
        self._checked = True
        return found

    def _blocks(self, used: Sequence[int] | None = None) -> list[Part]:
        chosen = self._parts if used is None else [self._parts[i] for i in used]
        return [replace(part, check=not self._checked) for part in chosen]

    @property
    def _engine(self) -> Engine:
        return Engine() if self.in_memory else current_engine()

    def _select(self, rows: IntArray) -> BlockMatrix:
        """The increasing rows, over the same stored blocks."""
        parts = []
        for part, local in zip(self._parts, split_rows(rows, self.edges), strict=True):
            chosen = local if part.chosen is None else part.chosen[local]
            parts.append(part if len(local) == part.rows else replace(part, chosen=chosen))
        return self._of_parts(parts, self._checked)

    def _divided(self, scales: FloatArray) -> BlockMatrix:
        """X with its columns divided by `scales` (n,) when blocks are opened."""
        before = self._parts[0].scales
        total = scales if before is None else before * scales
        return self._of_parts([replace(p, scales=total) for p in self._parts], self._checked)

    @staticmethod
    def _joined(pieces: list[Any]) -> Any:
        if any(sparse.issparse(piece) for piece in pieces):
            return sparse.csr_array(sparse.vstack([sparse.csr_array(p) for p in pieces]))
        return at_blocks.stacked(pieces)


def _matrix(array: Any, name: str) -> Any:
    """The array itself, or converted by NumPy; refuse other than two dimensions."""
    stored = array if hasattr(array, "dtype") else np.asarray(array)
    check_two_axes(stored.shape, name)
    return stored


@dataclass(frozen=True, eq=False)
class _Transposed:
    """X' for products alone."""

    base: BlockMatrix

    @property
    def shape(self) -> tuple[int, int]:
        """Features and samples, (n, m)."""
        return self.base.shape[1], self.base.shape[0]

    def __matmul__(self, U: Any) -> FloatArray:
        """Return X'U, of shape (n,) or (n, t), for U of shape (m,) or (m, t): one pass."""
        single = np.ndim(U) == 1
        factor = np.asarray(U)[:, None] if single else np.asarray(U)
        check_factor(factor, self.base.shape[0])
        own = [(rows,) for rows in self.base.split(factor)]
        product = self.base.run_sum(at_blocks.correlate, (), own)
        return product[:, 0] if single else product
