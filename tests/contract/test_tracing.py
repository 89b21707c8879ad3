"""Coverage is measured with the tests that it is meant to be measured with."""

import gc
import os
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.tracing import UNTRACED, is_traced, not_traced

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("test", "traced"),
    [
        ("tests/unit/results/test_path.py::test_one[a::b]", True),
        ("tests/properties/test_paths.py::test_one", False),
        ("tests/unit/solvers/test_device.py::test_one", False),
        ("tests/unit/solvers/test_device_sizes.py::test_one", True),
    ],
)
def test_a_test_is_traced_unless_its_file_or_folder_is_named(test, traced):
    assert is_traced(test) is traced


def test_what_is_named_exists():
    assert all((ROOT / path).exists() for path in UNTRACED)


def traced():
    return "traced"


def untraced():
    return "untraced"


def in_a_thread():
    return "untraced, too"


def test_tracing_stops_for_a_while_and_for_threads_that_start_meanwhile():
    coverage = pytest.importorskip("coverage")
    before = coverage.Coverage.current()
    own = coverage.Coverage(data_file=None, config_file=False, include=[__file__])
    resumed = Event()
    thread = Thread(target=lambda: resumed.wait() and in_a_thread())
    own.start()
    try:
        with not_traced():
            assert coverage.Coverage.current() is before
            untraced()
            thread.start()
        assert coverage.Coverage.current() is own
        traced()
        resumed.set()
        thread.join()
    finally:
        own.stop()
    lines = set(own.get_data().lines(__file__))
    assert traced.__code__.co_firstlineno + 1 in lines
    assert untraced.__code__.co_firstlineno + 1 not in lines
    assert in_a_thread.__code__.co_firstlineno + 1 not in lines


def test_nothing_looks_at_the_tests_meanwhile():
    assert gc.get_freeze_count() > 0
    assert os.environ["DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED"] == "False"
