"""A process that computes cells, so that one over its limit can be stopped and the next begun."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.accuracy.columns import contender_of
from benchmarks.accuracy.fitted import NotAvailableError
from benchmarks.accuracy.protocol import CellName, run_cell
from benchmarks.accuracy.splits import Grid, Part, Training, parts_of
from benchmarks.accuracy.store import OVER
from benchmarks.accuracy.tasks import Task, load_task
from benchmarks.catalogue import MissingDataError
from benchmarks.harness import Child
from sketchlasso.errors import SketchlassoError

LOAD_LIMIT = 600.0
# What --quick keeps.
QUICK_ROWS, QUICK_LABELS = 1500, 3
# Failures that a contender or the data explain: they need no traceback.
EXPECTED = (MissingDataError, NotAvailableError, SketchlassoError)


@dataclass(frozen=True)
class Request:
    """A cell to compute, small or whole."""

    name: CellName
    grid: Grid
    quick: bool


class Worker:
    """A child process that is started when needed and killed when late."""

    def __init__(self) -> None:
        self._child: Child | None = None

    def compute(
        self, request: Request, limit: float, tick: Callable[[float], None]
    ) -> dict[str, Any]:
        """The cell, or one with the reason why there is none; `tick` gets the seconds so far."""
        self._child = self._child or Child(serve)
        self._child.pipe.send(request)
        kind, content = self._receive(LOAD_LIMIT, tick)
        if kind == "ready":
            kind, content = self._receive(limit, tick)
        if kind != "cell":
            self._forget_unless(kind == "failed")
            return failed(request.name, content)
        cell = content
        kind, content = self._receive(limit, tick)
        if kind == "cell":
            cell = content
            kind, content = self._receive(limit, tick)
        if kind != "end":
            self._forget_unless(kind == "failed")
            cell["note"] = "; ".join(filter(None, [cell["note"], f"curve: {content}"]))
        return cell

    def close(self) -> None:
        """End the process, if there is one."""
        if self._child is not None:
            self._child.close()
        self._child = None

    def _forget_unless(self, alive: bool) -> None:
        if not alive:
            self.close()

    def _receive(self, limit: float, tick: Callable[[float], None]) -> tuple[str, Any]:
        assert self._child is not None
        try:
            return self._child.receive(limit, tick)
        except EOFError:
            return "died", "the process died, perhaps of memory"
        except TimeoutError:
            return "late", f"{OVER} of {limit:g} s"


def failed(name: CellName, why: str) -> dict[str, Any]:
    """A cell without a score."""
    return {"task": name.task, "split": name.split, "column": name.column, "failure": why}


def serve(pipe: Connection) -> None:
    """Answer requests until the other end closes; data stay loaded between columns."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends this process
    warm_up()
    loaded: tuple[tuple[Any, ...], Task, list[Part]] | None = None
    while True:
        try:
            request: Request = pipe.recv()
        except EOFError:
            return
        try:
            key = (request.name.task, request.name.split, request.grid, request.quick)
            if loaded is None or loaded[0] != key:
                loaded = None  # before the next one is read: two may not fit into memory
                loaded = (key, *load(*key))
            pipe.send(("ready", None))
            for cell in run_cell(loaded[1], request.name, loaded[2]):
                pipe.send(("cell", cell))
            pipe.send(("end", None))
        except EXPECTED as error:
            pipe.send(("failed", str(error)))
        except Exception as error:  # a peer may fail in any way: the table says how
            traceback.print_exc()
            pipe.send(("failed", f"{type(error).__name__}: {error}"[:200]))


def load(name: str, split: int, grid: Grid, quick: bool) -> tuple[Task, list[Part]]:
    """A task and the parts of one of its splits."""
    task = load_task(name)
    if quick:
        task = task.sample(QUICK_ROWS, QUICK_LABELS)
    return task, list(parts_of(task, split, grid))


def warm_up() -> None:
    """Compile or load the kernels on a few random rows, so that no cell pays for it."""
    rng = np.random.default_rng(0)
    X, rows = rng.standard_normal((40, 30)), np.arange(40)
    Y = np.sign(X[:, :1] + 0.1 * rng.standard_normal((40, 1)))
    folds = [(rows[rows % 2 == 0], rows[rows % 2 == 1]), (rows[rows % 2 == 1], rows[::2])]
    for column in ("full", "paper-10", "ours-10"):
        with suppress(Exception):  # what cannot run will say so in its own cell
            contender_of(column)(Training(X, Y, folds, "f1", 0, Grid(3)))
