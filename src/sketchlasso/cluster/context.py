"""The engine in use, and how one is started and stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sketchlasso.cluster.engine import Engine, OnProgress
from sketchlasso.cluster.sequential import SequentialEngine
from sketchlasso.errors import Argument, InvalidInputError, MissingExtraError

__all__ = ["active_engine", "cluster", "current_engine"]

_IN_FORCE: ContextVar[Engine | None] = ContextVar("sketchlasso_engine", default=None)


@contextmanager
def cluster(
    scheduler: Any = None,
    *,
    n_workers: int | None = None,
    memory_limit: str | int | None = None,
    on_progress: OnProgress | None = None,
    worker_timeout: float | None = None,
) -> Iterator[Engine]:
    """Run the body of the ``with`` on a cluster: data in blocks, and large batches of problems.

    Parameters
    ----------
    scheduler : str, distributed.Client or None
        Address of a Dask scheduler, such as ``"tcp://10.0.0.1:8786"``, or a client of one;
        ``"sequential"`` works through the blocks one after another in this process and needs no
        Dask. None uses the current Dask client, or starts worker processes on this machine where
        there is none; they stop at the end of the ``with``. (A script that starts processes
        needs ``if __name__ == "__main__":`` around its work.)
    n_workers : int, optional
        Worker processes to start on this machine; by default one per core.
    memory_limit : str or int, optional
        Memory of each of them, such as ``"2GB"``.
    on_progress : callable, optional
        Called after each part with the number done, the total and a label.
    worker_timeout : float, optional
        Seconds that work waits while the cluster has no worker at all, at the start or because
        all were lost; 60 by default, ``float("inf")`` to wait for ever. The scheduler decides
        when a worker counts as lost.

    Yields
    ------
    Engine
        Within another ``cluster``, the engine of that one.

    Raises
    ------
    MissingExtraError
        Dask is not installed.
    ClusterLostError
        The scheduler could not be reached, or it or all its workers were lost in the middle of
        the work; what :meth:`TopicImager.image_all` has written by then is kept.

    Examples
    --------
    >>> import numpy as np
    >>> import sketchlasso as sl
    >>> from sketchlasso.io import BlockMatrix
    >>> X = np.random.default_rng(0).standard_normal((90, 20))
    >>> blocks = BlockMatrix.from_arrays([X[:40], X[40:]])
    >>> with sl.cluster.cluster("sequential"):
    ...     found = sl.sketch(blocks, rank=5, random_state=0)
    >>> bool(np.isclose(found.radius, sl.sketch(X, rank=5, random_state=0).radius))
    True
    """
    engine = _IN_FORCE.get()
    if engine is not None:
        yield engine
        return
    engine = _started(scheduler, n_workers, memory_limit, on_progress, worker_timeout)
    token = _IN_FORCE.set(engine)
    try:
        yield engine
    finally:
        _IN_FORCE.reset(token)
        engine.close()


def active_engine() -> Engine | None:
    """Return the engine of the ``cluster`` around the call, or None."""
    return _IN_FORCE.get()


def current_engine() -> Engine:
    """Return the engine of the ``cluster`` around the call, or one that works in this process."""
    return _IN_FORCE.get() or SequentialEngine()


def _started(
    scheduler: Any,
    n_workers: int | None,
    memory_limit: str | int | None,
    on_progress: OnProgress | None,
    worker_timeout: float | None,
) -> Engine:
    if scheduler is not None and (n_workers is not None or memory_limit is not None):
        raise InvalidInputError(
            Argument("n_workers", n_workers),
            " and ",
            Argument("memory_limit", memory_limit),
            " were given with ",
            Argument("scheduler", scheduler),
            ", but they are for workers started on this machine; leave them out, or leave out "
            "scheduler.",
        )
    number = isinstance(worker_timeout, int | float) and worker_timeout > 0
    if worker_timeout is not None and not number:
        raise InvalidInputError(
            Argument("worker_timeout", worker_timeout),
            " was given, but a positive number of seconds is accepted; pass one, or leave it out "
            "for 60.",
        )
    if isinstance(scheduler, str) and scheduler == "sequential":
        return SequentialEngine(on_progress)
    try:
        from sketchlasso.cluster.dask_engine import open_engine
    except ImportError as missing:
        raise MissingExtraError("A cluster", "distributed", "dask") from missing
    return open_engine(scheduler, n_workers, memory_limit, on_progress, worker_timeout)
