"""The engines: same results in the same order of sums, here and on workers."""

import subprocess
import sys
import time
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from tests.sentences import refusal
from tests.workers import two_workers

from sketchlasso.cluster import Engine, active_engine, cluster, engine_of
from sketchlasso.data.blocks import Part
from sketchlasso.errors import ClusterLostError, InvalidInputError, MissingExtraError


def blocks_of(arrays):
    return [replace(Part.of_entries(a, number), check=True) for number, a in enumerate(arrays)]


def scaled_sum(entries, factor, extra):
    return entries.sum(axis=0) * factor + extra, len(entries)


def first_entry(entries, factor):
    return float(entries[0, 0]) * factor


def remember(entries, state, factor):
    return [*state, float(entries[0, 0]) * factor]


def power_of(item, exponent):
    return item**exponent


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    return [rng.standard_normal((rows, 3)) for rows in (4, 1, 6, 2, 5)]


@pytest.fixture(scope="module")
def dask_engine():
    pytest.importorskip("distributed")
    from sketchlasso.cluster.dask_engine import DaskEngine

    with two_workers() as client:
        yield DaskEngine(client)


@pytest.fixture(params=["sequential", "dask"])
def engine(request):
    if request.param == "sequential":
        return Engine()
    return request.getfixturevalue("dask_engine")


def test_sum_collect_chain_and_map(engine, arrays):
    blocks = blocks_of(arrays)
    each = [(10.0 * i,) for i in range(len(arrays))]
    total, rows = engine.sum(scaled_sum, blocks, (2.0,), each)
    assert rows == sum(len(a) for a in arrays)
    np.testing.assert_allclose(total, 2.0 * np.vstack(arrays).sum(axis=0) + 100.0)
    assert engine.collect(first_entry, blocks, (3.0,)) == [3.0 * a[0, 0] for a in arrays]
    assert engine.chain(remember, blocks, [], (3.0,)) == [3.0 * a[0, 0] for a in arrays]
    assert dict(engine.map(power_of, [1, 2, 3], (2,))) == {0: 1, 1: 4, 2: 9}


def test_engines_round_alike(dask_engine, arrays):
    blocks = blocks_of([a * 1e3**i for i, a in enumerate(arrays)])
    each = [(0.1 * i,) for i in range(len(arrays))]
    ours = Engine().sum(scaled_sum, blocks, (1 / 3,), each)[0]
    np.testing.assert_array_equal(dask_engine.sum(scaled_sum, blocks, (1 / 3,), each)[0], ours)


def test_progress_is_reported_block_by_block(engine, arrays):
    seen = []
    engine.on_progress = lambda done, total, what: seen.append((done, total, what))
    try:
        engine.sum(scaled_sum, blocks_of(arrays), (1.0,), [(0.0,)] * len(arrays))
        list(engine.map(power_of, [1, 2], (2,)))
    finally:
        engine.on_progress = None
    assert seen == [(i + 1, 5, "blocks") for i in range(5)] + [
        (i + 1, 2, "parts") for i in range(2)
    ]


def test_errors_of_the_work_are_raised_as_they_are(engine, arrays):
    bad = [*arrays[:2], np.array([[1.0, np.inf, 0.0]])]
    text = refusal(InvalidInputError, engine.sum, first_entry, blocks_of(bad), (1.0,))
    assert "block 2" in text
    assert "inf" in text


def test_an_interruption_is_raised_and_leaves_the_engine_in_order(engine, arrays):
    def stop(done, total, what):
        raise KeyboardInterrupt

    engine.on_progress = stop
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.collect(first_entry, blocks_of(arrays), (1.0,))
    finally:
        engine.on_progress = None
    assert engine.collect(first_entry, blocks_of(arrays), (1.0,)) == [a[0, 0] for a in arrays]


def later(entries, folder):
    """Fail on every fourth block; every other one takes a moment and leaves a file."""
    if entries[0, 0] % 4 == 0:
        raise ValueError("a bad block")
    time.sleep(0.05)
    (folder / str(entries[0, 0])).touch()


def test_an_error_in_one_block_cancels_the_others(dask_engine, tmp_path):
    blocks = blocks_of([np.full((1, 1), float(number)) for number in range(200)])
    with pytest.raises(ValueError, match="a bad block"):
        dask_engine.collect(later, blocks, (tmp_path,))
    time.sleep(0.5)
    begun = len(list(tmp_path.iterdir()))
    assert begun < 100
    time.sleep(0.5)
    assert len(list(tmp_path.iterdir())) == begun


def test_a_client_of_the_user_stays_open(arrays):
    with two_workers() as client:
        for scheduler in (client, client.scheduler.address):
            with cluster(scheduler) as engine:
                assert engine.collect(first_entry, blocks_of(arrays[:1]), (1.0,))
            assert client.status == "running"
        assert client.submit(abs, -2).result() == 2


def test_the_engine_in_force_is_that_of_the_outermost_cluster():
    assert active_engine() is None
    assert type(engine_of(None)) is Engine
    with cluster("sequential") as outer:
        with cluster("sequential") as inner:
            assert inner is outer
        assert active_engine() is outer
    assert active_engine() is None


def test_refusals():
    pytest.importorskip("distributed")
    assert "n_workers" in refusal(InvalidInputError, cluster("sequential", n_workers=2).__enter__)
    text = refusal(InvalidInputError, cluster(worker_timeout=-1.0).__enter__)
    assert "worker_timeout must be a positive number of seconds, not -1.0" in text
    text = refusal(InvalidInputError, cluster(7).__enter__)
    assert text.startswith("scheduler must be an address") and text.endswith(", not 7.")
    assert "scheduler must be an address" in refusal(
        InvalidInputError, cluster("nonsense://x").__enter__
    )


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(import_module("sketchlasso.cluster.dask_engine"), "CONNECT_SECONDS", 0.3)
    text = refusal(ClusterLostError, cluster("tcp://127.0.0.1:9").__enter__)
    assert "tcp://127.0.0.1:9" in text


def test_a_script_without_a_guard_gets_a_message_about_it(tmp_path):
    pytest.importorskip("distributed")
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from sketchlasso.cluster import cluster\nwith cluster(n_workers=1):\n    pass\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ClusterLostError: worker processes could not be started" in done.stderr
    assert '`if __name__ == "__main__":`' in done.stderr


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sketchlasso.cluster.dask_engine", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sketchlasso\[dask\]'"):
        cluster().__enter__()


def test_a_scheduler_without_workers_is_not_waited_for_in_silence(arrays):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address=":0", silence_logs=50
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        with cluster(client, worker_timeout=0.3) as engine:
            text = refusal(ClusterLostError, engine.collect, first_entry, blocks_of(arrays), (1.0,))
            assert f"{client.scheduler.address} has no workers and none came within 0.3 sec" in text
            text = refusal(ClusterLostError, list, engine.map(power_of, [1, 2], (2,)))
            assert "has no workers" in text
        # Workers that come when there is work, as in a cluster that grows and shrinks, are in time.
        local.adapt(minimum=0, maximum=1, interval="50ms")
        with cluster(client) as engine:
            assert dict(engine.map(power_of, [1, 2], (2,))) == {0: 1, 1: 4}
