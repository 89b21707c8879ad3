"""The thin factors that every method makes, the two ways to make them, and what they leave of A."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from sketchlasso.data import DataMatrix, ImplicitRows, RowFactor
from sketchlasso.linalg.factor import orthonormal_basis, singular_form
from sketchlasso.types import RealArray


@dataclass(frozen=True, eq=False)
class Factors:
    """A ~ Q P' in singular form."""

    Q: RowFactor  # (m, k): orthonormal columns; A W, known by W alone, for tall data in blocks
    P: RealArray  # (n, k): orthogonal columns of lengths `singular_values`
    singular_values: RealArray  # (k,): of Q P', largest first
    residual_norm: float | None = None  # ||A - QP'||_2 where the method knows it exactly
    # Number of trailing columns that were made from responses. The pair is in singular form only
    # where it is 0.
    response_rank: int = 0
    # Whether Q P' is QQ'A, as all methods make it; the radius then costs fewer passes.
    projected: bool = True

    @property
    def rank(self) -> int:
        """Number k of columns."""
        return len(self.singular_values)

    def truncate(self, rank: int) -> Factors:
        """Return the leading `rank` columns of both factors, as views."""
        if rank == self.rank:
            return self
        known = self.residual_norm
        if known is not None:
            # The dropped singular vectors are orthogonal to the residual, on both sides.
            known = max(known, float(self.singular_values[rank]))
        return Factors(
            self.Q[:, :rank], self.P[:, :rank], self.singular_values[:rank], residual_norm=known
        )


def factors_from_left(A: DataMatrix, Q: RealArray, rank: int) -> Factors:
    """Project A onto orthonormal Q (m, d), d >= rank: P = A'Q is the best P for that Q."""
    W, P, values = singular_form(A.rmatmat(Q), rank)
    return Factors(Q @ W, P, values)


def factors_from_right(A: DataMatrix, V: RealArray, rank: int) -> Factors:
    """Sketch A from any V (n, d): Q spans A V, then P = A'Q. Tall A in blocks keep Q = A W.

    There one pass finds A'A V and the triangle R of A V = Q R, and W = V R^-1. A second round
    removes what the first lost where it lost more than a few digits. Where A V is nearly singular
    Q is made in memory.
    """
    if A.keeps_rows:
        W: RealArray = V
        for _ in range(2):
            product, R = A.orthogonal_image(W)
            full = R.shape[0] == R.shape[1] and np.abs(np.diag(R)).min() > 0
            lost = np.linalg.cond(R) * np.finfo(R.dtype).eps if full else np.inf
            if not lost < 1e-3:
                break
            identity = np.eye(len(R), dtype=R.dtype)
            inverse: RealArray = linalg.solve_triangular(R, identity, check_finite=False)
            W, P = W @ inverse, product @ inverse
            if lost <= 1e-11:
                break
        if lost < 1e-3:
            rotation, right, values = singular_form(P, rank)
            return Factors(ImplicitRows(A, W @ rotation), right, values)
    Q = A.matmat(V)
    # V is as large as the P to come.
    del V
    return factors_from_left(A, orthonormal_basis(Q, overwrite=True), rank)


@dataclass(frozen=True, eq=False)
class Residual:
    """The map A - Q P', of shape (m, n)."""

    A: DataMatrix
    Q: RowFactor  # (m, k)
    P: RealArray  # (n, k)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of A."""
        return self.A.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating type of A."""
        return self.A.dtype

    @property
    def _W(self) -> RealArray | None:
        """W (n, k) where Q = A W stays where the blocks are: the map is A (I - W P')."""
        return self.Q.W if isinstance(self.Q, ImplicitRows) and self.A.keeps_rows else None

    def matmat(self, V: RealArray) -> RealArray:
        """Return A V - Q (P'V)."""
        W, inner = self._W, self.P.T @ V
        if W is not None:
            return self.A.matmat(V - W @ inner)
        product = self.A.matmat(V)
        product -= np.asarray(self.Q) @ inner
        return product

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return A'U - P (Q'U)."""
        W, product = self._W, self.A.rmatmat(U)
        product -= self.P @ (np.asarray(self.Q).T @ U if W is None else W.T @ product)
        return product

    def gram_matmat(self, V: RealArray) -> RealArray:
        """Return (A - Q P')'(A - Q P') V: one pass over A where its rows stay where they are."""
        W = self._W
        if W is None:
            return self.rmatmat(self.matmat(V))
        product = self.A.gram_matmat(V - W @ (self.P.T @ V))
        return product - self.P @ (W.T @ product)

    def dense(self) -> RealArray:
        """Return the entries, or a triangle that has their singular values where rows stay."""
        W, (m, n) = self._W, self.shape
        if W is not None:
            return self.A.triangle(np.eye(n, dtype=self.dtype) - W @ self.P.T)
        if n <= m:
            return self.matmat(np.eye(n, dtype=self.dtype))
        return self.rmatmat(np.eye(m, dtype=self.dtype)).T
