"""No test is skipped unnoticed: packages are there, and other kernels are really used."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from tests import kernels

ROOT = Path(__file__).parents[2]
LIBRARY = "no_such_library"
ASKING = f"""
import pytest

def test_asks():
    pytest.importorskip("{LIBRARY}.part", reason="not installed")

def test_asks_for_a_part_that_only_newer_releases_have():
    pytest.importorskip("json.no_such_part")
"""


def outcomes(tmp_path, code, *options):
    """Run pytest on a file with the options of this suite; return its last line."""
    (tmp_path / "test_asking.py").write_text(code)
    arguments = ["-c", str(ROOT / "pyproject.toml"), f"--rootdir={ROOT}", "-p", "no:cacheprovider"]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, "-p", "tests.conftest", *options, tmp_path],
        cwd=ROOT,
        # Otherwise it would measure coverage of its own, for seconds.
        env={name: value for name, value in os.environ.items() if "SLIPCOVER" not in name},
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout


def test_a_missing_package_fails_where_packages_are_required(tmp_path):
    said = outcomes(tmp_path, ASKING, "--packages")
    assert f"The package {LIBRARY} is not installed, and this test needs it" in said
    assert "1 failed, 1 skipped" in said


def test_a_missing_package_fails_also_a_whole_module(tmp_path):
    said = outcomes(tmp_path, f'import pytest\npytest.importorskip("{LIBRARY}")\n', "--packages")
    assert f"The package {LIBRARY} is not installed, and this test needs it" in said
    assert "1 error" in said


@pytest.mark.parametrize("options", [[], ["--packages", "--may-miss", LIBRARY]])
def test_a_missing_package_skips_elsewhere(tmp_path, options):
    assert "2 skipped" in outcomes(tmp_path, ASKING, *options)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="kernels are of x86-64")
def test_other_kernels_take_effect(monkeypatch):
    assert kernels.takes_effect("Prescott+generic")
    monkeypatch.setitem(kernels.KERNELS, "Sandybridge", {})  # as if the variable were ignored
    assert not kernels.takes_effect("Prescott+Sandybridge")


def test_the_sensitive_tests_exist():
    assert all((ROOT / path).exists() for path in kernels.SENSITIVE)
    for test in kernels.STEADY:
        path, _, name = test.partition("::")
        assert any(Path(path).is_relative_to(part) for part in kernels.SENSITIVE)
        assert f"def {name}" in (ROOT / path).read_text(encoding="utf-8")


def test_an_unknown_kernel_is_named():
    with pytest.raises(SystemExit, match=r"No kernel is called 'Z80': choose from Haswell, "):
        kernels.environment("Z80")
