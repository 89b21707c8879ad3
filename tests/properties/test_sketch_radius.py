"""The radius bounds ||X - QP'||_2, with a dense SVD as judge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.matrices import decaying, sparse_counts, spectral_error

from sketchlasso.sketches import sketch

METHODS = [
    "power", "randomized", "krylov", "projection", "sampling", "nystrom",
    "frequent_directions", "exact",
]  # fmt: skip
OPTIONS = {}


def random_matrix(rng):
    """Tall or wide, small or past the size where all entries are used, flat or decaying."""
    m, n = rng.integers(5, 140, size=2)
    kind = rng.integers(4)
    if kind == 0:
        return sparse_counts(m, n, rng, density=0.15, kind=rng.choice(["csr", "csc"]))
    if kind == 1:
        return rng.standard_normal((m, n)) + rng.standard_normal(n)
    X = decaying(m, n, rng.choice([0.0, 0.003, 0.03, 0.3]), rng) * 10.0 ** rng.integers(-4, 5)
    return X.astype(np.float32) if kind == 3 else X


@pytest.mark.parametrize("method", METHODS)
def test_radius_bounds_the_error_of_100_random_matrices(method):
    rng = np.random.default_rng(METHODS.index(method))
    overestimates = []
    for trial in range(100):
        X = random_matrix(rng)
        center, scale = (bool(flag) for flag in rng.integers(2, size=2))
        rank = int(rng.integers(1, min(*X.shape, 30)))
        found = sketch(X, rank=rank, method=method, center=center, scale=scale, random_state=trial)
        error = spectral_error(X, found)
        assert error <= found.radius, (trial, X.shape, rank, error, found.radius)
        assert found.radius_failure_probability <= 1e-6
        if error > 1e-3 * found.singular_values[0]:
            overestimates.append(found.radius / error)
    assert len(overestimates) > 50
    assert max(overestimates) < 1.15


@settings(deadline=None, max_examples=60)
@given(
    method=st.sampled_from(METHODS),
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 40),
    columns=st.integers(1, 40),
    distinct=st.integers(1, 4),
    as_sparse=st.booleans(),
    radius=st.sampled_from(["spectral", "frobenius"]),
)
def test_radius_holds_for_repeated_rows_and_columns(
    method, seed, rows, columns, distinct, as_sparse, radius
):
    rng = np.random.default_rng(seed)
    few = rng.integers(-2, 3, size=(distinct, distinct)).astype(float)
    X = few[rng.integers(distinct, size=rows)][:, rng.integers(distinct, size=columns)]
    rank = int(rng.integers(1, min(rows, columns) + 1))
    found = sketch(
        sparse.csr_array(X) if as_sparse else X,
        rank=rank,
        method=method,
        radius=radius,
        random_state=0,
    )
    slack = 1e-13 * np.linalg.norm(X) if found.radius == 0 else 0.0
    assert spectral_error(X, found) <= found.radius + slack
