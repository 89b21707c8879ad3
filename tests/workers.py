"""A cluster of Dask inside this process, at the price of its tasks alone."""

from contextlib import contextmanager

import pytest


@contextmanager
def two_workers(*, default=False):
    """Yield a client of two workers, each with one thread of this process."""
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    local = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    with local, distributed.Client(local, set_as_default=default) as client:
        yield client
