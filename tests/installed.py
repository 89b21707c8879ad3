"""What is uploaded, and an environment in which it is installed; all workers share them."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.shared import made_once

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sketchlasso"


def run(command, folder):
    """Run a command that must succeed, without the source tree on its path; return its output."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (
        f"{command} ends with {done.returncode}\n{done.stdout}{done.stderr}"
    )
    return done.stdout


def distributions(tmp_path_factory):
    """Return the paths of the wheel and of the sdist."""
    pytest.importorskip("hatchling", reason="needs the package hatchling")
    folder = made_once(
        tmp_path_factory,
        "dist",
        lambda folder: run([sys.executable, "-m", "hatchling", "build", "-d", folder], ROOT),
    )
    [wheel], [source] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


def environment(tmp_path_factory):
    """Return an environment with the wheel; other packages are those of the tests."""
    wheel, _ = distributions(tmp_path_factory)

    def make(folder):
        venv.create(folder, symlinks=True)
        install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", wheel]
        run([sys.executable, "-m", "pip", "--python", folder / "bin/python", *install], folder)
        (packages,) = folder.glob("lib/python*/site-packages")
        others = [path for path in sys.path if Path(path).name == packages.name]
        (packages / "others.pth").write_text("\n".join(others))
        share_compiled_kernels(packages / "sketchlasso")

    return made_once(tmp_path_factory, "environment", make)


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
