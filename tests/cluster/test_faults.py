"""Workers and schedulers that die in the middle, as real processes killed by the system."""

import logging
import os
import time
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse
from tests.cluster.slow import Killer, slow_matrix
from tests.forked import Forked
from tests.sentences import refusal

import sketchlasso as sl
from sketchlasso.cluster import cluster
from sketchlasso.errors import ClusterLostError, StoredFileError
from sketchlasso.io import read_shards
from sketchlasso.topics import TopicImager, load_images

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

# Seconds until a process that was started must be there. Others load the machine.
PATIENCE = 300


pytestmark = pytest.mark.usefixtures("forked_workers")


@pytest.fixture
def client():
    # One for each test: a worker that was killed may be long in coming back, or never come.
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        yield client


def identical(one, other):
    """Equal but for the last digits: BLAS rounds by where in memory an array happens to begin."""
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12 * np.abs(other).max())


@contextmanager
def losing_a_worker(client):
    """A cluster one worker of which is killed when the first block or part is done."""
    client.wait_for_workers(2, timeout=PATIENCE)
    processes = list(client.run(os.getpid).values())
    killer = Killer(processes[0])
    with cluster(client, on_progress=killer):
        yield
    assert killer.done
    assert processes[0] not in client.run(os.getpid).values()


def test_a_worker_dies_during_the_sketch(client):
    options = {"rank": 4, "method": "krylov", "center": True, "random_state": 0}
    with cluster(client):
        expected = sl.sketch(slow_matrix(), **options)
    with losing_a_worker(client):
        found = sl.sketch(slow_matrix(), **options)
    identical(found.P, expected.P)
    identical(np.asarray(found.Q), np.asarray(expected.Q))
    identical(found.radius, expected.radius)
    here = sl.sketch(slow_matrix(seconds=0.0), **options)
    assert found.radius == pytest.approx(here.radius, rel=1e-8)


def test_a_worker_dies_during_cross_validation_in_blocks(client):
    X = slow_matrix(seconds=0.02)
    y = X @ np.arange(12.0) + np.random.default_rng(0).standard_normal(320)
    found = sl.sketch(X, rank=6, method="krylov", center=True, random_state=0)

    def judged():
        return sl.cross_validate(found, X, y, cv=3, alphas=6, radii=[0.5])

    with cluster(client):
        expected = judged()
    with losing_a_worker(client):
        again = judged()
    identical(again.scores["mse"], expected.scores["mse"])
    identical(again.predictions[:, 0, 0, 3], expected.predictions[:, 0, 0, 3])


def test_a_damaged_shard_is_named_by_the_worker_that_reads_it(client, tmp_path):
    rng = np.random.default_rng(0)
    for number in range(3):
        np.savez(tmp_path / f"part-{number}.npz", X=rng.standard_normal((400, 50)))
    path = tmp_path / "part-1.npz"
    stored = bytearray(path.read_bytes())
    stored[-5000:-4990] = b"\xff" * 10
    path.write_bytes(bytes(stored))
    shards = read_shards(tmp_path)
    with cluster(client):
        text = refusal(StoredFileError, sl.sketch, shards.X, rank=2)
    assert "part-1.npz is truncated or damaged" in text


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((150, 60))
    Y = X[:, :40] + 0.5 * rng.standard_normal((150, 40))
    return X, Y, sl.sketch(X, rank=20, method="krylov", center=True, random_state=0)


def test_a_worker_dies_during_the_solve(client, problem):
    X, Y, found = problem

    def path():
        return sl.sqrt_lasso_path(X, Y, found, alphas=8, radius=0.2)

    with cluster(client):
        expected = path()
    with losing_a_worker(client):
        again = path()
    identical(again.models.coef.toarray(), expected.models.coef.toarray())
    np.testing.assert_array_equal(again.status, expected.status)
    here = path()
    np.testing.assert_allclose(
        again.models.coef.toarray(), here.models.coef.toarray(), rtol=1e-5, atol=1e-6
    )


@pytest.fixture(scope="module")
def imager():
    rng = np.random.default_rng(2)
    counts = sparse.random_array((120, 1200), density=0.08, rng=rng, data_sampler=rng.random)
    counts.data[:] = 1 + np.floor(3 * counts.data)
    words = [f"w{j}" for j in range(1200)]
    return TopicImager(rank=8, random_state=0, stop_words=None, min_documents=1).fit(
        counts, vocabulary=words
    )


def same_images(one, other):
    identical(one.weights.toarray(), other.weights.toarray())
    identical(one.alpha, other.alpha)


def test_a_worker_dies_while_a_vocabulary_is_imaged(client, imager, tmp_path):
    with cluster(client):
        expected = imager.image_all(tmp_path / "first.images", 4)
    with losing_a_worker(client):
        again = imager.image_all(tmp_path / "again.images", 4)
    same_images(again, expected)
    same_images(load_images(tmp_path / "again.images"), expected)


class OwnCluster:
    """A scheduler and workers as processes of their own."""

    def __init__(self, stored, quiet):
        self._stored, self._quiet = stored, quiet
        self.workers = []
        self.scheduler = self._start(
            "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(stored)
        )

    def add_worker(self):
        # Without a nanny, which would start it again.
        rest = ["--scheduler-file", str(self._stored), "--nthreads", "1", "--no-nanny"]
        self.workers.append(self._start("worker", *rest, "--no-dashboard"))

    def _start(self, kind, *options):
        return Forked(["-m", f"distributed.cli.dask_{kind}", *options], **self._quiet)


@contextmanager
def own_cluster(folder):
    """Yield a cluster with one worker, and its address."""
    stored = folder / "scheduler.json"
    log = open(folder / "log.txt", "wb")  # noqa: SIM115
    quiet = {"stdout": log.fileno(), "stderr": log.fileno()}
    started = OwnCluster(stored, quiet)
    try:
        started.add_worker()
        deadline = time.monotonic() + PATIENCE
        while not stored.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        with distributed.Client(scheduler_file=str(stored), set_as_default=False) as client:
            client.wait_for_workers(1, timeout=PATIENCE)
            address = client.scheduler.address
        yield started, address
    finally:
        for process in (*started.workers, started.scheduler):
            process.kill()
            process.wait()
        log.close()


@pytest.mark.parametrize("within", [False, True], ids=["between parts", "within a part"])
def test_finished_parts_are_continued_after_the_scheduler_dies(imager, tmp_path, within):
    expected = imager.image_all(None, 4)
    path = tmp_path / "words.images"
    written = []
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
        own_cluster(tmp_path) as (started, address),
    ):
        killer = Killer(started.scheduler.pid)
        with cluster(address, on_progress=lambda *_: within and written and killer()):
            text = refusal(
                ClusterLostError,
                imager.image_all,
                path,
                4,
                progress=lambda *done: written.append(done) if within else killer(),
            )
    assert address in text
    continued(imager, path, expected)


def continued(imager, path, expected):
    """Image the rest of the words here, and check that no part is made again."""
    parts = sorted(path.with_name("words.images.parts").glob("*.part"))
    assert parts
    assert not path.exists()
    kept = {part: part.stat().st_mtime_ns for part in parts}
    solved = []

    def look(done, total):
        solved.append(done)
        for part, written in kept.items():
            if part.exists():
                assert part.stat().st_mtime_ns == written

    found = imager.image_all(path, 4, progress=look)
    assert solved[-1] == len(expected.words)
    np.testing.assert_allclose(
        found.weights.toarray(), expected.weights.toarray(), rtol=1e-4, atol=1e-5
    )


def test_finished_parts_are_continued_after_all_workers_vanish(imager, tmp_path):
    expected = imager.image_all(None, 4)
    path = tmp_path / "words.images"
    with own_cluster(tmp_path) as (started, address):
        killer = Killer(started.workers[0].pid)
        with cluster(address, worker_timeout=1.0):
            text = refusal(
                ClusterLostError, imager.image_all, path, 4, progress=lambda *done: killer()
            )
    assert killer.done
    assert f"{address} has no workers and none came within 1 seconds" in text
    assert "worker_timeout" in text
    continued(imager, path, expected)


def test_all_workers_vanish_during_the_sketch(tmp_path):
    with own_cluster(tmp_path) as (started, address):
        killer = Killer(started.workers[0].pid)
        with cluster(address, on_progress=killer, worker_timeout=1.0):
            text = refusal(ClusterLostError, sl.sketch, slow_matrix(seconds=0.1), rank=4)
    assert killer.done
    assert "has no workers and none came within 1 seconds" in text


def test_a_worker_that_comes_in_time_takes_over(tmp_path):
    options = {"rank": 4, "method": "krylov", "random_state": 0}
    expected = sl.sketch(slow_matrix(seconds=0.0), **options)
    with own_cluster(tmp_path) as (started, address):
        killer = Killer(started.workers[0].pid)

        def replaced(*progress):
            if not killer.done:
                killer()
                started.add_worker()

        with cluster(address, on_progress=replaced, worker_timeout=300):
            found = sl.sketch(slow_matrix(seconds=0.1), **options)
    assert killer.done
    assert found.radius == pytest.approx(expected.radius, rel=1e-8)
