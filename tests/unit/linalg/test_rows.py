"""Lengths of columns, in memory and in blocks."""

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.data import BlockMatrix
from sketchlasso.data.transform import column_lengths

SIZES = np.array([1.0, 1e-170, 1e170, 1e-100, 0.0])
IN_BLOCKS = np.array([1.0, 1e-170, 1e100, 1e-100, 0.0])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array, "blocks"])
def test_lengths_of_columns_neither_overflow_nor_vanish(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 5))
    weights = rng.random(30) * (rng.random(30) < 0.7)
    sizes = IN_BLOCKS if kind == "blocks" else SIZES
    expected = np.sqrt(weights @ X**2) * sizes
    X = X * sizes
    given = BlockMatrix.from_arrays([X[:11], X[11:]]) if kind == "blocks" else kind(X)
    found = column_lengths(given, weights)
    # Squares below the smallest double are rounded up.
    np.testing.assert_allclose(found, np.maximum(expected, 0.0), rtol=1e-12, atol=1e-160)
    assert (found >= expected * (1 - 1e-12)).all()
