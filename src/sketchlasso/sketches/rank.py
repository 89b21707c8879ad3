"""The smallest rank whose radius meets a tolerance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sketchlasso.data import DataMatrix
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.sketches.factors import Factors
from sketchlasso.sketches.radius import FAILURE_PROBABILITY, Radius, spectral_radius

__all__ = ["sketch_to_tolerance"]

FIRST_RANK = 16
# More radii than a doubling followed by a bisection can ask for: their failures add up.
MOST_RADII = 64


def sketch_to_tolerance(
    A: DataMatrix,
    build: Callable[[int], Factors],
    largest_rank: int,
    tol: float,
    rng: np.random.Generator,
) -> tuple[Factors, Radius]:
    """Sketch with the smallest rank whose spectral radius is at most tol * ||A||_2.

    The rank is doubled from 16 until the radius is small enough or `largest_rank` is reached;
    leading columns of that sketch are then tried by bisection. ||A||_2 is taken as the sketch's
    largest singular value, which never exceeds it.

    Parameters
    ----------
    A : DataMatrix of shape (m, n)
    build : callable
        Makes the factors of a rank.
    largest_rank : int
    tol : float
        Relative to ||A||_2.
    rng : Generator
        For the radii.

    Returns
    -------
    factors : Factors
    radius : Radius
        Its failure probability covers every radius that was tried.

    Raises
    ------
    InvalidInputError
        `largest_rank` does not reach the tolerance.
    """

    def radius_of(factors: Factors) -> Radius:
        return spectral_radius(
            A, factors, rng, failure_probability=FAILURE_PROBABILITY / MOST_RADII
        )

    rank = min(FIRST_RANK, largest_rank)
    factors = build(rank)
    radius = radius_of(factors)
    while radius.value > tol * factors.singular_values[0]:
        if rank == largest_rank:
            raise _unreached(tol, rank, radius.value / float(factors.singular_values[0]))
        rank = min(2 * rank, largest_rank)
        factors = build(rank)
        radius = radius_of(factors)
    return _smallest(factors, radius, tol, radius_of)


def _smallest(
    factors: Factors, radius: Radius, tol: float, radius_of: Callable[[Factors], Radius]
) -> tuple[Factors, Radius]:
    target = tol * float(factors.singular_values[0])
    # No singular value of a projection exceeds that of A, so fewer columns cannot do.
    short = max(int((factors.singular_values > target).sum()) - 1, 0)
    best, best_radius = factors, radius
    while best.rank - short > 1:
        tried = factors.truncate((best.rank + short) // 2)
        tried_radius = radius_of(tried)
        if tried_radius.value <= target:
            best, best_radius = tried, tried_radius
        else:
            short = tried.rank
    failure = FAILURE_PROBABILITY if best_radius.failure_probability else 0.0
    return best, Radius(best_radius.value, best_radius.kind, failure)


def _unreached(tol: float, rank: int, reached: float) -> InvalidInputError:
    return InvalidInputError(
        Argument("tol", tol, "g"),
        f" was given, but a sketch of rank {rank} has a radius of {reached:.3g} times ||X||; "
        "raise rank, which limits the search, or tol.",
    )
