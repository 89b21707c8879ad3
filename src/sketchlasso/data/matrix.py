"""The one view of X that the rest of the library multiplies with.

Users bring samples in rows and features in columns; the paper's X is the transpose of ours.
Centring and scaling are applied inside the products, so a sparse X stays sparse:

    A = (X - 1 means') diag(1 / scales),     A V = X (V / scales) - 1 (means'(V / scales))
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sketchlasso.data.block_work import Triangle, orthogonal_product, product_triangle
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.digest import digest_of_rows, digest_words
from sketchlasso.data.indirect import BlockStorage
from sketchlasso.data.protocol import Storage
from sketchlasso.data.storage import DenseStorage, SparseStorage, storage_of
from sketchlasso.data.transform import (
    FAR,
    ColumnTransform,
    in_units,
    less_rounding,
    matrix_unit,
    near_zero,
)
from sketchlasso.data.validate import MatrixLike, as_storage, check_flags
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
    """A validated data matrix A: X itself, or X with its columns centred and scaled.

    Build one with :meth:`of`. The storage holds the entries of X (m, n), not copied where they
    can be used in place; the transform is what centring and scaling do to the columns; the meter
    counts the passes over X.

    Centring in products loses the digits that a mean and its column share. Where columns are far
    from zero, arithmetic is therefore done on `near`, the entries less the `offsets` (n,).
    """

    storage: Storage
    transform: ColumnTransform = field(default_factory=ColumnTransform)
    meter: Meter = field(default_factory=Meter)
    near: Storage | None = None
    offsets: FloatArray | None = None

    @classmethod
    def view(cls, storage: Storage, transform: ColumnTransform) -> DataMatrix:
        """Return a matrix centred and scaled by a given transform."""
        matrix = cls(storage, transform)
        if transform.means is None:
            return matrix
        if isinstance(storage, BlockStorage):
            # Blocks are converted one at a time.
            means, far = np.abs(transform.means), False
            if storage.dtype == np.float32:
                deviations = storage.column_deviations(transform.means) / storage.shape[0]
                far = bool((FAR * means > np.sqrt(deviations)).any())
            return replace(matrix, near=storage.in_double()) if far else matrix
        return replace(matrix, **_near_zero(storage))

    @classmethod
    def of(cls, X: MatrixLike, *, center: bool = False, scale: bool = False) -> DataMatrix:
        """Validate X (m, n) and find the means and scales of its columns.

        With `scale`, columns are divided by their standard deviations (those of the population,
        about the mean, as scikit-learn's StandardScaler); constant columns by 1.
        """
        return cls._of_storage(as_storage(X), center, scale)

    @classmethod
    def in_own_units(
        cls, X: MatrixLike, *, center: bool = False, scale: bool = False
    ) -> tuple[DataMatrix, float]:
        """Return :meth:`of` X divided by a power of two, and that power.

        It is 1 unless entries in memory are so large or small that squares lose them.
        """
        storage, unit = as_storage(X), 1.0
        if isinstance(storage, DenseStorage | SparseStorage):
            unit = matrix_unit(storage.matrix)
            if unit != 1.0:
                storage = storage_of(in_units(storage.matrix, unit))
        return cls._of_storage(storage, center, scale), unit

    @classmethod
    def _of_storage(cls, storage: Storage, center: bool, scale: bool) -> DataMatrix:
        check_flags(center=center, scale=scale)
        matrix = cls(storage)
        if not center and not scale:
            return matrix
        matrix._count_survey()
        near = replace(matrix, **_near_zero(storage))
        means = near._entries.column_sums() / matrix.shape[0]
        scales = near._standard_deviations(means) if scale else None
        if not center:
            return replace(matrix, transform=ColumnTransform(None, scales))
        if near.offsets is not None:
            return replace(near, transform=ColumnTransform(means + near.offsets, scales))
        return replace(cls.view(storage, ColumnTransform(means, scales)), meter=matrix.meter)

    def blas_limit(self) -> AbstractContextManager[None]:
        """Return a limit of BLAS to one thread where it multiplies thin factors only.

        Products with sparse entries have threads of their own, and idle threads of BLAS spin on
        the cores that these need.
        """
        return single_blas_thread() if isinstance(self.storage, SparseStorage) else nullcontext()

    def in_double(self) -> DataMatrix:
        """Return the matrix with products in float64, where its entries are in main memory."""
        if not isinstance(self.storage, DenseStorage | SparseStorage):
            return self
        near = None if self.near is None else self._entries.in_double()
        return replace(self, storage=self.storage.in_double(), near=near)

    @property
    def _entries(self) -> Any:
        """The storage that arithmetic is done on."""
        return self.storage if self.near is None else self.near

    @property
    def _means(self) -> FloatArray | None:
        """Means (n,) of the entries that arithmetic is done on."""
        means = self.transform.means
        return means if means is None or self.offsets is None else means - self.offsets

    @property
    def block_transform(self) -> ColumnTransform:
        """Centring and scaling of the entries in :attr:`blocks`."""
        return ColumnTransform(self._means, self.transform.scales)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features, (m, n)."""
        return self.storage.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the products."""
        return self._entries.dtype

    def matmat(self, V: RealArray) -> RealArray:
        """Return A V, of shape (m, t), for V of shape (n, t)."""
        self.meter.count(V.shape[1])
        V, shift = self.inner_factor(V)
        product = self._entries.matmat(V)
        if shift is not None:
            product -= shift
        return product

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return A'U, of shape (n, t), for U of shape (m, t)."""
        self.meter.count(U.shape[1])
        product = self._entries.rmatmat(np.ascontiguousarray(U, dtype=self.dtype))
        return self._outer_product(product, U.sum(axis=0, dtype=np.float64))

    def gram_matmat(self, V: RealArray) -> RealArray:
        """Return A'A V, of shape (n, t), for V of shape (n, t): one pass where X is in blocks."""
        self.meter.count(2 * V.shape[1], passes=1 if self.storage.fused else 2)
        product, sums = self._entries.gram_matmat(*self.inner_factor(V))
        return self._outer_product(product, sums)

    @property
    def density(self) -> float:
        """Share of entries that are stored."""
        if self.storage.fused:
            self._count_survey()
        return self.storage.density

    @property
    def keeps_rows(self) -> bool:
        """Whether products A V stay distributed: tall X in blocks.

        Arrays with one row per sample are then never formed, only their sums.
        """
        return isinstance(self.storage, BlockStorage) and self.shape[0] > self.shape[1]

    @property
    def blocks(self) -> BlockMatrix:
        """X in blocks of rows; one block where it is in memory."""
        return BlockMatrix.of(self._entries.matrix)

    def orthogonal_image(self, V: RealArray) -> tuple[RealArray, RealArray]:
        """Return A'A V and the triangle R of A V = Q R: one pass."""
        self.meter.count(2 * V.shape[1])
        product, sums, triangle = self.blocks.run_sum(orthogonal_product, self.inner_factor(V))
        return self._outer_product(product, sums), triangle.R

    def triangle(self, V: RealArray) -> RealArray:
        """Return R of A V = Q R, of at most t rows: one pass."""
        self.meter.count(V.shape[1])
        triangle: Triangle = self.blocks.run_sum(product_triangle, self.inner_factor(V))
        return triangle.R

    def inner_factor(self, V: RealArray) -> tuple[RealArray, RealArray | None]:
        """Return V' and shift with A V = X V' - 1 shift'."""
        V = self._divided(V)
        means = self._means
        return V, None if means is None else (means @ V).astype(self.dtype)

    def row_gram(self) -> FloatArray:
        """Return A A', of shape (m, m), for few rows in memory."""
        means, weights = self._means_and_weights()
        gram = storage_of(self._entries.matrix).row_gram(weights)
        if self.transform.means is not None:
            shift = self._entries.matmat((means * weights)[:, None].astype(self.dtype))
            gram = gram - shift - shift.T + means @ (means * weights)
        return gram

    def column_lengths(self) -> FloatArray:
        """Return the squared lengths of the columns of A, of shape (n,)."""
        self._count_survey()
        means, weights = self._means_and_weights()
        return np.asarray(self._entries.column_deviations(means) * weights)

    def row_lengths(self) -> FloatArray:
        """Return the squared lengths of the rows of A, of shape (m,)."""
        self.meter.count()
        return np.asarray(self._entries.row_deviations(*self._means_and_weights()))

    def squared_norm(self) -> float:
        """Return the squared Frobenius norm of A."""
        if self.transform.means is None and self.transform.scales is None:
            self._count_survey()
            return self.storage.squared_norm()
        return float(self.column_lengths().sum())

    def mean_shift(self) -> float:
        """Return ||1 means' diag(1/scales)||_2, the size of what centring subtracts in products."""
        return float(np.linalg.norm(self.column_shifts()))

    def column_shifts(self) -> FloatArray:
        """Return the length (n,) of what centring subtracts from every column in products."""
        means, weights = self._means_and_weights()
        return np.asarray(np.abs(means) * np.sqrt(self.shape[0] * weights))

    def fingerprint(self) -> str:
        """Return a digest of X, before centring and scaling, however it is stored or cut."""
        if isinstance(self.storage, BlockStorage):
            self._count_survey()
            return digest_words(self.storage.matrix.surveyed().digest, self.shape)
        return digest_words(digest_of_rows(self.storage.matrix, 0), self.shape)

    def dense(self) -> RealArray:
        """Return the entries (m, n) of A, for matrices with one short side."""
        m, n = self.shape
        if n <= m:
            return self.matmat(np.eye(n, dtype=self.dtype))
        return self.rmatmat(np.eye(m, dtype=self.dtype)).T

    def _count_survey(self) -> None:
        """Count the pass that sums over columns need, unless they are known already."""
        if not self.storage.surveyed:
            self.meter.count()

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

    def _standard_deviations(self, means: FloatArray) -> FloatArray:
        self._count_survey()
        m = self.shape[0]
        variances = less_rounding(self._entries.column_deviations(means) / m, means, m)
        return np.sqrt(np.where(variances > 0, variances, 1.0))


def _near_zero(storage: Storage) -> dict[str, Any]:
    """The fields `near` and `offsets`, where entries in memory have columns far from zero."""
    if not isinstance(storage, DenseStorage | SparseStorage) or storage.on_disk:
        return {}
    entries, offsets = near_zero(storage.matrix)
    return {"near": storage_of(entries), "offsets": offsets} if offsets.any() else {}


def fingerprint(X: MatrixLike) -> str:
    """Return a digest of a data matrix, as sketches and model files record it.

    Parameters
    ----------
    X : array-like, memory map, sparse matrix, BlockMatrix or dask array
        Of shape (m, n).

    Returns
    -------
    str
        Of shape and entries, however X is stored or cut into blocks.
    """
    return DataMatrix.of(X).fingerprint()
