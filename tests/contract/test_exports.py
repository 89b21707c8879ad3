"""Public names: importable, documented, with parameters as documented (ruff sorts them)."""

import ast
import importlib
import inspect
import pkgutil
from collections import Counter
from pathlib import Path

import pytest
from numpydoc.docscrape import FunctionDoc
from tests.contract.public import public_names

import sketchlasso

ROOMS = [
    name
    for _, name, is_package in pkgutil.walk_packages(sketchlasso.__path__, "sketchlasso.")
    if is_package and "kernels" not in name
]


@pytest.mark.parametrize("name", ["sketchlasso", *ROOMS])
def test_all_is_importable(name):
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [])
    assert len(names) == len(set(names))
    for public in names:
        assert hasattr(module, public)


@pytest.mark.parametrize(("module", "public"), public_names())
def test_public_names_are_documented(module, public):
    thing = getattr(importlib.import_module(module), public)
    if public == "__version__" or not callable(thing):
        return
    assert inspect.getdoc(thing)
    if inspect.isfunction(thing):
        documented = [p.name for p in FunctionDoc(thing)["Parameters"]]
        flat = [name.strip() for entry in documented for name in entry.split(",")]
        assert set(flat) == set(inspect.signature(thing).parameters)


def test_a_name_is_public_in_one_place():
    twice = [
        name for name, count in Counter(name for _, name in public_names()).items() if count > 1
    ]
    assert twice == ["cluster"]  # the module, and the function in it


def test_names_at_the_top_are_those_that_type_checkers_see():
    tree = ast.parse(Path(sketchlasso.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sketchlasso")
        for alias in node.names
    }
    assert {*seen, "__version__"} == set(sketchlasso.__all__)
    for name, room in seen.items():
        assert getattr(sketchlasso, name) is getattr(importlib.import_module(room), name)


def test_no_function_hides_a_room():
    rooms = {name.rpartition(".")[2] for name in ROOMS if name.count(".") == 1}
    for room in rooms & set(sketchlasso.__all__):
        assert inspect.ismodule(getattr(sketchlasso, room))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'lasso'"):
        _ = sketchlasso.lasso
    assert set(sketchlasso.__all__) <= set(dir(sketchlasso))
