"""Unpenalised features of the non-robust model, projected out exactly and fitted afterwards.

With radius = 0 and features U of threshold zero, the best w_U for given other coefficients
is a least-squares fit, so with V an orthonormal basis of the rows R_U

    min over w  loss(c - R'w) + penalty  =  min over w_other  loss(Pc - (RP)'w_other) + penalty

where P = I - V V'. Any dual point of the projected problem is orthogonal to R_U, as the
dual constraint of unpenalised features demands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.types import FloatArray

__all__ = ["ProjectedOut", "project_out"]


@dataclass(frozen=True, eq=False)
class ProjectedOut:
    """An instance without its unpenalised features, and the way back.

    Attributes
    ----------
    rows : ndarray of shape (q, k)
        R_U.
    basis : ndarray of shape (r, k)
        Orthonormal basis of the span of those rows.
    root : ndarray of shape (k, k)
        L P: replaces the instance's root.
    c : ndarray of shape (k,)
        P c.
    """

    rows: FloatArray
    basis: FloatArray
    root: FloatArray
    c: FloatArray

    def project(self, u: FloatArray) -> FloatArray:
        """P u (k,)."""
        return np.asarray(u - self.basis.T @ (self.basis @ u))

    def recover(self, remainder: FloatArray) -> FloatArray:
        """w_U (q,) from c - R'w_other (k,): the least-squares fit of minimum norm."""
        return np.asarray(np.linalg.lstsq(self.rows.T, remainder, rcond=None)[0])


def project_out(root: FloatArray | None, c: FloatArray, rows: FloatArray) -> ProjectedOut:
    """Remove the span of the rows R_U (q, k) from an instance's root and c."""
    _, values, directions = np.linalg.svd(rows, full_matrices=False)
    basis = directions[values > 1e-12 * values.max(initial=0.0)]
    projector = np.eye(len(c)) - basis.T @ basis
    kept = projector if root is None else root @ projector
    return ProjectedOut(rows, basis, kept, np.asarray(projector @ c))
