"""The reference has every public name once, and nothing else."""

import importlib
import re
from collections import Counter
from pathlib import Path

import sketchlasso

API = Path(__file__).parents[2] / "docs" / "api"


def test_every_public_name_stands_once_in_the_reference():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in API.glob("*.md"))
    paths = re.findall(r"^::: (sketchlasso[\w.]*)\.(\w+)$", pages, re.MULTILINE)
    for module, name in paths:
        # Some functions share their name with the module they are in and are shown from there.
        public = getattr(sketchlasso, name)  # first: it loads what is imported when asked for
        assert getattr(importlib.import_module(module), name) is public
    shown = Counter(name for _, name in paths)
    assert set(shown) == set(sketchlasso.__all__) - {"__version__"}
    assert max(shown.values()) == 1
    assert "sketchlasso.__version__" in pages
