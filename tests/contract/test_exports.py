"""Public names: sorted, importable, documented, with parameters as documented."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from numpydoc.docscrape import FunctionDoc

import sketchlasso

ROOMS = [
    name
    for _, name, is_package in pkgutil.walk_packages(sketchlasso.__path__, "sketchlasso.")
    if is_package and "kernels" not in name
]


@pytest.mark.parametrize("name", ["sketchlasso", *ROOMS])
def test_all_is_sorted_and_importable(name):
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [])
    assert list(names) == sorted(names)
    for public in names:
        assert hasattr(module, public)


@pytest.mark.parametrize("public", sketchlasso.__all__)
def test_public_names_are_documented(public):
    thing = getattr(sketchlasso, public)
    if public == "__version__" or not callable(thing):
        return
    assert inspect.getdoc(thing)
    if inspect.isfunction(thing):
        documented = [p.name for p in FunctionDoc(thing)["Parameters"]]
        flat = [name.strip() for entry in documented for name in entry.split(",")]
        assert set(flat) == set(inspect.signature(thing).parameters)


def test_public_names_are_those_that_type_checkers_see():
    tree = ast.parse(Path(sketchlasso.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sketchlasso.")
        for alias in node.names
    }
    assert {*seen, "__version__"} == set(sketchlasso.__all__)
    for name, room in seen.items():
        assert getattr(sketchlasso, name) is getattr(importlib.import_module(room), name)


def test_functions_keep_their_names_when_the_rooms_of_that_name_are_imported():
    program = """
        import sketchlasso.sketch.api, sketchlasso.solve.driver, sketchlasso.cluster.context
        import sketchlasso
        from sketchlasso import cluster, sketch, solve
        assert all(map(callable, (cluster, sketch, solve)))
        assert sketchlasso.sketch is sketch
    """
    subprocess.run([sys.executable, "-c", inspect.cleandoc(program)], check=True)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'lasso'"):
        _ = sketchlasso.lasso
    assert set(sketchlasso.__all__) <= set(dir(sketchlasso))
