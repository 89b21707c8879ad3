"""Public names: sorted, importable, documented, with parameters as documented."""

import importlib
import inspect
import pkgutil

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
