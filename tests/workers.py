"""A cluster of Dask inside this process, at the price of its tasks alone."""

from contextlib import contextmanager

import pytest

from tests.tracing import not_traced


@contextmanager
def two_workers(*, default=False):
    """Yield a client of two workers, each with one thread of this process.

    The scheduler and the workers run Dask's own code, most of it in an event loop. Coverage does
    not trace that loop: threads that start while nothing is traced stay untraced. The threads
    that run the tasks start later and are traced.
    """
    distributed = pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
    with not_traced():
        local = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        )
    with local, distributed.Client(local, set_as_default=default) as client:
        yield client
