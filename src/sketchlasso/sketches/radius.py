"""The radius of a sketch: an upper bound on ||A - QP'||, or an estimate of its effect.

``spectral``
    With probability at least 1 - 1e-6 over the random start, no smaller than ||A - QP'||_2 and
    at most 10 % above it (:mod:`sketchlasso.linalg.krylov` proves the bound); where the smaller
    side of A is short, the norm is computed from all entries and the probability is 1. Never
    above ``frobenius`` where that is known.
``frobenius``
    ||A - QP'||_F, from sums of squares; no probability is involved.
``realised``
    No bound but an estimate: ||A - QP'||_F / sqrt(n), the root mean square length of a column
    of the error, which is what coefficients drawn at random would realise. Where problems are
    solved it is the start of a search for the radius that equals ||(A - QP')w|| / ||w|| at the
    solution w.

The bounds have an allowance for rounding added, so that the statement holds for the stored factors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from sketchlasso.data import DataMatrix, ImplicitRows, RowFactor
from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.krylov import norm_bound
from sketchlasso.sketches.factors import Factors, Residual
from sketchlasso.sketches.methods import SMALL_SIDE
from sketchlasso.types import RealArray

RadiusName: TypeAlias = Literal["spectral", "frobenius", "realised"]
RadiusKind: TypeAlias = Literal["spectral", "frobenius", "realised", "given"]

FAILURE_PROBABILITY = 1e-6  # of a radius that is a random bound


@dataclass(frozen=True)
class Radius:
    """A radius and its meaning."""

    value: float
    kind: RadiusKind
    # Probability that the value falls short of the norm it bounds; None where it bounds none.
    failure_probability: float | None


def find_radius(
    A: DataMatrix, factors: Factors, wanted: float | str, rng: np.random.Generator
) -> Radius:
    """Return the radius of a name, or the number that was wanted as it is."""
    if wanted == "spectral":
        return spectral_radius(A, factors, rng)
    if wanted == "frobenius":
        return frobenius_radius(A, factors)
    if wanted == "realised":
        return realised_estimate(A, factors)
    return Radius(float(wanted), "given", None)


def spectral_radius(
    A: DataMatrix,
    factors: Factors,
    rng: np.random.Generator,
    failure_probability: float = FAILURE_PROBABILITY,
) -> Radius:
    """Bound ||A - QP'||_2 from above.

    The bound needs random numbers that are independent of the sketch.
    """
    norm, failure = factors.residual_norm, 0.0
    if norm == 0.0:
        return Radius(0.0, "spectral", 0.0)
    if norm is None:
        norm, failure = norm_bound(
            Residual(A, factors.Q, factors.P),
            rng,
            failure_probability=failure_probability,
            dense_limit=max(SMALL_SIDE, 2 * factors.rank),
        )
    # What the computation from A and the factors may have lost.
    size = norm + float(factors.singular_values[0]) + A.mean_shift()
    value = norm + float(8.0 * np.finfo(A.dtype).eps * np.sqrt(max(A.shape)) * size)
    if _needs_double(A, value, norm):
        return spectral_radius(A.in_double(), _in_double(factors), rng, failure_probability)
    if factors.projected and factors.residual_norm is None:
        frobenius = frobenius_radius(A, factors).value
        if frobenius <= value:
            return Radius(frobenius, "spectral", 0.0)
    return Radius(value, "spectral", failure)


def frobenius_radius(A: DataMatrix, factors: Factors) -> Radius:
    """Return ||A - QP'||_F, rounding included.

        ||A - QP'||_F^2  =  ||A||_F^2 - 2 tr(Q'A P) + tr(Q'Q P'P)

    For a projection of A, tr(Q'A P) is ||P||_F^2, and no pass over A is needed. Q'Q is computed
    where Q is in memory: if it is not orthonormal, the error exceeds ||A||_F^2 - ||P||_F^2.
    """
    total = A.squared_norm()
    Q, P = factors.Q, factors.P
    if not factors.projected:
        gram, shared = _overlaps(A, Q, P)
    elif isinstance(Q, ImplicitRows):  # the functions that make one ensure orthonormal columns
        gram, shared = np.eye(factors.rank, dtype=Q.dtype), _inner(P, P)
    else:
        gram, shared = Q.T @ Q, _inner(P, P)
    product = _inner(gram, P.T @ P)
    # Cancellation: each sum of squares carries a relative error of its own.
    sizes = total + product + A.mean_shift() * float(np.sqrt(product))
    lost = np.finfo(A.dtype).eps * (8.0 + np.sqrt(max(A.shape))) * sizes
    # Generous where that costs nothing.
    lost *= 4.0 if A.dtype == np.float64 else 1.0
    left = max(total - 2 * shared + product, 0.0)
    value = float(np.sqrt(left + lost))
    if _needs_double(A, value, float(np.sqrt(left))):
        return frobenius_radius(A.in_double(), _in_double(factors))
    return Radius(value, "frobenius", 0.0)


def realised_estimate(A: DataMatrix, factors: Factors) -> Radius:
    """Estimate the error per unit of coefficients: ||A - QP'||_F / sqrt(n)."""
    if factors.residual_norm == 0.0:
        return Radius(0.0, "realised", None)
    total = frobenius_radius(A, factors).value
    return Radius(total / float(np.sqrt(A.shape[1])), "realised", None)


def _overlaps(A: DataMatrix, Q: RowFactor, P: RealArray) -> tuple[RealArray, float]:
    """Return Q'Q, of shape (k, k), and tr(Q'A P): one pass."""
    if isinstance(Q, ImplicitRows) and A.keeps_rows:
        image = A.gram_matmat(Q.W)
        return Q.W.T @ image, _inner(image, P)
    rows = np.asarray(Q)
    return rows.T @ rows, _inner(A.matmat(P), rows)


def _needs_double(A: DataMatrix, value: float, norm: float) -> bool:
    """Whether single precision adds over 5 % for rounding, and double precision is possible."""
    return A.dtype == np.float32 and A.in_double().dtype == np.float64 and value > 1.05 * norm


def _in_double(factors: Factors) -> Factors:
    """The factors in double precision, in which they are no longer a projection of A."""
    return Factors(
        np.asarray(factors.Q, dtype=np.float64),
        factors.P.astype(np.float64),
        factors.singular_values.astype(np.float64),
        projected=False,
    )


def _inner(A: RealArray, B: RealArray) -> float:
    return float(np.einsum("ij,ij->", A, B, dtype=np.float64))


def sketch_to_tolerance(
    A: DataMatrix,
    build: Callable[[int], Factors],
    largest_rank: int,
    tol: float,
    rng: np.random.Generator,
) -> tuple[Factors, Radius]:
    """Sketch with the smallest rank whose spectral radius is at most tol * ||A||_2.

    The rank is doubled until the radius is small enough; leading columns are then tried by
    bisection. ||A||_2 is taken as the sketch's largest singular value, which never exceeds it. The
    failure probability covers every radius that was tried.
    """
    # Doubling and bisection try fewer than 64 radii.
    rank, failure = min(16, largest_rank), FAILURE_PROBABILITY / 64
    while True:
        factors = build(rank)
        radius = spectral_radius(A, factors, rng, failure)
        largest = float(factors.singular_values[0])
        if radius.value <= tol * largest:
            break
        if rank == largest_rank:
            raise InvalidInputError(
                f"tol={tol:g} was given, but a sketch of rank {rank} has a radius of "
                f"{radius.value / largest:.3g} times ||X||; raise rank, which limits the search, "
                "or tol."
            )
        rank = min(2 * rank, largest_rank)
    # No singular value of a projection exceeds that of A, so fewer columns cannot do.
    short = max(int((factors.singular_values > tol * largest).sum()) - 1, 0)
    while factors.rank - short > 1:
        fewer = factors.truncate((factors.rank + short) // 2)
        tried = spectral_radius(A, fewer, rng, failure)
        if tried.value <= tol * largest:
            factors, radius = fewer, tried
        else:
            short = fewer.rank
    stated = FAILURE_PROBABILITY if radius.failure_probability else 0.0
    return factors, replace(radius, failure_probability=stated)
