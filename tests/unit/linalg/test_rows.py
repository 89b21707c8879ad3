"""Lengths of columns, in memory and in blocks."""

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.data import BlockMatrix
from sketchlasso.data.transform import column_lengths

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
