"""From one regression per column to a precision matrix that is symmetric and positive definite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.graphs import Rule, join_directions
from sketchlasso.inference.nodewise import Nodewise
from sketchlasso.types import BoolArray, FloatArray, IntArray

__all__ = ["Assembled", "assemble", "interpolates"]

# A residual of no more than this share of the column's own length is an exact fit.
EXACT_FIT = 1e-6
# Smallest eigenvalue of the precision matrix in units of its diagonal.
SMALLEST_EIGENVALUE = 1e-3


@dataclass(frozen=True, eq=False)
class Assembled:
    """A symmetric estimate D (I - R) D with D = diag(sqrt(diagonal)).

    Attributes
    ----------
    diagonal : ndarray of shape (n,)
        m / ||z_j||^2, z_j the residual of column j.
    edges : ndarray of shape (n_edges, 2)
    partial : ndarray of shape (n_edges,)
        Partial correlations, the entries of R.
    """

    diagonal: FloatArray
    edges: IntArray
    partial: FloatArray

    def precision(self) -> tuple[FloatArray, float]:
        """Precision (n, n), and the share taken off the partial correlations.

        Joining both directions keeps symmetry but not positive definiteness. Where the smallest
        eigenvalue of I - R falls below a floor, R is multiplied by the largest number that keeps
        it there: the graph and the diagonal stay as they are.
        """
        n = len(self.diagonal)
        R = np.zeros((n, n))
        R[self.edges[:, 0], self.edges[:, 1]] = self.partial
        R += R.T
        kept = 1.0
        if not self._above_floor(R):
            largest = float(linalg.eigvalsh(R, subset_by_index=[n - 1, n - 1])[0])
            kept = (1.0 - SMALLEST_EIGENVALUE) / largest
            R *= kept
        root = np.sqrt(self.diagonal)
        return (np.eye(n) - R) * np.outer(root, root), 1.0 - kept

    def matrices(self) -> tuple[FloatArray, FloatArray, float]:
        """Precision (n, n), covariance (n, n), and the share that :meth:`precision` returns."""
        precision, shrinkage = self.precision()
        root = np.sqrt(self.diagonal)
        scale = np.outer(root, root)
        factor = linalg.cho_factor(precision / scale, lower=True)
        covariance = linalg.cho_solve(factor, np.eye(len(root))) / scale
        return precision, 0.5 * (covariance + covariance.T), shrinkage

    @staticmethod
    def _above_floor(R: FloatArray) -> bool:
        """Whether no eigenvalue of I - R lies below the floor."""
        try:
            linalg.cholesky((1.0 - SMALLEST_EIGENVALUE) * np.eye(len(R)) - R, lower=True)
        except linalg.LinAlgError:
            return False
        return True


def interpolates(found: Nodewise, lengths: FloatArray) -> BoolArray:
    """Whether the others fit a column exactly (B,); `lengths` (n,) are those of the columns."""
    return np.asarray(found.residual_norm <= EXACT_FIT * lengths[found.targets])


def assemble(found: Nodewise, lengths: FloatArray, rule: Rule) -> Assembled:
    """Join the regressions of all columns, one penalty each, as TIGER does.

    Row j of the precision matrix is theta_jj = m / ||z_j||^2 and theta_jk = -gamma_jk theta_jj.
    Of theta_jk and theta_kj the smaller is kept ("and"; zero where one of them is, or where the
    signs differ), or the larger ("or").

    Parameters
    ----------
    found : Nodewise
        One row per column, in the order of the columns.
    lengths : ndarray of shape (n,)
        Lengths of the centred columns.
    rule : {"and", "or"}

    Raises
    ------
    InvalidInputError
        A column is constant, or fitted exactly by others: its precision would be infinite.
    """
    n = len(lengths)
    if (lengths == 0).any():
        raise InvalidInputError(
            f"column {int(np.argmin(lengths))} of X is constant, but a precision matrix needs "
            "columns that vary; drop it."
        )
    exact = interpolates(found, lengths)
    if exact.any():
        j = int(np.argmax(exact))
        others = ", ".join(str(k) for k in found.coef.indices[_row(found, j)][:5])
        raise InvalidInputError(
            f"column {j} of X is fitted exactly by others (such as column {others}) at ",
            Argument("alpha", found.alpha[j], ".3g"),
            ", so that its precision would be infinite; drop copies and sums of other columns, or "
            "use a larger alpha.",
        )
    row = np.repeat(np.arange(n), np.diff(found.coef.indptr))
    column = found.coef.indices
    # gamma_jk sqrt(theta_jj / theta_kk)
    partial = found.coef.data * found.residual_norm[column] / found.residual_norm[row]
    edges, joined = join_directions(row, column, partial, n, rule)
    return Assembled(found.n_samples / found.residual_norm**2, edges, joined)


def _row(found: Nodewise, j: int) -> slice:
    return slice(found.coef.indptr[j], found.coef.indptr[j + 1])
