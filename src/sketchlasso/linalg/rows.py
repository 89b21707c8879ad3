"""Rows of matrices: sparse ones put together, dense ones guarded."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from sketchlasso.types import FloatArray, IntArray, SparseRows

__all__ = ["read_only", "replace_rows", "stack_rows"]

Array = TypeVar("Array", bound="np.ndarray[Any, Any]")


def stack_rows(pieces: list[tuple[IntArray, FloatArray]], n_features: int) -> SparseRows:
    """Sparse rows (b, n) from (indices, values) pairs."""
    lengths = [len(indices) for indices, _ in pieces]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = np.concatenate([i for i, _ in pieces]) if pieces else np.empty(0, dtype=np.intp)
    values = np.concatenate([v for _, v in pieces]) if pieces else np.empty(0)
    return sparse.csr_array((values, indices, indptr), shape=(len(pieces), n_features))


def read_only(array: Array) -> Array:
    """Return a view of an array, of any shape, that cannot be written to.

    An array that is already read-only is returned itself, so that it can be recognised.
    """
    if not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(write=False)
    return view


def replace_rows(matrix: Any, which: IntArray, others: Any) -> SparseRows:
    """Sparse matrix (B, n) with the rows `which` (b,) taken from `others` (b, n)."""
    order = np.arange(matrix.shape[0])
    order[which] = matrix.shape[0] + np.arange(len(which))
    return sparse.csr_array(sparse.vstack([matrix, others], format="csr")[order])
