"""The server as a process: it says where it is, warns, and ends when it is told to."""

import os
import re
import signal
import subprocess
import sys

import httpx
import pytest
from tests.explored import small_imager

PROGRAM = """
import signal, sys
import sketchlasso as sl
from sketchlasso.interfaces.web import serve

def of_the_caller(number, frame):
    raise SystemExit("the caller's own Ctrl-C")

signal.signal(signal.SIGINT, of_the_caller)
serve(sl.load_topics(sys.argv[1]), host=sys.argv[2], port=0)
assert signal.getsignal(signal.SIGINT) is of_the_caller
print("after")
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "small.topics"
    small_imager().save(path)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_serving_until_ctrl_c(model, host):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(model), host],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        said = process.stdout.readline()
        address = re.fullmatch(
            r"The explorer is at (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\.\n", said
        )[1]
        answer = httpx.get(f"{address}api/image", params={"word": "sea"}, timeout=20)
        assert answer.status_code == 200
        assert "server" not in answer.headers
        stranger = httpx.get(f"{address}api/health", headers={"host": "elsewhere.example"})
        assert stranger.status_code == (400 if host == "127.0.0.1" else 200)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "after\n"), err
    if host == "127.0.0.1":
        assert err == ""
    else:
        assert re.fullmatch(r"warning: the explorer listens on 0\.0\.0\.0, so everyone .*\.\n", err)
