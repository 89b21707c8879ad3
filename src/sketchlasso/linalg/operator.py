"""Matrices given by their products: the protocols and the views built on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sketchlasso.types import RealArray


class LinearMap(Protocol):
    """A matrix A of shape (m, n), given by its products."""

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


@runtime_checkable
class FusedMap(LinearMap, Protocol):
    """A map that can multiply by A'A in one pass."""

    def gram_matmat(self, V: RealArray) -> RealArray:
        """Return A'A V, of shape (n, t), for V of shape (n, t)."""


class SplitMap(FusedMap, Protocol):
    """A tall map whose rows are distributed: no array with m rows is ever in one place."""

    def triangle(self, V: RealArray) -> RealArray:
        """Return R, at most (t, t), of A V = Q R."""


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


class _Residual:
    """What a map less a product of thin factors has of the map, its base."""

    base: LinearMap

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the base."""
        return self.base.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of the base."""
        return self.base.dtype


@dataclass(frozen=True, eq=False)
class LowRankResidual(_Residual):
    """The difference A - Q P' of a map and a product of thin factors."""

    base: LinearMap  # (m, n)
    Q: RealArray  # (m, k)
    P: RealArray  # (n, k)

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


@dataclass(frozen=True, eq=False)
class ImplicitResidual(_Residual):
    """The difference A - Q P' for Q = A W, written as A (I - W P'), without Q."""

    base: SplitMap  # (m, n)
    W: RealArray  # (n, k)
    P: RealArray  # (n, k)

    def matmat(self, V: RealArray) -> RealArray:
        """Return A (V - W P'V)."""
        return self.base.matmat(self._inner(V))

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return A'U - P W'A'U."""
        return self._outer(self.base.rmatmat(U))

    def gram_matmat(self, V: RealArray) -> RealArray:
        """Return (I - P W') A'A (I - W P') V: one pass over A."""
        return self._outer(self.base.gram_matmat(self._inner(V)))

    def triangle(self, V: RealArray) -> RealArray:
        """Return R of (A - Q P') V = Q R."""
        return self.base.triangle(self._inner(V))

    def _inner(self, V: RealArray) -> RealArray:
        return V - self.W @ (self.P.T @ V)

    def _outer(self, U: RealArray) -> RealArray:
        return U - self.P @ (self.W.T @ U)


def outer_product(A: LinearMap, U: RealArray) -> RealArray:
    """Return A A'U, of shape (m, t): in one pass where A is the transpose of a fused map."""
    if isinstance(A, Transposed) and isinstance(A.base, FusedMap):
        return A.base.gram_matmat(U)
    return A.matmat(A.rmatmat(U))


def same_singular_values(A: LinearMap) -> RealArray:
    """Return a small matrix with the singular values of A, for maps with one short side."""
    base = A.base if isinstance(A, Transposed) else A
    if isinstance(base, ImplicitResidual):
        return base.triangle(np.eye(base.shape[1], dtype=base.dtype))
    return as_dense(A)


def smaller_side_first(A: LinearMap) -> LinearMap:
    """Return A, or its transpose where A has more rows than columns."""
    return A if A.shape[0] <= A.shape[1] else Transposed(A)


def as_dense(A: LinearMap) -> RealArray:
    """Return the entries of A, for maps whose smaller side is no wider than a sketch."""
    m, n = A.shape
    if n <= m:
        return A.matmat(np.eye(n, dtype=A.dtype))
    return A.rmatmat(np.eye(m, dtype=A.dtype)).T
