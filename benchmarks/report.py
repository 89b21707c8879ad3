"""A table of figures, printed as it grows and kept as JSON and markdown, with its machine."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

RESULTS = Path(__file__).parent / "results"
# Columns whose small numbers are read as powers of ten.
POWERS = ("gap", "difference", "effect", "rise")
FOUR_PLACES = ("F1", "error")
PACKAGES = ["sketchlasso", "numpy", "scipy", "scikit-learn", "numba", "celer", "skglm", "clarabel"]


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
    machine: dict[str, Any] = field(default_factory=lambda: machine_facts())

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
        print(f"\n{self.table()}\n\nwritten: {self.path('json')}", flush=True)

    def table(self) -> str:
        """Rows as a markdown table, columns in the order they first appear."""
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        body = [[format_cell(name, row.get(name)) for name in columns] for row in self.rows]
        lines = [columns, ["---"] * len(columns), *body]
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)

    def markdown(self) -> str:
        """Everything a reader needs, in the order in which it is needed."""
        parts = [
            f"## {self.name}: {self.title}",
            "" if self.complete else "**Interrupted: not all rows are here.**",
            self.table(),
            "\n".join(f"- {text}" for text in self.notes),
            f"{format_cell('', self.machine)}. Options: {format_cell('', self.options) or 'none'}.",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def save(self) -> None:
        """Replace both files whole."""
        write_whole(self.path("json"), as_json({**asdict(self), "folder": None}) + "\n")
        write_whole(self.path("md"), self.markdown())

    def path(self, kind: str) -> Path:
        quick = "-quick" if self.options.get("quick") else ""
        return self.folder / f"{self.name}{quick}.{kind}"


def machine_facts() -> dict[str, Any]:
    """Date, CPU, memory, BLAS, versions, and how busy the machine was before the start."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    command = ["git", "-C", str(RESULTS.parent), "rev-parse", "--short", "HEAD"]
    revision = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    known = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if known else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": models[0] if models else platform.processor() or "unknown",
        "cores": cores,
        "memory_gib": round(memory / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "blas": [
            f"{library['internal_api']} {library.get('version')}, {library['num_threads']} threads"
            for library in threadpool_info()
            if library["user_api"] == "blas"
        ],
        "load_before": round(os.getloadavg()[0], 2),
        "revision": revision or None,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def peak_gib() -> float:
    """Largest resident size of this process so far; Linux only, elsewhere NaN."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return peaks[0] / 2**20 if peaks else math.nan


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
