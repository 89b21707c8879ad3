"""A table of figures, printed as it grows and kept as JSON and markdown."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine_facts

RESULTS = Path(__file__).parent / "results"
# Columns whose small numbers are read as powers of ten.
POWERS = ("gap", "difference", "effect", "rise")
FOUR_PLACES = ("F1", "error")


@dataclass
class Report:
    """Rows of one benchmark, its notes, and the machine they were measured on.

    Saved after every row, so that an interrupted run keeps what it has.
    """

    name: str
    title: str
    folder: Path = RESULTS
    options: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    complete: bool = False
    machine: dict[str, Any] = field(default_factory=machine_facts)

    def note(self, text: str) -> None:
        self.notes.append(text)
        print(f"# {text}", flush=True)

    def add(self, **row: Any) -> None:
        """Append a row, print it and save."""
        self.rows.append(row)
        cells = (f"{name}={format_cell(name, value)}" for name, value in row.items())
        print(f"{self.name}: " + "  ".join(cells), flush=True)
        self.save()

    def finish(self) -> None:
        self.complete = True
        self.save()
        print("\n" + self.table())
        print(f"\nwritten: {self._path('json')} and {self._path('md').name}", flush=True)

    def table(self) -> str:
        """Rows as a markdown table, columns in the order they first appear."""
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        cells = [[format_cell(name, row.get(name)) for name in columns] for row in self.rows]
        return markdown_table(columns, cells, left=len(columns))

    def markdown(self) -> str:
        """Everything a reader needs, in the order in which it is needed."""
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        facts = self.machine
        versions = ", ".join(f"{name} {v}" for name, v in facts["packages"].items() if v)
        parts = [
            f"## {self.name}: {self.title}",
            "" if self.complete else "**Interrupted: not all rows are here.**",
            self.table(),
            "\n".join(f"- {text}" for text in self.notes),
            f"{facts['date']}; {facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']} GiB; "
            f"load before the start {facts['load_before']}; {'; '.join(facts['blas'])}; "
            f"Python {facts['python']}, {versions}. Options: {options or 'none'}.",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def save(self) -> None:
        """Replace both files whole."""
        content = {
            "name": self.name,
            "title": self.title,
            "complete": self.complete,
            "options": self.options,
            "machine": self.machine,
            "notes": self.notes,
            "rows": self.rows,
        }
        write_whole(self._path("json"), as_json(content) + "\n")
        write_whole(self._path("md"), self.markdown())

    def _path(self, kind: str) -> Path:
        quick = "-quick" if self.options.get("quick") else ""
        return self.folder / f"{self.name}{quick}.{kind}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are aligned to the left, the others to the right."""
    rule = ["---" if place < left else "--:" for place in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is never seen half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def format_cell(name: str, value: Any) -> str:
    """A value as a reader wants it: few digits, powers of ten for gaps."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        if any(word in name.split() for word in POWERS):
            return f"{value:.1e}"
        if name.endswith(FOUR_PLACES):
            return f"{value:.4f}"
        return f"{value:,.0f}" if abs(float(value)) >= 1000 else f"{value:.3g}"
    if isinstance(value, list | tuple):
        return ", ".join(format_cell(name, item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {format_cell(name, item)}" for key, item in value.items())
    return str(value).replace("|", "/")


def as_json(value: Any) -> str:
    """A JSON document; numbers that are not finite become null."""
    return json.dumps(_plain(value), indent=1, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Values that JSON knows: no NumPy types, no paths, NaN as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value
