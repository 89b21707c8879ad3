"""Import time of sketchlasso against that of sklearn.linear_model.

Each import runs in a fresh interpreter, the two in turn, one thread for every library; medians of
wall and of processor seconds. The goal is less than 1.5 times.

    python -m benchmarks import_time --repeats 11
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

from benchmarks.machine import THREAD_VARIABLES

IMPORTS = {
    "sklearn.linear_model": "import sklearn.linear_model",
    "sketchlasso": "import sketchlasso",
    "sketchlasso, one class": "from sketchlasso import SqrtLassoCV",
}
LIMIT = 1.5
PROGRAM = """
import time
wall, processor = time.perf_counter(), time.process_time()
{statement}
print(time.perf_counter() - wall, time.process_time() - processor)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def seconds(statement: str) -> tuple[float, float]:
    """Wall and processor seconds of a statement in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(statement=statement)],
        env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
        capture_output=True,
        text=True,
        check=True,
    )
    wall, processor = done.stdout.split()
    return float(wall), float(processor)


def run(options: argparse.Namespace) -> None:
    report = options.report
    for statement in IMPORTS.values():  # compiled files and the disk's cache
        seconds(statement)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in IMPORTS}
    for _ in range(options.repeats):
        for name, statement in IMPORTS.items():
            taken[name].append(seconds(statement))
    middle = {
        name: [statistics.median(column) for column in zip(*runs, strict=True)]
        for name, runs in taken.items()
    }
    base = middle["sklearn.linear_model"]
    for name, (wall, processor) in middle.items():
        report.add(
            **{
                "import": name,
                "wall seconds": wall,
                "processor seconds": processor,
                "wall ratio": wall / base[0],
                "processor ratio": processor / base[1],
            }
        )
    report.note(f"medians of {options.repeats} fresh interpreters, in turn; goal: below {LIMIT}")
