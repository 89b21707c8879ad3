"""What is uploaded works where it is installed: the wheel, the sdist, their contents."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIT = """
import numpy as np, sketchlasso
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 5))
model = sketchlasso.SqrtLassoCV(cv=3, alphas=5).fit(X, X[:, 0] + 0.1 * rng.normal(size=40))
assert np.argmax(abs(model.coef_)) == 0
print(sketchlasso.__file__, sketchlasso.__version__)
"""


def run(*command, **variables):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=variables.pop("cwd", ROOT),
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder)
    [wheel], [source] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


def test_the_wheel_works_where_it_is_installed(built, tmp_path):
    place = tmp_path / "installed"
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", place]
    run(sys.executable, *install, built[0])
    fresh = {"cwd": tmp_path, "PYTHONPATH": str(place)}
    where, version = run(sys.executable, "-c", FIT, **fresh).split()
    assert Path(where).is_relative_to(place)
    assert run(place / "bin" / "sketchlasso", "--version", **fresh).split()[-1] == version


def test_the_wheel_holds_the_package_and_nothing_else(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    sources = ROOT / "src"
    expected = {
        path.relative_to(sources).as_posix()
        for path in (sources / "sketchlasso").rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    }
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert "sketchlasso/py.typed" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_sdist_can_be_tested(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile", "tests/conftest.py"} <= names
    assert not any(name.startswith(("shared", "site/", ".venv")) for name in names)
