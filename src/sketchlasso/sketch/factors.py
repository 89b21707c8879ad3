"""The thin factors every method ends with, and the two ways to finish them."""

from __future__ import annotations

from dataclasses import dataclass

from sketchlasso.data import DataMatrix
from sketchlasso.linalg.factor import orthonormal_basis, singular_form
from sketchlasso.types import RealArray

__all__ = ["Factors", "factors_from_left", "factors_from_right"]


@dataclass(frozen=True, eq=False)
class Factors:
    """A ~ Q P' in singular form.

    Attributes
    ----------
    Q : ndarray of shape (m, k)
        Orthonormal columns.
    P : ndarray of shape (n, k)
        Orthogonal columns of lengths `singular_values`.
    singular_values : ndarray of shape (k,)
        Of Q P', largest first.
    residual_norm : float or None
        ||A - QP'||_2 where the method knows it exactly.
    response_rank : int
        Number of trailing columns that were made from responses. The pair is in singular form
        only where it is 0.
    """

    Q: RealArray
    P: RealArray
    singular_values: RealArray
    residual_norm: float | None = None
    response_rank: int = 0

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
    return Factors(*singular_form(Q, A.rmatmat(Q), rank))


def factors_from_right(A: DataMatrix, V: RealArray, rank: int) -> Factors:
    """Sketch A from a basis V (n, d) of its row space: Q spans A V, then P = A'Q."""
    Q = A.matmat(V)
    # V is as large as the P to come.
    del V
    return factors_from_left(A, orthonormal_basis(Q, overwrite=True), rank)
