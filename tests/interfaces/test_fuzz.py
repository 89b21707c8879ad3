"""Damaged files of every format through the commands that read them; see benchmarks/fuzz."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not (hasattr(os, "fork") and hasattr(os, "pidfd_open")), reason="needs Linux"
)


def test_no_damaged_file_is_more_than_a_sentence(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("pyarrow")
    # Not from the process that forks: every file would get a child with all that has been loaded.
    command = [sys.executable, "-m", "benchmarks", "fuzz", "--quick", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "format=all  files=300" in done.stdout


# What a broken command might do, and what the harness must say of it.
FAILURES = {
    "os.abort()": "signal SIGABRT",
    "ctypes.string_at(0)": "signal SIGSEGV",
    "1 / 0": "traceback: ZeroDivisionError: division by zero",
    "bytearray(1 << 33)": "traceback: MemoryError",
    "exit(7)": "exit 7",
    "exit(3)": "exit 3 without one sentence",
    "(print('sketchlasso: no.', file=sys.stderr), exit(2))": "exit 2 where 3 is needed",
    "exit(0)": "exit 0 where 3 is needed",
    "(print('sketchlasso: no.', file=sys.stderr), exit(3))": "None",
    "[None for _ in iter(int, 1)]": "over 1 s",
}
PROGRAM = """
import ctypes, json, os, sys
from pathlib import Path
from benchmarks.fuzz import runner
from benchmarks.fuzz.samples import Sample
sample = Sample("sketch", Path("a.sketch"), ())
case = runner.Case(sample, "none", bytes, ("info",), (3,))
findings = {}
for failure in json.loads(sys.argv[1]):
    runner.SECONDS = 1 if "iter" in failure else 10
    runner._command = lambda: lambda arguments, prog_name: eval(failure)
    findings[failure] = str(runner.run_case(case, Path(sys.argv[2])).finding)
print(json.dumps(findings))
"""


def test_the_harness_notices(tmp_path):
    done = forked.run(["-c", PROGRAM, json.dumps(list(FAILURES)), tmp_path], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == FAILURES
