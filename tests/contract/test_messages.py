"""Messages name parameters as parts, so that every interface spells them in its own names."""

import ast
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import sketchlasso
from sketchlasso.errors import (
    Argument,
    ClusterLostError,
    GridEdgeWarning,
    InvalidInputError,
    MissingExtraError,
    Name,
    StoredFileError,
    UnknownWordError,
    UnusableColumnsError,
    unaccepted,
)

wording = pytest.importorskip("sketchlasso.interfaces.commands.command")

PACKAGE = Path(sketchlasso.__file__).parent
# Text of XML and HTML, and calls that a message proposes to who works in Python.
NO_MESSAGES = ("graphs/files.py", "interfaces/exports", "interfaces/web")
CALLS = ("sketch(X, ", "calibrate(X, y, ")


@pytest.fixture(scope="module")
def option_names():
    named = {option.name for option in wording._all_options()}
    return named | set(wording.OTHER_NAMES)


def test_no_message_holds_the_name_of_a_parameter_as_text(option_names):
    spelled = re.compile(rf"(?<![\w.-])({'|'.join(option_names)})=(?!=)")
    bare = [name for name in option_names if "_" in name and not name.startswith("n_")]
    named = re.compile(rf"(?<![\w.(-])({'|'.join(bare)})\b(?!\()")
    wrong = [
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in PACKAGE.rglob("*.py")
        if not str(path.relative_to(PACKAGE)).startswith(NO_MESSAGES)
        for text in texts(path)
        if spelled.search(text) or (" " in text and named.search(text))
        if not any(call in text for call in CALLS)
    ]
    assert wrong == []


def texts(path):
    """Literal text in a module, docstrings and what __repr__ returns left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        if isinstance(node, ast.FunctionDef) and node.name == "__repr__":
            skipped.update(ast.walk(node))
        if isinstance(node, ast.JoinedStr) and node not in skipped:
            skipped.update(node.values)
            yield "".join(
                part.value if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.value


@pytest.mark.parametrize(
    ("part", "python", "shell"),
    [
        (Argument("drop", ["garden"]), "drop=['garden']", "--drop garden"),
        (Argument("drop", ["two words"]), "drop=['two words']", "--drop 'two words'"),
        (Argument("drop", [3]), "drop=[3]", "--drop 3"),
        (Argument("format"), "format=", "--format"),
        (Argument("n_features", 12), "n_features=12", "--n-features 12"),
        (Argument("tol", 1e-6), "tol=1e-06", "--tol 1e-06"),
        (
            Argument("alpha_min_ratio", 0.00123, ".1g"),
            "alpha_min_ratio=0.001",
            "--alpha-min-ratio 0.001",
        ),
        (Argument("radii", "0.3*spectral"), "radii='0.3*spectral'", "--radius '0.3*spectral'"),
        (Argument("metric", np.str_("f1")), "metric='f1'", "--scoring f1"),
        (Argument("alphas", [4.0, 2.0]), "alphas=[4.0, 2.0]", "--alphas 4.0,2.0"),
        (Argument("standardize", True), "standardize=True", "--standardize"),
        (Argument("standardize", False), "standardize=False", "--no-standardize"),
        (Argument("sketch", None), "sketch=None", "--sketch none"),
        (Argument("positive", False), "positive=False", "no --positive"),
        (Argument("scale", True), "scale=True", "--scale"),
        (Argument("dtype", "float32"), "dtype='float32'", "dtype='float32'"),
        (Name("alpha_min_ratio"), "alpha_min_ratio", "--alpha-min-ratio"),
        (Name("n_sets"), "n_sets", "n_sets"),
        (Name("save_model"), "save_model", "fit or cv"),
        (Name("load_topics"), "load_topics", "topics image"),
    ],
)
def test_a_part_is_spelled_by_each_interface(part, python, shell):
    error = InvalidInputError("pass ", part, "\n or leave it out.")
    assert str(error) == f"pass {python}\n or leave it out."
    assert wording.spoken(error) == f"pass {shell} or leave it out."


def test_the_command_that_runs_is_asked_first(option_names):
    from sketchlasso.interfaces.app import COMMANDS, loaded

    message = GridEdgeWarning("choose another ", Argument("method", "exact"))
    for command, option in (("fit", "--sketch"), ("sketch", "--method")):
        options = loaded(command, COMMANDS[command]).params
        assert wording.spoken(message, options) == f"choose another {option} exact"


def test_messages_survive_pickling_and_know_what_was_refused():
    for kind in (InvalidInputError, StoredFileError, ClusterLostError, GridEdgeWarning):
        error = kind(Argument("rank", 0), " was given; read it with ", Name("load_sketch"))
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error) == "rank=0 was given; read it with load_sketch"
        assert again.parameter == "rank"
        assert wording.spoken(again) == "--rank 0 was given; read it with fit --sketch"
    assert InvalidInputError("no ", Argument("rank", 0)).parameter is None
    assert str(UnknownWordError(np.str_("eight"))).startswith("the word 'eight' is not")


@pytest.mark.parametrize(
    "error",
    [
        MissingExtraError(Argument("device", "cuda"), "torch", "gpu"),
        UnknownWordError("eight", ("weight",)),
        UnusableColumnsError("columns a and b are constant; leave them out.", (0, 1)),
    ],
)
def test_errors_with_arguments_of_their_own_survive_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (str(again), again.args, vars(again)) == (str(error), error.args, vars(error))


def test_a_refusal_names_the_parameter_what_is_accepted_and_what_came():
    error = unaccepted("n_jobs", np.int64(0), "at least 1", "leave it out")
    assert str(error) == "n_jobs must be at least 1, not 0; leave it out."
    assert wording.spoken(error) == "--threads must be at least 1, not 0; leave it out."
    assert error.parameter == "n_jobs"
    error = unaccepted("selection", "best", "'min' or '1se'")
    assert str(error) == "selection must be 'min' or '1se', not 'best'."
    assert wording.spoken(error) == f"--{error}"
