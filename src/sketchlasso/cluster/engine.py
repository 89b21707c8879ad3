"""The interface of engines, which run functions over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

__all__ = ["Block", "Engine", "OnProgress", "add", "tree_sum"]

# Called with how many parts are done, how many there are, and what is being done.
OnProgress: TypeAlias = Callable[[int, int, str], None]


class Block(Protocol):
    """A block of rows that is opened where it is processed.

    Both attributes are sent to workers, so both can be pickled.
    """

    @property
    def source(self) -> Any:
        """What the block is made from: any object, or a value that Dask has yet to compute."""

    @property
    def open(self) -> Callable[[Any], Any]:
        """Turns the source's value into the entries of the block."""


class Engine(Protocol):
    """Runs functions over blocks: ``work(entries, *shared, *each[i])`` for block i.

    Functions are defined at the top level of a module, keep no state and do not change their
    arguments: any call may be repeated on another worker.
    """

    on_progress: OnProgress | None

    @property
    def n_workers(self) -> int:
        """How many calls run at the same time."""

    @property
    def remote(self) -> bool:
        """Whether the calls run in other processes than this one."""

    def sum(
        self,
        work: Callable[..., Any],
        blocks: Sequence[Block],
        shared: Sequence[Any] = (),
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> Any:
        """Return the sum of the results, added in pairs and never all in memory together."""

    def collect(
        self,
        work: Callable[..., Any],
        blocks: Sequence[Block],
        shared: Sequence[Any] = (),
        each: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """Return the results, in the order of the blocks."""

    def chain(
        self,
        work: Callable[..., Any],
        blocks: Sequence[Block],
        state: Any,
        shared: Sequence[Any] = (),
    ) -> Any:
        """Return the state after ``state = work(entries, state, *shared)`` on every block."""

    def map(
        self, work: Callable[..., Any], items: Sequence[Any], shared: Sequence[Any] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and result of ``work(item, *shared)``, as they finish."""

    def close(self) -> None:
        """Stop what was started for this engine."""


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
