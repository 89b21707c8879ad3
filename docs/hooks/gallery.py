"""Run the gallery's scripts and turn each into a page: words, code, what it printed, pictures.

A script is a sequence of cells. A line ``# %%`` begins a cell; the comment that follows it is
Markdown, the rest is code. Cells run one after the other in one namespace, with warnings as
errors; what a cell prints and the figures it leaves open follow it on the page. A script that
fails, warns, prints nothing or draws nothing ends the build, which is how `make test` runs the
gallery. The module knows MkDocs only where MkDocs calls it, so that tests run it without.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[1] / "gallery"


@dataclass(frozen=True)
class Cell:
    """Words before the code, the code, and the line of the script it begins at."""

    words: str
    code: str
    line: int


@dataclass(frozen=True)
class Ran:
    """A cell with what it printed and its pictures as PNG."""

    cell: Cell
    printed: str
    pictures: tuple[bytes, ...]


def cells(script: str) -> Iterator[Cell]:
    """Split a script; its docstring is the words of the first cell."""
    lines = script.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    opening = "\n".join(lines[: starts[0]] if starts else lines)
    yield Cell(opening.strip().strip('"').strip(), "", 1)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        first = start + 1
        while first < end and lines[first].startswith("#"):
            first += 1
        words = "\n".join(
            line.removeprefix("#").removeprefix(" ") for line in lines[start + 1 : first]
        )
        code = "\n".join(lines[first:end])
        skipped = len(code) - len(code.lstrip("\n"))
        yield Cell(words.strip(), code.strip("\n"), first + skipped + 1)


def run(path: Path) -> list[Ran]:
    """Run every cell of a script in an empty folder of its own."""
    import matplotlib

    matplotlib.use("Agg")
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    script, done = path.read_text(encoding="utf-8"), []
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        os.chdir(folder)
        try:
            for cell in cells(script):
                done.append(_run_cell(cell, path, namespace))
        finally:
            os.chdir(before)
    return done


def _run_cell(cell: Cell, path: Path, namespace: dict[str, Any]) -> Ran:
    import matplotlib.pyplot as plt

    printed = io.StringIO()
    # Blank lines in front make line numbers in a traceback those of the script.
    code = compile("\n" * (cell.line - 1) + cell.code, str(path), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    pictures = []
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, dpi=150, bbox_inches="tight", format="png")
        pictures.append(picture.getvalue())
    plt.close("all")
    return Ran(cell, printed.getvalue(), tuple(pictures))


def page(name: str, done: list[Ran]) -> tuple[str, dict[str, bytes]]:
    """The page of a script that ran, and its pictures by file name."""
    parts, pictures = [], {}
    for ran in done:
        if ran.cell.words:
            parts.append(ran.cell.words)
        if ran.cell.code:
            parts.append(f"```python\n{ran.cell.code}\n```")
        if ran.printed:
            parts.append(f'```text title="Output"\n{ran.printed.rstrip()}\n```')
        for picture in ran.pictures:
            file = f"{name}_{len(pictures) + 1}.png"
            pictures[file] = picture
            parts.append(f"![Picture made by the code above]({file})")
    if not pictures or not any(ran.printed for ran in done):
        raise ValueError(
            f"{name}.py printed nothing or left no figure open, but a page of the gallery shows "
            "both; print a result and draw one."
        )
    parts.append(f"[The whole script]({name}.py)")
    return "\n\n".join(parts) + "\n", pictures


@cache
def _built(path: Path, text: str) -> tuple[str, dict[str, bytes]]:
    """One run for each text of a script, however often MkDocs rebuilds."""
    return page(path.stem, run(path))


def on_files(files: Any, config: Any) -> Any:
    """Give MkDocs a page and pictures for every script."""
    from mkdocs.structure.files import File

    for path in sorted(SCRIPTS.glob("*.py")):
        words, pictures = _built(path, path.read_text(encoding="utf-8"))
        files.append(File.generated(config, f"gallery/{path.stem}.md", content=words))
        for name, content in pictures.items():
            files.append(File.generated(config, f"gallery/{name}", content=content))
    return files
