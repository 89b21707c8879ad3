"""The server as a process: it prints its address, warns, and ends on request."""

import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from tests import forked
from tests.explored import running, small_imager
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.web import create_app, serve

PROGRAM = """
import sys
from sketchlasso.topics import load_topics
from sketchlasso.interfaces.web import serve

serve(load_topics(sys.argv[1]), host=sys.argv[2], port=0, allowed_hosts=sys.argv[3:])
print("after")
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "small.topics"
    small_imager().save(path)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.parametrize(
    ("host", "allowed"), [("127.0.0.1", []), ("0.0.0.0", []), ("0.0.0.0", ["topics.example"])]
)
def test_serving_until_ctrl_c(model, host, allowed):
    process = forked.Forked(
        ["-c", PROGRAM, model, host, *allowed],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        said = process.stdout.readline()
        address = re.fullmatch(
            r"The explorer is at (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\.\n", said
        )[1]
        answer = httpx.get(f"{address}api/image", params={"word": "sea"}, timeout=20)
        assert answer.status_code == 200
        assert "server" not in answer.headers
        for name in ("elsewhere.example", "topics.example"):
            called = httpx.get(f"{address}api/about", headers={"host": name})
            assert called.status_code == (200 if name in allowed else 400)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert (process.returncode, out) == (0, "after\n"), err
    if host == "127.0.0.1":
        assert err == ""
    else:
        assert re.fullmatch(r"warning: the explorer listens on 0\.0\.0\.0, so everyone .*\.\n", err)


def test_an_address_that_the_connection_came_to_is_its_own(imager):
    """127.0.0.2 is a loopback address, but only a server on all addresses is reached by it."""
    with running(create_app(imager), host="0.0.0.0") as address:
        port = httpx.URL(address).port
        try:
            own = httpx.get(f"http://127.0.0.2:{port}/api/about")
        except httpx.ConnectError:
            pytest.skip("this system has one loopback address only")
        other = httpx.get(f"{address}/api/about", headers={"host": "127.0.0.2"})
        hidden = httpx.get(f"{address}/api/about", headers={"host": "127.0.0.2.example"})
    assert own.status_code == 200
    assert (other.status_code, hidden.status_code) == (400, 400)


def test_a_taken_port_is_one_sentence(imager):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = refusal(InvalidInputError, serve, imager, port=port)
    assert f"port {port} cannot be listened on" in text
    assert "cannot be listened on" in refusal(
        InvalidInputError, serve, imager, host="no.such.host.invalid"
    )
