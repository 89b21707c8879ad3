"""Sentences that refuse data from which nothing can be inferred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.errors import Argument, InvalidInputError, UnusableColumnsError
from sketchlasso.inference.duplicates import duplicate_columns
from sketchlasso.types import FloatArray

__all__ = [
    "check_choice",
    "check_enough_rows",
    "check_level",
    "check_own_columns",
    "dense_matrix",
    "treatment_names",
]

# The errors hold for many rows; with fewer than these they are not reliable.
FEWEST_ROWS = 10


def check_choice(name: str, value: Any, accepted: Sequence[str]) -> None:
    """Refuse a value that is not one of the accepted names."""
    if not isinstance(value, str) or value not in accepted:
        known = ", ".join(map(repr, accepted))
        raise InvalidInputError(
            Argument(name, value), f" was given, but one of {known} is accepted; pass one of them."
        )


def check_level(level: float) -> float:
    """Return the level of an interval, strictly between 0 and 1."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or not 0 < level < 1:
        raise InvalidInputError(
            Argument("level", level),
            " was given, but a number strictly between 0 and 1 is accepted; pass for example 0.95.",
        )
    return float(level)


def check_enough_rows(m: int) -> None:
    """Refuse fewer than ten rows."""
    if m < FEWEST_ROWS:
        raise InvalidInputError(
            f"X has {m} row{'s' if m != 1 else ''}, but errors of estimates need at least "
            f"{FEWEST_ROWS}; collect more samples."
        )


def check_own_columns(X: Any, lengths: FloatArray, names: Sequence[str]) -> None:
    """Refuse columns that have no effect of their own: constant ones and copies of others.

    Parameters
    ----------
    X : ndarray or csr_array of shape (m, n)
    lengths : ndarray of shape (n,)
        Of the centred columns, 0 where a column is constant.
    names : sequence of str of length n
    """
    constant = np.flatnonzero(lengths == 0)
    if len(constant):
        raise UnusableColumnsError(
            f"{_listed(names, constant)} {'is' if len(constant) == 1 else 'are'} constant, but an "
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


def _listed(names: Sequence[str], which: Any) -> str:
    few = ", ".join(str(names[j]) for j in which[:3])
    more = f" and {len(which) - 3} more" if len(which) > 3 else ""
    return f"column{'s' if len(which) > 1 else ''} {few}{more}"


def treatment_names(d: Any) -> tuple[str, ...]:
    """Names of treatments (m,) or (m, k): those of a data frame or series, else d0, d1, ..."""
    if hasattr(d, "columns"):
        return tuple(map(str, d.columns))
    if np.ndim(d) == 1 and getattr(d, "name", None) is not None:
        return (str(d.name),)
    return tuple(f"d{number}" for number in range(1 if np.ndim(d) == 1 else np.shape(d)[1]))


def dense_matrix(X: Any) -> FloatArray:
    """X (m, n) as a dense array of doubles."""
    stored: Any = X
    values = stored.toarray() if sparse.issparse(X) else np.asarray(X)
    return np.asarray(values, dtype=np.float64)
