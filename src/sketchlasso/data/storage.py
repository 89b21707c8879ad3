"""The interface of stored matrices."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import numpy as np

from sketchlasso.types import FloatArray, RealArray

__all__ = ["CHUNK", "Storage", "new_digest", "sum_of_squares", "two_products"]

# Entries processed at a time by passes over a matrix: temporaries of a few MiB.
CHUNK = 1 << 18


class Storage(Protocol):
    """A stored matrix X of shape (m, n)."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features, (m, n)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the products."""

    @property
    def has_entries(self) -> bool:
        """Whether single rows and entries can be read."""

    @property
    def density(self) -> float:
        """Share of entries that are stored."""

    @property
    def matrix(self) -> Any:
        """The entries as stored: an array, a sparse matrix or a BlockMatrix."""

    @property
    def fused(self) -> bool:
        """Whether :meth:`gram_matmat` takes one pass over X instead of two."""

    @property
    def surveyed(self) -> bool:
        """Whether sums of columns, of squares and the digest are known without another pass."""

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""

    def gram_matmat(
        self, V: RealArray, shift: RealArray | None = None
    ) -> tuple[RealArray, FloatArray]:
        """Return X'B and 1'B for B = X V - 1 shift', of shapes (n, t) and (t,)."""

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""

    def column_sums(self) -> FloatArray:
        """Return X'1, of shape (n,)."""

    def column_deviations(self, means: FloatArray) -> FloatArray:
        """Return sum_i (x_ij - means_j)^2 for every column j, of shape (n,)."""

    def row_deviations(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Return sum_j weights_j (x_ij - means_j)^2 for every row i, of shape (m,)."""

    def fingerprint(self) -> str:
        """Return a digest of shape, type and entries."""


def new_digest(*header: object) -> hashlib._Hash:
    """Return a SHA-256 of the header's words, to be continued."""
    return hashlib.sha256("|".join(str(part) for part in header).encode())


def two_products(
    storage: Storage, V: RealArray, shift: RealArray | None
) -> tuple[RealArray, FloatArray]:
    """Return X'B and 1'B for B = X V - 1 shift', by two products."""
    B = storage.matmat(V)
    if shift is not None:
        B -= shift
    return storage.rmatmat(B), B.sum(axis=0, dtype=np.float64)


def sum_of_squares(values: RealArray) -> float:
    """Return the sum of squared entries, added up in float64."""
    flat = values.ravel().astype(np.float64, copy=False)
    return float(flat @ flat)
