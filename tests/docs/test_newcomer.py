"""A newcomer installs the wheel and follows the README and the first page, line by line."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PathDistribution
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from tests.docs.snippets import blocks, same

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "sketchlasso"
COMMAND = re.compile(r"^    (sketchlasso .+?)(?: +#.*)?$", re.MULTILINE)
INSTALL = re.compile(r"pip install '?\.(?:\[([\w,]+)\])?'?")


@pytest.fixture(scope="session")
def newcomer(tmp_path_factory):
    """An environment with the wheel of this tree; the packages it needs are those of the tests."""
    pytest.importorskip("hatchling", reason="needs the package hatchling")
    folder = tmp_path_factory.mktemp("newcomer")
    run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], ROOT)
    home = folder / "environment"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    (wheel,) = folder.glob("*.whl")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", wheel]
    run([sys.executable, "-m", "pip", "--python", python, *install], folder)
    (packages,) = home.glob("lib/python*/site-packages")
    others = [path for path in sys.path if Path(path).name == packages.name]
    (packages / "others.pth").write_text("\n".join(others))
    share_compiled_kernels(packages / "sketchlasso")
    return home


def share_compiled_kernels(installed):
    """Give the installed kernels what Numba has compiled for the same files of the tree."""
    for path in SOURCE.glob("kernels/*.py"):
        copy = installed / "kernels" / path.name
        assert copy.read_bytes() == path.read_bytes()
        shutil.copystat(path, copy)  # Numba compares times
    for kept in SOURCE.glob("kernels/__pycache__/*.nb?"):
        place = installed / "kernels" / "__pycache__"
        place.mkdir(exist_ok=True)
        shutil.copy2(kept, place)


def run(command, folder):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (
        f"{command} ends with {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done.stdout


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
