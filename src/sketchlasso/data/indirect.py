"""A matrix in blocks of rows as storage."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.data import block_work as at_blocks
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.protocol import Storage
from sketchlasso.types import FloatArray, RealArray


class BlockStorage(Storage):
    """A matrix in blocks of rows, processed by the current engine.

    Sums of columns, of squares, the density and the digest come from one pass, made when the
    first of them is requested.
    """

    fused = True

    def __init__(self, matrix: BlockMatrix, dtype: Any = None) -> None:
        self.matrix: BlockMatrix = matrix
        self.shape, self.dtype = matrix.shape, matrix.dtype if dtype is None else np.dtype(dtype)

    @property
    def density(self) -> float:
        """Share of entries that are stored."""
        m, n = self.shape
        return self.matrix.surveyed().stored / (m * n)

    @property
    def surveyed(self) -> bool:
        """Whether the one pass for sums has been made."""
        return self.matrix.is_surveyed

    def in_double(self) -> BlockStorage:
        """Return the same entries with products in float64; blocks are converted one by one."""
        return BlockStorage(self.matrix, np.float64)

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""
        return np.concatenate(self.matrix.run_collect(at_blocks.centred_product, (V, None)))

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        own = [(rows,) for rows in self.matrix.split(U)]
        return np.asarray(self.matrix.run_sum(at_blocks.of_storage, ("rmatmat",), own))

    def gram_matmat(
        self, V: RealArray, shift: RealArray | None = None
    ) -> tuple[RealArray, FloatArray]:
        """Return X'B and 1'B for B = X V - 1 shift', in one pass and without B."""
        product, sums = self.matrix.run_sum(at_blocks.gram_product, (V, shift))
        return product, sums

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        return self.matrix.surveyed().squares

    def column_sums(self) -> FloatArray:
        """Return X'1."""
        return self.matrix.surveyed().sums

    def column_deviations(self, means: FloatArray) -> FloatArray:
        """Return the squared deviations of each column from `means`."""
        return self.matrix.surveyed().deviations(means)

    def row_deviations(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted squared deviations of each row from `means`."""
        work = ("row_deviations", means, weights)
        return np.concatenate(self.matrix.run_collect(at_blocks.of_storage, work))
