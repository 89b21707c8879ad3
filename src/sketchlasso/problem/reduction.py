"""Instances in their reduced form, and without unpenalised features.

An instance sees its data only through K = Q'WQ, g = Q'Wy and yy = y'Wy. With K = L L':

    ||QP'w - y||_W^2 = ||c - R'w||^2 + s^2,    R = P L,  c = L+ g,  s^2 = yy - c'c

Unpenalised features U of the non-robust model are projected out exactly and fitted afterwards. The
best w_U for given other coefficients is a least-squares fit, so with V an orthonormal basis of the
rows R_U

    min over w  loss(c - R'w) + penalty  =  min over w_other  loss(Pc - (RP)'w_other) + penalty

where P = I - V V'. Any dual point of the projected problem is orthogonal to R_U, as the dual
constraint of unpenalised features demands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sketchlasso.kernels.dense import reduce_stack
from sketchlasso.linalg.factor import psd_root
from sketchlasso.linalg.rows import lengths
from sketchlasso.problem.full_problem import Unpenalised
from sketchlasso.types import FloatArray


def reduce_statistics(
    K: FloatArray, g: FloatArray, yy: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Roots L (G, k, k), c (G, t, k) and s (G, t) of statistics for t responses.

    These are K (G, k, k), g (G, k, t) and yy (G, t). A K may be singular.
    """
    roots = 0.5 * (K + K.transpose(0, 2, 1))
    c = np.empty((g.shape[0], g.shape[2], g.shape[1]))
    # Singular: a smallest eigenvalue below this share of the largest diagonal entry.
    safe = reduce_stack(roots, np.ascontiguousarray(g), c, 1e-11)
    for b in np.flatnonzero(~safe):
        roots[b], inverse = psd_root(K[b])
        c[b] = (inverse @ g[b]).T
    return roots, c, unreachable_part(yy, c)


def unreachable_part(yy: FloatArray, c: FloatArray) -> FloatArray:
    """S = sqrt(yy - c'c), with a remainder of the size of rounding taken as zero."""
    remainder = yy - np.sum(c**2, axis=-1)
    rounding = 64 * np.finfo(np.float64).eps * yy
    return np.sqrt(np.where(remainder > rounding, remainder, 0.0))


@dataclass(frozen=True, eq=False)
class ProjectedOut:
    """An instance without its unpenalised features, and the way back."""

    rows: FloatArray  # (q, k): R_U
    basis: FloatArray  # (r, k): orthonormal, of the span of those rows
    root: FloatArray  # (k, k): L P, which replaces the instance's root
    c: FloatArray  # (k,): P c

    @classmethod
    def of(cls, root: FloatArray | None, c: FloatArray, rows: FloatArray) -> ProjectedOut:
        """Remove the span of the rows R_U (q, k) from an instance's root and c."""
        basis = Unpenalised.of(rows.T, positive=False).basis.T
        projector = np.eye(len(c)) - basis.T @ basis
        return cls(rows, basis, projector if root is None else root @ projector, projector @ c)

    def project(self, u: FloatArray) -> FloatArray:
        """P u (k,)."""
        return np.asarray(u - self.basis.T @ (self.basis @ u))

    def recover(self, remainder: FloatArray) -> FloatArray:
        """w_U (q,) from c - R'w_other (k,): a least-squares fit, columns scaled to length one."""
        sizes = lengths(self.rows.T)
        sizes = np.where(sizes > 0, sizes, 1.0)
        return np.linalg.lstsq((self.rows / sizes[:, None]).T, remainder, rcond=None)[0] / sizes
