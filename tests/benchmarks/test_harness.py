"""Peers under a time limit: what they return, and that their processes end."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

from benchmarks.harness import run_limited

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


def wait_for(condition):
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_peer_returns_its_value_or_says_that_it_took_too_long(tmp_path):
    assert run_limited(adder, (2, 3), 60).value == 5
    late = run_limited(sleeper, (str(tmp_path / "pid"),), 0.2)
    assert late.failure == "over 0.2 s"


def test_a_peer_ends_with_a_benchmark_that_is_killed(tmp_path):
    path = tmp_path / "pid"
    benchmark = subprocess.Popen([sys.executable, "-c", KILLED.format(str(path))])
    try:
        wait_for(lambda: path.exists() and path.read_text().endswith("\n"))
    finally:
        benchmark.send_signal(signal.SIGKILL)
        benchmark.wait()
    peer = int(path.read_text())
    wait_for(lambda: not is_running(peer))
