"""House rule: files under 400 lines, functions under 60."""

import ast
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path for folder in ("src/sketchlasso", "reproduction") for path in (ROOT / folder).rglob("*.py")
)


def functions(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            docstring = first.end_lineno - first.lineno + 1 if documented else 0
            yield node, node.end_lineno - node.lineno + 1 - docstring


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_over_400_lines_and_no_function_over_60(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    for node, length in functions(path):
        assert length <= 60, f"{node.name} has {length} lines without its docstring"


def test_most_functions_are_short():
    lengths = [length for path in FILES for _, length in functions(path)]
    assert np.percentile(lengths, 90) <= 35
