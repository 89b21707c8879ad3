"""Reports of commands, shown on a terminal (Rich), in a pipe (plain lines) or as JSON."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import sketchlasso as sl
from sketchlasso.interfaces import HIDDEN, visible
from sketchlasso.types import IntArray

# Labels and values.
Facts: TypeAlias = tuple[tuple[str, str], ...]
Counter = Callable[[int, int], None]
BAR_WIDTH = 24
# Control characters that are kept in texts of several lines.
LINES = "\n\t"


class Note(UserWarning):
    """A message about what was done to the data, as asked."""


@dataclass(frozen=True)
class Bar:
    """A number drawn as a bar in the last column of a table; `share` is between -1 and 1."""

    share: float

    def drawn(self, mark: str, negative: str) -> str:
        """Return the bar, at least one character long unless the share is zero."""
        length = max(1, round(BAR_WIDTH * abs(self.share))) if self.share else 0
        return (mark if self.share > 0 else negative) * length


@dataclass(frozen=True)
class Sheet:
    """A small table: text and bars are aligned left, numbers right."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def sheet_of(title: str, columns: Sequence[tuple[str, Any]], places: Any) -> tuple[Sheet, ...]:
    """Return a table of some places of columns, each behind its heading; none without places."""
    rows = tuple(tuple(column[place] for _, column in columns) for place in places)
    return (Sheet(title, tuple(heading for heading, _ in columns), rows),) if rows else ()


def facts_of(data: dict[str, Any]) -> Facts:
    """Return the single values of a document for people, without those that are unknown."""
    return tuple(
        (name.removeprefix("n_").replace("_", " "), short(value))
        for name, value in data.items()
        if isinstance(value, str | int | float | np.generic | Path)
    )


@dataclass(frozen=True)
class Report:
    """The outcome of a command."""

    # The document of --json, without the name of the command and of its output.
    data: dict[str, Any]
    facts: Facts = ()
    sheets: tuple[Sheet, ...] = ()
    text: str = ""  # printed before the rest
    outcome: str = ""  # what the user asked for, printed even when quiet
    closing: str = ""  # printed after the rest
    fell_short: bool = False  # whether a check that was asked for failed


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
        elif report.outcome:
            print(visible(report.outcome.removesuffix("\n"), LINES))
        elif not self.quiet:
            _print(report)
        sys.stdout.flush()
        if self.json:
            return
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
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        ) as bar:
            bar.add_task(visible(words), total=None, state="")
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


def _print(report: Report) -> None:
    """Print a report: coloured tables on a terminal, plain aligned lines in a pipe."""
    terminal = sys.stdout.isatty()
    plain: dict[str, Any] = {} if terminal else {"file": io.StringIO(), "width": 1_000_000}
    console = Console(markup=False, highlight=False, emoji=False, **plain)
    if report.text:
        console.print(visible(report.text, LINES))
    if report.facts:
        grid = Table.grid(padding=(0, 2))
        for name, value in report.facts:
            grid.add_row(Text(visible(name), style="cyan"), Text(visible(value), overflow="fold"))
        console.print(grid)
    for number, sheet in enumerate(report.sheets):
        if number or report.facts or report.text:
            console.print()
        console.print(visible(sheet.title))
        table = Table(box=box.ROUNDED if terminal else None, pad_edge=terminal)
        for heading, values in zip(sheet.columns, zip(*sheet.rows, strict=True), strict=True):
            is_text = any(isinstance(value, str | Bar) for value in values)
            table.add_column(Text(visible(heading)), justify="left" if is_text else "right")
        for row in sheet.rows:
            table.add_row(*(_cell(value, terminal) for value in row))
        console.print(table)
    if report.closing:
        console.print(visible(report.closing, LINES))
    if not terminal:
        lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
        print("\n".join(line.rstrip() for line in lines))


def _cell(value: Any, terminal: bool) -> Text:
    if not isinstance(value, Bar):
        return Text(short(value))
    if terminal:
        return Text(value.drawn("█", "█"), style="green" if value.share > 0 else "red")
    return Text(value.drawn("#", "-"))


def short(value: Any) -> str:
    """Return a value as text for people, without control characters."""
    if value is None:
        return "-"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        written = f"{value:.4g}"
        number = float(written)
        # People read 77190 more easily than 7.719e+04.
        return f"{number:.0f}" if "e+0" in written and abs(number) < 1e8 else written
    return visible(str(value))


def counted(count: int, thing: str) -> str:
    """Return a number of things in words."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def label(value: Any) -> str:
    """Return a class label as text; 1.0 as 1."""
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)


def class_words(classes: Any) -> str:
    """List classes, at most eight of them."""
    shown = ", ".join(label(value) for value in classes[:8])
    return shown if len(classes) <= 8 else f"{shown}, ... ({len(classes)} in all)"


def evenly(count: int, most: int) -> IntArray:
    """Return at most `most` of the positions below `count`, evenly spaced with both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def as_json(data: dict[str, Any]) -> str:
    """Return a JSON document; numbers that are not finite become null."""
    document = json.dumps(_plain(data), indent=2, allow_nan=False, ensure_ascii=False)
    # Line breaks separate entries; json.dumps has escaped those inside of strings.
    return HIDDEN.sub(lambda hit: "\n" if hit[0] == "\n" else f"\\u{ord(hit[0]):04x}", document)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return str(value) if isinstance(value, Path) else value
