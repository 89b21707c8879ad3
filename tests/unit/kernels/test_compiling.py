"""What a first call costs, what it says, and where its result is kept."""

import ast
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sketchlasso
from sketchlasso.kernels.compiling import MESSAGE, NOT_KEPT

PACKAGE = Path(sketchlasso.__file__).parent
MODULES = sorted((PACKAGE / "kernels").glob("*.py"))
CALL = """
from numba.core import event
from sketchlasso.kernels.prox import group_shrinkage
assert group_shrinkage(2.0, 0.5, 1.0, False) == 0.75
with event.install_recorder("numba:compile") as compiled:
    assert group_shrinkage(4.0, 0.5, 1.0, True) == 1 / 1.5
assert not compiled.buffer
"""


def called(stderr, **variables):
    """Call a kernel in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", CALL], env={**os.environ, **variables}, stderr=stderr, check=False
    )


def lines_on_a_terminal(**variables):
    """What a first call shows on a terminal."""
    ours, theirs = pty.openpty()
    done = called(theirs, **variables)
    os.write(theirs, b"end\n")
    said = b""
    while not said.endswith(b"end\r\n"):
        said += os.read(ours, 10_000)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0, said
    return said.decode().splitlines()[:-1]


def test_a_terminal_shows_once_why_it_waits(tmp_path):
    assert lines_on_a_terminal(NUMBA_CACHE_DIR=str(tmp_path)) == [MESSAGE]
    assert lines_on_a_terminal(NUMBA_CACHE_DIR=str(tmp_path)) == [], "now the kernel is there"


def test_a_pipe_shows_nothing(tmp_path):
    done = called(subprocess.PIPE, NUMBA_CACHE_DIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, b"")


def test_nothing_can_be_written_and_kernels_still_run(tmp_path):
    """An installation and a home that are read-only, for the superuser as well."""
    copy = tmp_path / "sketchlasso"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "kernels" / "__pycache__").touch()  # no folder can be made here
    variables = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    variables |= {"XDG_CACHE_HOME": "/dev/null", "HOME": "/dev/null", "NUMBA_CACHE_DIR": ""}
    assert lines_on_a_terminal(**variables) == [NOT_KEPT]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_kernels_avoid_what_takes_seconds_to_compile(path):
    slow = {"partition", "searchsorted", "sort", "argsort", "unique", "concatenate"}
    found = []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Pow):
            found += ["a power: write a product"]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            found += [f"line {node.lineno}: {node.func.attr}"] * (node.func.attr in slow)
        if isinstance(node, ast.Assign | ast.AugAssign) and not isinstance(
            node.value, ast.Constant
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                sliced = isinstance(target, ast.Subscript) and any(
                    isinstance(part, ast.Slice) for part in ast.walk(target.slice)
                )
                found += [f"line {node.lineno}: an array is assigned to a slice"] * sliced
    assert found == []
