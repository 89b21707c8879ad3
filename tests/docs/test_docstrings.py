"""Every example in a docstring prints what it shows."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import sketchlasso

ROOT = Path(sketchlasso.__file__).parent


# Files of the package that hold examples.
FILES = [path for path in sorted(ROOT.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


def module_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", [module_of(path) for path in FILES])
def test_examples_print_what_they_show(name):
    found = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0
