"""Threads over independent rows, with BLAS kept to one thread each."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from typing import TypeVar

import threadpoolctl

from sketchlasso.errors import unaccepted
from sketchlasso.warn import held_back, warn_user

Item = TypeVar("Item")
Result = TypeVar("Result")
POOL = "sketchlasso-"


@cache
def _controller() -> threadpoolctl.ThreadpoolController:
    """Find the BLAS libraries once: the search takes milliseconds.

    OpenMP is not limited: its number of threads belongs to each thread, not to the process.
    """
    return threadpoolctl.ThreadpoolController().select(user_api="blas")


@cache
def _pool(n_threads: int, process: int) -> ThreadPoolExecutor:
    """Return a pool that is kept between calls; a forked process gets its own."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix=f"{POOL}{process}")


# The threads of this process that keep BLAS to one thread, and its numbers of threads before that.
# The first user sets the limit and the last one lifts it.
_users: set[object] = set()
_before: list[int] = []
_lock = threading.RLock()  # garbage collection can end a generator that holds it


def _after_fork() -> None:
    """Forget the threads of a parent process: they do not exist in a forked child."""
    global _lock
    _lock = threading.RLock()
    _users.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _set_threads(counts: Sequence[int]) -> None:
    """Set the number of threads of every BLAS library."""
    # Since 3.7 threadpoolctl lets one thread at a time control a library. The thread that lifts
    # the limit need not be the one that set it, so control is given back at once.
    owned = getattr(threadpoolctl, "CONTROLLING_THREAD_OWNERSHIP", None)
    if owned is not None:
        owned.increment()
    try:
        for library, count in zip(_controller().lib_controllers, counts, strict=True):
            library.set_num_threads(count)
    finally:
        if owned is not None:
            owned.decrement()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread while our own threads fill the cores.

    The products of an instance are small, and idle BLAS threads spin on a core for tens of
    milliseconds after every product they helped with. The limit holds for the whole process; it
    is lifted when no thread needs it any more.
    """
    user = object()
    try:
        with _lock:
            _users.add(user)
            if not _before:
                libraries = _controller().lib_controllers
                _before.extend(library.get_num_threads() for library in libraries)
                _set_threads([1] * len(libraries))
        yield
    finally:
        with _lock:
            _users.discard(user)
            if not _users and _before:
                _set_threads(_before)
                _before.clear()


def thread_count(n_jobs: int | None = -1, name: str = "n_jobs") -> int:
    """Return the number of threads for a number of jobs, by scikit-learn's rules.

    -1 stands for all cores, -2 for all but one, and so on; None for 1, or the number set by
    :func:`joblib.parallel_config`. `name` is that of the parameter in messages.
    """
    from joblib import effective_n_jobs

    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise unaccepted(name, n_jobs, "a number of threads, or -1 for all cores")
    return max(1, int(effective_n_jobs(n_jobs)))


def blas_threads() -> int:
    """Return the number of threads that products may use: 1 in our own threads."""
    if _in_pool():
        return 1
    with _lock:
        libraries = _controller().lib_controllers
        return max(_before or [library.get_num_threads() for library in libraries], default=1)


def _in_pool() -> bool:
    """Whether this is a thread of one of our pools."""
    return threading.current_thread().name.startswith(POOL)


def map_rows(work: Callable[[int], Result], count: int, n_threads: int) -> list[Result]:
    """Results of `work` on every row below `count`, in order."""

    def on_block(rows: slice) -> list[Result]:
        return [work(row) for row in range(rows.start, rows.stop)]

    # Several blocks per thread, so that uneven ones average out.
    blocks = map_slices(on_block, count, n_threads, slices_per_thread=8)
    return [result for block in blocks for result in block]


def map_slices(
    work: Callable[[slice], Result], count: int, n_threads: int, slices_per_thread: int = 1
) -> list[Result]:
    """Results of `work` on slices that cover range(count), in order."""
    # A thread of the pool must not wait for the pool: it might wait for itself.
    if n_threads <= 1 or count < 2 * n_threads or _in_pool():
        return [work(slice(0, count))]
    blocks = min(count, n_threads * slices_per_thread)
    edges = [count * i // blocks for i in range(blocks + 1)]
    slices = [slice(edges[i], edges[i + 1]) for i in range(blocks)]
    return list(_pool(n_threads, os.getpid()).map(work, slices))


def map_items(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    n_threads: int,
    stop: Callable[[], None] = lambda: None,
) -> list[Result]:
    """Results of `work` on every item, in order; items may take long, and unequally long.

    If one of them fails, or a signal arrives, this calls `stop`, drops the items that have not
    begun and waits for the others. The caller's thread issues the warnings of the workers.
    """
    if n_threads <= 1 or len(items) < 2 or _in_pool():
        return [work(item) for item in items]

    def on_worker(item: Item) -> tuple[Result, list[Warning]]:
        with held_back() as found:
            return work(item), found

    futures = [_pool(n_threads, os.getpid()).submit(on_worker, item) for item in items]
    try:
        results = []
        for future in futures:
            result, found = future.result()
            results.append(result)
            for warning in found:
                warn_user(warning)
        return results
    except BaseException:
        stop()
        for future in futures:
            future.cancel()
        wait(futures)
        raise
