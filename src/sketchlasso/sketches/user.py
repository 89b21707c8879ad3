"""Sketches from a pair of factors that the user brings."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from sketchlasso.data import DataMatrix, MatrixLike
from sketchlasso.data.validate import as_factor
from sketchlasso.errors import Argument, InvalidInputError
from sketchlasso.linalg.seeds import RandomState, seed_of
from sketchlasso.sketches.factors import Factors
from sketchlasso.sketches.options import checked_radius
from sketchlasso.sketches.radius import find_radius
from sketchlasso.sketches.sketch import Sketch
from sketchlasso.types import RealArray

__all__ = ["sketch_from_factors"]


def sketch_from_factors(
    P: ArrayLike,
    Q: ArrayLike,
    *,
    X: MatrixLike | None = None,
    radius: float | str | None = None,
    center: bool = False,
    scale: bool = False,
    random_state: RandomState = None,
) -> Sketch:
    """Make a sketch from any pair with X ~ Q P'.

    Parameters
    ----------
    P : array-like of shape (n_features, rank)
    Q : array-like of shape (n_samples, rank)
        Need not be orthonormal.
    X : array-like, sparse matrix or LinearOperator of shape (n_samples, n_features), optional
        Needed for a radius by name.
    radius : float, "spectral" or "frobenius", optional
        By default the spectral radius when X is given.
    center, scale : bool
        Whether Q P' stands for X with centred and scaled columns; needs X.
    random_state : int, Generator, RandomState or None
        For the spectral radius.

    Returns
    -------
    Sketch
    """
    start = perf_counter()
    P, Q = as_factor("P", P), as_factor("Q", Q)
    if P.shape[1] != Q.shape[1]:
        raise InvalidInputError(
            f"P has {P.shape[1]} columns and Q has {Q.shape[1]}, but X ~ Q P' needs as many in "
            "both; pass P of shape (n_features, rank) and Q of shape (n_samples, rank)."
        )
    dtype = np.result_type(P, Q)
    P, Q = P.astype(dtype), Q.astype(dtype)
    named = checked_radius("spectral" if radius is None and X is not None else radius)
    values = _singular_values(P, Q)
    if X is None:
        if isinstance(named, str) or center or scale:
            raise InvalidInputError(
                Argument("radius", radius),
                ", ",
                Argument("center", center),
                " and ",
                Argument("scale", scale),
                " were given without X, but only a number is accepted as radius then; pass X as "
                "well, or a number.",
            )
        return Sketch(P, Q, named, values, "user")
    A = DataMatrix.of(X, center=center, scale=scale)
    if A.shape != (len(Q), len(P)):
        raise InvalidInputError(
            f"X has shape {A.shape}, but Q P' has shape {(len(Q), len(P))}; pass P of shape "
            "(n_features, rank) and Q of shape (n_samples, rank)."
        )
    seed = seed_of(random_state)
    rng = np.random.default_rng(seed)
    factors = Factors(Q, P, values)
    found = find_radius(A, factors, named, rng, projected=False)
    return Sketch.made(A, factors, found, "user", seed, start, A.fingerprint())


def _singular_values(P: RealArray, Q: RealArray) -> RealArray:
    left, right = np.linalg.qr(Q, mode="r"), np.linalg.qr(P, mode="r")
    small = left @ np.transpose(right)
    values = np.zeros(P.shape[1], dtype=P.dtype)
    found = linalg.svdvals(small)
    values[: len(found)] = found
    return values
