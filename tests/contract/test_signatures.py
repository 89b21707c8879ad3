"""House rule: parameters travel as typed values, not as estimators or in threes."""

import ast
from functools import cache

from tests.contract.public import public_names
from tests.contract.test_sizes import FILES, ROOT

TOGETHER = {"fit_intercept", "penalty_factor", "positive"}


@cache
def signatures() -> list[tuple[str, str, dict[str, str]]]:
    """Path, name and annotated parameters of every function."""
    found = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                types = {one.arg: ast.unparse(one.annotation or ast.Constant("")) for one in given}
                found.append((path.relative_to(ROOT).as_posix(), node.name, types))
    return found


def test_no_estimator_is_passed_without_a_type():
    bare = [
        (path, name)
        for path, name, types in signatures()
        if path.startswith("src/sketchlasso/estimators/") and types.get("estimator") == "Any"
    ]
    assert bare == []


def test_one_file_of_the_estimators_knows_dask_arrays():
    files = (ROOT / "src/sketchlasso/estimators").glob("*.py")
    knowing = [path.name for path in files if "is_dask_array(" in path.read_text(encoding="utf-8")]
    assert knowing == ["blocks.py"]


def test_only_public_functions_take_the_parts_of_terms():
    # Constructors of estimators are public too.
    public = {name for _, name in public_names()} | {"__init__"}
    inside = {
        (path, name)
        for path, name, types in signatures()
        if types.keys() >= TOGETHER and name not in public
    }
    assert inside == set()
