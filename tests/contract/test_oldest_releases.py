"""What the oldest supported releases lack is not used; `make oldest` runs the tests with them."""

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "sketchlasso"


def values(tree):
    """What is evaluated when a module is imported or a function runs; annotations are not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            yield from ast.walk(node.value)


@pytest.mark.parametrize(
    "path", sorted(SOURCES.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCES))
)
def test_sparse_arrays_get_no_parameters(path):
    """SciPy 1.13 has none: a type alias of them stands in quotes."""
    text = path.read_text(encoding="utf-8")
    found = [
        node.lineno
        for node in values(ast.parse(text))
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr in ("csr_array", "csc_array", "coo_array")
    ]
    assert found == []
    assert "sparse.csr_array[" not in text or "from __future__ import annotations" in text
