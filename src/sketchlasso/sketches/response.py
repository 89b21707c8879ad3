"""Sketches that depend on the response: leading directions of A, and Krylov directions from y.

The signal in y need not lie in the leading singular directions of A. The basis is therefore
extended by the block Krylov space of A A' that starts at the responses,

    Q = orth[ U,  y,  A A'y,  (A A')^2 y,  ... ],      P = A'Q

so that A'y, and with it the gradient of the regression at w = 0, is exact in the sketch. The
Krylov part is built in the orthogonal complement of U, where it finds what U has missed.

Where rows are held out, :func:`extend_rows` makes the sketch anew from the training rows, which
share the part U that does not depend on y. The basis (m, k) is held in this process.
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
)
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.linalg.factor import orthonormal_basis, thin_singular_values
from sketchlasso.linalg.krylov import extend_basis
from sketchlasso.linalg.seeds import RandomState, seed_of
from sketchlasso.sketches.factors import Factors
from sketchlasso.sketches.methods import randomized
from sketchlasso.sketches.radius import RadiusName, find_radius
from sketchlasso.sketches.sketch import Sketch, check_sketch_of, checked_radius
from sketchlasso.types import FloatArray, IntArray, RealArray, is_whole


def response_share(rank: int) -> int:
    """Return how many of `rank` directions start from the response, by default.

    Two fifths of a large rank, and most of a small one; docs/accuracy.md has the trials.
    """
    return max(1, min(max(20, round(0.4 * rank)), int(0.8 * rank)))


def response(
    A: DataMatrix,
    rank: int,
    rng: np.random.Generator,
    *,
    Y: FloatArray,
    response_rank: int | None = None,
    n_iter: int = 10,
    oversampling: int | None = None,
) -> Factors:
    """Sketch from leading singular directions and the Krylov space of the responses Y (m, t)."""
    directions = response_share(rank) if response_rank is None else response_rank
    if directions > rank:
        raise InvalidInputError(
            f"response_rank must be at most the rank, {rank}, not {directions!r}; response "
            "directions are part of the rank."
        )
    U = np.empty((A.shape[0], 0), dtype=A.dtype)
    if rank > directions:
        base = randomized(A, rank - directions, rng, n_iter=n_iter, oversampling=oversampling)
        U = np.asarray(base.Q)
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
    X = as_blocks(X)
    check_sketch_of(base, X)
    if directions is not None and not (is_whole(directions) and directions >= 1):
        raise unaccepted("directions", directions, "an integer >= 1")
    held, count = base.rank - base.response_rank, directions or 1
    while directions is None and count < response_share(held + count):
        count += 1
    U, A = np.asarray(base.Q[:, :held]), _matrix(X, base.transform)
    # Response directions were added to U here before, so its image is known.
    image = np.asarray(base.P[:, :held]) if base.response_rank else None
    own = _base_of(A, U, count, image)
    Y = as_responses(y, A.shape[0])
    return _finished(own, base, Y, count, checked_radius(radius), random_state)


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
    Y = as_responses(y, len(own.U))
    if weights is not None:
        Y = weights[:, None] * (Y - weights @ Y / weights.sum())
    return _finished(own, base, Y, base.response_rank, radius, random_state)


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
) -> Sketch:
    start = perf_counter()
    # Responses that share these rows count their own passes.
    A, seed = replace(own.A, meter=replace(own.A.meter)), seed_of(random_state)
    factor_rng, radius_rng = np.random.default_rng(seed).spawn(2)
    with A.blas_limit():
        factors = _extended(replace(own, A=A), Y, directions, factor_rng)
        size = find_radius(A, factors, radius, radius_rng)
    method = base.method if base.response_rank else f"{base.method}+response"
    digest = base.fingerprint if A.shape == base.shape else None
    return Sketch.made(A, factors, size, method, seed, start, digest)


def _base_of(
    A: DataMatrix, U: RealArray, directions: int, image: RealArray | None = None
) -> RowsBase:
    """Columns U (m, h) made orthonormal, to be extended by some directions.

    Where their `image` (n, h) is known, they are orthonormal, and stay as they are.
    """
    if U.shape[1] + directions >= min(A.shape):
        image = np.empty((A.shape[1], 0), dtype=A.dtype)  # the complete sketch needs none
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
    """Return factors whose basis is that of `own`, then directions from responses Y (m, t).

    A sketch of full rank loses nothing, for any responses.
    """
    A = own.A
    if own.U.shape[1] + directions >= min(A.shape):
        identity = np.eye(min(A.shape), dtype=A.dtype)
        if A.shape[0] <= A.shape[1]:
            Q, P = identity, A.rmatmat(identity)
        else:
            Q, R = linalg.qr(A.matmat(identity), mode="economic", check_finite=False)
            P = R.T
        return Factors(Q, P, thin_singular_values(P), residual_norm=0.0)
    centred = Y - Y.mean(axis=0)
    if not (np.abs(centred) > 1e-12 * np.abs(Y).max(initial=0.0)).any():
        raise InvalidInputError(
            "y is constant, but directions start from its differences; use a method that does not "
            "use y, or drop this response."
        )
    if Y.shape[1] > directions:
        raise InvalidInputError(
            f"y holds {Y.shape[1]} responses, but only {directions} directions start from them; "
            "give at least one to each, or make a sketch of each response."
        )
    Q, P = extend_basis(A, own.U, centred.astype(A.dtype), directions, rng, own.image)
    return Factors(Q, P, thin_singular_values(P), response_rank=directions)
