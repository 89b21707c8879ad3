"""The docstrings of installed packages, found in their source without running it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["compiled_docstrings", "package_docstrings", "standard_library_docstrings"]

# Folders and files that hold other people's code, tests, or tables.
NO_PROSE = """
__pycache__ _examples _vendor conftest.py dist-packages distutils encodings ensurepip extern
externals f2py idlelib lib-dynload lib2to3 mpl-data pydoc_data setup.py site-packages src test
testing tests this tkinter turtle turtledemo vendored
"""
SKIPPED = frozenset(NO_PROSE.split())

Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def package_docstrings(package: str) -> Iterator[tuple[str, str]]:
    """Yield names and docstrings of a package's public modules, functions, classes and methods.

    The package is found and its files are parsed; nothing of it is run.

    Parameters
    ----------
    package : str
        A package; nothing is yielded where it is not installed.

    Yields
    ------
    str, str
        Such as ``scipy.linalg.solve`` for a function in ``scipy/linalg/_basic.py``: modules with
        a private name are left out of the names.
    """
    try:
        found = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        found = None
    if found is not None and found.origin is not None:
        yield from _folder(Path(found.origin).parent, package)


def standard_library_docstrings() -> Iterator[tuple[str, str]]:
    """Yield names and docstrings of Python's own modules, as :func:`package_docstrings` does."""
    home = Path(os.__file__).parent
    for name in sorted(sys.stdlib_module_names - SKIPPED):
        if name.startswith("_"):
            continue
        if (home / f"{name}.py").is_file():
            yield from _file(home / f"{name}.py", name)
        elif (home / name / "__init__.py").is_file():
            yield from _folder(home / name, name)


def compiled_docstrings(modules: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield names and docstrings from modules whose functions have no source to be read.

    Parameters
    ----------
    modules : sequence of str
        They are imported.

    Yields
    ------
    str, str
    """
    for name in modules:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that are on their way out
            module = importlib.import_module(name)
            things = {public: getattr(module, public, None) for public in sorted(dir(module))}
        for public, thing in things.items():
            text = getattr(thing, "__doc__", None)
            if not public.startswith("_") and callable(thing) and isinstance(text, str):
                yield f"{name}.{public}", inspect.cleandoc(text)


def _folder(root: Path, package: str) -> Iterator[tuple[str, str]]:
    for place, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        parts = [package, *Path(place).relative_to(root).parts]
        for file in sorted(set(files) - SKIPPED):
            if file.endswith(".py") and not file.startswith("test_"):
                module = [*parts, file.removesuffix(".py")]
                public = [part for part in module if not part.startswith("_")]
                yield from _file(Path(place) / file, ".".join(public))


def _file(path: Path, module: str) -> Iterator[tuple[str, str]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other people's escape sequences
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    if text := ast.get_docstring(tree):
        yield module, text
    yield from _members(tree.body, module)


def _members(body: Sequence[ast.stmt], inside: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if not isinstance(node, Documented) or node.name.startswith("_"):
            continue
        name = f"{inside}.{node.name}"
        if text := ast.get_docstring(node):
            yield name, text
        if isinstance(node, ast.ClassDef):
            yield from _members(node.body, name)
