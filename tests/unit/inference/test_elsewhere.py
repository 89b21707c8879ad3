"""Regressions of columns on the workers of a cluster and on a device are the same regressions."""

import numpy as np
import pytest
from tests.workers import two_workers

from sketchlasso.cluster import cluster
from sketchlasso.inference import neighbourhoods, nodewise


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    made = rng.standard_normal((60, 30))
    made[:, 1:] += 0.6 * made[:, :-1]
    return made


def test_workers_find_the_same(X):
    here = neighbourhoods(X, alpha=2.0, n_half_samples=2, random_state=0, tol=1e-9)
    with two_workers() as client, cluster(client):
        there = neighbourhoods(X, alpha=2.0, n_half_samples=2, random_state=0, tol=1e-9)
    np.testing.assert_allclose(there.weights.toarray(), here.weights.toarray(), atol=1e-8)
    np.testing.assert_array_equal(there.stability.toarray(), here.stability.toarray())


def test_a_device_finds_the_same(X):
    pytest.importorskip("torch")
    here = neighbourhoods(X, alpha=2.0, tol=1e-6)
    there = neighbourhoods(X, alpha=2.0, tol=1e-6, device="torch")
    assert there.regressions.solved.all()
    assert there.regressions.relative_gap.max() <= 1e-6
    np.testing.assert_allclose(there.weights.toarray(), here.weights.toarray(), atol=1e-3)


def test_a_dask_array_is_worked_on_where_it_is(X):
    dask = pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    here = nodewise(X, 2.0, tol=1e-9)
    with cluster("sequential"):
        there = nodewise(dask.from_array(X, chunks=(25, 30)), 2.0, tol=1e-9)
    np.testing.assert_allclose(there.coef.toarray(), here.coef.toarray(), atol=1e-8)
    np.testing.assert_allclose(there.residuals(X), here.residuals(X), atol=1e-7)
