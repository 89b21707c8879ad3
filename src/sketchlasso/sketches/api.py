"""The functions that make a sketch: of X by a method, or from factors that the user brings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from sketchlasso.data import DataMatrix, MatrixLike, as_responses, fingerprint, spread
from sketchlasso.data.transform import unit_of
from sketchlasso.data.validate import as_factor
from sketchlasso.errors import InvalidInputError, unaccepted
from sketchlasso.linalg.seeds import RandomState, seed_of
from sketchlasso.sketches.factors import Factors
from sketchlasso.sketches.frequent_directions import frequent_directions
from sketchlasso.sketches.options import (
    DEFAULT_RANK,
    Axis,
    Distribution,
    RadiusName,
    SketchOptions,
    Weights,
    checked_options,
    checked_radius,
    checked_rank,
    checked_tolerance,
)
from sketchlasso.sketches.radius import find_radius, sketch_to_tolerance
from sketchlasso.sketches.response import response
from sketchlasso.sketches.sketch import Sketch
from sketchlasso.sketches.subspace import (
    exact,
    krylov,
    nystrom,
    power,
    projection,
    randomized,
    sampling,
)
from sketchlasso.types import FloatArray, RealArray

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


@dataclass(frozen=True)
class _Method:
    """How to make factors, and which options that reads."""

    build: Callable[..., Factors]
    options: tuple[str, ...] = ()
    needs_response: bool = False


METHODS: dict[str, _Method] = {
    "power": _Method(power, ("n_iter", "oversampling")),
    "randomized": _Method(randomized, ("n_iter", "oversampling")),
    "krylov": _Method(krylov, ("n_iter", "oversampling")),
    "projection": _Method(projection, ("distribution", "oversampling")),
    "sampling": _Method(sampling, ("axis", "weights", "oversampling")),
    "nystrom": _Method(nystrom, ("distribution", "oversampling")),
    "frequent_directions": _Method(frequent_directions, ("oversampling",)),
    "exact": _Method(exact),
    "response": _Method(response, ("response_rank", "n_iter", "oversampling"), needs_response=True),
}


@spread
def sketch(
    X: MatrixLike,
    y: ArrayLike | None = None,
    *,
    rank: int = DEFAULT_RANK,
    tol: float | None = None,
    method: SketchMethod = "randomized",
    center: bool = False,
    scale: bool = False,
    radius: float | RadiusName | None = None,
    random_state: RandomState = None,
    n_iter: int | None = None,
    oversampling: int | None = None,
    axis: Axis | None = None,
    weights: Weights | None = None,
    distribution: Distribution | None = None,
    response_rank: int | None = None,
) -> Sketch:
    """Approximate a data matrix by two thin factors, X ~ Q P', with a bound on the error.

    Parameters
    ----------
    X : array-like, memory map, CSR or CSC matrix, BlockMatrix or dask array
        Of shape (m, n), samples in rows, features in columns. float32 stays float32. Never made
        dense, never copied whole where its type allows products in place; never collected where
        it is in blocks of rows (chunks of a dask array), see :class:`BlockMatrix`.
    y : array-like of shape (m,) or (m, t), optional
        One or several responses, for ``method="response"`` only.
    rank : int, default 50
        Number of columns of P and Q, at most min(m, n); with `tol`, the most that may be used.
        When left out it is min(50, m, n), and min(m, n) for ``method="exact"``.
    tol : float, optional
        Choose the smallest rank whose radius is at most ``tol * ||X||_2``, X centred and scaled
        as asked. It is an error if `rank` does not suffice.
    method : str
        ``"randomized"``: Krylov space of a narrow random start; fewest products.
        ``"krylov"``: block Krylov space as wide as the sketch; few passes over X.
        ``"power"``: subspace iteration, the paper's.
        ``"projection"``: range of X times a random matrix; two passes.
        ``"nystrom"``: Nystroem approximation of X X'; three passes.
        ``"sampling"``: span of sampled rows or columns.
        ``"frequent_directions"``: one pass over row blocks and a second for Q; deterministic.
        ``"exact"``: the singular value decomposition; radius 0 at full rank.
        ``"response"``: ``randomized`` for a part of the rank, Krylov directions that start at y
        for the rest; the most accurate regressions for the rank. It has seen y:
        :func:`cross_validate` and :func:`leave_one_out` remake it without the rows held out.
    center, scale : bool
        Whether the sketch is of X with columns of mean zero, and of standard deviation one.
    radius : "spectral", "frobenius", "realised" or float, optional
        Norm of X - QP' to bound from above; or ``"realised"``, an estimate that is made exact
        when problems are solved, see :mod:`sketchlasso.sketches.radius`; or the number to record
        (0: the non-robust model). ``"realised"`` by default for ``method="response"``,
        ``"spectral"`` for the others.
    random_state : int, Generator, RandomState or None
        The seed it stands for is recorded, and repeats the sketch.
    n_iter : int, optional
        Iterations of ``power`` (8) and ``krylov`` (2), blocks of ``randomized`` (10).
    oversampling : int, optional
        Columns worked with beyond the rank (``randomized``: twice the rank and 40 more,
        ``sampling``: half the rank and 10 more, ``power``: none, others: 10).
    axis : {"rows", "columns"}, optional
        What ``sampling`` samples (rows).
    weights : {"length", "leverage"}, optional
        Probabilities of ``sampling``: squared lengths (default) or leverage scores.
    distribution : {"gaussian", "sparse"}, optional
        Random matrix of ``projection`` and ``nystrom`` (gaussian).
    response_rank : int, optional
        How much of the rank ``response`` gives to directions from y: two fifths by default, at
        least 20 where that is no more than four fifths.

    Returns
    -------
    Sketch

    Raises
    ------
    InvalidInputError
        With one sentence: what came, what is accepted, what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from sketchlasso.sketches import sketch
    >>> X = np.random.default_rng(0).standard_normal((200, 100))
    >>> found = sketch(X, rank=20, random_state=0)
    >>> bool(np.linalg.norm(X - found.Q @ found.P.T, 2) <= found.radius)
    True
    """
    start = perf_counter()
    options = SketchOptions(n_iter, oversampling, axis, weights, distribution, response_rank)
    chosen = _chosen_method(method, y, options)
    default = "realised" if chosen.needs_response else "spectral"
    bound = checked_radius(default if radius is None else radius)
    tolerance = checked_tolerance(tol, bound, method)
    seed = seed_of(random_state)
    A, unit = DataMatrix.in_own_units(X, center=center, scale=scale)
    bound = bound if isinstance(bound, str) or scale else bound / unit
    largest = checked_rank(rank, A.shape, full=method == "exact")
    factor_rng, radius_rng = np.random.default_rng(seed).spawn(2)
    extra = {} if y is None else {"Y": _responses(y, A.shape[0])}

    def build(size: int) -> Factors:
        return chosen.build(A, size, options, factor_rng, **extra)

    with A.blas_limit():
        if tolerance is None:
            factors = build(largest)
            found = find_radius(A, factors, bound, radius_rng)
        else:
            factors, found = sketch_to_tolerance(A, build, largest, tolerance, radius_rng)
    made = Sketch.made(A, factors, found, method, seed, start, A.fingerprint())
    return made if unit == 1.0 else made.rescaled(unit, fingerprint(X))


def _responses(y: ArrayLike, m: int) -> FloatArray:
    """Responses (m, t) in units of the largest: only their directions matter."""
    Y = as_responses(y, m)
    return Y / unit_of(float(np.abs(Y).max()))


def _chosen_method(method: str, y: ArrayLike | None, options: SketchOptions) -> _Method:
    if not isinstance(method, str) or method not in METHODS:
        raise unaccepted(
            "method",
            method,
            f"one of {', '.join(map(repr, METHODS))}",
            "for factors of your own use sketch_from_factors",
        )
    chosen = METHODS[method]
    if chosen.needs_response and y is None:
        raise InvalidInputError(
            f"method={method!r} was given without y, but it makes directions from the response; "
            "pass y, or use method='randomized'."
        )
    if not chosen.needs_response and y is not None:
        raise InvalidInputError(
            f"y was given, but method={method!r} does not use the response; leave y out, or use "
            "method='response'."
        )
    checked_options(options, method, chosen.options)
    return chosen


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
    values = _singular_values(P, Q)
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
    rng = np.random.default_rng(seed)
    factors = Factors(Q, P, values, projected=False)
    found = find_radius(A, factors, named, rng)
    return Sketch.made(A, factors, found, "user", seed, start, A.fingerprint())


def _singular_values(P: RealArray, Q: RealArray) -> RealArray:
    left, right = np.linalg.qr(Q, mode="r"), np.linalg.qr(P, mode="r")
    small = left @ np.transpose(right)
    values = np.zeros(P.shape[1], dtype=P.dtype)
    found = linalg.svdvals(small)
    values[: len(found)] = found
    return values
