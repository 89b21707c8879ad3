"""Linear operators: products, and an error for everything that needs entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from sketchlasso.data.storage import new_digest, two_products
from sketchlasso.errors import InvalidInputError
from sketchlasso.types import FloatArray, RealArray

__all__ = ["OperatorStorage"]


class OperatorStorage:
    """A linear operator, which only supports products."""

    has_entries = False
    fused = False
    surveyed = False
    density = 1.0

    def __init__(self, operator: LinearOperator) -> None:
        self._operator = operator
        self.dtype = np.dtype(np.float32 if operator.dtype == np.float32 else np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features, (m, n)."""
        return int(self._operator.shape[0]), int(self._operator.shape[1])

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

    def gram_matmat(
        self, V: RealArray, shift: RealArray | None = None
    ) -> tuple[RealArray, FloatArray]:
        """Return X'B and 1'B for B = X V - 1 shift'."""
        return two_products(self, V, shift)

    def column_sums(self) -> FloatArray:
        """Return X'1."""
        ones = np.ones((self.shape[0], 1), dtype=self.dtype)
        return self.rmatmat(ones)[:, 0].astype(np.float64)

    @property
    def matrix(self) -> Any:
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
