"""Showing reports: Rich on a terminal, plain aligned lines in a pipe, JSON for machines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeAlias

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import sketchlasso as sl
from sketchlasso.interfaces import visible
from sketchlasso.interfaces.commands.report import Bar, Report, Sheet, as_json, short

Watcher: TypeAlias = "Callable[[sl.Progress], None]"
Counter = Callable[[int, int], None]
# Control characters that are kept in texts of several lines.
LINES = "\n\t"


class Note(UserWarning):
    """A message about what was done to the data, as asked."""


@dataclass(frozen=True)
class Screen:
    """How a command prints: for people, as one JSON document, or warnings and errors only."""

    json: Annotated[bool, "Print one JSON document and nothing else."] = False
    quiet: Annotated[bool, "Print warnings and errors only."] = False
    debug: Annotated[bool, "Print the traceback of an error."] = False

    def show(self, report: Report, remarks: Sequence[str], notes: Sequence[str] = ()) -> None:
        """Print a report on stdout, and warnings and notes on stderr."""
        if self.json:
            print(as_json({**report.data, "warnings": list(remarks), "notes": list(notes)}))
            return
        if report.outcome:
            print(visible(report.outcome.removesuffix("\n"), LINES))
        elif sys.stdout.isatty() and not self.quiet:
            _show_rich(report)
        elif not self.quiet:
            print("\n".join(_plain_lines(report)))
        for note in () if self.quiet else notes:
            print(f"sketchlasso: note: {visible(note)}", file=sys.stderr)
        for remark in remarks:
            print(f"sketchlasso: warning: {visible(remark)}", file=sys.stderr)

    @contextmanager
    def watching(self, words: str) -> Iterator[Watch | None]:
        """Show that work is in progress, on a terminal only; yield the callback of its bar."""
        if self.json or self.quiet or not sys.stderr.isatty():
            yield None
            return
        with Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        ) as bar:
            bar.add_task(_literal(words), total=None, state="")
            yield Watch(bar)

    @contextmanager
    def counting(self, words: str, things: str) -> Iterator[Counter | None]:
        """Count finished things, on a terminal only; yield the callback of the bar."""
        with self.watching(words) as watch:
            yield None if watch is None else partial(watch.blocks, what=things)


@dataclass(frozen=True)
class Watch:
    """Updates a bar with the solver's progress, or with the number of blocks done.

    The bar shows a share only while some problems are solved and others are not. Before the first
    and after the last one it pulses, because the remaining time is unknown.
    """

    bar: Progress

    def __call__(self, progress: sl.Progress) -> None:
        """Show how many problems are solved."""
        self.blocks(progress.solved, progress.total, "solved")

    def blocks(self, done: int, total: int, what: str) -> None:
        """Show how many blocks of a pass over the data, or other parts, are done."""
        state = f"{done}/{total} {what}" if done < total else f"{total} {what}, finishing"
        (task,) = self.bar.tasks
        # Rich ignores a new total of None.
        task.total = total if 0 < done < total else None
        self.bar.update(task.id, completed=done, state=state if done else "starting")


def _show_rich(report: Report) -> None:
    console = Console()
    if report.text:
        console.print(visible(report.text, LINES), markup=False, highlight=False)
    if report.facts:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="cyan")
        grid.add_column(overflow="fold")
        for fact in report.facts:
            grid.add_row(*map(_literal, fact))
        console.print(grid)
    for sheet in report.sheets:
        table = Table(title=_literal(sheet.title), title_justify="left", box=box.ROUNDED)
        for number, heading in enumerate(sheet.columns):
            table.add_column(_literal(heading), justify="right" if sheet.right(number) else "left")
        for row in sheet.rows:
            table.add_row(*map(_rich_cell, row))
        console.print(table)
    if report.closing:
        console.print(visible(report.closing, LINES), markup=False, highlight=False)


def _rich_cell(value: Any) -> str:
    if isinstance(value, Bar):
        return f"[{'green' if value.share > 0 else 'red'}]{'█' * value.length}[/]"
    return escape(short(value))


def _literal(text: str) -> str:
    return escape(visible(text))


def _plain_lines(report: Report) -> Iterator[str]:
    if report.text:
        yield visible(report.text, LINES)
    width = max((len(label) for label, _ in report.facts), default=0)
    for label, value in report.facts:
        yield f"{visible(label):<{width}}  {visible(value)}".rstrip()
    for number, sheet in enumerate(report.sheets):
        if number or report.facts or report.text:
            yield ""
        yield visible(sheet.title)
        yield from _aligned(sheet)
    if report.closing:
        yield visible(report.closing, LINES)


def _aligned(sheet: Sheet) -> Iterator[str]:
    lines = [list(map(visible, sheet.columns)), *sheet.cells()]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(
            cell.rjust(width) if sheet.right(column) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
