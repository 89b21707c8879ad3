"""Turn a skip for a missing package into a failure: `pytest --packages`.

`make test` installs every package that the tests ask for, so a missing one means that a
dependency group lacks it, and its tests would never run.
"""

from importlib.util import find_spec

import pytest

_importorskip = pytest.importorskip


def add_options(parser):
    parser.addoption(
        "--packages",
        action="store_true",
        help="fail, instead of skipping, tests that ask for a package that is not installed",
    )
    parser.addoption(
        "--may-miss", action="append", default=[], help="a package that --packages leaves out"
    )


def require_packages(config):
    """Let `pytest.importorskip` fail for a package that is not installed."""
    if config.getoption("packages"):
        allowed = config.getoption("may_miss")
        pytest.importorskip = lambda name, *args, **options: _import(name, allowed, args, options)


def _import(name, allowed, args, options):
    package = name.partition(".")[0]
    if package not in allowed and find_spec(package) is None:
        pytest.fail(
            f"The package {package} is not installed, and this test needs it: "
            "add it to the group dev in pyproject.toml.",
            pytrace=False,
        )
    return _importorskip(name, *args, **options)
