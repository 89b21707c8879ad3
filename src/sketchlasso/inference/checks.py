"""Refuse data from which nothing can be inferred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.data import as_rows
from sketchlasso.data.transform import column_scales
from sketchlasso.errors import Argument, InvalidInputError, UnusableColumnsError
from sketchlasso.types import FloatArray

# The errors hold for many rows; with fewer than these they are not reliable.
FEWEST_ROWS = 10
# Columns whose standardised values differ by no more than this, in root mean square, are equal.
EQUAL = 1e-7


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
    """Refuse columns of X (m, n) without an effect of their own: constant ones, copies of others.

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

    Constant columns are not looked at. One product with X finds the candidates: equal columns
    have equal products with any vector.
    """
    X = as_rows(X)
    m = X.shape[0]
    scales = column_scales(X, np.ones(m))
    varying = np.flatnonzero(scales > 0)
    seen = np.abs(_projections(X)[varying] / scales[varying])
    order = np.argsort(seen, kind="stable")
    near = np.flatnonzero(np.diff(seen[order]) <= EQUAL * np.sqrt(m))
    pairs = sorted(
        (int(min(a, b)), int(max(a, b)))
        for a, b in zip(varying[order[near]], varying[order[near + 1]], strict=True)
    )
    for first, second in pairs:
        a, b = _standardised(X, first, scales), _standardised(X, second, scales)
        sign = 1.0 if a @ b >= 0 else -1.0
        if np.sqrt(np.mean((a - sign * b) ** 2)) <= EQUAL:
            return first, second
    return None


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


def _standardised(X: Any, column: int, scales: FloatArray) -> FloatArray:
    part = X[:, [column]]
    values = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
    return (values[:, 0] - values[:, 0].mean()) / scales[column]


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
