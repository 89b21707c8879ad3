"""A cluster whose shards are damaged, or whose scheduler dies in the middle."""

import os
import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import sparse
from tests.forked import Forked
from tests.sentences import refusal
from tests.workers import two_workers

import sketchlasso as sl
from sketchlasso.cluster import cluster
from sketchlasso.errors import ClusterLostError, StoredFileError
from sketchlasso.io import read_shards
from sketchlasso.topics import TopicImager

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")

# Seconds until a process that was started must be there. Others load the machine.
PATIENCE = 300


def test_a_damaged_shard_is_named_by_the_worker_that_reads_it(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(3):
        np.savez(tmp_path / f"part-{number}.npz", X=rng.standard_normal((400, 50)))
    path = tmp_path / "part-1.npz"
    stored = bytearray(path.read_bytes())
    stored[-5000:-4990] = b"\xff" * 10
    path.write_bytes(bytes(stored))
    shards = read_shards(tmp_path)
    with two_workers() as client, cluster(client):
        text = refusal(StoredFileError, sl.sketch, shards.X, rank=2)
    assert "part-1.npz is truncated or damaged" in text


@contextmanager
def own_cluster(folder):
    """Yield a scheduler that has one worker, both processes of their own, and its address."""
    stored = folder / "scheduler.json"
    with open(folder / "log.txt", "wb") as log:

        def start(kind, *options):
            options = ["--scheduler-file", str(stored), "--no-dashboard", *options]
            arguments = ["-m", f"distributed.cli.dask_{kind}", *options]
            return Forked(arguments, stdout=log.fileno(), stderr=log.fileno())

        scheduler = start("scheduler", "--port", "0")
        worker = start("worker", "--nthreads", "1", "--no-nanny")
        try:
            deadline = time.monotonic() + PATIENCE
            while not stored.exists() and time.monotonic() < deadline:
                time.sleep(0.1)
            with distributed.Client(scheduler_file=str(stored), set_as_default=False) as client:
                client.wait_for_workers(1, timeout=PATIENCE)
                address = client.scheduler.address
            yield scheduler, address
        finally:
            for process in (worker, scheduler):
                process.kill()
                process.wait()


@pytest.mark.usefixtures("forked_workers")
def test_finished_parts_are_continued_after_the_scheduler_dies(tmp_path):
    rng = np.random.default_rng(2)
    counts = sparse.random_array((120, 1200), density=0.08, rng=rng, data_sampler=rng.random)
    counts.data[:] = 1 + np.floor(3 * counts.data)
    options = {"rank": 8, "random_state": 0, "stop_words": None, "min_documents": 1}
    imager = TopicImager(**options).fit(counts, vocabulary=[f"w{j}" for j in range(1200)])
    expected = imager.image_all(None, 4)
    path = tmp_path / "words.images"
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "3s"}),
        own_cluster(tmp_path) as (scheduler, address),
    ):

        def kill(*progress):
            os.kill(scheduler.pid, signal.SIGKILL)

        with cluster(address):
            text = refusal(ClusterLostError, imager.image_all, path, 4, progress=kill)
    assert address in text

    # The rest is imaged here, and no part is made again.
    parts = {part: part.stat().st_mtime_ns for part in tmp_path.glob("words.images.parts/*.part")}
    assert parts and not path.exists()

    def look(done, total):
        assert all(part.stat().st_mtime_ns == at for part, at in parts.items() if part.exists())

    found = imager.image_all(path, 4, progress=look)
    np.testing.assert_allclose(
        found.weights.toarray(), expected.weights.toarray(), rtol=1e-4, atol=1e-5
    )
