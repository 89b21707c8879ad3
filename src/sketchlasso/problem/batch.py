"""A batch of problems that share one factor P: the input of every solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.linalg.rows import lengths, read_only
from sketchlasso.types import FloatArray, IntArray, Loss, RealArray, SparseRows


@dataclass(frozen=True, eq=False)
class Batch:
    """B problems over one P; instance b is

        minimise over w   sqrt( ||c_b - R_b'w||^2 + s_b^2 ) + radius_b ||w||_2
                          + alpha_b * sum_j f_j |w_j|,          R_b = P L_b

    With ``loss="squared"`` it is the elastic net

        minimise over w   ( ||c_b - R_b'w||^2 + s_b^2 ) / 2 + radius_b^2 ||w||_2^2 / 2
                          + alpha_b * sum_j f_j |w_j|

    Build one with :meth:`build`, which validates and broadcasts.

    Attributes
    ----------
    P : ndarray of shape (n, k)
        Shared factor, float32 or float64; a view that cannot be written to.
    roots : ndarray of shape (G, k, k) or None
        Distinct square roots L of the instances' Gram matrices; None means identity.
    root_of : ndarray of shape (B,)
        Which root each instance uses (all zero when `roots` is None).
    c : ndarray of shape (B, k)
    s : ndarray of shape (B,)
        Part of the response that the sketch cannot reach, >= 0.
    radius : ndarray of shape (B,)
    alpha : ndarray of shape (B,)
        The paper's lambda, not normalised by the number of samples.
    penalty_factor : ndarray of shape (n,) or (B, n)
        f; 0 leaves a feature unpenalised, inf excludes it.
    excluded : csr_array of shape (B, n) or None
        Stored entries mark features excluded from single instances.
    positive : bool
        Whether coefficients must be >= 0.
    loss : {"sqrt", "squared"}
    """

    P: RealArray
    roots: FloatArray | None
    root_of: IntArray
    c: FloatArray
    s: FloatArray
    radius: FloatArray
    alpha: FloatArray
    penalty_factor: FloatArray
    excluded: SparseRows | None = None
    positive: bool = False
    loss: Loss = "sqrt"

    def __post_init__(self) -> None:
        # Kernels are compiled once for arrays that may be written to and once for those that may
        # not. P comes as either, so every batch holds a view that may not.
        object.__setattr__(self, "P", read_only(self.P))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled batch, whose arrays have become writeable."""
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_instances(self) -> int:
        """Number of problems B."""
        return self.c.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features n."""
        return self.P.shape[0]

    @property
    def rank(self) -> int:
        """Dimension k of the sketch."""
        return self.P.shape[1]

    @classmethod
    def build(
        cls,
        P: ArrayLike,
        c: ArrayLike,
        s: ArrayLike,
        *,
        alpha: ArrayLike,
        radius: ArrayLike = 0.0,
        roots: ArrayLike | None = None,
        root_of: ArrayLike | None = None,
        penalty_factor: ArrayLike | None = None,
        excluded: sparse.sparray | None = None,
        positive: bool = False,
        loss: Loss = "sqrt",
    ) -> Batch:
        """Check the parts of a batch and repeat single ones; see the class for shapes.

        `c` of shape (k,) makes a single instance, or is repeated over several penalties or radii.
        """
        shared = np.asarray(P)
        kind = np.float32 if shared.dtype == np.float32 else np.float64
        shared = np.ascontiguousarray(shared, dtype=kind)
        rows = np.atleast_2d(np.asarray(c, dtype=np.float64))
        if shared.ndim != 2 or shared.size == 0 or rows.shape[1:] != shared.shape[1:]:
            raise InvalidInputError(
                f"P has shape {shared.shape} and c has shape {rows.shape}; pass a non-empty P of "
                "shape (n_features, rank) and c of shape (B, rank)."
            )
        if not np.isfinite(shared).all():
            raise InvalidInputError("P contains NaN or infinity; clean the data first.")
        if loss not in get_args(Loss):
            raise unaccepted("loss", loss, "'sqrt' or 'squared'")
        n, k = shared.shape
        size = max(len(rows), *map(np.size, (s, radius, alpha)))
        stacked, which = None, np.zeros(size, dtype=np.intp)
        if roots is not None:
            stacked = np.ascontiguousarray(roots, dtype=np.float64)
            stacked = _numbers("roots", stacked, (stacked.size // k**2, k, k), signed=True)
            which = np.asarray(np.arange(size) % len(stacked) if root_of is None else root_of)
            if which.shape != (size,) or not np.isin(which, np.arange(len(stacked))).all():
                raise unaccepted("root_of", root_of, f"{size} numbers of the {len(stacked)} roots")
        stored: Any = excluded
        barred: Any = None if stored is None else sparse.csr_array(stored)
        if barred is not None and barred.shape != (size, n):
            raise InvalidInputError(f"excluded has shape {barred.shape}; pass ({size}, {n}).")
        factor = np.asarray(1.0 if penalty_factor is None else penalty_factor)
        return cls(
            P=shared,
            roots=stacked,
            root_of=which,
            c=_numbers("c", rows, (size, k), signed=True),
            s=_numbers("s", s, (size,)),
            radius=_numbers("radius", radius, (size,)),
            alpha=_numbers("alpha", alpha, (size,)),
            penalty_factor=_numbers(
                "penalty_factor", factor, (size, n) if factor.ndim == 2 else (n,), largest=np.inf
            ),
            excluded=barred,
            positive=bool(positive),
            loss=loss,
        )

    def take(self, instances: IntArray | slice) -> Batch:
        """The batch of the chosen instances, in the given order; itself where it is all of them."""
        if np.array_equal(np.arange(self.n_instances)[instances], np.arange(self.n_instances)):
            return self
        factor = self.penalty_factor
        return replace(
            self,
            root_of=self.root_of[instances],
            c=self.c[instances],
            s=self.s[instances],
            radius=self.radius[instances],
            alpha=self.alpha[instances],
            penalty_factor=factor if factor.ndim == 1 else factor[instances],
            excluded=None if self.excluded is None else self.excluded[instances],
        )

    def root(self, instance: int) -> FloatArray | None:
        """L (k, k) of one instance; None stands for the identity."""
        return None if self.roots is None else self.roots[self.root_of[instance]]

    def rows(self, instance: int, features: IntArray) -> FloatArray:
        """Rows R[features] (p, k) of one instance, in double precision."""
        chosen = self.P[features].astype(np.float64)
        root = self.root(instance)
        return chosen if root is None else chosen @ root

    def unpenalised_rows(self, instance: int, features: IntArray) -> FloatArray:
        """Rows R[features] (p, k), zero where only rounding is left of P's rows.

        A feature that is constant on the rows of an instance must not count as a direction.
        """
        rows = self.rows(instance, features)
        root = self.root(instance)
        if root is not None:
            # Rows of P are sums of whole columns of X and carry rounding of up to this share.
            whole = 1e-12 * lengths(self.P[features].astype(np.float64).T) * np.linalg.norm(root)
            rows[lengths(rows.T) <= whole] = 0.0
        return rows

    def factor_row(self, instance: int) -> FloatArray:
        """Penalty factors (n,) of one instance, its exclusions written as inf."""
        factor = (
            self.penalty_factor if self.penalty_factor.ndim == 1 else self.penalty_factor[instance]
        )
        left_out = self.excluded_features(instance)
        if left_out.size:
            factor = factor.copy()
            factor[left_out] = np.inf
        return factor

    def thresholds(self, instance: int) -> FloatArray:
        """Alpha f_j (n,) of one instance; inf where the feature is excluded."""
        factor = self.factor_row(instance)
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(factor), np.inf, self.alpha[instance] * factor)

    def excluded_features(self, instance: int) -> IntArray:
        """Features left out of this instance alone."""
        if self.excluded is None:
            return np.empty(0, dtype=np.intp)
        start, stop = self.excluded.indptr[instance], self.excluded.indptr[instance + 1]
        return np.asarray(self.excluded.indices[start:stop], dtype=np.intp)

    def lift(self, u: FloatArray) -> FloatArray:
        """L_b u_b for every instance: u (B, k) -> (B, k), so that R_b u_b = P (L_b u_b)."""
        if self.roots is None:
            return u
        # einsum, not BLAS: the sums of an instance do not depend on the size of the batch.
        return np.einsum("bij,bj->bi", self.roots[self.root_of], u)

    def lower(self, z: FloatArray) -> FloatArray:
        """L_b' z_b for every instance: z = P'w (B, k) -> R_b'w (B, k)."""
        if self.roots is None:
            return z
        return np.einsum("bij,bi->bj", self.roots[self.root_of], z)


def _numbers(
    name: str,
    values: ArrayLike,
    shape: tuple[int, ...],
    *,
    signed: bool = False,
    largest: float = np.finfo(np.float64).max,
) -> FloatArray:
    """Numbers from zero (or minus `largest`) to `largest`, repeated to a shape."""
    array = np.asarray(values, dtype=np.float64)
    try:
        array = np.broadcast_to(array, shape).copy()
    except ValueError:
        raise InvalidInputError(f"{name} has shape {array.shape}; pass {shape}.") from None
    if not ((array >= (-largest if signed else 0.0)) & (array <= largest)).all():
        accepted = "finite numbers" if signed else "numbers >= 0"
        raise InvalidInputError(f"{name} must hold {accepted} without NaN; clean the data first.")
    return array
