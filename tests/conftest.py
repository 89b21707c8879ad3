"""Hypothesis draws the same examples every time, unless HYPOTHESIS_PROFILE=explore asks for new."""

import os

import pytest
from hypothesis import settings

from tests.packages import add_options, require_packages
from tests.shared import shared_folder

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_addoption(parser):
    add_options(parser)


def pytest_configure(config):
    require_packages(config)


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory):
    """Keep what the library caches for as long as the tests run, and out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(shared_folder(tmp_path_factory) / "cache"))
        yield
