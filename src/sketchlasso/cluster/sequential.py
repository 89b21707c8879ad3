"""Blocks one after another in this process: data larger than memory on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sketchlasso.cluster.engine import Block, OnProgress, tree_sum
from sketchlasso.cluster.held import value_of

__all__ = ["SequentialEngine"]


class SequentialEngine:
    """Opens one block at a time; needs nothing installed.

    Parameters
    ----------
    on_progress : callable, optional
        Called with the number of blocks done, the total and a label.
    """

    n_workers = 1
    remote = False

    def __init__(self, on_progress: OnProgress | None = None) -> None:
        self.on_progress = on_progress

    def sum(
        self,
        work: Callable[..., Any],
        blocks: Sequence[Block],
        shared: Sequence[Any] = (),
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> Any:
        """Return the sum of the results, added in pairs."""
        return tree_sum(self._results(work, blocks, shared, each))

    def collect(
        self,
        work: Callable[..., Any],
        blocks: Sequence[Block],
        shared: Sequence[Any] = (),
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Return the results, in the order of the blocks."""
        return list(self._results(work, blocks, shared, each))

    def chain(
        self,
        work: Callable[..., Any],
        blocks: Sequence[Block],
        state: Any,
        shared: Sequence[Any] = (),
    ) -> Any:
        """Return the state after all blocks, each of which updates it in turn."""
        for number, block in enumerate(blocks):
            state = work(block.open(value_of(block.source)), state, *shared)
            self._tell(number + 1, len(blocks), "blocks")
        return state

    def map(
        self, work: Callable[..., Any], items: Sequence[Any], shared: Sequence[Any] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and result of every item, in order."""
        for number, item in enumerate(items):
            yield number, work(item, *shared)
            self._tell(number + 1, len(items), "parts")

    def close(self) -> None:
        """Nothing was started."""

    def _results(
        self,
        work: Callable[..., Any],
        blocks: Sequence[Block],
        shared: Sequence[Any],
        each: Sequence[tuple[Any, ...]] | None,
    ) -> Iterator[Any]:
        for number, block in enumerate(blocks):
            own = () if each is None else each[number]
            yield work(block.open(value_of(block.source)), *shared, *own)
            self._tell(number + 1, len(blocks), "blocks")

    def _tell(self, done: int, total: int, what: str) -> None:
        if self.on_progress is not None:
            self.on_progress(done, total, what)
