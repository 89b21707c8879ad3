"""Blocks on the workers of a Dask cluster.

Every call is one graph of pure tasks. Arrays that all tasks share are nodes of the graph, so
that the scheduler can make them again: no state is kept in a worker alone, and losing a worker
only costs the time to repeat its tasks.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
import warnings
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from math import isinf
from typing import Any

from dask.delayed import delayed
from distributed import Client, KilledWorker, LocalCluster, as_completed
from distributed.comm.core import CommClosedError

from sketchlasso.cluster.engine import Blocks, Each, Engine, OnProgress, Work, add, holder_of
from sketchlasso.errors import ClusterLostError, InvalidInputError, unaccepted

CONNECT_SECONDS = 20  # to wait for a scheduler


class _Held:
    """Hides a value, so that Dask does not search it for its own objects."""

    def __init__(self, value: Any) -> None:
        self.value = value


class DaskEngine(Engine):
    """Runs functions over blocks on the workers that a client reaches.

    :meth:`close` closes the objects `started`, in this order. Work begins only with a worker, for
    which it waits `worker_timeout` seconds.
    """

    remote = True

    def __init__(
        self,
        client: Client,
        started: Sequence[Any] = (),
        on_progress: OnProgress | None = None,
        worker_timeout: float = 60.0,
    ) -> None:
        super().__init__(on_progress)
        self._client, self._started, self._worker_timeout = client, tuple(started), worker_timeout
        self._address = _address(client)

    @property
    def n_workers(self) -> int:
        """How many tasks run at the same time."""
        with self._guarded():
            return max(1, sum(self._client.ncores().values()))

    def sum(self, work: Work, blocks: Blocks, shared: Sequence[Any] = (), each: Each = None) -> Any:
        """Return the sum of the results, added in pairs on the workers."""
        parts = level = self._tasks(work, blocks, shared, each)
        while len(level) > 1:
            pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
            level = [_ADD(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return self._computed(level, parts)[0]

    def collect(
        self, work: Work, blocks: Blocks, shared: Sequence[Any] = (), each: Each = None
    ) -> list[Any]:
        """Return the results, in the order of the blocks."""
        parts = self._tasks(work, blocks, shared, each)
        return self._computed(parts, parts)

    def chain(self, work: Work, blocks: Blocks, state: Any, shared: Sequence[Any] = ()) -> Any:
        """Return the state after all blocks, each of which updates it in turn."""
        nodes, steps = [_node(value) for value in shared], [_node(state)]
        for block in blocks:
            steps += self._tasks(work, [block], (steps[-1], *nodes), None)
        return self._computed(steps[-1:], steps[1:])[0]

    def map(
        self, work: Work, items: Sequence[Any], shared: Sequence[Any] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and result of every item, as they finish."""
        nodes = [_node(value) for value in shared]
        futures = self._submit([_CALL(_Held(work), _Held(item), *nodes) for item in items])
        number = {future.key: i for i, future in enumerate(futures)}
        # Release results that were yielded, so that the workers can free them.
        waiting = {future.key: future for future in futures}
        results = as_completed(futures, loop=self._client.loop, with_results=True)
        del futures
        try:
            with self._guarded(waiting.values()):
                for future, result in results:
                    if isinstance(result, CancelledError | asyncio.CancelledError):
                        raise result
                    del waiting[future.key]
                    yield number[future.key], result
                    self._report(len(items) - len(waiting), len(items), "parts")
        finally:
            # Also when the caller stops early.
            self._cancel(waiting.values())

    def value(self, source: Any) -> Any:
        """Compute a Dask value, and return it to this process."""
        return self._computed([source], [source])[0]

    def close(self) -> None:
        """Close the objects started for this engine."""
        for thing in self._started:
            # A client that lost its scheduler cannot close cleanly, which was already reported.
            with suppress(Exception):
                thing.close()

    def _tasks(self, work: Work, blocks: Blocks, shared: Sequence[Any], each: Each) -> list[Any]:
        """One task per block; all blocks come from one array, which its own cluster must run."""
        client = holder_of(blocks[0].source) if blocks else None
        if client is not None and _address(client) != self._address:
            raise InvalidInputError(
                f"X was persisted on the Dask cluster at {_address(client)}, but the work "
                f"runs on that at {self._address}; use cluster(client) with the client that "
                "persisted it."
            )
        nodes = [_node(value) for value in shared]
        own = [()] * len(blocks) if each is None else each
        return [
            _RUN(
                _Held((work, block.open, extra)),
                # Dask's own values as they are, any other value hidden.
                block.source if _is_lazy(block.source) else _Held(block.source),
                *nodes,
            )
            for block, extra in zip(blocks, own, strict=True)
        ]

    def _submit(self, tasks: list[Any]) -> list[Any]:
        with self._guarded(), warnings.catch_warnings():
            # Arrays in the graph may be large, on purpose.
            warnings.filterwarnings("ignore", message="Sending large graph")
            futures = list(self._client.compute(tasks, optimize_graph=False))
        with self._guarded(futures):
            try:  # a cluster that grows and shrinks starts workers when there is work
                limit = None if isinf(self._worker_timeout) else self._worker_timeout
                self._client.wait_for_workers(1, timeout=limit)
            except TimeoutError:
                raise ClusterLostError(
                    f"the Dask scheduler at {self._address} has no workers and none came within "
                    f"{self._worker_timeout:g} seconds; start some (`dask worker {self._address}`) "
                    "or wait longer (worker_timeout=), and repeat the call: parts that were "
                    "written are kept."
                ) from None
        return futures

    def _computed(self, wanted: list[Any], parts: list[Any]) -> list[Any]:
        """Compute the results, and report finished parts on the way."""
        # Progress only needs to know that a part is done, so its result is not kept.
        marks = [] if self.on_progress is None else [_DONE(part) for part in parts]
        futures = self._submit([*wanted, *marks])
        keys, done = {future.key for future in futures[len(wanted) :]}, 0
        with self._guarded(futures):
            for future in as_completed(futures, loop=self._client.loop):
                if future.status != "finished":
                    break  # gathering raises the reason
                if future.key in keys:
                    done += 1
                    self._report(done, len(keys), "blocks")
            return list(self._client.gather(futures[: len(wanted)]))

    @contextmanager
    def _guarded(self, futures: Collection[Any] = ()) -> Iterator[None]:
        """Cancel the work when it ends early; report a lost cluster in one sentence."""
        try:
            yield
        except KilledWorker as killed:
            self._cancel(futures)
            raise ClusterLostError(
                f"a task on the cluster at {self._address} ended the worker it ran on several "
                "times, most likely because memory ran out; use smaller blocks or workers with "
                "more memory (memory_limit), and call again: finished parts are kept."
            ) from killed
        except BaseException as problem:
            closed = CancelledError | asyncio.CancelledError | CommClosedError
            # The client may not have noticed yet that the connection is closed.
            lost = self._client.status != "running" and isinstance(problem, Exception)
            if lost or isinstance(problem, closed):
                raise ClusterLostError(
                    f"the connection to the Dask scheduler at {self._address} was lost; start it "
                    "again, or use another one, and repeat the call: parts that were written are "
                    "kept."
                ) from problem
            # Ctrl-C, or a block that cannot be used: the other results are not needed.
            self._cancel(futures)
            raise

    def _cancel(self, futures: Collection[Any]) -> None:
        if futures and self._client.status == "running":
            self._client.cancel(list(futures))


def _address(client: Client) -> str:
    return str(getattr(client.scheduler, "address", client.scheduler))


def open_client(
    scheduler: Any, n_workers: int | None, memory_limit: str | int | None
) -> tuple[Client, tuple[Any, ...]]:
    """Return a client given, of an address, the current one, or of workers that it starts.

    Also return what was started for it, in the order of closing.
    """
    if isinstance(scheduler, Client):
        return scheduler, ()
    if scheduler is None and n_workers is None and memory_limit is None:
        with suppress(ValueError):
            return Client.current(), ()
    if scheduler is None:
        try:
            local = LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
                memory_limit="auto" if memory_limit is None else memory_limit,
            )
        except RuntimeError as problem:
            raise ClusterLostError(
                f"worker processes could not be started on this machine ({problem}); put the work "
                'of a script under `if __name__ == "__main__":`, as new processes read the script '
                'too, or use cluster("sequential").'
            ) from problem
        client = Client(local, set_as_default=False)
        return client, (client, local)
    accepted = "an address such as 'tcp://10.0.0.1:8786', a distributed.Client or 'sequential'"
    try:
        if not isinstance(scheduler, str):
            raise ValueError(scheduler)
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except ValueError as problem:
        raise unaccepted("scheduler", scheduler, accepted) from problem
    except OSError as problem:
        raise ClusterLostError(
            f"no Dask scheduler answered at {scheduler} within {CONNECT_SECONDS} seconds; check "
            "the address and that `dask scheduler` runs there."
        ) from problem
    return client, (client,)


def _is_lazy(value: Any) -> bool:
    return hasattr(value, "__dask_graph__")


def _node(value: Any) -> Any:
    """Return a value as a node of the graph, from which it can be sent again."""
    if _is_lazy(value):
        return value
    return delayed(_Held(value), name=f"shared-{uuid.uuid4().hex}", traverse=False)


def _value(source: Any) -> Any:
    return source.value if isinstance(source, _Held) else source


def _run(task: _Held, source: Any, *shared: Any) -> Any:
    work, opened, extra = task.value
    return work(opened(_value(source)), *map(_value, shared), *extra)


def _call(work: _Held, item: _Held, *shared: _Held) -> Any:
    return work.value(item.value, *map(_value, shared))


def _done(part: Any) -> None:
    """Return a marker for a finished part."""


_RUN, _CALL = delayed(_run, pure=False), delayed(_call, pure=False)
_ADD, _DONE = delayed(add, pure=False), delayed(_done, pure=False)
