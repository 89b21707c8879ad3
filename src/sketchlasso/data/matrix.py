"""The view of X that sketches multiply with, and thin factors of it that are never formed.

Users bring samples in rows and features in columns; the paper's X is the transpose of ours.
Centring and scaling are applied inside the products, so a sparse X stays sparse:

    A = (X - 1 means') diag(1 / scales),     A V = X (V / scales) - 1 (means'(V / scales))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from sketchlasso.data import entries as at_blocks
from sketchlasso.data.blocks import BlockMatrix, joined
from sketchlasso.data.entries import centred_product, is_sparse, rows_of, strips
from sketchlasso.data.transform import (
    FAR,
    ColumnTransform,
    in_units,
    less_rounding,
    matrix_unit,
    near_zero,
)
from sketchlasso.data.validate import MatrixLike, as_entries, check_flags
from sketchlasso.linalg.threads import single_blas_thread
from sketchlasso.types import FloatArray, RealArray


@dataclass
class Meter:
    """Number of passes over X, and of columns that it was multiplied with."""

    passes: int = 0
    products: int = 0

    def count(self, products: int = 0, passes: int = 1) -> None:
        """Count passes over X, and the columns that they multiplied it with."""
        self.passes += passes
        self.products += products


@dataclass(frozen=True, eq=False)
class DataMatrix:
    """A data matrix A: X itself, or X with its columns centred and scaled.

    Centring in products loses the digits that a mean and its column share. Where columns are far
    from zero, arithmetic is therefore done on `near`, the entries less the `offsets` (n,).
    """

    X: BlockMatrix
    transform: ColumnTransform = field(default_factory=ColumnTransform)
    meter: Meter = field(default_factory=Meter)
    near: BlockMatrix | None = None
    offsets: FloatArray | None = None

    @classmethod
    def of(cls, X: MatrixLike, *, center: bool = False, scale: bool = False) -> DataMatrix:
        """Validate X (m, n) and find the means and scales of its columns.

        With `scale`, columns are divided by their standard deviations (those of the population,
        about the mean, as scikit-learn's StandardScaler); constant columns by 1.
        """
        return cls._of(BlockMatrix.of(as_entries(X)), center, scale)

    @classmethod
    def in_own_units(
        cls, X: MatrixLike, *, center: bool = False, scale: bool = False
    ) -> tuple[DataMatrix, float]:
        """Return :meth:`of` X divided by a power of two, and that power.

        It is 1 unless entries in memory are so large or small that squares lose them.
        """
        entries, unit = as_entries(X), 1.0
        if not isinstance(entries, BlockMatrix):
            unit = matrix_unit(entries)
            entries = in_units(entries, unit)
        return cls._of(BlockMatrix.of(entries), center, scale), unit

    @classmethod
    def _of(cls, X: BlockMatrix, center: bool, scale: bool) -> DataMatrix:
        check_flags(center=center, scale=scale)
        matrix = cls(X)
        if not (center or scale):
            return matrix
        matrix._count_summary()
        shifted = replace(matrix, **_near_zero(X))
        moments, m = shifted.blocks.moments(), X.shape[0]
        scales = None
        if scale:
            variances = less_rounding(moments.spread / m, moments.mean, m)
            scales = np.sqrt(np.where(variances > 0, variances, 1.0))
        if not center:
            return replace(matrix, transform=ColumnTransform(None, scales))
        if shifted.offsets is not None:
            return replace(
                shifted, transform=ColumnTransform(moments.mean + shifted.offsets, scales)
            )
        return replace(cls.view(X, ColumnTransform(moments.mean, scales)), meter=matrix.meter)

    @classmethod
    def view(cls, X: Any, transform: ColumnTransform) -> DataMatrix:
        """Return a matrix centred and scaled by a given transform; X is checked already."""
        X = BlockMatrix.of(X)
        matrix = cls(X, transform)
        if transform.means is None:
            return matrix
        if X.local or X.dtype == np.float64:
            return replace(matrix, **_near_zero(X))
        deviations = X.moments().about(transform.means) / X.shape[0]
        far = (FAR * np.abs(transform.means) > np.sqrt(deviations)).any()
        return replace(matrix, near=X.in_double()) if far else matrix

    @property
    def blocks(self) -> BlockMatrix:
        """The entries that arithmetic is done on."""
        return self.X if self.near is None else self.near

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features, (m, n)."""
        return self.X.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the products."""
        return self.blocks.dtype

    @property
    def keeps_rows(self) -> bool:
        """Whether products A V stay distributed: tall X in blocks.

        Arrays with one row per sample are then never formed, only their sums.
        """
        return not self.X.local and self.shape[0] > self.shape[1]

    def blas_limit(self) -> AbstractContextManager[None]:
        """Return a limit of BLAS to one thread where it multiplies thin factors only.

        Products with sparse entries have threads of their own, and idle threads of BLAS spin on
        the cores that these need.
        """
        return single_blas_thread() if self.X.local and self.X.sparse else nullcontext()

    def in_double(self) -> DataMatrix:
        """Return the matrix with products in float64, where its entries are in main memory."""
        if not self.X.local:
            return self
        return replace(self, near=self.blocks.in_double())

    @property
    def block_transform(self) -> ColumnTransform:
        """Centring and scaling of the entries in :attr:`blocks`."""
        return ColumnTransform(self._means, self.transform.scales)

    def dense(self) -> RealArray:
        """Return the entries (m, n) of A, for matrices with one short side."""
        m, n = self.shape
        if n <= m:
            return self.matmat(np.eye(n, dtype=self.dtype))
        return self.rmatmat(np.eye(m, dtype=self.dtype)).T

    def matmat(self, V: RealArray) -> RealArray:
        """Return A V, of shape (m, t), for V of shape (n, t)."""
        self.meter.count(V.shape[1])
        image: RealArray = joined(self.blocks.run_collect(centred_product, self.inner_factor(V)))
        return image

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return A'U, of shape (n, t), for U of shape (m, t)."""
        self.meter.count(U.shape[1])
        parts = self.blocks.split(np.ascontiguousarray(U, dtype=self.dtype))
        product = self.blocks.run_sum(at_blocks.transposed_product, (), [(own,) for own in parts])
        return self._outer_product(product, U.sum(axis=0, dtype=np.float64))

    def gram_matmat(self, V: RealArray) -> RealArray:
        """Return A'A V, of shape (n, t), for V of shape (n, t): one pass where X is in blocks."""
        if self.X.local:
            return self.rmatmat(self.matmat(V))
        self.meter.count(2 * V.shape[1])
        inner = self.inner_factor(V)
        return self._outer_product(
            *self.blocks.run_sum(at_blocks.image_sums, (*inner, True, False))
        )

    def orthogonal_image(self, V: RealArray) -> tuple[RealArray, RealArray]:
        """Return A'A V and the triangle R of A V = Q R: one pass."""
        self.meter.count(2 * V.shape[1])
        shared = (*self.inner_factor(V), True, True)
        product, sums, triangle = self.blocks.run_sum(at_blocks.image_sums, shared)
        return self._outer_product(product, sums), triangle.R

    def triangle(self, V: RealArray) -> RealArray:
        """Return R of A V = Q R, of at most t rows: one pass."""
        self.meter.count(V.shape[1])
        shared = (*self.inner_factor(V), False, True)
        [triangle] = self.blocks.run_sum(at_blocks.image_sums, shared)
        R: RealArray = triangle.R
        return R

    def inner_factor(self, V: RealArray) -> tuple[RealArray, RealArray | None]:
        """Return V' and shift with A V = X V' - 1 shift'."""
        V, means = self._divided(V), self._means
        return V, None if means is None else (means @ V).astype(self.dtype)

    def row_gram(self) -> FloatArray:
        """Return A A', of shape (m, m), for few rows in memory."""
        entries = self.blocks.in_double().collect()
        means, weights = self._means_and_weights()
        if is_sparse(entries):
            gram = (entries @ sparse.diags_array(weights) @ entries.T).toarray()
        else:
            gram = (entries * weights) @ entries.T
        if self.transform.means is not None:
            shift = entries @ (means * weights)
            gram = gram - shift[:, None] - shift + means @ (means * weights)
        return np.asarray(gram)

    def column_lengths(self) -> FloatArray:
        """Return the squared lengths of the columns of A, of shape (n,)."""
        self._count_summary()
        means, weights = self._means_and_weights()
        return np.asarray(self.blocks.moments().about(means) * weights)

    def row_lengths(self) -> FloatArray:
        """Return the squared lengths of the rows of A, of shape (m,)."""
        self.meter.count()
        shared = self._means_and_weights()
        return np.concatenate(self.blocks.run_collect(at_blocks.row_deviations, shared))

    def squared_norm(self) -> float:
        """Return the squared Frobenius norm of A."""
        return float(self.column_lengths().sum())

    def mean_shift(self) -> float:
        """Return ||1 means' diag(1/scales)||_2, the size of what centring subtracts in products."""
        return float(np.linalg.norm(self.column_shifts()))

    def column_shifts(self) -> FloatArray:
        """Return the length (n,) of what centring subtracts from every column in products."""
        means, weights = self._means_and_weights()
        return np.asarray(np.abs(means) * np.sqrt(self.shape[0] * weights))

    def fingerprint(self) -> str:
        """Return a digest of X, before centring and scaling; see :func:`fingerprint`."""
        if not self.X.local:
            self._count_summary()
        return self.X.digest()

    def _count_summary(self) -> None:
        """Count the pass that sums over columns need, unless they are known already."""
        if not self.X.is_summarised:
            self.meter.count()

    @property
    def _means(self) -> FloatArray | None:
        """Means (n,) of the entries that arithmetic is done on."""
        means = self.transform.means
        return means if means is None or self.offsets is None else means - self.offsets

    def _outer_product(self, product: RealArray, sums: FloatArray) -> RealArray:
        """Return A'U from X'U (n, t) and the sums 1'U (t,)."""
        means = self._means
        if means is not None:
            # A temporary of the product's size would take longer than the arithmetic.
            for start in range(0, len(product), 4096):
                rows = slice(start, start + 4096)
                product[rows] -= np.outer(means[rows], sums)
        return self._divided(product)

    def _means_and_weights(self) -> tuple[FloatArray, FloatArray]:
        n = self.shape[1]
        means = np.zeros(n) if self._means is None else self._means
        scales = self.transform.scales
        return means, np.ones(n) if scales is None else scales**-2.0

    def _divided(self, V: RealArray) -> RealArray:
        scales = self.transform.scales
        if scales is None:
            return np.ascontiguousarray(V, dtype=self.dtype)
        return np.asarray(V / scales[:, None], dtype=self.dtype)


def _near_zero(X: BlockMatrix) -> dict[str, Any]:
    """The fields `near` and `offsets`, where entries in memory have columns far from zero."""
    if not X.in_memory:
        return {}
    entries = X.collect()
    if isinstance(entries, np.memmap):
        return {}
    near, offsets = near_zero(entries)
    return {"near": BlockMatrix.of(near), "offsets": offsets} if offsets.any() else {}


def fingerprint(X: MatrixLike) -> str:
    """Return a digest of a data matrix, as sketches and model files record it.

    Parameters
    ----------
    X : array-like, memory map, sparse matrix, BlockMatrix or dask array of shape (m, n)

    Returns
    -------
    str
        Of shape and entries. How X is stored and cut into blocks makes no difference.
    """
    return DataMatrix.of(X).fingerprint()


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
        return self.base.X

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
        wanted, order = np.unique(np.arange(len(self))[rows], return_inverse=True)
        near = None if self.base.near is None else self.base.near[wanted]
        part = replace(self.base, X=self.base.X[wanted], near=near)
        return part.matmat(W)[order]

    def __matmul__(self, T: RealArray) -> RealArray:
        """Return Q T, of shape (m, j), for T of shape (k, j): one pass."""
        return self.base.matmat(self.W @ T)


RowFactor: TypeAlias = "RealArray | ImplicitRows"


# Slices of the rows of a block, and the rows (r, k) of Q there.
Strips: TypeAlias = Iterable[tuple[slice, RealArray]]


def blocks_of(Q: RowFactor) -> BlockMatrix:
    """Return the blocks that the rows of Q lie in; one block where Q is in memory."""
    return Q.matrix if isinstance(Q, ImplicitRows) else BlockMatrix.of(Q)


def sum_over_rows(
    Q: RowFactor, work: Callable[..., Any], shared: Sequence[Any], each: Sequence[tuple[Any, ...]]
) -> Any:
    """Return the sum of ``work(rows, *shared, *each[i])`` over :func:`blocks_of` Q: one pass.

    The rows of Q in a block come in strips that are not kept; in one where Q is in memory.
    """
    if not isinstance(Q, ImplicitRows):
        return BlockMatrix.of(Q).run_sum(_with_rows, (work, None, None, *shared), each)
    Q.base.meter.count(Q.W.shape[1])
    inner = Q.base.inner_factor(Q.W)
    return Q.base.blocks.run_sum(_with_rows, (work, *inner, *shared), each)


def _with_rows(entries: Any, work: Any, V: Any, shift: Any, *rest: Any) -> Any:
    return work(_strips_of(entries, V, shift), *rest)


def _strips_of(entries: Any, V: Any, shift: Any) -> Strips:
    if V is None:
        yield slice(0, len(entries)), entries
        return
    for rows in strips(entries.shape[0], len(V), V.shape[1]):
        yield rows, centred_product(rows_of(entries, rows), V, shift)


def gram_of(Q: RowFactor) -> FloatArray:
    """Return Q'Q, of shape (k, k), in doubles."""
    if isinstance(Q, ImplicitRows):
        return np.asarray(Q.W.T @ Q.base.gram_matmat(Q.W), dtype=np.float64)
    rows = np.asarray(Q, dtype=np.float64)
    return rows.T @ rows
