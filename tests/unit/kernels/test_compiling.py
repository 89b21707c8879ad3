"""First calls of kernels: their cost, their note, and where compiled code is kept."""

import ast
import gc
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.base import BaseContext
from numba.core.codegen import JITCodeLibrary
from numba.core.errors import TypingError
from numba.core.types.functions import BaseFunction
from numba.np import arrayobj

import sketchlasso
from sketchlasso.kernels import pipeline
from sketchlasso.kernels.compiling import MESSAGE, NOT_KEPT, kernel

PACKAGE = Path(sketchlasso.__file__).parent
MODULES = sorted((PACKAGE / "kernels").glob("*.py"))
CALL = """
import numpy as np
from numba.core import event
from sketchlasso.kernels.shrink import smallest_penalty
seen, factor, buffer = np.array([-2.0, 1.0]), np.ones(2), np.empty((2, 2))
assert smallest_penalty(seen, factor, False, 0.0, buffer) == 2.0
with event.install_recorder("numba:compile") as compiled:
    assert smallest_penalty(seen, factor, True, 0.0, buffer) == 1.0
assert not compiled.buffer
"""
PLAIN_NUMBA = """
import numba
numba.version_info = (0, 60, 0)
import numpy as np
from sketchlasso import SqrtLasso
from sketchlasso.kernels import pipeline
from sketchlasso.kernels.compiling import CALLEE, KERNEL
assert CALLEE == KERNEL == {}
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 20)), rng.normal(size=60)
print(SqrtLasso(alpha=1.0).fit(X, y).coef_.tolist())
"""


def called(stderr, *program, **variables):
    """Call a kernel in a fresh interpreter."""
    command = [sys.executable, *(program or ("-c", CALL))]
    return subprocess.run(command, env={**os.environ, **variables}, stderr=stderr, check=False)


def lines_on_a_terminal(*program, **variables):
    """What a first call shows on a terminal."""
    ours, theirs = pty.openpty()
    done = called(theirs, *program, **variables)
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


def test_the_command_shows_it_too_and_only_while_it_compiles(tmp_path):
    command = tmp_path / "sketchlasso"
    command.write_text(
        f"import sketchlasso.startup\nassert sketchlasso.startup.is_command()\n{CALL}"
    )
    cache = tmp_path / "cache"
    assert lines_on_a_terminal(command, NUMBA_CACHE_DIR=str(cache)) == [MESSAGE]
    assert lines_on_a_terminal(command, NUMBA_CACHE_DIR=str(cache)) == []


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


def test_a_kernel_on_disk_loads_without_all_of_numba(tmp_path):
    program = CALL + "import sys; print('numba.np.npyimpl' in sys.modules)"
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert said == ["True", "False"]


def test_only_kernels_are_optimised_and_become_machine_code(monkeypatch):
    made = []

    def record(step, kind):
        original = getattr(kind, step)

        def recorded(library, *args):
            made.append((step, library.name))
            return original(library, *args)

        monkeypatch.setattr(kind, step, recorded)

    record("_optimize_final_module", pipeline._Kernel)
    record("_finalize_specific", JITCodeLibrary)
    changed = (BaseFunction, "get_call_type"), (BaseContext, "get_abi_sizeof")
    changed += ((arrayobj, "make_array"),)
    before = [getattr(owner, name) for owner, name in changed]

    @kernel(fast=True, inner=True)
    def squares(x):
        total = 0.0
        for i in range(x.shape[0]):
            total += x[i] * x[i]
        return total

    @kernel(part=True)
    def halved(x):
        return 0.5 * squares(x)

    @kernel()
    def both(x):
        return halved(x) + squares(x)

    assert both(np.arange(4.0)) == 21.0
    names = [(step, name.rsplit(".")[-1]) for step, name in made if name != "nrt"]
    assert sorted(names) == [("_finalize_specific", "both"), ("_optimize_final_module", "both")]
    assert [getattr(owner, name) for owner, name in changed] == before


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_afterwards_what_it_was(enabled):
    @kernel()
    def fails(x):
        return x.no_such_attribute

    @kernel()
    def twice(x):
        return 2.0 * x

    (gc.enable if enabled else gc.disable)()
    try:
        assert twice(1.5) == 3.0
        with pytest.raises(TypingError):
            fails(1.5)
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


@pytest.mark.parametrize("allocates", [False, True])
def test_arrays_are_read_written_and_sliced_as_in_python(allocates):
    @kernel(allocates=allocates)
    def turned(x, pair, flags):
        total, (first, second) = 0.0, pair
        for i in range(x.shape[0]):
            row = x[i, 1:]
            for j in range(len(row)):
                total += row[j]
                row[j] *= first
            if flags[i] and x.T[0, i] > 0.0:
                x[i, -1] = second[i]
        return total, x.size

    def fresh():
        second = np.arange(8.0)[::2]
        return np.arange(12.0).reshape(4, 3), (2.0, second), np.array([True, False] * 2)

    ours, theirs = fresh(), fresh()
    assert turned(*ours) == turned.py_func(*theirs)
    np.testing.assert_array_equal(ours[0], theirs[0])


def test_an_operation_means_the_same_with_other_options():
    """Signatures are kept between kernels, but nothing that depends on their options."""

    @kernel()
    def strict(x):
        return (x[0] + x[1]) + np.sign(x[2])

    @kernel(fast=True)
    def fast(x):
        return (x[0] + x[1]) + np.sign(x[2])

    x = np.array([1.0, 2.0, -3.0])
    assert strict(x) == fast(x) == strict.py_func(x) == 2.0


def test_fits_do_without_our_compilers(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 20)), rng.normal(size=60)
    done = subprocess.run(
        [sys.executable, "-c", PLAIN_NUMBA],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    coef = sketchlasso.SqrtLasso(alpha=1.0).fit(X, y).coef_
    np.testing.assert_allclose(ast.literal_eval(done.stdout), coef, rtol=1e-9)


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
