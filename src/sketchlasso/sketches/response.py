"""Sketches that depend on the response: leading directions of A, and Krylov directions from y.

The signal in y need not lie in the leading singular directions of A. The basis is therefore
extended by the block Krylov space of A A' that starts at the responses,

    Q = orth[ U,  y,  A A'y,  (A A')^2 y,  ... ],      P = A'Q

so that A'y, and with it the gradient of the regression at w = 0, is exact in the sketch. The
Krylov part is built in the orthogonal complement of U, where it finds what U has missed.

Such a sketch depends on y. Where rows are held out, it must not depend on their responses:
:func:`extend_rows` makes the sketch anew from the training rows, which share the part U that does
not depend on y.

The basis has a row for every sample. Where X is in blocks the products are computed where the
blocks are, but the basis (m, k) is held in this process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from sketchlasso.data import (
    ColumnTransform,
    DataMatrix,
    MatrixLike,
    as_blocks,
    as_responses,
    spread,
)
from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.factor import orthonormal_basis, thin_singular_values
from sketchlasso.linalg.krylov import extend_basis
from sketchlasso.linalg.seeds import RandomState, seed_of
from sketchlasso.sketches.factors import Factors
from sketchlasso.sketches.matching import check_sketch_of
from sketchlasso.sketches.options import RadiusName, SketchOptions, check_integer, checked_radius
from sketchlasso.sketches.radius import find_radius
from sketchlasso.sketches.sketch import Sketch
from sketchlasso.sketches.subspace import randomized
from sketchlasso.types import FloatArray, IntArray, RealArray

# How much of the rank the responses get by default; docs/accuracy.md has the trials.
RESPONSE_SHARE = 0.4
FEWEST_RESPONSE_DIRECTIONS = 20
LARGEST_RESPONSE_SHARE = 0.8
# Differences below this share of the largest response are rounding.
CONSTANT = 1e-12


def response_share(rank: int) -> int:
    """Return how many of `rank` directions start from the response, by default.

    Two fifths of a large rank, and most of a small one.
    """
    wanted = max(FEWEST_RESPONSE_DIRECTIONS, round(RESPONSE_SHARE * rank))
    return max(1, min(wanted, int(LARGEST_RESPONSE_SHARE * rank)))


def response(
    A: DataMatrix,
    rank: int,
    options: SketchOptions,
    rng: np.random.Generator,
    *,
    Y: FloatArray,
) -> Factors:
    """Sketch from leading singular directions and the Krylov space of the responses Y (m, t)."""
    directions = options.response_rank
    directions = response_share(rank) if directions is None else directions
    if directions > rank:
        raise InvalidInputError(
            f"response_rank must be at most the rank, {rank}, not {directions!r}; response "
            "directions are part of the rank."
        )
    if rank > directions:
        U = np.asarray(randomized(A, rank - directions, options, rng).Q)
    else:
        U = np.empty((A.shape[0], 0), dtype=A.dtype)
    return _extended(_base_of(A, U, directions), Y, directions, rng)


@dataclass(frozen=True, eq=False)
class RowsBase:
    """The part of a sketch of some rows that does not depend on the response.

    A (r, n) holds the rows, centred and scaled; U (r, h) has orthonormal columns; the image (n, h)
    is A'U.
    """

    A: DataMatrix
    U: RealArray
    image: RealArray


@spread
def extend_sketch(
    base: Sketch,
    X: MatrixLike,
    y: ArrayLike,
    *,
    directions: int | None = None,
    radius: float | RadiusName = "realised",
    random_state: RandomState = None,
) -> Sketch:
    """Add directions that start from the response to a sketch made without it.

    Parameters
    ----------
    base : Sketch
        Of X, by any method; the response directions it may have are replaced.
    X : array-like or sparse matrix of shape (m, n)
        The matrix of `base`.
    y : array-like of shape (m,) or (m, t)
        One or several responses; several share the directions.
    directions : int, optional
        How many to add; as many as make them the default share of the whole by default.
    radius : "realised", "spectral", "frobenius" or float
        See :func:`sketch`.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Sketch
        Of rank ``base.rank + directions``, at most min(m, n). `base` is not changed.
    """
    start = perf_counter()
    X = as_blocks(X)
    check_sketch_of(base, X)
    held = base.rank - base.response_rank
    U = np.asarray(base.Q[:, :held])
    check_integer("directions", directions, 1)
    count = _default_directions(held) if directions is None else int(directions)
    A = _matrix(X, base.transform)
    Y = as_responses(y, A.shape[0])
    # Response directions were added to U here before, so its image is known.
    image = np.asarray(base.P[:, :held]) if base.response_rank else None
    own = _base_of(A, U, count, image)
    return _finished(own, base, Y, count, checked_radius(radius), random_state, start)


def rows_base(base: Sketch, X: MatrixLike, rows: IntArray) -> RowsBase:
    """The part of the sketches of some rows X (r, n) that all their responses share.

    `rows` (r,) are their numbers in the matrix that `base` is a sketch of. They are centred by
    their own means where `base` is centred.
    """
    U = np.asarray(base.Q)[rows, : base.rank - base.response_rank]
    return _base_of(_matrix(X, base.transform), U, base.response_rank)


def extend_rows(
    own: RowsBase,
    base: Sketch,
    y: ArrayLike,
    *,
    weights: FloatArray | None = None,
    radius: RadiusName = "realised",
    random_state: RandomState = None,
) -> Sketch:
    """Make a response-aware sketch from some rows and their responses y (r,) or (r, t) alone.

    The unsupervised directions of `base`, a sketch of all rows, are shared: `own` are those of
    :func:`rows_base`. Its response directions are replaced by as many that start from y; with
    sample weights (r,), X'Wy is exact in the sketch. See :func:`extend_sketch` for the rest.
    """
    start = perf_counter()
    Y = as_responses(y, len(own.U))
    if weights is not None:
        Y = weights[:, None] * (Y - weights @ Y / weights.sum())
    return _finished(own, base, Y, base.response_rank, radius, random_state, start)


def _default_directions(unsupervised: int) -> int:
    """Return the smallest count that is the default share of itself and the others."""
    count = 1
    while count < response_share(unsupervised + count):
        count += 1
    return count


def _matrix(X: MatrixLike, like: ColumnTransform) -> DataMatrix:
    """View X with means of its own where `like` centres, and the scales of `like`."""
    A = DataMatrix.of(X, center=like.means is not None)
    return replace(A, transform=replace(A.transform, scales=like.scales))


def _finished(
    own: RowsBase,
    base: Sketch,
    Y: FloatArray,
    directions: int,
    radius: float | str,
    random_state: RandomState,
    start: float,
) -> Sketch:
    # Responses that share these rows count their own passes.
    A, seed = replace(own.A, meter=replace(own.A.meter)), seed_of(random_state)
    factor_rng, radius_rng = np.random.default_rng(seed).spawn(2)
    with A.blas_limit():
        factors = _extended(replace(own, A=A), Y, directions, factor_rng)
        found = find_radius(A, factors, radius, radius_rng)
    method = base.method if base.response_rank else f"{base.method}+response"
    digest = base.fingerprint if A.shape == base.shape else None
    return Sketch.made(A, factors, found, method, seed, start, digest)


def _is_complete(A: DataMatrix, rank: int) -> bool:
    """Whether a sketch of this rank loses nothing."""
    return rank >= min(A.shape)


def _base_of(
    A: DataMatrix, U: RealArray, directions: int, image: RealArray | None = None
) -> RowsBase:
    """Columns U (m, h) made orthonormal, to be extended by some directions.

    Where their `image` (n, h) is known, they are orthonormal, and stay as they are.
    """
    if _is_complete(A, U.shape[1] + directions):
        image = np.empty((A.shape[1], 0), dtype=A.dtype)
    if image is not None:
        return RowsBase(A, U, image)
    if A.transform.means is None and U.shape[1] > 0:
        # An intercept takes the mean out of y; the span has to hold y with and without it.
        U = np.hstack([U[:, :-1], np.ones((len(U), 1), dtype=A.dtype)])
    with A.blas_limit():
        if U.shape[1] > 0:
            U = orthonormal_basis(np.asarray(U, dtype=A.dtype))
        return RowsBase(A, U, A.rmatmat(U))


def _extended(own: RowsBase, Y: FloatArray, directions: int, rng: np.random.Generator) -> Factors:
    """Return factors whose basis is that of `own`, then directions from responses Y (m, t)."""
    A = own.A
    if _is_complete(A, own.U.shape[1] + directions):
        return _complete(A)
    block = _leading_responses(_centred(Y).astype(A.dtype), directions)
    Q, P = extend_basis(A, own.U, block, directions, rng, own.image)
    return Factors(Q, P, thin_singular_values(P), response_rank=directions)


def _centred(Y: FloatArray) -> FloatArray:
    centred = Y - Y.mean(axis=0)
    if not (np.abs(centred) > CONSTANT * np.abs(Y).max(initial=0.0)).any():
        raise InvalidInputError(
            "y is constant, but directions start from its differences; use a method that does not "
            "use y, or drop this response."
        )
    return centred


def _leading_responses(Y: RealArray, count: int) -> RealArray:
    """Return Y (m, t), or, where t is larger, the `count` directions that hold most of it."""
    if Y.shape[1] <= count:
        return Y
    return np.ascontiguousarray(
        linalg.svd(Y, full_matrices=False, check_finite=False)[0][:, :count]
    )


def _complete(A: DataMatrix) -> Factors:
    """Return the sketch that loses nothing, for any responses."""
    m, n = A.shape
    identity = np.eye(min(m, n), dtype=A.dtype)
    if m <= n:
        Q, P = identity, A.rmatmat(identity)
        return Factors(Q, P, thin_singular_values(P), residual_norm=0.0)
    basis, triangle = linalg.qr(A.matmat(identity), mode="economic", check_finite=False)
    return Factors(basis, triangle.T, thin_singular_values(triangle.T), residual_norm=0.0)
