"""Columns that say the same: equal up to sign and scale, about their means."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.data import as_rows
from sketchlasso.data.transform import column_scales
from sketchlasso.types import FloatArray

__all__ = ["duplicate_columns"]

# Columns whose standardised values differ by no more than this, in root mean square, are equal.
EQUAL = 1e-7
# Columns that are centred together.
AT_A_TIME = 1000


def duplicate_columns(X: Any) -> tuple[int, int] | None:
    """Find the first two columns of X (m, n) that are equal up to sign, scale and shift.

    Constant columns are not looked at. One product with X finds the candidates: equal columns
    have equal products with any vector.

    Parameters
    ----------
    X : ndarray or csr_array of shape (m, n)

    Returns
    -------
    tuple of int, or None where there are none
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
        if _same(_standardised(X, first, scales), _standardised(X, second, scales)):
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
    for first in range(0, n, AT_A_TIME):
        # A large mean would cost the product its digits.
        part = X[:, first : first + AT_A_TIME]
        found[first : first + AT_A_TIME] = (part - part.mean(axis=0)).T @ probe
    return found


def _standardised(X: Any, column: int, scales: FloatArray) -> FloatArray:
    part = X[:, [column]]
    values = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
    return (values[:, 0] - values[:, 0].mean()) / scales[column]


def _same(first: FloatArray, second: FloatArray) -> bool:
    """Whether two standardised columns are equal up to sign."""
    correlation = float(first @ second) / len(first)
    sign = 1.0 if correlation >= 0 else -1.0
    return bool(np.sqrt(np.mean((first - sign * second) ** 2)) <= EQUAL)
