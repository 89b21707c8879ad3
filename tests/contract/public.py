"""The modules with public names."""

from __future__ import annotations

import importlib

import sketchlasso

# Modules whose names are public, beside the package itself.
SPACES = ("cluster", "engine", "errors", "graphs", "inference", "io", "topics")
# What users need of rooms that hold more than that.
ONLY = {
    "cluster": ["cluster"],
    "graphs": ["communities", "force_layout", "read_graph", "write_graph"],
}


def public_names() -> list[tuple[str, str]]:
    """Pairs of a module and a public name in it."""
    found = [("sketchlasso", name) for name in sketchlasso.__all__]
    for space in SPACES:
        module = f"sketchlasso.{space}"
        names = ONLY.get(space, importlib.import_module(module).__all__)
        found += [(module, name) for name in names]
    return found
