"""Every cell that is not there yet, one after the other, with progress messages."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Any, TextIO

from benchmarks.accuracy.columns import GROUPS
from benchmarks.accuracy.protocol import CellName
from benchmarks.accuracy.store import OVER, Store, Terms
from benchmarks.accuracy.worker import Request, Worker, failed
from benchmarks.machine import machine_facts


def cells_of(sets: list[str], columns: list[str], splits: int) -> list[CellName]:
    """All cells, the main columns of all splits first, so that an early stop has whole tables."""
    late = {column for name, group in GROUPS.items() if name != "main" for column in group}
    return [
        CellName(task, split, column)
        for stage in (False, True)
        for split in range(splits)
        for task in sets
        for column in columns
        if (column in late) is stage
    ]


def run_cells(names: list[CellName], store: Store, terms: Terms) -> None:
    """Compute what is missing; a cell is on disk before the next one begins."""
    missing = [name for name in names if not store.is_done(name, terms)]
    progress = Progress(len(missing), len(names) - len(missing))
    worker, machine = Worker(), _machine()
    try:
        for name in missing:
            progress.begin(name)
            hopeless = next(_stopped_before(name, store, terms), None)
            if hopeless is not None:
                why = f"{OVER} of {terms.limit:g} s on split {hopeless}, not run"
                cell = failed(name, why)
            else:
                request = Request(name, terms.grid, terms.quick)
                cell = worker.compute(request, terms.limit, progress.tick)
            store.write({**terms.signed(cell), "machine": machine})
            progress.end(cell)
    finally:
        worker.close()


def _stopped_before(name: CellName, store: Store, terms: Terms) -> Iterator[int]:
    """Earlier splits on which the column ran over the limit."""
    for split in range(name.split):
        cell = store.read(CellName(name.task, split, name.column))
        if cell is not None and terms.stopped(cell):
            yield split


def _machine() -> dict[str, Any]:
    facts = machine_facts()
    kept = ("date", "cpu", "cores", "load_before", "revision", "packages")
    return {name: facts[name] for name in kept}


class Progress:
    """One line per cell; on a terminal also the seconds of the one at work."""

    def __init__(self, count: int, done_before: int, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.count, self.number, self.name = count, 0, CellName("", 0, "")
        self.start = perf_counter()
        self.live = self.stream.isatty() and os.environ.get("TERM") != "dumb"
        self._say(f"{count} cells to compute, {done_before} already there")

    def begin(self, name: CellName) -> None:
        self.number, self.name = self.number + 1, name

    def tick(self, seconds: float) -> None:
        """Say what is at work, where the line can be taken back."""
        if self.live:
            line = f"{self._head()} ... {seconds:.0f} s"
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r\x1b[K" + line[:width])
            self.stream.flush()

    def end(self, cell: dict[str, Any]) -> None:
        self._say(f"{self._head()}: {described(cell)}")

    def _head(self) -> str:
        spent = (perf_counter() - self.start) / 60.0
        name = self.name
        return (
            f"[{self.number}/{self.count}, {spent:.1f} min] "
            f"{name.task} split {name.split} {name.column}"
        )

    def _say(self, text: str) -> None:
        self.stream.write(("\r\x1b[K" if self.live else "") + text + "\n")
        self.stream.flush()


def described(cell: dict[str, Any]) -> str:
    """A cell in a few words."""
    if cell["failure"]:
        return str(cell["failure"])
    words = f"{cell['metric']} {cell['score']:.4f}, {cell['nonzeros']:,.0f} non-zeros, "
    return words + f"{cell['seconds']:.1f} s" + (f" ({cell['note']})" if cell["note"] else "")
