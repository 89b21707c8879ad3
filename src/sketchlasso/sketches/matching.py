"""Check that a sketch is one, and was made from the X it is used with.

Equal matrices that are stored or cut in different ways have different fingerprints.
Two products show whether the factors belong to X, in any storage. With A the centred and
scaled X,

    A'Q = P           for every method that projects A onto Q
    A P = Q (P'P)     for frequent directions, where Q P' = A V V'
    A'1 = 0           where columns are centred

One random combination of the columns is enough: a false equation holds for it with probability
zero. Factors that a user brought need not satisfy any of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.data import DataMatrix, ImplicitRows, MatrixLike
from sketchlasso.data.indirect import BlockStorage
from sketchlasso.errors import InvalidInputError
from sketchlasso.sketches.sketch import Sketch
from sketchlasso.types import RealArray

USER = "user"
FREQUENT_DIRECTIONS = "frequent_directions"
# Rounding of one column of A'Q, at most, in units of eps ||A||.
ROUNDINGS = 100


def check_sketch(sketch: object, remedy: str = "make one with sketch(X)") -> Sketch:
    """Return the sketch, or refuse anything else that was given in its place."""
    if not isinstance(sketch, Sketch):
        raise InvalidInputError(
            f"sketch is of type {type(sketch).__name__}, but a Sketch is needed; {remedy}, and "
            "check the order of the arguments."
        )
    return sketch


def check_sketch_shape(sketch: Sketch, shape: tuple[int, ...]) -> None:
    """Refuse a matrix of another shape than the one that was sketched."""
    if shape != sketch.shape:
        raise InvalidInputError(
            f"X has shape {shape}, but the sketch given is of a matrix of shape {sketch.shape}; "
            "pass the X that was sketched, or make a sketch of this one."
        )


def check_sketch_of(sketch: object, X: MatrixLike) -> Sketch:
    """Return the sketch, or refuse one that was not made from X (m, n), in any storage.

    Factors that the user brought without X cannot be checked.
    """
    found = check_sketch(sketch)
    if isinstance(found.Q, ImplicitRows) and found.Q.matrix is X:
        return found
    given, unit = DataMatrix.in_own_units(X)
    check_sketch_shape(found, given.shape)
    if found.method == USER and found.fingerprint is None:
        return found
    with np.errstate(all="ignore"):
        scaled = found if unit == 1.0 else found.rescaled(1.0 / unit, found.fingerprint)
        if not _is_of(scaled, DataMatrix.view(given.storage, scaled.transform), X):
            raise InvalidInputError(
                "the sketch given was made from other data than X, although both have shape "
                f"{given.shape}; pass the X that was sketched, or make a sketch of this one."
            )
    return found


def _is_of(sketch: Sketch, A: DataMatrix, X: Any) -> bool:
    """Whether a sketch in the units of A was made from X; A is a view of X."""
    # The digest of blocks comes with the sums of their columns, which solving needs anyway.
    if isinstance(A.storage, BlockStorage) and A.fingerprint() == sketch.fingerprint:
        return True
    holds = _equations_hold(sketch, A)
    # Factors that contradict the equations are not those of X, even if the digest is that of X.
    if holds is None or sketch.method == USER:
        return _same_entries(sketch, A, X)
    return holds


def _equations_hold(sketch: Sketch, A: DataMatrix) -> bool | None:
    """Whether the factors satisfy the equations of their method with A, up to rounding.

    None where the factors are no larger than rounding, which proves nothing.
    """
    # Rounding stays far below this, and other data far above it.
    eps = float(max(np.finfo(A.dtype).eps, np.finfo(sketch.dtype).eps))
    size = float(sketch.singular_values[0]) + A.mean_shift()
    allowed = np.sqrt(eps) * size
    # Numbers of either sign that give all columns about the same weight.
    rng, shape = np.random.default_rng(0), (sketch.rank, 1)
    z = (rng.choice([-1.0, 1.0], shape) * rng.uniform(1.0, 2.0, shape)).astype(sketch.dtype)
    if sketch.method == FREQUENT_DIRECTIONS:
        # P = V diag(singular values): all directions of V get about the same weight.
        values = sketch.singular_values[:, None]
        start = sketch.P @ np.divide(z, values, out=np.zeros_like(z), where=values > 0)
        wanted = sketch.Q @ (sketch.P.T @ start)
        found = A.matmat(start)
        entries = np.full(len(found), np.inf)
    else:
        start, wanted = z, sketch.P @ z
        found = A.rmatmat(sketch.Q @ z)
        # Column by column, or a long one would hide that the others differ.
        entries = np.sqrt(eps) * np.linalg.norm(sketch.P, axis=1) + ROUNDINGS * eps * size
        entries *= _length(start)
    allowed *= _length(start)
    if not allowed < _length(wanted):
        return None
    apart = np.abs(found - wanted)[:, 0]
    if not (_length(apart) <= allowed and (apart <= entries).all()):
        return False
    if sketch.column_means is None:
        return True
    ones = np.ones((len(sketch.Q), 1), dtype=A.dtype)
    return _length(A.rmatmat(ones)) <= allowed / _length(start) * _length(ones)


def _length(vector: RealArray) -> float:
    return float(np.linalg.norm(np.asarray(vector, dtype=np.float64)))


def _same_entries(sketch: Sketch, A: DataMatrix, X: Any) -> bool:
    """Whether the digests agree, those of a sparse X by rows or by columns."""
    stored: Any = X
    if not sparse.issparse(X):
        return sketch.matches(stored)
    return any(sketch.matches(form(stored)) for form in (sparse.csr_array, sparse.csc_array))
