"""Dense arrays and memory maps, read in row blocks wherever a product would copy them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchlasso.data.storage import CHUNK, new_digest, sum_of_squares, two_products
from sketchlasso.types import FloatArray, RealArray

__all__ = ["DenseStorage"]


class DenseStorage:
    """An ndarray or memory map of any real type; products are float32 or float64."""

    has_entries = True
    fused = False
    surveyed = False
    density = 1.0

    def __init__(self, values: NDArray[Any], dtype: Any = None) -> None:
        self._values = values
        usual = np.float32 if values.dtype == np.float32 else np.float64
        self.dtype = np.dtype(usual if dtype is None else dtype)
        # BLAS reads such arrays in place; a product would copy any other whole.
        flags = values.flags
        self._direct = values.dtype == self.dtype and (flags.c_contiguous or flags.f_contiguous)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features, (m, n)."""
        return self._values.shape[0], self._values.shape[1]

    @property
    def matrix(self) -> NDArray[Any]:
        """The entries as stored."""
        return self._values

    def blocks(self) -> Iterator[tuple[slice, RealArray]]:
        """Yield row slices and their entries as C-ordered blocks in the working type."""
        m, n = self.shape
        step = max(1, CHUNK // n)
        for start in range(0, m, step):
            chosen = slice(start, min(start + step, m))
            yield chosen, np.ascontiguousarray(self._values[chosen], dtype=self.dtype)

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""
        if self._direct:
            return np.asarray(self._values @ V)
        product = np.empty((self.shape[0], V.shape[1]), dtype=self.dtype)
        for chosen, block in self.blocks():
            product[chosen] = block @ V
        return product

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        if self._direct:
            return np.asarray(self._values.T @ U)
        product = np.zeros((self.shape[1], U.shape[1]), dtype=self.dtype)
        for chosen, block in self.blocks():
            product += block.T @ U[chosen]
        return product

    def gram_matmat(
        self, V: RealArray, shift: RealArray | None = None
    ) -> tuple[RealArray, FloatArray]:
        """Return X'B and 1'B for B = X V - 1 shift'."""
        return two_products(self, V, shift)

    def in_double(self) -> DenseStorage:
        """Return the same entries with products in float64; float32 is converted in blocks."""
        return DenseStorage(self._values, np.float64)

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        return sum(sum_of_squares(block) for _, block in self.blocks())

    def column_sums(self) -> FloatArray:
        """Return X'1."""
        total = np.zeros(self.shape[1])
        for _, block in self.blocks():
            total += block.sum(axis=0, dtype=np.float64)
        return total

    def column_deviations(self, means: FloatArray) -> FloatArray:
        """Return the squared deviations of each column from `means`."""
        total = np.zeros(self.shape[1])
        for _, block in self.blocks():
            deviation = block - means
            total += np.einsum("ij,ij->j", deviation, deviation)
        return total

    def row_deviations(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted squared deviations of each row from `means`."""
        total = np.empty(self.shape[0])
        for chosen, block in self.blocks():
            total[chosen] = np.square(block - means) @ weights
        return total

    def row_gram(self, weights: FloatArray) -> FloatArray:
        """Return X diag(weights) X'."""
        block = np.asarray(self._values, dtype=np.float64)
        return np.asarray((block * weights) @ block.T)

    def fingerprint(self) -> str:
        """Return a digest that memory layout and byte order do not change."""
        digest = new_digest("dense", self.shape, self.dtype)
        for _, block in self.blocks():
            digest.update(block.data)
        return digest.hexdigest()
