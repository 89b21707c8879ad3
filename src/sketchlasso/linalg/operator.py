"""Matrices known by their products: the protocol and the two views built on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sketchlasso.types import RealArray

__all__ = ["LinearMap", "LowRankResidual", "Transposed", "as_dense", "smaller_side_first"]


class LinearMap(Protocol):
    """A matrix A of shape (m, n) that is only ever multiplied."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, (m, n)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the products, float32 or float64."""

    def matmat(self, V: RealArray) -> RealArray:
        """Return A V, of shape (m, t), for V of shape (n, t)."""

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return A'U, of shape (n, t), for U of shape (m, t)."""


@dataclass(frozen=True, eq=False)
class Transposed:
    """The transpose A' of a map A."""

    base: LinearMap

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n, m) for a base of shape (m, n)."""
        return self.base.shape[1], self.base.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the base."""
        return self.base.dtype

    def matmat(self, V: RealArray) -> RealArray:
        """Return A'V."""
        return self.base.rmatmat(V)

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return A U."""
        return self.base.matmat(U)


@dataclass(frozen=True, eq=False)
class LowRankResidual:
    """The difference A - Q P' of a map and a product of thin factors.

    Attributes
    ----------
    base : LinearMap of shape (m, n)
    Q : ndarray of shape (m, k)
    P : ndarray of shape (n, k)
    """

    base: LinearMap
    Q: RealArray
    P: RealArray

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the base."""
        return self.base.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the base."""
        return self.base.dtype

    def matmat(self, V: RealArray) -> RealArray:
        """Return A V - Q (P'V)."""
        product = self.base.matmat(V)
        product -= self.Q @ (self.P.T @ V)
        return product

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return A'U - P (Q'U)."""
        product = self.base.rmatmat(U)
        product -= self.P @ (self.Q.T @ U)
        return product


def smaller_side_first(A: LinearMap) -> LinearMap:
    """Return A, or its transpose where A has more rows than columns."""
    return A if A.shape[0] <= A.shape[1] else Transposed(A)


def as_dense(A: LinearMap) -> RealArray:
    """Return the entries of A, for maps whose smaller side is no wider than a sketch."""
    m, n = A.shape
    if n <= m:
        return A.matmat(np.eye(n, dtype=A.dtype))
    return A.rmatmat(np.eye(m, dtype=A.dtype)).T
