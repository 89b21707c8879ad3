"""Code is written once for X in memory and in blocks; the few places that ask are listed here."""

import ast
from pathlib import Path

import sketchlasso

ROOT = Path(sketchlasso.__file__).parent
ROOMS = ("instances", "inference", "problem", "results", "sketches", "solvers", "topics")
# Files that ask whether X is in blocks, and why.
ASKING = {
    "inference/desparsify.py": "SqrtLasso, which knows more penalties, needs X in memory",
    "inference/stability.py": "refuses blocks",
    "results/dual_search.py": "every group of columns is a pass over the blocks",
    "results/staged.py": "stages would be passes over the blocks",
}


def asks(node):
    """Whether a node of the syntax tree asks how X is stored."""
    if isinstance(node, ast.Attribute):
        return node.attr == "fused"
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return False
    names = {name.id for arg in node.args[1:] for name in ast.walk(arg) if hasattr(name, "id")}
    return node.func.id == "is_dask_array" or (
        node.func.id == "isinstance" and "BlockMatrix" in names
    )


def test_few_files_ask_whether_x_is_in_blocks():
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    found = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if any(map(asks, ast.walk(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert found == set(ASKING)
