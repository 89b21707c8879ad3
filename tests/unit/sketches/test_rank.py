import numpy as np
import pytest
from tests.matrices import decaying, sparse_counts, spectral_error

from sketchlasso.sketches import sketch

METHODS = [
    "power", "randomized", "krylov", "projection", "sampling", "nystrom",
    "frequent_directions", "exact",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tol", [0.5, 0.1, 0.03])
def test_tolerance_is_met(method, tol):
    X = decaying(110, 90, 0.1, np.random.default_rng(0))
    found = sketch(X, rank=80, tol=tol, method=method, random_state=0)
    assert spectral_error(X, found) <= found.radius <= tol * np.linalg.norm(X, 2)
    # exp(-0.1 k) <= tol is what any sketch needs; the radius may be 10 % above the error.
    least = np.log(1 / tol) / 0.1
    most = least + (3 if method in ("power", "randomized", "krylov", "exact") else 20)
    assert least - 1e-9 <= found.rank <= most


def test_rank_is_the_smallest_with_that_radius():
    X = decaying(50, 40, 0.2, np.random.default_rng(1))
    found = sketch(X, rank=40, tol=0.1, method="exact")
    assert found.rank == int(np.ceil(np.log(10) / 0.2))
    fewer = sketch(X, rank=found.rank - 1, method="exact")
    assert fewer.radius > 0.1 * np.linalg.norm(X, 2)


def test_stated_failure_covers_all_radii_tried():
    X = sparse_counts(150, 120, np.random.default_rng(2))
    assert sketch(X, tol=0.3, random_state=0).radius_failure_probability in (0.0, 1e-6)


def test_zero_matrix():
    assert sketch(np.zeros((30, 30)), rank=20, tol=0.1, random_state=0).rank == 1
