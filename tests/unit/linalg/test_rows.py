"""Lengths of columns, in memory and in blocks, and sparse rows that are replaced."""

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.data import BlockMatrix
from sketchlasso.data.transform import column_lengths
from sketchlasso.linalg import rows as linalg_rows
from sketchlasso.linalg.rows import KeptRows

SIZES = np.array([1.0, 1e-80, 1e80, 1e-100, 0.0])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array, "blocks"])
def test_lengths_of_columns_of_very_different_size(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    weights = rng.random(30) * (rng.random(30) < 0.7)
    expected = np.sqrt(weights @ X**2) * SIZES
    X = X * SIZES
    given = BlockMatrix.from_arrays([X[:11], X[11:]]) if kind == "blocks" else kind(X)
    np.testing.assert_allclose(column_lengths(given, weights), expected, rtol=1e-12)


def test_rows_are_replaced_block_by_block_and_replaced_entries_are_dropped(monkeypatch):
    monkeypatch.setattr(linalg_rows, "SPARE_ENTRIES", 20)
    rng = np.random.default_rng(0)
    kept, wanted = KeptRows(6, 5), np.zeros((6, 5))
    assert (kept.take(np.arange(6)).toarray() == wanted).all()
    for _ in range(30):
        block = rng.standard_normal((4, 5)) * (rng.random((4, 5)) < 0.5)
        rows = np.flatnonzero(rng.random(4) < 0.6)
        numbers = rng.permutation(6)[: len(rows)]
        given = sparse.csr_array(block)
        kept.put(numbers, given, rows)
        # The block stays the caller's.
        given.data[:] = np.nan
        wanted[numbers] = block[rows]
        some = rng.permutation(6)[:3]
        assert (kept.take(some).toarray() == wanted[some]).all()
        assert sum(map(len, kept._values)) <= 2 * np.count_nonzero(wanted) + 20 + 20
