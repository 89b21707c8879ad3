"""House rule: an instance is solved by its certificate, and one function says so."""

import ast

from tests.contract.test_sizes import FILES, ROOT

HOME = "src/sketchlasso/solvers/solution.py"


def solved_without_comparing(tree):
    """Lines that use Status.SOLVED for anything but a comparison."""
    compared = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.Compare)
        for part in ast.walk(node)
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "SOLVED" and id(node) not in compared:
            owner = node.value
            if isinstance(owner, ast.Name) and owner.id == "Status":
                yield node.lineno


def test_only_one_function_calls_an_instance_solved():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in FILES
        if str(path.relative_to(ROOT)) != HOME
        for line in solved_without_comparing(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "call status_of or a Ledger instead"
