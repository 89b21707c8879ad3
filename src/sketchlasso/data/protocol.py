"""What every stored matrix can do."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np

from sketchlasso.types import FloatArray, RealArray


class Storage(Protocol):
    """A stored matrix X of shape (m, n)."""

    # Samples and features, (m, n).
    shape: tuple[int, int]
    # Floating type of the products.
    dtype: np.dtype[Any]
    # The entries as stored: an array, a sparse matrix or a BlockMatrix.
    matrix: Any
    # Whether gram_matmat takes one pass over X instead of two.
    fused: ClassVar[bool] = False

    @property
    def density(self) -> float:
        """Share of entries that are stored."""
        return 1.0

    @property
    def surveyed(self) -> bool:
        """Whether sums of columns, of squares and the digest are known without another pass."""
        return False

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""

    def gram_matmat(
        self, V: RealArray, shift: RealArray | None = None
    ) -> tuple[RealArray, FloatArray]:
        """Return X'B and 1'B for B = X V - 1 shift', of shapes (n, t) and (t,)."""
        B = self.matmat(V)
        if shift is not None:
            B -= shift
        return self.rmatmat(B), B.sum(axis=0, dtype=np.float64)

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""

    def column_sums(self) -> FloatArray:
        """Return X'1, of shape (n,)."""

    def column_deviations(self, means: FloatArray) -> FloatArray:
        """Return sum_i (x_ij - means_j)^2 for every column j, of shape (n,)."""

    def row_deviations(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Return sum_j weights_j (x_ij - means_j)^2 for every row i, of shape (m,)."""
