"""Run the core tests with the oldest supported releases: `python -m tests.oldest FOLDER`.

An environment is made in the folder, with the lowest release that pyproject.toml allows of every
package that the library needs. `--newest` takes the newest ones instead.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ["tests/unit/kernels", "tests/unit/solvers", "tests/unit/exact", "tests/unit/estimators"]
# What these tests need besides the library, in their newest releases. Not polars: scikit-learn 1.6
# reads no column names from its newest frames, and `make test` tries them with a newer one.
TOOLS = ["clarabel", "cvxpy", "hypothesis", "pandas", "pytest", "pytest-xdist"]


def lowest(requirements: list[str]) -> list[str]:
    """Turn every `name>=release` into `name==release`."""
    return [requirement.replace(">=", "==") for requirement in requirements]


def main() -> None:
    """Make the environment where there is none, and run the tests in it."""
    parser = argparse.ArgumentParser(prog="python -m tests.oldest", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the environment is or will be")
    parser.add_argument("--newest", action="store_true", help="install the newest releases")
    parser.add_argument("tests", nargs="*", default=CORE, help="tests to run (default: the core)")
    options = parser.parse_args()
    python = options.folder / "bin" / "python"
    if not python.exists():
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        needed = project["dependencies"]
        needed = needed if options.newest else lowest(needed)
        venv.create(options.folder, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *needed, *TOOLS], check=True)
        subprocess.run([*install, "--no-deps", "--editable", ROOT], check=True)
    command = [python, "-m", "pytest", "-n", "2", *options.tests]
    sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
