"""Size of the package: files, lines, names, duplicates, and the files that one call runs.

Walks count the files of the package whose functions run during a second, warm call, and the
dataclasses made by it, without estimators. Duplicates are pairs of functions that are equal once
names and constants are erased.

    python -m benchmarks house
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import io
import sys
import tempfile
import threading
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import sketchlasso as sl
from benchmarks.report import Report
from sketchlasso.io import Table, write_table
from sketchlasso.topics import Corpus, TopicImager

PACKAGE = Path(sl.__file__).parent
# Shorter functions are alike by chance.
FEWEST_NODES = 60


def add_options(parser: argparse.ArgumentParser) -> None:
    """None of its own."""


def run(options: argparse.Namespace) -> None:
    report: Report = options.report
    for what, value in sizes().items():
        report.add(what=what, value=value)
    for name, call in calls().items():
        files, records = walked(call)
        report.add(what=f"files on the walk of {name}", value=len(files))
        report.add(what=f"records on the walk of {name}", value=len(records))


def sizes() -> dict[str, int]:
    """Counts that the sources alone decide."""
    paths = sorted(PACKAGE.rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    trees = [ast.parse(text) for text in texts]
    functions = [node for tree in trees for node in ast.walk(tree) if is_function(node)]
    shapes = Counter(shape for node in functions if (shape := shape_of(node)) is not None)
    return {
        "files": len(paths),
        "lines": sum(len(text.splitlines()) for text in texts),
        "public names": len(sl.__all__),
        "functions": len(functions),
        "bare Any parameters": sum(bare_any(node) for node in functions),
        "duplicate pairs": sum(n * (n - 1) // 2 for n in shapes.values()),
        "packed size, kB": packed_bytes() // 1000,
    }


def is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def bare_any(node: Any) -> int:
    given = node.args
    known = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    named = [one.annotation for one in known if one is not None]
    return sum(isinstance(one, ast.Name) and one.id == "Any" for one in named)


def shape_of(node: Any) -> str | None:
    """The body without its docstring, names and constants; None where it is short."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    nodes = [part for statement in body for part in ast.walk(statement)]
    if len(nodes) < FEWEST_NODES:
        return None
    return " ".join(type(part).__name__ for part in nodes)


def packed_bytes() -> int:
    """Size of the package's files, compressed as in a wheel."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(PACKAGE))
    return packed.tell()


def calls() -> dict[str, Callable[[], Any]]:
    """Calls that a reader may want to follow."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    y = X[:, 0] - X[:, 1] + 0.1 * rng.standard_normal(80)
    batch = sl.build_problems(sl.sketch(X, rank=5, random_state=0), y, alphas=5, radii=0.0).batch
    counts = rng.poisson(1.0, (60, 20)).astype(float)
    words = tuple(f"word{j}" for j in range(20))
    imager = TopicImager(rank=5).fit(Corpus(counts, words, tuple(map(str, range(60)))))
    return {
        "SqrtLassoCV.fit": lambda: sl.SqrtLassoCV(cv=3).fit(X, y),
        "TopicImager.image": lambda: imager.image(words[0], 3),
        "solve(batch)": lambda: sl.solve(batch),
        "sketchlasso cv": lambda: command(X, y),
    }


def command(X: np.ndarray, y: np.ndarray) -> None:
    from typer.testing import CliRunner

    from sketchlasso.interfaces.app import app

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_table(path, Table(X, y, tuple(f"x{j}" for j in range(X.shape[1])), "y"))
        done = CliRunner().invoke(app, ["cv", str(path), "--target", "y", "--folds", "3"])
    assert done.exit_code == 0, done.output


def walked(call: Callable[[], Any]) -> tuple[set[str], set[str]]:
    """Files of the package that a call runs, and names of the dataclasses that it makes."""
    files: set[str] = set()
    records: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name == "<module>":
            return
        if code.co_filename.startswith(str(PACKAGE)):
            files.add(code.co_filename)
        kind = type(frame.f_locals.get("self")) if code.co_name == "__init__" else int
        is_record = dataclasses.is_dataclass(kind) and not issubclass(kind, BaseEstimator)
        if is_record and kind.__module__.startswith("sketchlasso"):
            records.add(kind.__qualname__)

    call()  # imports and compiles
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return files, records
