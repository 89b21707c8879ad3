"""Matrices without an array of entries: blocks of rows, and linear operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from sketchlasso.data import block_work as at_blocks
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.storage import Storage, new_digest
from sketchlasso.errors import InvalidInputError
from sketchlasso.types import FloatArray, RealArray


class BlockStorage(Storage):
    """A matrix in blocks of rows, processed by the current engine.

    Sums of columns, of squares, the density and the digest come from one pass, made when the
    first of them is requested.
    """

    fused = True

    def __init__(self, matrix: BlockMatrix) -> None:
        self.matrix: BlockMatrix = matrix
        self.shape, self.dtype = matrix.shape, matrix.dtype

    @property
    def density(self) -> float:
        """Share of entries that are stored."""
        m, n = self.shape
        return self.matrix.surveyed().stored / (m * n)

    @property
    def surveyed(self) -> bool:
        """Whether the one pass for sums has been made."""
        return self.matrix.is_surveyed

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""
        return np.concatenate(self.matrix.run_collect(at_blocks.centred_product, (V, None)))

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        own = [(rows,) for rows in self.matrix.split(U)]
        return np.asarray(self.matrix.run_sum(at_blocks.transposed_product, (), own))

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
        return np.concatenate(self.matrix.run_collect(at_blocks.row_deviations, (means, weights)))

    def fingerprint(self) -> str:
        """Return a digest of the blocks' digests; it depends on how X is cut."""
        digest = new_digest("blocks", self.shape, self.dtype)
        for part in self.matrix.surveyed().digests:
            digest.update(part.encode())
        return digest.hexdigest()


class OperatorStorage(Storage):
    """A linear operator, which only supports products."""

    has_entries = False

    def __init__(self, operator: LinearOperator) -> None:
        self._operator = operator
        self.shape = int(operator.shape[0]), int(operator.shape[1])
        self.dtype = np.dtype(np.float32 if operator.dtype == np.float32 else np.float64)

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""
        return self._checked(self._operator.matmat(V))

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        try:
            product = self._operator.rmatmat(U)
        except (NotImplementedError, TypeError) as missing:
            raise InvalidInputError(
                "X is a LinearOperator without a transposed product, but a sketch needs both "
                "products; define rmatvec or rmatmat."
            ) from missing
        return self._checked(product)

    def column_sums(self) -> FloatArray:
        """Return X'1."""
        ones = np.ones((self.shape[0], 1), dtype=self.dtype)
        return self.rmatmat(ones)[:, 0].astype(np.float64)

    @property
    def matrix(self) -> Any:  # type: ignore[override]
        """Refuse: an operator has no entries."""
        raise _no_entries("rows and entries")

    def squared_norm(self) -> float:
        """Refuse: an operator has no entries."""
        raise _no_entries("the squares of all entries")

    def column_deviations(self, means: FloatArray) -> FloatArray:
        """Refuse: an operator has no columns."""
        raise _no_entries(f"the lengths of {len(means)} columns")

    def row_deviations(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Refuse: an operator has no rows."""
        raise _no_entries(f"the lengths of rows of {len(means)} entries")

    def fingerprint(self) -> str:
        """Return a digest of shape and type only: the entries cannot be read."""
        return new_digest("operator", self.shape, self.dtype).hexdigest()

    def _checked(self, product: NDArray[Any]) -> RealArray:
        product = np.array(product, dtype=self.dtype)
        if not np.isfinite(product).all():
            raise InvalidInputError(
                "X is a LinearOperator whose product holds NaN or infinity, but every entry must "
                "be finite; correct the operator."
            )
        return product


def _no_entries(wanted: str) -> InvalidInputError:
    return InvalidInputError(
        f"X is a LinearOperator, which only supports products, but {wanted} are needed; pass an "
        "array or a sparse matrix, or leave out scaling, sampling and frequent_directions."
    )
