"""The reference has every public name once, and nothing else."""

import importlib
import re
from collections import Counter
from pathlib import Path

import sketchlasso
from tests.contract.public import SPACES, public_names

API = Path(__file__).parents[2] / "docs" / "api"


def test_every_public_name_stands_once_in_the_reference():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in API.glob("*.md"))
    paths = re.findall(r"^::: (sketchlasso[\w.]*)\.(\w+)$", pages, re.MULTILINE)
    public = {
        name: getattr(importlib.import_module(module), name) for module, name in public_names()
    }
    for module, name in paths:
        # Some functions share their name with the module they are in and are shown from there.
        assert getattr(importlib.import_module(module), name) is public[name]
    shown = Counter(name for _, name in paths)
    assert set(shown) == set(public) - {"__version__", *SPACES} | {"cluster"}
    assert max(shown.values()) == 1
    assert "sketchlasso.__version__" in pages
    assert all(f"`sketchlasso.{space}`" in pages for space in SPACES)
    assert sketchlasso.__version__
