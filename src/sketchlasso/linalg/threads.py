"""Threads over independent rows, with BLAS kept to one thread each."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["map_rows", "map_slices", "single_blas_thread"]

Result = TypeVar("Result")
# Rows go out in blocks: several per thread, so that uneven ones even out.
BLOCKS_PER_THREAD = 8


@cache
def _controller() -> ThreadpoolController:
    """Looking the libraries up takes milliseconds: once is enough."""
    return ThreadpoolController()


@cache
def _pool(n_threads: int, process: int) -> ThreadPoolExecutor:
    """Threads that outlive a call; a forked process, where they would be dead, gets its own."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix=f"sketchlasso-{process}")


def single_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread while our own threads fill the cores.

    The products of an instance are small, and idle BLAS threads spin on a core for tens of
    milliseconds after every product they helped with.
    """
    return _controller().limit(limits=1)


def map_rows(work: Callable[[int], Result], count: int, n_threads: int) -> list[Result]:
    """Results of `work` on every row below `count`, in order, whatever the number of threads."""

    def on_block(rows: slice) -> list[Result]:
        return [work(row) for row in range(rows.start, rows.stop)]

    blocks = _map(on_block, count, n_threads, BLOCKS_PER_THREAD)
    return [result for block in blocks for result in block]


def map_slices(work: Callable[[slice], None], count: int, n_threads: int) -> None:
    """Run `work` on slices that cover range(count); it writes its results into arrays."""
    _map(work, count, n_threads, 1)


def _map(
    work: Callable[[slice], Result], count: int, n_threads: int, blocks_per_thread: int
) -> list[Result]:
    if n_threads <= 1 or count < 2 * n_threads:
        return [work(slice(0, count))]
    blocks = min(count, n_threads * blocks_per_thread)
    edges = [count * i // blocks for i in range(blocks + 1)]
    slices = [slice(edges[i], edges[i + 1]) for i in range(blocks)]
    return list(_pool(n_threads, os.getpid()).map(work, slices))
