"""Peers under a time limit: what they return, what is left of them, and that they end."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

from benchmarks.harness import run_limited, run_steps

KILLED = (
    "from benchmarks.harness import run_limited; "
    "from tests.benchmarks.test_harness import sleeper; run_limited(sleeper, ({!r},), 300)"
)


def adder(a, b):
    return partial(sum, (a, b))


def sleeper(path):
    with open(path, "w") as file:
        file.write(f"{os.getpid()}\n")
    return partial(time.sleep, 300)


def counter():
    yield "ready"
    yield from (1, 2)
    time.sleep(300)


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_peer_returns_its_value_or_the_steps_it_finished_in_time():
    assert run_limited(adder, (2, 3), 60).value == 5
    late = run_steps(counter, (), 0.5)
    assert (late.ready, late.done, late.failure) == ("ready", [1, 2], "over 0.5 s")


def test_a_peer_ends_with_a_benchmark_that_is_killed(tmp_path):
    path = tmp_path / "pid"
    benchmark = subprocess.Popen([sys.executable, "-c", KILLED.format(str(path))])
    limit = time.monotonic() + 60
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < limit
        time.sleep(0.05)
    benchmark.send_signal(signal.SIGKILL)
    benchmark.wait()
    peer = int(path.read_text())
    while is_running(peer):
        assert time.monotonic() < limit
        time.sleep(0.05)
