"""Matrices cut into blocks of rows, for the tests of blocks and clusters."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from sketchlasso.io import BlockMatrix

# Rows of the blocks, for 150 rows: whole, halves, seven, and cuts with nothing or one row in them.
CUTS = {
    "one": (150,),
    "two": (70, 80),
    "seven": (20, 31, 9, 40, 25, 15, 10),
    "odd": (0, 60, 1, 0, 89),
}


def pieces(X, rows):
    """The rows of X in blocks of so many rows."""
    edges = np.concatenate([[0], np.cumsum(rows)])
    return [X[a:b] for a, b in pairwise(edges)]


def cut(X, rows):
    """X as a BlockMatrix of so many rows per block."""
    return BlockMatrix.from_arrays(pieces(X, rows))


def dask_array(X, rows):
    """X as a dask array of so many rows per chunk, its chunks dense or sparse as X is.

    Sparse chunks are of the older class, whose arrays all versions of Dask can put together.
    """
    import dask
    import dask.array as da

    kind = sparse.csr_matrix if sparse.issparse(X) else np.asarray
    meta = kind(np.empty((0, 0), dtype=X.dtype))
    parts = [
        da.from_delayed(dask.delayed(kind(part)), part.shape, dtype=X.dtype, meta=meta)
        for part in pieces(X, rows)
    ]
    return da.concatenate(parts, axis=0)


def product(found):
    """Q P' of a sketch: signs and rotations of the factors do not matter."""
    return np.asarray(found.Q) @ found.P.T


def close(ours, theirs, share=1e-8):
    """Whether two arrays differ by less than a share of the larger one's largest entry."""
    ours, theirs = (np.asarray(a.todense() if sparse.issparse(a) else a) for a in (ours, theirs))
    return ours.shape == theirs.shape and np.abs(ours - theirs).max(initial=0.0) <= share * max(
        np.abs(theirs).max(initial=0.0), np.finfo(float).tiny
    )
