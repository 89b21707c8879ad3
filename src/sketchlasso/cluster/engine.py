"""Functions over blocks of rows in this process, and the engine in use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from sketchlasso.errors import (
    ClusterLostError,
    InvalidInputError,
    MissingExtraError,
    unaccepted,
)

# Called with the number of parts done, their total, and a label.
OnProgress: TypeAlias = Callable[[int, int, str], None]
# A function that runs on blocks, and its own arguments for each of them.
Work: TypeAlias = Callable[..., Any]
# Blocks of rows: `open` turns the value of `source`, which Dask may have to compute, into entries.
Blocks: TypeAlias = Sequence[Any]
Each: TypeAlias = "Sequence[tuple[Any, ...]] | None"
_IN_FORCE: ContextVar[Engine | None] = ContextVar("sketchlasso_engine", default=None)


def add(left: Any, right: Any) -> Any:
    """Return left + right; tuples are added place by place."""
    if isinstance(left, tuple):
        return tuple(add(a, b) for a, b in zip(left, right, strict=True))
    return left + right


def tree_sum(results: Iterable[Any]) -> Any:
    """Return the sum of results in pairs, then pairs of pairs, keeping few of them at a time.

    The order is that of a balanced tree over the results on every engine, so that all engines
    round alike.
    """
    waiting: list[tuple[int, Any]] = []
    for result in results:
        level, total = 0, result
        while waiting and waiting[-1][0] == level:
            total = add(waiting.pop()[1], total)
            level += 1
        waiting.append((level, total))
    total = waiting.pop()[1]
    while waiting:
        total = add(waiting.pop()[1], total)
    return total


def holder_of(collection: Any) -> Any:
    """Return the distributed.Client whose cluster holds parts of a Dask value, or None.

    ``persist()`` replaces tasks by futures, which only the scheduler that made them can
    resolve.
    """
    distributed = sys.modules.get("distributed")
    futures = [] if distributed is None else distributed.futures_of(collection)
    if not futures:
        return None
    client = futures[0].client or _current_client()  # it has none where the value was unpickled
    if client is None or client.status != "running":
        raise ClusterLostError(
            "X was persisted on a Dask cluster, but the client that did so is closed, or is not "
            "current here; persist the array again with an open client, or use the array before "
            "persist()."
        )
    return client


def _current_client() -> Any:
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.get_client()
    except ValueError:
        return None


def value_of(source: Any) -> Any:
    """Return the value of a source; a Dask value is computed in this thread or fetched."""
    if not hasattr(source, "__dask_graph__"):
        return source
    client = holder_of(source)
    if client is None:
        return source.compute(scheduler="synchronous")
    from sketchlasso.cluster.dask_engine import DaskEngine  # installed, since Dask holds the value

    return DaskEngine(client).value(source)


class Engine:
    """Runs ``work(entries, *shared, *each[i])`` for every block i, one by one in this process.

    Functions are defined at the top level of a module, keep no state and do not change their
    arguments: a subclass may repeat any call on another worker.
    """

    remote = False

    def __init__(self, on_progress: OnProgress | None = None) -> None:
        self.on_progress = on_progress

    @property
    def n_workers(self) -> int:
        """How many calls run at the same time."""
        return 1

    def sum(self, work: Work, blocks: Blocks, shared: Sequence[Any] = (), each: Each = None) -> Any:
        """Return the sum of the results, added in pairs and never all in memory together."""
        return tree_sum(self._results(work, blocks, shared, each))

    def collect(
        self, work: Work, blocks: Blocks, shared: Sequence[Any] = (), each: Each = None
    ) -> list[Any]:
        """Return the results, in the order of the blocks."""
        return list(self._results(work, blocks, shared, each))

    def chain(self, work: Work, blocks: Blocks, state: Any, shared: Sequence[Any] = ()) -> Any:
        """Return the state after ``state = work(entries, state, *shared)`` on every block."""
        for number, block in enumerate(blocks):
            state = work(block.open(value_of(block.source)), state, *shared)
            self._report(number + 1, len(blocks), "blocks")
        return state

    def map(
        self, work: Work, items: Sequence[Any], shared: Sequence[Any] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and result of ``work(item, *shared)``, as they finish."""
        for number, item in enumerate(items):
            yield number, work(item, *shared)
            self._report(number + 1, len(items), "parts")

    def close(self) -> None:
        """Stop workers that were started for this engine."""

    def _results(
        self, work: Work, blocks: Blocks, shared: Sequence[Any], each: Each
    ) -> Iterator[Any]:
        for number, block in enumerate(blocks):
            own = () if each is None else each[number]
            yield work(block.open(value_of(block.source)), *shared, *own)
            self._report(number + 1, len(blocks), "blocks")

    def _report(self, done: int, total: int, what: str) -> None:
        if self.on_progress is not None:
            self.on_progress(done, total, what)


@contextmanager
def cluster(
    scheduler: Any = None,
    *,
    n_workers: int | None = None,
    memory_limit: str | int | None = None,
    on_progress: OnProgress | None = None,
    worker_timeout: float = 60.0,
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
    worker_timeout : float, default 60
        Seconds that a call waits for the first worker of the cluster; ``float("inf")`` to wait
        without limit. Workers that are lost later cost the time to repeat their tasks.

    Yields
    ------
    Engine
        Within another ``cluster``, the engine of that one.

    Raises
    ------
    MissingExtraError
        Dask is not installed.
    ClusterLostError
        The scheduler could not be reached, has no workers, or was lost in the middle of the work;
        what :meth:`TopicImager.image_all` has written by then is kept.

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
    if scheduler is not None and (n_workers is not None or memory_limit is not None):
        raise InvalidInputError(
            f"n_workers and memory_limit cannot be combined with scheduler={scheduler!r}, because "
            "they are for workers started on this machine; leave them out."
        )
    if not (isinstance(worker_timeout, int | float) and worker_timeout > 0):
        raise unaccepted("worker_timeout", worker_timeout, "a positive number of seconds")
    if isinstance(scheduler, str) and scheduler == "sequential":
        engine = Engine(on_progress)
    else:
        try:
            from sketchlasso.cluster.dask_engine import DaskEngine, open_client
        except ImportError as missing:
            raise MissingExtraError("A cluster", "distributed", "dask") from missing
        opened = open_client(scheduler, n_workers, memory_limit)
        engine = DaskEngine(*opened, on_progress, worker_timeout)
    token = _IN_FORCE.set(engine)
    try:
        yield engine
    finally:
        _IN_FORCE.reset(token)
        engine.close()


def active_engine() -> Engine | None:
    """Return the engine of the ``cluster`` around the call, or None."""
    return _IN_FORCE.get()


def engine_of(source: Any) -> Engine:
    """Return the engine for a block with this source.

    That of the ``cluster`` around the call; else, for a Dask value, the client that holds it or
    the current one. Without either, the blocks are computed one by one in this process.
    """
    engine = _IN_FORCE.get()
    if engine is not None or not hasattr(source, "__dask_graph__"):
        return engine or Engine()
    client = holder_of(source) or _current_client()
    if client is None:
        return Engine()
    from sketchlasso.cluster.dask_engine import DaskEngine

    return DaskEngine(client)
