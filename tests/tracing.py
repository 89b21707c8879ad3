"""Which tests coverage is measured with: tracing makes Python code half as slow again.

The others repeat on random or larger data, or from outside, what these tests run. The lines that
are required to be covered must be covered by these alone.
"""

import sys
from contextlib import contextmanager

from tests.kernels import SENSITIVE

UNTRACED = (
    *SENSITIVE,
    "tests/benchmarks",
    "tests/browser",
    "tests/docs",
    "tests/reproduction",
)


def is_traced(nodeid):
    """Whether coverage is measured while a test runs."""
    path = nodeid.partition("::")[0]
    return not any(path == part or path.startswith(f"{part}/") for part in UNTRACED)


@contextmanager
def not_traced():
    """Stop measuring coverage for a while, where it is measured."""
    coverage = sys.modules.get("coverage")
    tracer = coverage and coverage.Coverage.current()
    if tracer:
        tracer.stop()
    try:
        yield
    finally:
        if tracer:
            tracer.start()
