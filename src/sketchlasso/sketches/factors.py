"""The thin factors that every method makes, and the two ways to make them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sketchlasso.data import DataMatrix, ImplicitRows, RowFactor
from sketchlasso.linalg.factor import orthonormal_basis, singular_form, singular_rotation
from sketchlasso.linalg.operator import ImplicitResidual, LowRankResidual
from sketchlasso.types import RealArray

# Units in the last place, times the condition of A V, that one round of orthonormalising may
# lose, and beyond which nothing is left of the smallest directions.
ONE_ROUND = 1e-11
HOPELESS = 1e-3


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
    # Whether Q P' is QQ'A or A V V', as all methods make it; the radius then costs fewer passes.
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
    return Factors(*singular_form(Q, A.rmatmat(Q), rank))


def factors_from_right(A: DataMatrix, V: RealArray, rank: int) -> Factors:
    """Sketch A from any V (n, d): Q spans A V, then P = A'Q. Tall A in blocks keep Q = A W."""
    if A.keeps_rows:
        found = _implicit_factors(A, V, rank)
        if found is not None:
            return found
    Q = A.matmat(V)
    # V is as large as the P to come.
    del V
    return factors_from_left(A, orthonormal_basis(Q, overwrite=True), rank)


def _implicit_factors(A: DataMatrix, V: RealArray, rank: int) -> Factors | None:
    """Return factors with Q = A W, W = V R^-1, or None where A V is nearly singular.

    A second round removes what the first lost to a large condition of A V; both find
    P = A'A W in the same pass.
    """
    for _ in range(2):
        product, R = A.orthogonal_image(V)
        inverse, lost = _triangle_inverse(R)
        if inverse is None:
            return None
        V, P = V @ inverse, product @ inverse
        if lost <= ONE_ROUND:
            break
    rotation, values = singular_rotation(P, rank)
    return Factors(ImplicitRows(A, V @ rotation), P @ rotation, values)


def implicit_basis(A: DataMatrix, V: RealArray) -> tuple[RealArray, RealArray] | None:
    """Return W and R with A V = (A W) R and A W orthonormal; None where A V is nearly singular."""
    W, whole = V, np.eye(V.shape[1], dtype=V.dtype)
    for _ in range(2):
        R = A.triangle(W)
        inverse, lost = _triangle_inverse(R)
        if inverse is None:
            return None
        W, whole = W @ inverse, R @ whole
        if lost <= ONE_ROUND:
            break
    return W, whole


def _triangle_inverse(R: RealArray) -> tuple[RealArray | None, float]:
    """Return R^-1, None where R (d, d) is nearly singular, and its condition times eps."""
    if R.shape[0] < R.shape[1] or not np.abs(np.diag(R)).min() > 0:
        return None, np.inf
    lost = float(np.linalg.cond(R) * np.finfo(R.dtype).eps)
    if not lost < HOPELESS:
        return None, lost
    identity = np.eye(len(R), dtype=R.dtype)
    return linalg.solve_triangular(R, identity, check_finite=False), lost


def residual_of(A: DataMatrix, Q: RowFactor, P: RealArray) -> LowRankResidual | ImplicitResidual:
    """Return A - Q P', of shape (m, n), as a map."""
    if isinstance(Q, ImplicitRows):
        if A.keeps_rows:
            return ImplicitResidual(A, Q.W, P)
        Q = np.asarray(Q)
    return LowRankResidual(A, Q, P)
