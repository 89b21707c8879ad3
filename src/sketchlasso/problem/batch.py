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
        """Validate, broadcast and freeze the parts of a batch; see the class for shapes.

        `c` of shape (k,) makes a single instance; scalars `s`, `alpha`, `radius` are
        repeated, and one c is repeated over several alphas or radii.
        """
        shared = np.asarray(P)
        if shared.ndim != 2 or 0 in shared.shape:
            raise InvalidInputError(
                f"P has shape {shared.shape}; pass a non-empty matrix of shape (n_features, rank)"
            )
        kind = np.float32 if shared.dtype == np.float32 else np.float64
        shared = _finite("P", np.ascontiguousarray(shared, dtype=kind))
        n, k = shared.shape
        targets = _finite("c", np.atleast_2d(np.asarray(c, dtype=np.float64)))
        if targets.shape[1] != k:
            raise InvalidInputError(
                f"c has {targets.shape[1]} columns but P has rank {k}; pass c of shape (B, {k})"
            )
        levels = {"s": s, "radius": radius, "alpha": alpha}
        parts = {name: np.atleast_1d(np.asarray(v, np.float64)) for name, v in levels.items()}
        try:
            size = np.broadcast_shapes((len(targets),), *(v.shape for v in parts.values()))[-1]
            parts = {name: np.broadcast_to(v, (size,)).copy() for name, v in parts.items()}
        except ValueError:
            shapes = ", ".join(str(v.shape) for v in parts.values())
            raise InvalidInputError(
                f"s, radius, alpha of shapes {shapes} do not fit {len(targets)} rows of c; "
                "give one value or one per instance"
            ) from None
        for name, values in parts.items():
            if (_finite(name, values) < 0).any():
                raise InvalidInputError(f"{name}={values.min():g} is negative; {name} must be >= 0")
        if loss not in get_args(Loss):
            raise InvalidInputError(f"loss={loss!r} is unknown; choose 'sqrt' or 'squared'")
        stacked, which = _roots(roots, root_of, size, k)
        barred: Any = excluded
        mask: Any = None if barred is None else sparse.csr_array(barred)
        if mask is not None and mask.shape != (size, n):
            raise InvalidInputError(f"excluded has shape {mask.shape}; pass ({size}, {n})")
        return cls(
            P=shared,
            roots=stacked,
            root_of=which,
            c=np.broadcast_to(targets, (size, k)).copy(),
            penalty_factor=_factors(penalty_factor, size, n),
            excluded=mask,
            positive=bool(positive),
            loss=loss,
            **parts,
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


def _finite(name: str, values: Any) -> Any:
    if not np.isfinite(values).all():
        raise InvalidInputError(f"{name} contains NaN or infinity; clean the data first")
    return values


def _roots(
    roots: ArrayLike | None, root_of: ArrayLike | None, size: int, k: int
) -> tuple[FloatArray | None, IntArray]:
    if roots is None:
        return None, np.zeros(size, dtype=np.intp)
    stacked = _finite("roots", np.ascontiguousarray(roots, dtype=np.float64))
    stacked = stacked[None] if stacked.ndim == 2 else stacked
    if stacked.ndim != 3 or stacked.shape[1:] != (k, k):
        raise InvalidInputError(f"roots has shape {stacked.shape}; pass (G, {k}, {k})")
    if root_of is None:
        if len(stacked) not in (1, size):
            raise InvalidInputError(
                f"{len(stacked)} roots for {size} instances need root_of, an index per instance"
            )
        which = np.arange(size) % len(stacked)
    else:
        which = np.asarray(root_of, dtype=np.intp)
        if which.shape != (size,) or which.min() < 0 or which.max() >= len(stacked):
            raise InvalidInputError(
                f"root_of must hold {size} indices in [0, {len(stacked)}); got shape {which.shape}"
            )
    return stacked, which


def _factors(penalty_factor: ArrayLike | None, size: int, n: int) -> FloatArray:
    if penalty_factor is None:
        return np.ones(n)
    try:
        factor = np.asarray(penalty_factor, dtype=np.float64)
    except (TypeError, ValueError):
        raise unaccepted("penalty_factor", penalty_factor, "numbers >= 0") from None
    if factor.shape not in ((n,), (size, n)):
        raise InvalidInputError(
            f"penalty_factor has shape {factor.shape}; pass ({n},) or ({size}, {n})"
        )
    if np.isnan(factor).any() or (factor < 0).any():
        raise InvalidInputError("penalty_factor must be >= 0 (0 = unpenalised, inf = excluded)")
    return np.ascontiguousarray(factor)
