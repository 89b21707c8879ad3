"""Dask arrays that were persisted: the cluster that holds them computes, or they are refused."""

import logging
import pickle

import numpy as np
import pytest
from tests.cut import close
from tests.sentences import refusal

import sketchlasso as sl
from sketchlasso.errors import ClusterLostError, InvalidInputError
from sketchlasso.io import BlockMatrix

distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
da = pytest.importorskip("dask.array")

N = 12


def local():
    return distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )


@pytest.fixture(scope="module")
def client():
    with local() as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(3).standard_normal((150, N)) + 1.0


def far(X, client):
    """A persisted array to which only the result refers."""
    return client.persist(da.from_array(X, chunks=(40, 5)))


def blocks_of(X, client):
    return BlockMatrix.from_dask(far(X, client))


def test_blocks_are_fetched_from_the_cluster_that_holds_them(X, client):
    blocks, u = blocks_of(X, client), np.arange(150.0)
    assert close(blocks.collect(), X)
    assert close(blocks.sum(axis=0), X.sum(axis=0))
    assert close(blocks @ np.ones(N), X @ np.ones(N))
    assert close(blocks.T @ u, X.T @ u)
    assert close(blocks[[140, 3]], X[[140, 3]])
    assert close(BlockMatrix.from_dask(2.0 * far(X, client) + 1.0).collect(), 2.0 * X + 1.0)


def test_a_sketch_of_a_persisted_array_has_rows_and_is_stored(X, client, tmp_path):
    options = {"rank": 3, "method": "krylov", "random_state": 0}
    expected = sl.sketch(X, **options)
    # Nothing says which client to use but the array itself.
    found = sl.sketch(far(X, client), **options)
    assert close(np.asarray(found.Q) @ found.P.T, expected.Q @ expected.P.T)
    found.save(tmp_path / "kept.npz")
    kept = sl.load_sketch(tmp_path / "kept.npz")
    assert close(kept.Q @ kept.P.T, expected.Q @ expected.P.T)
    with sl.cluster.cluster("sequential"):
        assert sl.sketch(blocks_of(X, client), **options).radius == pytest.approx(expected.radius)


def test_an_estimator_takes_persisted_rows_and_responses(X, client):
    y = X[:, 0] + np.random.default_rng(0).standard_normal(150)
    expected = sl.SqrtLasso(alpha=1.0, rank=4, random_state=0).fit(X, y)
    model = sl.SqrtLasso(alpha=1.0, rank=4, random_state=0)
    model.fit(far(X, client), client.persist(da.from_array(y, chunks=50)))
    assert close(model.coef_, expected.coef_, 1e-6)
    assert close(model.predict(blocks_of(X, client)), model.predict(X))
    assert model.score(far(X, client), y) == pytest.approx(model.score(X, y))


def test_another_cluster_than_the_holder_is_refused(X, client):
    blocks = blocks_of(X, client)
    with (
        local() as cluster,
        distributed.Client(cluster, set_as_default=False) as other,
        sl.cluster.cluster(other),
    ):
        text = refusal(InvalidInputError, blocks.sum, axis=0)
    assert f"persisted on the Dask cluster at {client.scheduler.address}" in text
    # Another client of the same scheduler is as good.
    with sl.cluster.cluster(client.scheduler.address):
        assert close(blocks.sum(axis=0), X.sum(axis=0))


def test_arrays_that_no_cluster_holds_any_more_are_refused(X):
    with local() as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            blocks = blocks_of(X, client)
            sent = pickle.dumps(blocks)
        assert "persist the array again" in refusal(ClusterLostError, blocks.collect)
        assert "is closed" in refusal(ClusterLostError, sl.sketch, blocks, rank=2)
    text = refusal(ClusterLostError, pickle.loads(sent).collect)
    assert "not current here" in text
