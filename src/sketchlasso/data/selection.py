"""Rows chosen by users, and their numbers within each block."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.types import FloatArray, IntArray

__all__ = ["check_factor", "row_numbers", "split_choice", "split_rows"]


def split_rows(rows: IntArray, edges: IntArray) -> list[IntArray]:
    """Return sorted rows (r,) as rows of each block; block i has the rows from edge i on."""
    places = np.searchsorted(rows, edges)
    return [
        rows[a:b] - edge for a, b, edge in zip(places[:-1], places[1:], edges[:-1], strict=True)
    ]


def split_choice(
    rows: IntArray, weights: FloatArray | None, edges: IntArray
) -> list[tuple[IntArray, FloatArray | None]]:
    """Return sorted rows (r,) and their weights (r,) as those of each block."""
    parts = split_rows(rows, edges)
    if weights is None:
        return [(part, None) for part in parts]
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return list(zip(parts, np.split(weights, ends), strict=True))


def row_numbers(key: Any, m: int) -> IntArray:
    """Row numbers (r,) of a slice, a mask or numbers, which may be negative."""
    if isinstance(key, slice):
        return np.arange(m)[key]
    rows = np.asarray(key)
    if rows.dtype == bool and rows.shape == (m,):
        return np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidInputError(
            f"X[{key!r:.60}] was requested, but a slice, a mask of length {m} or a list of row "
            "numbers is accepted; pass one of them."
        )
    rows = rows.astype(np.intp)
    rows = np.where(rows < 0, rows + m, rows)
    if rows.size and (rows.min() < 0 or rows.max() >= m):
        raise InvalidInputError(
            f"X[rows] was requested with a row number beyond the {m} rows there are; pass "
            f"numbers from 0 to {m - 1}."
        )
    return rows


def check_factor(V: Any, size: int) -> None:
    """Refuse a factor that does not have `size` rows."""
    if np.ndim(V) != 2 and not sparse.issparse(V):
        raise InvalidInputError(
            f"a factor of shape {np.shape(V)} was given, but one of shape ({size},) or "
            f"({size}, t) is needed; reshape it."
        )
    if V.shape[0] != size:
        raise InvalidInputError(
            f"a factor of shape {V.shape} was given, but {size} rows are needed; check which "
            "side of X it belongs to."
        )
