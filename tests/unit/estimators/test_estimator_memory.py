"""A sparse X with intercept and standardisation stays sparse, in memory as in meaning."""

import tracemalloc

import numpy as np
import pytest
from tests.matrices import scattered

from sketchlasso import SqrtLasso, SqrtLassoCV

# 11 MB as it is, 370 MB if it were dense.
M, N, DENSITY = 4000, 12_000, 2e-2


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = scattered(M, N, DENSITY, rng)
    return X, X[:, [0]].toarray()[:, 0] + 0.1 * rng.standard_normal(M)


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize(
    "model",
    [
        SqrtLasso(standardize=True, sketch=None, alpha=3.0),
        SqrtLasso(standardize=True, sketch="response", rank=10, radius=0.5, random_state=0),
        SqrtLassoCV(standardize=True, sketch="response", rank=10, alphas=5, cv=3, random_state=0),
    ],
    ids=repr,
)
def test_nothing_of_the_size_of_the_dense_matrix_is_made(model, data):
    X, y = data
    small = X[:200, :300]
    model.fit(small, y[:200])  # compiled code is not counted
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Its scaled copy, products in the making, the rows of a fold; thin factors beside.
    assert peak < 6 * held
