"""What is uploaded works where it is installed: the wheel, the sdist, their contents."""

import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.installed import ROOT, distributions, environment, run

FIT = """
import numpy as np, sketchlasso
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 5))
model = sketchlasso.SqrtLassoCV(cv=3, alphas=5).fit(X, X[:, 0] + 0.1 * rng.normal(size=40))
assert np.argmax(abs(model.coef_)) == 0
print(sketchlasso.__file__, sketchlasso.__version__)
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    return distributions(tmp_path_factory)


def test_the_wheel_works_where_it_is_installed(tmp_path_factory, tmp_path):
    place = environment(tmp_path_factory)
    where, version = run([place / "bin" / "python", "-c", FIT], tmp_path).split()
    assert Path(where).is_relative_to(place)
    assert run([place / "bin" / "sketchlasso", "--version"], tmp_path).split()[-1] == version


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
