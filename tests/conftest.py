"""Hypothesis draws the same examples every time, unless HYPOTHESIS_PROFILE=explore asks for new."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests.forked import forking_context

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Dask's statistical profiler looks at every thread each 10 ms. Workers that are other processes
# read the same variable.
os.environ.setdefault("DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED", "False")


# What takes longest, so that no worker begins with it when the others are done.
LONGEST = (
    "tests/reproduction/test_report.py",
    "tests/docs/test_newcomer.py",
    "tests/cluster/test_out_of_core.py",
    "tests/unit/estimators/test_estimator_checks.py",
    "tests/docs/test_snippets.py",
)


def pytest_collection_modifyitems(items):
    """Mark the tests that read real data, and move the longest tests to the front."""
    for item in items:
        if "real_file" in item.fixturenames:
            item.add_marker("data")
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], len(place)))


def pytest_collection_finish():
    """Spare the garbage collector what is loaded by now: it would visit all of it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def real_file():
    """Return a function from a name below SKETCHLASSO_DATA to its path; it skips where none is.

    The results of other software lie beside the data: `real_file("../oracles/hub_400.csv")`.
    """

    def path_of(name):
        path = Path(os.environ.get("SKETCHLASSO_DATA") or "nowhere", name)
        if not path.is_file():
            pytest.skip(f"needs {name} below the folder that SKETCHLASSO_DATA names")
        return path

    return path_of


@pytest.fixture(scope="module")
def forked_workers():
    """Let Dask fork its worker processes; it spawns them by default, which takes longer."""
    dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
    utils = pytest.importorskip("distributed.utils")
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        utils.get_mp_context()  # sets, once, what they load
        forking_context()
        yield
