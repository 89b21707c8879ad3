"""Threads over independent rows, with BLAS kept to one thread each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["map_rows", "map_slices", "single_blas_thread"]

Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    """Looking the libraries up takes milliseconds: once is enough."""
    return ThreadpoolController()


def single_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread: the products are small, and rows fill the cores."""
    return _controller().limit(limits=1)


def map_rows(work: Callable[[int], Result], rows: Iterable[int], n_threads: int) -> list[Result]:
    """Results of `work` on every row, in order, whatever the number of threads."""
    with single_blas_thread():
        if n_threads == 1:
            return [work(row) for row in rows]
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(work, rows))


def map_slices(work: Callable[[slice], None], count: int, n_threads: int) -> None:
    """Run `work` on slices that cover range(count), one per thread; it writes into arrays."""
    if n_threads <= 1 or count < 2 * n_threads:
        work(slice(0, count))
        return
    edges = [count * i // n_threads for i in range(n_threads + 1)]
    slices = [slice(a, b) for a, b in itertools.pairwise(edges)]
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, slices))
