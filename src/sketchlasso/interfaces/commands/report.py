"""Reports of commands: facts and tables for people, one document for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sketchlasso.interfaces import visible, visible_in_json
from sketchlasso.types import IntArray

# Labels and values.
Facts: TypeAlias = tuple[tuple[str, str], ...]
BAR_WIDTH = 24
# Numbers of this size and larger are written with an exponent.
LARGE = 1e8


@dataclass(frozen=True)
class Bar:
    """A number drawn as a bar in the last column of a table; `share` is between -1 and 1."""

    share: float

    @property
    def length(self) -> int:
        """Number of characters, at least one unless the share is zero."""
        return max(1, round(BAR_WIDTH * abs(self.share))) if self.share else 0

    def __str__(self) -> str:
        return ("#" if self.share > 0 else "-") * self.length


@dataclass(frozen=True)
class Sheet:
    """A small table."""

    title: str
    columns: tuple[str, ...]
    # One entry per column: text and bars are aligned left, numbers right.
    rows: tuple[tuple[Any, ...], ...]

    def cells(self) -> list[list[str]]:
        """Return the entries as text."""
        return [[short(value) for value in row] for row in self.rows]

    def right(self, column: int) -> bool:
        """Return whether a column holds numbers only."""
        return all(not isinstance(row[column], str | Bar) for row in self.rows)


def sheet_of(title: str, columns: Sequence[tuple[str, Any]], places: Any) -> tuple[Sheet, ...]:
    """Return a table of some places of columns, each behind its heading; none without places."""
    rows = tuple(tuple(column[place] for _, column in columns) for place in places)
    return (Sheet(title, tuple(heading for heading, _ in columns), rows),) if rows else ()


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
        return f"{number:.0f}" if "e+0" in written and abs(number) < LARGE else written
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
    return visible_in_json(document)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
