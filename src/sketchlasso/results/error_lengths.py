"""The error of a sketch at many coefficients, as sums over the blocks of the data.

Each block reports weight, mean and spread of its part of (A - QP')w, some rows at a time, so that
there is never an array with a row for every sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sketchlasso.data import DataMatrix, ImplicitRows
from sketchlasso.data.block_work import (
    FEW_ENTRIES,
    centred_product,
    dense_product,
    fastest_form,
    strip_of,
)
from sketchlasso.instances import RowSets
from sketchlasso.sketches import Sketch
from sketchlasso.types import FloatArray, IntArray

__all__ = ["error_lengths"]


@dataclass(frozen=True, eq=False)
class _Moments:
    """Weight, mean and squared spread (b,) of columns over some rows."""

    weight: FloatArray
    mean: FloatArray
    spread: FloatArray

    def __add__(self, other: _Moments) -> _Moments:
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0, weight, 1.0)
        apart = other.mean - self.mean
        return _Moments(
            weight,
            self.mean + share * apart,
            self.spread + other.spread + self.weight * share * apart**2,
        )


def error_lengths(
    sketch: Sketch,
    A: DataMatrix,
    rows: RowSets,
    coef: Any,
    row_set: IntArray,
    fit_intercept: bool,
) -> FloatArray:
    """Return ||(A - QP')w|| over each instance's training rows, less their mean: one pass.

    Parameters
    ----------
    sketch : Sketch
    A : DataMatrix of shape (m, n)
        What was sketched.
    rows : RowSets
    coef : csr_array of shape (b, n)
    row_set : ndarray of shape (b,)
        The row set of each instance.
    fit_intercept : bool
        Whether the mean is taken out.

    Returns
    -------
    ndarray of shape (b,)
    """
    A.meter.count(coef.shape[0])
    matrix = A.blocks
    numbers, place = np.unique(row_set, return_inverse=True)
    columns = tuple(np.flatnonzero(place == i) for i in range(len(numbers)))
    scaled = A.transform.unscale(coef)
    shift = A.transform.shift(scaled)
    inside = np.asarray(coef @ np.asarray(sketch.P, dtype=np.float64)).T
    factor: tuple[Any, Any]
    if isinstance(sketch.Q, ImplicitRows):
        factor, parts = A.inner_factor(sketch.Q.W), [None] * matrix.n_blocks
    else:
        factor, parts = (None, None), matrix.split(np.asarray(sketch.Q))
    weights = [matrix.split(rows[int(i)].all_weights(rows.n_samples)) for i in numbers]
    each = [(tuple(own[i] for own in weights), parts[i]) for i in range(matrix.n_blocks)]
    shared = (scaled.T.tocsc(), shift, inside, *factor, columns)
    found: _Moments = matrix.run_sum(_moments_of_block, shared, each)
    squares = found.spread if fit_intercept else found.spread + found.weight * found.mean**2
    return np.sqrt(squares)


def _moments_of_block(
    entries: Any,
    coef: Any,
    shift: FloatArray,
    inside: FloatArray,
    V: Any,
    V_shift: Any,
    columns: tuple[IntArray, ...],
    weights: tuple[FloatArray, ...],
    Q: Any,
) -> _Moments:
    """Moments of a block, some rows at a time: its errors are longer than its own rows."""
    size = inside.shape[1]
    factor = fastest_form(entries, coef)
    found = _Moments(np.zeros(size), np.zeros(size), np.zeros(size))
    step = max(1, FEW_ENTRIES // size)
    for start in range(0, entries.shape[0], step):
        rows = slice(start, min(start + step, entries.shape[0]))
        part = strip_of(entries, rows.start, rows.stop)
        missed = dense_product(part, factor).astype(np.float64, copy=False)
        missed -= shift
        missed -= (centred_product(part, V, V_shift) if Q is None else Q[rows]) @ inside
        found = found + _moments(missed, columns, tuple(own[rows] for own in weights))
    return found


def _moments(
    missed: FloatArray, columns: tuple[IntArray, ...], weights: tuple[FloatArray, ...]
) -> _Moments:
    """Moments of errors (r, b) whose columns have weights (r,) of their own."""
    size = missed.shape[1]
    found = _Moments(np.zeros(size), np.zeros(size), np.zeros(size))
    for own, chosen in zip(weights, columns, strict=True):
        total = own.sum()
        part = missed[:, chosen]
        mean = own @ part / total if total > 0 else np.zeros(len(chosen))
        found.weight[chosen] = total
        found.mean[chosen] = mean
        found.spread[chosen] = own @ (part - mean) ** 2
    return found
