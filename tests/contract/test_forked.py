"""Processes that the tests fork end, write and are interrupted like fresh ones."""

import os
import signal
import subprocess
import sys

import pytest
from tests import forked

ENDS = {
    "import sys; print(sys.argv[1:], file=sys.stderr); print('out')": 0,
    "raise SystemExit(7)": 7,
    "raise SystemExit('a sentence')": 1,
    "import atexit; atexit.register(print, 'at exit')": 0,
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": -signal.SIGKILL,
    "import os; print(os.getcwd(), os.environ.get('COLOUR'), os.isatty(1), __name__)": 0,
}


@pytest.mark.parametrize(("program", "code"), ENDS.items())
def test_a_process_ends_and_writes_like_a_fresh_one(program, code, tmp_path):
    options = {"cwd": tmp_path, "env": {**os.environ, "COLOUR": "red"}}
    found = forked.run(["-c", program, "one", "two"], **options)
    fresh = subprocess.run(
        [sys.executable, "-c", program, "one", "two"],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert found.returncode == fresh.returncode == code
    assert (found.stdout, found.stderr) == (fresh.stdout, fresh.stderr)


def test_an_error_is_printed_and_ends_with_1():
    found = forked.run(["-c", "1 / 0"])
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_a_signal_arrives():
    program = (
        "import time\ntry:\n    print(1, flush=True)\n    time.sleep(60)\nexcept {}:\n    pass"
    )
    process = forked.Forked(
        ["-c", program.format("KeyboardInterrupt")], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout.readline() == "1\n"
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0
