"""A data matrix in blocks of rows; a matrix in memory is one block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.cluster import Each, Engine, Work, engine_of, holder_of
from sketchlasso.data import entries as at_blocks
from sketchlasso.data.entries import canonical, divided_entries, find_entry, floating, is_sparse
from sketchlasso.errors import InvalidInputError
from sketchlasso.types import FloatArray, IntArray

# Squares and sums of doubles up to this one, and of its inverse, are doubles.
LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Part:
    """A stored block of rows, and how it becomes entries to compute with.

    The `source` is a handle, the entries themselves, or a value that Dask computes; `shape` and
    `dtype` are those announced. A block that is all of X, in memory, is used as it is.
    """

    source: Any
    label: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    sparse: bool
    whole: bool = False
    chosen: IntArray | None = None  # rows (r,) to keep
    scales: FloatArray | None = None  # (n,) to divide columns by
    double: bool = False  # whether float32 becomes float64
    check: bool = False  # whether entries must be finite and not too large

    @classmethod
    def of_entries(cls, entries: Any, number: int = 0, whole: bool = False) -> Part:
        """Return a block in memory, or in a memory map."""
        kind = np.dtype(entries.dtype)
        shape = int(entries.shape[0]), int(entries.shape[1])
        return cls(entries, f"block {number}", shape, kind, is_sparse(entries), whole)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.shape[0] if self.chosen is None else len(self.chosen)

    @property
    def open(self) -> Callable[[Any], Any]:
        """What turns the source's value into entries; it does not hold the source."""
        return replace(self, source=None).opened

    def opened(self, source: Any) -> Any:
        """Return an ndarray or csr_array (r, n) of float32 or float64; a whole X as it is."""
        entries = source.load() if hasattr(source, "load") else source
        if not self.whole:
            sparse_entries = is_sparse(entries)
            entries = canonical(sparse.csr_array(entries)) if sparse_entries else entries
            entries = entries if sparse_entries else np.asarray(entries)
            self._check_announced(entries)
        if self.check:
            self._check_sizes(entries)
        if self.chosen is not None:
            entries = entries[self.chosen]
        kind = np.dtype(np.float64) if self.double else floating(entries.dtype)
        entries = entries.astype(kind, copy=False)
        return entries if self.scales is None else divided_entries(entries, self.scales)

    def _check_announced(self, entries: Any) -> None:
        if entries.shape != self.shape or entries.dtype != self.dtype:
            raise InvalidInputError(
                f"{self.label} of X has shape {entries.shape} and type {entries.dtype}, but "
                f"{self.shape} and {self.dtype} were announced; correct what announces them."
            )

    def _check_sizes(self, entries: Any) -> None:
        """Refuse entries that are not finite, or so large that squares of them overflow."""
        values = entries.data if is_sparse(entries) else entries
        if values.dtype.kind != "f" or values.size == 0:
            return
        # X in blocks is not rescaled, and sums of squares are of its type.
        largest = 1e15 if values.dtype == np.float32 else LARGEST
        # NaN propagates to both, and fails both comparisons.
        if values.max() <= largest and values.min() >= -largest:
            return
        fault = find_entry(entries, lambda numbers: ~(np.abs(numbers) <= largest))
        assert fault is not None
        row, column, value = fault
        raise InvalidInputError(
            f"X holds {value:g} in {self.label}, row {row} of it, column {column}, but every entry "
            f"must be finite and {largest:.0e} at most; replace or drop such entries, or divide X "
            "by a power of ten first."
        )


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
    ``Sketch.cost`` counts passes over the blocks. For tall data (m > n) one is for means, scales,
    digest and the check that entries are finite; then ``randomized`` takes 12, ``krylov`` 5,
    ``power`` 9, ``projection`` 1, ``nystrom`` and ``frequent_directions`` 2; ``response`` those of
    ``randomized`` and two for every direction from y. A spectral radius takes 6 more, a path 2,
    cross-validation 4 for any folds and penalties, and the search for realised radii 1 to 5.

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

    def __init__(self, handles: Sequence[Any]) -> None:
        parts = []
        for number, handle in enumerate(handles):
            label = f"block {number}" + (f" ({handle.name})" if handle.name else "")
            shape = handle.rows, handle.columns
            parts.append(Part(handle, label, shape, np.dtype(handle.dtype), handle.sparse))
        self._take_over(_alike(parts))

    @classmethod
    def of(cls, X: Any) -> BlockMatrix:
        """Return a BlockMatrix as it is, dask chunks as blocks, an array in memory as one block."""
        if isinstance(X, BlockMatrix):
            return X
        if is_dask_array(X):
            return cls.from_dask(X)
        entries = _matrix(X, "X")
        if is_sparse(entries) or _is_direct(entries):
            return cls._of_parts([Part.of_entries(entries, whole=True)], checked=True)
        return cls._in_pieces(entries)

    @classmethod
    def _in_pieces(cls, entries: Any, double: bool = False) -> BlockMatrix:
        """An array of which a product would convert or copy all at once."""
        step = max(1, 4 * at_blocks.CHUNK // max(1, entries.shape[1]))
        cuts = range(0, max(1, len(entries)), step)
        parts = [Part.of_entries(entries[start : start + step]) for start in cuts]
        return cls._of_parts([replace(own, double=double) for own in parts], True, local=True)

    @classmethod
    def from_arrays(cls, arrays: Sequence[Any]) -> BlockMatrix:
        """Return the rows of several arrays, memory maps or sparse matrices (r_i, n)."""
        blocks = [_matrix(array, f"block {i} of X") for i, array in enumerate(arrays)]
        return cls._of_parts(_alike([Part.of_entries(own, i) for i, own in enumerate(blocks)]))

    @classmethod
    def from_dask(cls, array: Any) -> BlockMatrix:
        """Return a dask array (m, n), dense or of scipy-sparse chunks, as blocks of rows.

        Chunks of columns are joined. Every pass over the data computes the chunks anew: persist
        the array first where the cluster's memory can hold it.
        """
        check_two_axes(array.shape)
        if any(np.isnan(size) for sizes in array.chunks for size in sizes):
            raise InvalidInputError(
                f"X is a dask array with chunks of unknown size ({array.chunks}), but the number "
                "of rows of every chunk is needed; call X.compute_chunk_sizes() first."
            )
        if len(array.chunks[1]) > 1:
            array = array.rechunk({1: -1})
        kind, columns = is_sparse(array._meta), int(array.shape[1])
        # An optimised graph would lose the futures of persisted chunks.
        chunks = array.to_delayed(optimize_graph=holder_of(array) is None).ravel()
        parts = [
            Part(chunk, f"block {i} (chunk {i})", (int(rows), columns), np.dtype(array.dtype), kind)
            for i, (chunk, rows) in enumerate(zip(chunks, array.chunks[0], strict=True))
        ]
        return cls._of_parts(_alike(parts))

    @classmethod
    def _of_parts(
        cls, parts: list[Part], checked: bool = False, local: bool = False
    ) -> BlockMatrix:
        matrix = cls.__new__(cls)
        matrix._take_over(parts, checked, local)
        return matrix

    def _take_over(self, parts: list[Part], checked: bool = False, local: bool = False) -> None:
        # One block always stays, so that sums have something to add up.
        self._parts = [part for part in parts if part.rows] or [
            replace(parts[0], chosen=np.empty(0, dtype=np.intp))
        ]
        first, self._checked = self._parts[0], checked
        self._summary: tuple[at_blocks.Moments, int] | None = None
        # Whether X is one array in memory, and whether all work on it stays in this process.
        self.in_memory = first.whole
        self.local = local or first.whole
        # Row numbers (n_blocks + 1,) at which blocks begin and end.
        self.edges = np.concatenate([[0], np.cumsum([part.rows for part in self._parts])])
        self.shape = (int(self.edges[-1]), first.shape[1])
        self.dtype = np.dtype(np.float64) if first.double else floating(first.dtype)
        self.sparse = all(part.sparse for part in self._parts)

    @property
    def n_blocks(self) -> int:
        """Number of blocks that have rows."""
        return len(self._parts)

    @property
    def rows_per_block(self) -> tuple[int, ...]:
        """Rows of every block."""
        return tuple(part.rows for part in self._parts)

    @property
    def T(self) -> _Transposed:
        """The transpose, for products ``X.T @ U``."""
        return _Transposed(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        m, n = self.shape
        blocks = f"{self.n_blocks} block{'s' if self.n_blocks > 1 else ''}"
        return f"BlockMatrix({m} x {n}, {self.dtype}{', sparse' if self.sparse else ''}, {blocks})"

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
            return joined(part.run_collect(_columns_of, (columns,)))
        numbers = self._row_numbers(key)
        if np.all(np.diff(numbers) > 0):
            return self._select(numbers)
        wanted, order = np.unique(numbers, return_inverse=True)
        return self._select(wanted).collect()[order]

    def _row_numbers(self, key: object) -> IntArray:
        """Row numbers (r,) of a slice, a mask or numbers, which may be negative."""
        chosen: Any = key if isinstance(key, slice) else np.asarray(key)
        if isinstance(chosen, np.ndarray) and chosen.size == 0:
            chosen = chosen.astype(np.intp)
        try:
            rows = np.arange(self.shape[0])[chosen]
        except IndexError:
            rows = np.empty((), dtype=np.intp)
        if rows.ndim != 1:
            raise InvalidInputError(
                f"X[{key!r:.60}] was requested, but a slice, a mask of length {len(self)} or a "
                f"list of row numbers, none beyond {len(self) - 1}, is accepted; pass one of them."
            )
        return rows

    def _select(self, rows: IntArray) -> BlockMatrix:
        """The increasing rows, over the same stored blocks."""
        parts = []
        for part, local in zip(self._parts, split_rows(rows, self.edges), strict=True):
            chosen = local if part.chosen is None else part.chosen[local]
            parts.append(part if len(local) == part.rows else replace(part, chosen=chosen))
        return self._of_parts(parts, self._checked, self.local)

    def divided(self, scales: FloatArray) -> BlockMatrix:
        """Return X with its columns divided by `scales` (n,) when blocks are opened."""
        before = self._parts[0].scales
        total = scales if before is None else before * scales
        return self._of_parts(
            [replace(part, scales=total) for part in self._parts], self._checked, self.local
        )

    def in_double(self) -> BlockMatrix:
        """Return X with entries in float64; float32 is converted when blocks are opened."""
        if self.dtype == np.float64:
            return self
        if self.in_memory:
            entries = self.collect()
            if is_sparse(entries):
                return BlockMatrix.of(entries.astype(np.float64))
            return self._in_pieces(entries, double=True)
        parts = [replace(part, double=True) for part in self._parts]
        return self._of_parts(parts, self._checked, self.local)

    def __matmul__(self, V: Any) -> FloatArray:
        """Return X V, of shape (m,) or (m, t), for V of shape (n,) or (n, t), dense or sparse."""
        single = np.ndim(V) == 1 and not is_sparse(V)
        factor = _factor(V, self.shape[1])
        [product] = self.products([(None, factor)])
        return product[:, 0] if single else product

    def sum(self, axis: int) -> FloatArray:
        """Return the sums of the columns, of shape (n,); only ``axis=0`` is offered."""
        if axis != 0:
            raise InvalidInputError(
                f"axis={axis!r} was given, but only sums of columns are offered; pass axis=0."
            )
        if self.local:
            return np.asarray(self.run_sum(at_blocks.column_sums))
        return np.asarray(self.moments().mean * self.shape[0])

    def collect(self) -> Any:
        """Return all entries in memory, an ndarray or csr_array (m, n): one pass."""
        return joined(self.run_collect(_columns_of, (None,)))

    def products(self, pairs: Sequence[tuple[IntArray | None, Any]]) -> list[FloatArray]:
        """Return X[rows] V for several pairs of rows (None: all) and V (n, t): one pass.

        Only blocks that hold some of the rows are opened.
        """
        order = [None if rows is None else np.argsort(rows, kind="stable") for rows, _ in pairs]
        every: list[IntArray | None] = [None] * self.n_blocks
        rows: list[Any] = [
            every if chosen is None else split_rows(chosen[own], self.edges)
            for (chosen, _), own in zip(pairs, order, strict=True)
        ]
        local = list(zip(*rows, strict=True))
        used = [i for i, own in enumerate(local) if any(r is None or len(r) for r in own)]
        factors = tuple(V for _, V in pairs)
        parts = self.run_collect(_products_of, (factors,), [(local[i],) for i in used], used)
        products = []
        for p, own in enumerate(order):
            nothing = np.empty((0, factors[p].shape[1]))
            product = joined([part[p] for part in parts]) if parts else nothing
            products.append(product if own is None else product[np.argsort(own)])
        return products

    def row_products(self, rows: IntArray, B: Any) -> FloatArray:
        """Return x_r'b_i (r,) for rows r_i of X in any order and rows b_i of a csr_array B."""
        order = np.argsort(rows, kind="stable")
        local = split_rows(rows[order], self.edges)
        ends = np.cumsum([len(own) for own in local])
        each = [(own, B[order[end - len(own) : end]]) for own, end in zip(local, ends, strict=True)]
        used = [i for i, own in enumerate(local) if len(own)]
        products = np.empty(len(rows))
        if used:
            parts = self.run_collect(_row_products_of, (), [each[i] for i in used], used)
            products[order] = np.concatenate(parts)
        return products

    def moments(self, weights: FloatArray | None = None) -> at_blocks.Moments:
        """Return the moments of the columns, with weights (m,) of the rows."""
        if weights is None and not self.local:
            return self._summarised()[0]
        each = None if weights is None else [(own,) for own in self.split(weights)]
        moments: at_blocks.Moments = self.run_sum(at_blocks.column_moments, (), each)
        return moments

    def digest(self) -> str:
        """Return a digest of shape and entries, whatever their storage, type and cut."""
        if self.local:
            number = self.run_sum(at_blocks.digest, (), self._first_rows)
        else:
            number = self._summarised()[1]
        return f"{self.shape[0]}x{self.shape[1]}-{number % 2**64:016x}"

    def _summarised(self) -> tuple[at_blocks.Moments, int]:
        """Moments and digest: one pass for both, the first time."""
        if self._summary is None:
            self._summary = self.run_sum(_summary_of, (), self._first_rows)
        return self._summary

    @property
    def _first_rows(self) -> list[tuple[int]]:
        return [(int(edge),) for edge in self.edges[:-1]]

    @property
    def is_summarised(self) -> bool:
        """Whether moments and digest are known without another pass."""
        return self._summary is not None

    def split(self, values: Any) -> list[Any]:
        """Return the rows of values (m, ...) that belong to each block."""
        return [values[start:stop] for start, stop in pairwise(self.edges)]

    def run_sum(self, work: Work, shared: Sequence[Any] = (), each: Each = None) -> Any:
        """Return the sum over the blocks of ``work(entries, *shared, *each[i])``: one pass."""
        total = self._engine.sum(work, self._blocks(), shared, each)
        self._checked = True
        return total

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
        results = self._engine.collect(work, self._blocks(used), shared, each)
        self._checked = self._checked or used is None or len(used) == self.n_blocks
        return results

    def run_chain(self, work: Work, state: Any, shared: Sequence[Any] = ()) -> Any:
        """Return the last ``state = work(entries, state, *shared)`` over all blocks: one pass."""
        state = self._engine.chain(work, self._blocks(), state, shared)
        self._checked = True
        return state

    def _blocks(self, used: Sequence[int] | None = None) -> list[Part]:
        chosen = self._parts if used is None else [self._parts[i] for i in used]
        return [replace(part, check=not self._checked) for part in chosen]

    @property
    def _engine(self) -> Engine:
        return Engine() if self.local else engine_of(self._parts[0].source)


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
        single = np.ndim(U) == 1 and not is_sparse(U)
        factor = _factor(U, self.base.shape[0])
        each = [(own,) for own in self.base.split(factor)]
        product = self.base.run_sum(at_blocks.transposed_product, (), each)
        return np.asarray(product[:, 0] if single else product)


def split_rows(rows: IntArray, edges: IntArray) -> list[IntArray]:
    """Return sorted rows (r,) as rows of each block; block i has the rows from edge i on."""
    ends = np.searchsorted(rows, edges)
    return [rows[a:b] - edge for (a, b), edge in zip(pairwise(ends), edges[:-1], strict=True)]


def joined(pieces: list[Any]) -> Any:
    """Return arrays or sparse matrices one below the other; a single one as it is."""
    if len(pieces) == 1:
        return pieces[0]
    if any(is_sparse(piece) for piece in pieces):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(piece) for piece in pieces]))
    return np.concatenate(pieces)


def is_dask_array(X: object) -> bool:
    """Return whether X is a dask array, without importing Dask."""
    return type(X).__module__.startswith("dask.array") and hasattr(X, "to_delayed")


def check_two_axes(
    shape: tuple[int, ...], name: str = "X", wanted: str = "(n_samples, n_features)"
) -> None:
    """Refuse an array that is not a matrix."""
    if len(shape) != 2:
        raise InvalidInputError(
            f"{name} has shape {shape}, but a matrix of shape {wanted} is needed; reshape it to "
            "two dimensions, and check the order of the arguments."
        )


def _alike(parts: list[Part]) -> list[Part]:
    """Return blocks if they make one matrix; refuse them otherwise."""
    columns = parts[0].shape[1] if parts else 0
    if columns == 0 or not any(part.rows for part in parts):
        raise InvalidInputError(
            f"X is empty ({len(parts)} blocks without entries), but at least one row and one "
            "column are needed; pass blocks with entries."
        )
    for part in parts:
        if part.shape[1] != columns or part.dtype != parts[0].dtype:
            raise InvalidInputError(
                f"{part.label} of X has {part.shape[1]} columns of type {part.dtype} and block 0 "
                f"has {columns} of type {parts[0].dtype}, but all blocks need the same; convert "
                "them first."
            )
        if part.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"{part.label} of X has entries of type {part.dtype}, but real numbers are "
                "needed; convert it to float."
            )
    return parts


def _matrix(array: Any, name: str) -> Any:
    """The array itself, or converted by NumPy; refuse other than two dimensions."""
    stored = array if hasattr(array, "dtype") else np.asarray(array)
    check_two_axes(stored.shape, name)
    return stored


def _is_direct(entries: Any) -> bool:
    """Whether BLAS multiplies an array where it is."""
    flags = entries.flags
    return entries.dtype == floating(entries.dtype) and (flags.c_contiguous or flags.f_contiguous)


def _factor(V: Any, size: int) -> Any:
    """A factor (size, t), dense or sparse, of a vector or matrix; refuse other shapes."""
    factor = V if is_sparse(V) else np.asarray(V)
    factor = factor[:, None] if factor.ndim == 1 else factor
    if factor.ndim != 2 or factor.shape[0] != size:
        raise InvalidInputError(
            f"a factor of shape {np.shape(V)} was given, but a vector or matrix of {size} rows is "
            "needed; reshape it, or check which side of X it belongs to."
        )
    return factor


def _columns_of(entries: Any, columns: Any) -> Any:
    return entries if columns is None else entries[:, columns]


def _products_of(
    entries: Any, factors: tuple[Any, ...], rows: tuple[IntArray | None, ...]
) -> tuple[FloatArray, ...]:
    return tuple(
        at_blocks.dense_product(entries if own is None else entries[own], V)
        for own, V in zip(rows, factors, strict=True)
    )


def _row_products_of(entries: Any, rows: IntArray, B: Any) -> FloatArray:
    """Inner products (r,) of rows of the block with the rows of a csr_array B (r, n)."""
    if is_sparse(entries):
        return np.asarray(B.multiply(entries[rows]).sum(axis=1)).ravel()
    owner = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
    products = B.data * entries[rows[owner], B.indices]
    return np.bincount(owner, weights=products, minlength=B.shape[0]).astype(np.float64)


def _summary_of(entries: Any, first_row: int) -> tuple[at_blocks.Moments, int]:
    return at_blocks.column_moments(entries), at_blocks.digest(entries, first_row)
