"""A newcomer installs the wheel and follows the README and the first page, line by line."""

import re
import shlex
from importlib.metadata import PathDistribution
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from tests.docs.snippets import blocks, same
from tests.installed import ROOT, environment, run

COMMAND = re.compile(r"^    (sketchlasso .+?)(?: +#.*)?$", re.MULTILINE)
INSTALL = re.compile(r"pip install '?\.(?:\[([\w,]+)\])?'?")


@pytest.fixture(scope="session")
def newcomer(tmp_path_factory):
    return environment(tmp_path_factory)


def write_houses(folder):
    """The tables that the README speaks of."""
    X, y = load_diabetes(return_X_y=True)
    names = [f"room_{number}" for number in range(X.shape[1])]
    for name, columns, header in (
        ("houses.csv", [X, y], [*names, "price"]),
        ("new.csv", [X[:5]], names),
    ):
        table = np.column_stack(columns)
        np.savetxt(folder / name, table, delimiter=",", header=",".join(header), comments="")


@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_a_newcomer_can_follow_every_line(newcomer, tmp_path, page):
    words = (ROOT / page).read_text(encoding="utf-8")
    python, shell = list(blocks(words)), COMMAND.findall(words)
    assert python and shell
    write_houses(tmp_path)
    (tmp_path / "session.py").write_text("\n".join(block.code for block in python))
    printed = run([newcomer / "bin" / "python", "session.py"], tmp_path)
    assert same("".join(block.shown for block in python), printed)
    for command in shell:
        name, *arguments = shlex.split(command)
        run([newcomer / "bin" / name, *arguments], tmp_path)


def test_the_package_that_a_newcomer_runs_is_the_installed_one(newcomer, tmp_path):
    place = run(
        [newcomer / "bin" / "python", "-c", "import sketchlasso as s; print(s.__file__)"], tmp_path
    )
    assert Path(place.strip()).is_relative_to(newcomer)


def test_every_extra_that_the_pages_install_exists(newcomer):
    (metadata,) = newcomer.glob("lib/python*/site-packages/sketchlasso-*.dist-info")
    extras = set(PathDistribution(metadata).metadata.get_all("Provides-Extra"))
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = [found for page in pages for found in INSTALL.findall(page.read_text(encoding="utf-8"))]
    assert named
    assert {extra for found in named if found for extra in found.split(",")} <= extras
