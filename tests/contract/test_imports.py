"""Importing the package brings in what it needs and nothing that is optional."""

import json
import subprocess
import sys

import pytest

OPTIONAL = (
    "IPython",
    "clarabel",
    "cvxpy",
    "dask",
    "distributed",
    "fastapi",
    "matplotlib",
    "networkx",
    "pandas",
    "polars",
    "pooch",
    "pyarrow",
    "pydantic",
    "rich",
    "starlette",
    "typer",
    "uvicorn",
)
REQUIRED = {"numpy", "scipy", "sklearn", "numba", "llvmlite", "joblib", "threadpoolctl"}


def loaded(statement):
    """Names of the modules that a fresh interpreter holds after a statement."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def ours():
    return loaded("import sketchlasso")


def test_nothing_optional_is_imported(ours):
    # scikit-learn itself looks at some of them where they are installed.
    theirs = loaded("import sklearn.linear_model")
    assert not (ours - theirs) & set(OPTIONAL)


def test_only_what_a_plain_install_brings_is_imported(ours):
    # Python's own modules, some of which are compiled helpers without a name in the list.
    theirs = loaded("import sklearn.linear_model, numba")
    assert not {name for name in ours - theirs if name not in sys.stdlib_module_names} - (
        REQUIRED | {"sketchlasso"}
    )
