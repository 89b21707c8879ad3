"""Threads over instances, with BLAS kept to one thread each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["map_instances", "single_blas_thread"]

Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    """Looking the libraries up takes milliseconds: once is enough."""
    return ThreadpoolController()


def single_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread: an instance's products are small, and instances fill the cores."""
    return _controller().limit(limits=1)


def map_instances(
    work: Callable[[int], Result], rows: Iterable[int], n_threads: int
) -> list[Result]:
    """Results of `work` on every row, in order, whatever the number of threads."""
    with single_blas_thread():
        if n_threads == 1:
            return [work(row) for row in rows]
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(work, rows))
