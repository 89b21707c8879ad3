"""Checks of the arguments of inference functions and estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.sparse.csgraph import connected_components

from sketchlasso.data import MatrixLike, as_rows
from sketchlasso.data.transform import column_scales
from sketchlasso.errors import InvalidInputError, UnusableColumnsError, unaccepted
from sketchlasso.types import FloatArray, IntArray

# With fewer rows neither errors of estimates nor half-samples are reliable.
FEWEST_ROWS = 10
# Columns whose standardised values differ by no more than this, in root mean square, are equal.
EQUAL = 1e-7
# Smallest part of a column in a vanishing combination of length one.
LINKED = 1e-6


def check_choice(name: str, value: object, accepted: Sequence[str]) -> None:
    """Reject a value that is not one of the accepted names."""
    if not isinstance(value, str) or value not in accepted:
        known = ", ".join(map(repr, accepted))
        raise unaccepted(name, value, f"one of {known}")


def check_enough_rows(m: int, fewest: int = FEWEST_ROWS) -> None:
    """Reject data with too few rows."""
    if m < fewest:
        raise InvalidInputError(
            f"X has {m} sample{'s' if m != 1 else ''}, but at least {fewest} are needed; collect "
            "more."
        )


def check_own_columns(X: MatrixLike, lengths: FloatArray, names: Sequence[str]) -> None:
    """Reject columns of X (m, n) without an effect of their own: constants and copies of others.

    `lengths` (n,) are those of the centred columns, 0 where a column is constant.
    """
    constant = np.flatnonzero(lengths == 0)
    if len(constant):
        few = ", ".join(str(names[j]) for j in constant[:3])
        more = f" and {len(constant) - 3} more" if len(constant) > 3 else ""
        one = len(constant) == 1
        raise UnusableColumnsError(
            f"column{'' if one else 's'} {few}{more} {'is' if one else 'are'} constant, but an "
            "effect needs a column that varies; leave constant columns out.",
            constant,
        )
    pair = duplicate_columns(X)
    if pair is not None:
        raise UnusableColumnsError(
            f"columns {names[pair[0]]} and {names[pair[1]]} are the same up to shift and scale, so "
            "neither has an effect of its own; leave one of them out.",
            pair[1:],
        )


def duplicate_columns(X: Any) -> tuple[int, int] | None:
    """Find the first two columns of X (m, n) that are equal up to sign, scale and shift.

    Constant columns are ignored. One product with X finds the candidates: equal columns have
    equal products with any vector.
    """
    X = as_rows(X)
    m = X.shape[0]
    scales = column_scales(X, np.ones(m))
    varying = np.flatnonzero(scales > 0)
    seen = np.abs(_projections(X)[varying] / scales[varying])
    order = np.argsort(seen, kind="stable")
    near = np.flatnonzero(np.diff(seen[order]) <= EQUAL * np.sqrt(m))
    pairs = np.sort(np.column_stack([varying[order[near]], varying[order[near + 1]]]), axis=1)
    for first, second in sorted(map(tuple, pairs.tolist())):
        both = dense_matrix(X[:, [first, second]])
        a, b = ((both - both.mean(axis=0)) / scales[[first, second]]).T
        sign = 1.0 if a @ b >= 0 else -1.0
        if np.sqrt(np.mean((a - sign * b) ** 2)) <= EQUAL:
            return first, second
    return None


def collinear_groups(P: FloatArray) -> list[IntArray]:
    """Groups of columns that are exact combinations of each other, from their rows P (n, k).

    The rows of columns of standard deviation one, n <= k. The projection on the combinations that
    vanish links the columns of a group, and no others.
    """
    triangle, order = linalg.qr(P.T, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    rank = int(np.sum(sizes > EQUAL * sizes.max(initial=0.0)))
    n = len(P)
    if rank == n:
        return []
    vanishing = np.zeros((n, n - rank))
    vanishing[order[:rank]] = -linalg.solve_triangular(
        triangle[:rank, :rank], triangle[:rank, rank:]
    )
    vanishing[order[rank:]] = np.eye(n - rank)
    basis = linalg.qr(vanishing, mode="economic")[0]
    links = np.abs(basis @ basis.T) > LINKED
    group = connected_components(links, directed=False)[1]
    members = [np.flatnonzero(group == number) for number in range(group.max() + 1)]
    return [columns for columns in members if links[columns[0], columns[0]]]


def _projections(X: Any) -> FloatArray:
    """Products (n,) of the centred columns with one vector."""
    m, n = X.shape
    probe = np.random.default_rng(0).standard_normal(m)
    probe -= probe.mean()
    if not isinstance(X, np.ndarray):
        return np.asarray(X.T @ probe, dtype=np.float64).ravel()
    found = np.empty(n)
    for first in range(0, n, 1000):
        # A large mean would cost the product its digits.
        part = X[:, first : first + 1000]
        found[first : first + 1000] = (part - part.mean(axis=0)).T @ probe
    return found


def checked_columns(name: str, given: ArrayLike | None, n: int) -> IntArray:
    """Indices of columns (c,), from indices or a mask (n,); all n by default."""
    if given is None:
        return np.arange(n)
    values = np.asarray(given)
    if values.dtype == bool:
        if values.shape != (n,):
            raise InvalidInputError(
                f"{name} is a mask of shape {values.shape}, but X has {n} columns; pass a mask of "
                f"shape ({n},), or indices."
            )
        values = np.flatnonzero(values)
    whole = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iu"
    if not whole or values.min() < -n or values.max() >= n:
        text = repr(given)
        raise InvalidInputError(
            f"{name}={text if len(text) <= 60 else f'{text[:57]}...'} was given, but a list of "
            f"column indices from 0 to {n - 1} is accepted; pass one."
        )
    values = values.astype(np.intp) % n
    if len(np.unique(values)) < len(values):
        raise InvalidInputError(f"{name} names a column more than once; name each one once.")
    return values


def column_names(given: Any, n: int) -> tuple[str, ...]:
    """Names of n columns, x0, x1, ... by default; they must differ."""
    if given is None:
        return tuple(f"x{j}" for j in range(n))
    names = tuple(map(str, given))
    if len(names) != n or len(set(names)) != n:
        raise InvalidInputError(
            f"{len(names)} names were given, {len(set(names))} of them different, but X has {n} "
            "columns; give each column its own name."
        )
    return names


def dense_matrix(X: MatrixLike) -> FloatArray:
    """X (m, n) as a dense array of doubles."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def as_numbers(name: str, values: Any) -> FloatArray:
    """An argument of any shape as a dense array of doubles; refuse text and other objects."""
    try:
        return dense_matrix(values)
    except (TypeError, ValueError) as problem:
        raise InvalidInputError(
            f"{name} holds something that is not a number, but every entry must be one; convert "
            "it first."
        ) from problem
