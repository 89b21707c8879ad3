"""The functions that make a sketch: of X by a method, or from factors that the user brings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from sketchlasso.data import DataMatrix, MatrixLike, as_responses, fingerprint
from sketchlasso.data.transform import unit_of
from sketchlasso.data.validate import as_factor
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.linalg.seeds import RandomState, seed_of
from sketchlasso.sketches.factors import Factors
from sketchlasso.sketches.methods import (
    exact,
    frequent_directions,
    krylov,
    nystrom,
    power,
    projection,
    randomized,
    sampling,
)
from sketchlasso.sketches.radius import RadiusName, find_radius, sketch_to_tolerance
from sketchlasso.sketches.response import response
from sketchlasso.sketches.sketch import Sketch, checked_radius
from sketchlasso.types import is_number, is_whole

SketchMethod: TypeAlias = Literal[
    "power",
    "randomized",
    "krylov",
    "projection",
    "sampling",
    "nystrom",
    "frequent_directions",
    "exact",
    "response",
]

# The options of a method are the keywords of its function.
METHODS: dict[str, Callable[..., Factors]] = {
    "power": power,
    "randomized": randomized,
    "krylov": krylov,
    "projection": projection,
    "sampling": sampling,
    "nystrom": nystrom,
    "frequent_directions": frequent_directions,
    "exact": exact,
    "response": response,
}


def sketch(
    X: MatrixLike,
    y: ArrayLike | None = None,
    *,
    rank: int | None = None,
    tol: float | None = None,
    method: SketchMethod = "randomized",
    center: bool = False,
    scale: bool = False,
    radius: float | RadiusName | None = None,
    random_state: RandomState = None,
    n_iter: int | None = None,
    oversampling: int | None = None,
    response_rank: int | None = None,
) -> Sketch:
    """Approximate a data matrix by two thin factors, X ~ Q P', with a bound on the error.

    Parameters
    ----------
    X : array-like, memory map, CSR or CSC matrix, BlockMatrix or dask array of shape (m, n)
        Samples in rows. Never made dense, never copied whole where its type allows products in
        place; blocks are never collected. float32 stays float32.
    y : array-like of shape (m,) or (m, t), optional
        One or several responses, for ``method="response"`` only.
    rank : int, optional
        Number of columns of P and Q, at most min(m, n); with `tol`, the most that may be used.
        min(50, m, n) by default, and min(m, n) for ``method="exact"``.
    tol : float, optional
        Choose the smallest rank whose radius is at most ``tol * ||X||_2``, X centred and scaled
        as asked. It is an error if `rank` does not suffice.
    method : str
        ``"randomized"``: Krylov space of a narrow random start; fewest products.
        ``"krylov"``: block Krylov space as wide as the sketch; few passes over X.
        ``"power"``: subspace iteration, the paper's.
        ``"projection"``: range of X times a random matrix; two passes.
        ``"nystrom"``: Nystroem approximation of X X'; three passes.
        ``"sampling"``: span of sampled rows.
        ``"frequent_directions"``: one pass over row blocks, then Q and P; deterministic.
        ``"exact"``: the singular value decomposition; radius 0 at full rank.
        ``"response"``: ``randomized`` for a part of the rank, Krylov directions that start at y
        for the rest; the most accurate regressions for the rank. It has seen y:
        :func:`cross_validate` and :func:`leave_one_out` remake it without the rows held out.
    center, scale : bool
        Whether the sketch is of X with columns of mean zero, and of standard deviation one.
    radius : "spectral", "frobenius", "realised" or float, optional
        Norm of X - QP' to bound from above; or ``"realised"``, an estimate that is made exact
        when problems are solved (the default of ``"response"``, ``"spectral"`` that of others);
        or the number to record (0: the non-robust model).
    random_state : int, Generator, RandomState or None
        The seed it stands for is recorded, and repeats the sketch.
    n_iter : int, optional
        Iterations of ``power`` (8) and ``krylov`` (2), blocks of ``randomized`` (10).
    oversampling : int, optional
        Columns worked with beyond the rank (``randomized``: twice the rank and 40 more,
        ``sampling``: half the rank and 10 more, ``power``: none, others: 10).
    response_rank : int, optional
        How much of the rank ``response`` gives to directions from y: two fifths by default, at
        least 20 where that is no more than four fifths.

    Returns
    -------
    Sketch

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso.sketches import sketch
    >>> X = np.random.default_rng(0).standard_normal((200, 100))
    >>> made = sketch(X, rank=20, random_state=0)
    >>> bool(np.linalg.norm(X - made.Q @ made.P.T, 2) <= made.radius)
    True
    """
    start = perf_counter()
    options = _checked_options(
        method, y, n_iter=n_iter, oversampling=oversampling, response_rank=response_rank
    )
    default = "realised" if method == "response" else "spectral"
    bound = checked_radius(default if radius is None else radius)
    tolerance = _checked_tolerance(tol, bound, method)
    seed = seed_of(random_state)
    A, unit = DataMatrix.in_own_units(X, center=center, scale=scale)
    bound = bound if isinstance(bound, str) or scale else bound / unit
    largest = min(A.shape)
    if rank is None:
        rank = largest if method == "exact" else min(50, largest)
    if not is_whole(rank) or not 1 <= rank <= largest:
        accepted = f"an integer from 1 to {largest} for X of shape {A.shape}"
        raise unaccepted("rank", rank, accepted)
    factor_rng, radius_rng = np.random.default_rng(seed).spawn(2)
    build = partial(METHODS[method], A, rng=factor_rng, **options)
    if y is not None:
        Y = as_responses(y, A.shape[0])
        build = partial(build, Y=Y / unit_of(float(np.abs(Y).max())))  # only directions matter

    with A.blas_limit():
        if tolerance is None:
            factors = build(int(rank))
            size = find_radius(A, factors, bound, radius_rng)
        else:
            factors, size = sketch_to_tolerance(A, build, int(rank), tolerance, radius_rng)
    made = Sketch.made(A, factors, size, method, seed, start, A.fingerprint())
    return made if unit == 1.0 else made.rescaled(unit, fingerprint(X))


def _checked_options(method: str, y: ArrayLike | None, **values: Any) -> dict[str, Any]:
    """The options that were given, or refuse what does not go together with the method."""
    if not isinstance(method, str) or method not in METHODS:
        names = ", ".join(map(repr, METHODS))
        remedy = "for factors of your own use sketch_from_factors"
        raise unaccepted("method", method, f"one of {names}", remedy)
    if (method == "response") != (y is not None):
        raise InvalidInputError(
            f"y was {'left out' if y is None else 'given'} with method={method!r}, but "
            "method='response' needs the response and no other method uses it; pass both or none."
        )
    options = {name: value for name, value in values.items() if value is not None}
    for name, value in options.items():
        if name not in signature(METHODS[method]).parameters:
            raise InvalidInputError(
                f"{name}={value!r} was given, but method={method!r} does not use it; leave {name} "
                "out."
            )
        smallest = 0 if name == "oversampling" else 1
        if not is_whole(value) or value < smallest:
            raise unaccepted(name, value, f"an integer >= {smallest}")
    return options


def _checked_tolerance(tol: object, radius: object, method: str) -> float | None:
    """Return the relative tolerance on the radius, or None."""
    if tol is None:
        return None
    if method == "response":
        raise InvalidInputError(
            f"tol={tol!r} cannot be combined with method='response', whose directions are not "
            "ordered by their singular values; choose the rank by number, or another method."
        )
    if not is_number(tol) or not 0 < float(tol) < 1:
        accepted = "a number above 0 and below 1, the share of ||X|| that the radius may reach"
        raise unaccepted("tol", tol, accepted)
    if radius != "spectral":
        raise InvalidInputError(
            f"tol={tol!r} cannot be combined with radius={radius!r}, because a tolerance is kept "
            "on the spectral radius only; pass radius='spectral' or leave tol out."
        )
    return float(tol)


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
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
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
            f"P has {P.shape[1]} columns and Q has {Q.shape[1]}, but X ~ Q P' needs the same "
            "number in both; pass P of shape (n_features, rank) and Q of shape (n_samples, rank)."
        )
    dtype = np.result_type(P, Q)
    P, Q = P.astype(dtype), Q.astype(dtype)
    named = checked_radius("spectral" if radius is None and X is not None else radius)
    values = np.zeros(P.shape[1], dtype=dtype)
    small = np.linalg.qr(Q, mode="r") @ np.transpose(np.linalg.qr(P, mode="r"))
    values[: min(small.shape)] = linalg.svdvals(small)
    if X is None:
        if isinstance(named, str) or center or scale:
            raise InvalidInputError(
                f"radius={radius!r}, center={center!r} and scale={scale!r} were given without X, "
                "but only a number is accepted as radius then; pass X as well, or a number."
            )
        return Sketch(P, Q, named, values, "user")
    A = DataMatrix.of(X, center=center, scale=scale)
    if A.shape != (len(Q), len(P)):
        raise InvalidInputError(
            f"X has shape {A.shape}, but Q P' has shape {(len(Q), len(P))}; pass P of shape "
            "(n_features, rank) and Q of shape (n_samples, rank)."
        )
    seed = seed_of(random_state)
    factors = Factors(Q, P, values, projected=False)
    size = find_radius(A, factors, named, np.random.default_rng(seed))
    return Sketch.made(A, factors, size, "user", seed, start, A.fingerprint())
