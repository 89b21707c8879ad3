"""Cells on disk: one small JSON file each, whole or not there at all."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from benchmarks.accuracy.protocol import CellName
from benchmarks.accuracy.splits import Grid
from benchmarks.report import write_whole

OVER = "over the limit"


class Store:
    """The folder of finished cells."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: CellName) -> Path:
        column = name.column.replace("*", "x")
        return self.folder / f"{name.task}.{column}.{name.split}.json"

    def write(self, cell: dict[str, Any]) -> None:
        name = CellName(cell["task"], cell["split"], cell["column"])
        write_whole(self.path(name), json.dumps(cell) + "\n")

    def read(self, name: CellName) -> dict[str, Any] | None:
        """A cell, or None where there is none."""
        path = self.path(name)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def read_all(self) -> list[dict[str, Any]]:
        """Every cell, in the order of file names."""
        paths = sorted(self.folder.glob("*.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    def is_done(self, name: CellName, terms: Terms) -> bool:
        """Scored on this grid, or stopped at a limit no shorter; a failure is tried again."""
        cell = self.read(name)
        if cell is None or not terms.same_grid(cell):
            return False
        return not cell["failure"] or terms.stopped(cell)


@dataclass(frozen=True)
class Terms:
    """What every cell of a run has in common: grid of penalties, seconds at most, size."""

    grid: Grid
    limit: float
    quick: bool = False

    def signed(self, cell: dict[str, Any]) -> dict[str, Any]:
        """A cell with the terms under which it was computed."""
        return {**cell, "grid": list(astuple(self.grid)), "limit": self.limit}

    def same_grid(self, cell: dict[str, Any]) -> bool:
        return bool(cell["grid"] == list(astuple(self.grid)))

    def stopped(self, cell: dict[str, Any]) -> bool:
        """Whether a cell ran over a limit at least as long on the same grid."""
        late = cell["failure"].startswith(OVER) and cell["limit"] >= self.limit
        return bool(late and self.same_grid(cell))
