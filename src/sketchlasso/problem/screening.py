"""Rules that prove a coefficient zero before the problem is solved."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from sketchlasso.problem.batch import Batch
from sketchlasso.types import BoolArray, FloatArray, IntArray, RealArray, SparseRows

# Exact norms cost n k^2 per distinct root; for several roots a bound is used, and for one that is
# this close to orthonormal.
EXACT_ROOTS = 1
ORTHONORMAL = 1e-2
# Above this share of all features a copy of their rows costs more than it saves.
MOST = 0.8


@dataclass(frozen=True, eq=False)
class RowNorms:
    """Upper bounds ||a_j|| <= scale * norms_j on the rows of R_b = P L_b."""

    norms: FloatArray  # (M, n)
    row_of: IntArray  # (B,): which line of `norms` belongs to an instance
    # (B,): 1 where `norms` is exact, otherwise a bound on the spectral norm of the instance's root.
    scale: FloatArray

    def take(self, instances: IntArray) -> RowNorms:
        """The bounds of the chosen instances."""
        return RowNorms(self.norms, self.row_of[instances], self.scale[instances])

    def of(self, instance: int) -> FloatArray:
        """Bounds (n,) of one instance."""
        return self.scale[instance] * self.norms[self.row_of[instance]]

    def largest(self) -> FloatArray:
        """The largest bound (n,) over all instances."""
        lines = np.unique(self.row_of)
        scales = [self.scale[self.row_of == line].max() for line in lines]
        return np.asarray((self.norms[lines] * np.array(scales)[:, None]).max(axis=0))


@dataclass(frozen=True, eq=False)
class Restriction:
    """Batches over some of the features, where the static rule removes all others, and back.

    A solution and its certificate on these features hold for all of them.
    """

    P: RealArray  # (n, k): the factor of the batches
    features: IntArray  # (p,), in increasing order
    rows: RealArray  # (p, k): P[features]

    @classmethod
    def of(cls, P: RealArray, features: IntArray) -> Restriction:
        """The restriction to the given features, or to all where these are most of them."""
        if len(features) > MOST * len(P):
            return cls(P, np.arange(len(P)), P)
        return cls(P, features, P[features])

    def apply(self, batch: Batch) -> Batch:
        """A batch over the features only."""
        return replace(
            batch,
            P=self.rows,
            penalty_factor=np.ascontiguousarray(batch.penalty_factor[..., self.features]),
            excluded=None if batch.excluded is None else self.narrow(batch.excluded),
        )

    def narrow(self, rows: SparseRows) -> SparseRows:
        """Sparse rows (b, n) on the features (b, p); entries of other features are dropped."""
        place = np.full(len(self.P), -1)
        place[self.features] = np.arange(len(self.features))
        indices = place[rows.indices]
        kept = indices >= 0
        before = np.concatenate([[0], np.cumsum(kept)])
        return sparse.csr_array(
            (rows.data[kept], indices[kept], before[rows.indptr]),
            shape=(rows.shape[0], len(self.features)),
        )

    def widen(self, rows: SparseRows) -> SparseRows:
        """Sparse rows (b, p) on the features as rows (b, n) on all."""
        return sparse.csr_array(
            (rows.data, self.features[rows.indices], rows.indptr),
            shape=(rows.shape[0], len(self.P)),
        )


def row_norms(batch: Batch) -> RowNorms:
    """Norms of the rows of R: exact for one root, bounded by ||p_j|| ||L|| for several.

    Also bounded for one root that changes no norm by more than a part in a hundred.
    """
    P = batch.P.astype(np.float64, copy=False)
    ones = np.ones(batch.n_instances)
    if batch.roots is None:
        return RowNorms(np.linalg.norm(P, axis=1)[None], batch.root_of, ones)
    if len(batch.roots) <= EXACT_ROOTS:
        root = batch.roots[0]
        # ||L||_2^2 <= 1 + ||LL' - I||_F
        apart = float(np.linalg.norm(root @ root.T - np.eye(len(root))))
        if apart <= ORTHONORMAL:
            norms, bound = np.linalg.norm(P, axis=1), np.sqrt(1.0 + apart)
            return RowNorms(norms[None], batch.root_of, bound * ones)
        return RowNorms(np.linalg.norm(P @ root, axis=1)[None], batch.root_of, ones)
    # ||L||_2^2 <= ||L||_1 ||L||_inf costs no decomposition.
    sizes = np.abs(batch.roots)
    bounds = np.sqrt(sizes.sum(axis=1).max(axis=1) * sizes.sum(axis=2).max(axis=1))
    shared = np.linalg.norm(P, axis=1)[None]
    return RowNorms(shared, np.zeros_like(batch.root_of), bounds[batch.root_of])


def dual_reach(batch: Batch) -> FloatArray:
    """Bound (B,) on the length of the optimal dual point: 1, or ||c|| for the squared loss."""
    if batch.loss == "sqrt":
        return np.ones(batch.n_instances)
    return np.linalg.norm(batch.c, axis=1)


def norm_rule(batch: Batch, norms: RowNorms, instance: int, margin: float) -> BoolArray:
    """Features (n,) with ||a_j|| <= alpha f_j - margin; none for an infinite margin.

    A margin of zero is enough, as |a_j'u| <= ||a_j|| and w_j = mu S(a_j'u). The paper's rule
    (section 3) has the radius as its margin, and removes less.
    """
    reach = norms.of(instance) * dual_reach(batch)[instance]
    thresholds = batch.thresholds(instance)
    if np.isinf(margin):
        return np.isinf(thresholds)
    return np.asarray(reach <= thresholds - margin)


def gap_safe_distance(batch: Batch, gap: FloatArray) -> FloatArray:
    """Distance (B,) within which the optimal dual point lies of a feasible one.

    The dual objective is s-strongly concave (1-strongly for the squared loss), hence
    sqrt(2 gap / s); infinite when s = 0.
    """
    modulus = batch.s if batch.loss == "sqrt" else np.ones(batch.n_instances)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(modulus > 0, np.sqrt(2.0 * gap / modulus), np.inf)


def gap_safe_rule(
    batch: Batch, norms: RowNorms, instance: int, correlation: RealArray, distance: float
) -> BoolArray:
    """Features (n,) with |a_j'u| + ||a_j|| * distance < alpha f_j at a feasible u."""
    if not np.isfinite(distance):
        return np.isinf(batch.thresholds(instance))
    reach = np.abs(correlation) + norms.of(instance) * distance
    return np.asarray(reach < batch.thresholds(instance))
