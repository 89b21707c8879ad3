"""Clients that keep connections open: slow, silent, broken, and far too many."""

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest
from tests.explored import running, small_imager
from tests.forked import Forked
from tests.interfaces.web.test_web_load import Blocked

from sketchlasso.interfaces.web import Limits, create_app
from sketchlasso.interfaces.web.answers import Answers
from sketchlasso.interfaces.web.connections import FEW, LATE, connection_class

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at Linux descriptors")

PROGRAM = """
import resource, sys
from sketchlasso.topics import load_topics
from sketchlasso.interfaces.web import Limits, serve
imager = load_topics(sys.argv[1])
files = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
serve(imager, port=0, limits=Limits(seconds=3, request_seconds=float(sys.argv[3])))
"""
HOST = b"Host: localhost\r\n"
WHOLE = b"GET /api/health HTTP/1.1\r\n" + HOST + b"\r\n"
LAST = b"GET /api/health HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "small.topics"
    small_imager().save(path)
    return path


class Served:
    """A server in a process of its own."""

    def __init__(self, process, port, errors):
        self.process, self.port, self.errors = process, port, errors
        self.descriptors_at_first = self.descriptors()

    def connect(self, sent=b""):
        line = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        line.sendall(sent)
        return line

    def ask(self, request=LAST):
        with closing(self.connect(request)) as line:
            return everything(line)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def wait_until_all_are_closed(self):
        deadline = time.monotonic() + 60
        while self.descriptors() > self.descriptors_at_first:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def everything(line):
    """Return what comes until the other side closes."""
    parts = []
    try:
        while part := line.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@contextmanager
def serving(model, folder, *, files=1024, seconds=10.0):
    errors = Path(folder) / "errors.txt"
    with errors.open("wb") as log:
        process = Forked(
            ["-c", PROGRAM, model, files, seconds],
            stdout=subprocess.PIPE,
            stderr=log.fileno(),
        )
        try:
            said = process.stdout.readline()
            yield Served(process, int(re.search(r":(\d+)/", said)[1]), errors)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def test_half_open_connections_lock_nobody_out(model, tmp_path):
    with serving(model, tmp_path, files=128) as served, ExitStack() as crowd:
        for _ in range(140):
            crowd.enter_context(closing(served.connect(b"GET /api/image?word=")))
        for _ in range(3):
            assert served.ask().startswith(b"HTTP/1.1 200")
        assert served.descriptors() < 128
    assert served.errors.read_text() == ""


def test_a_server_without_descriptors_says_so_once_and_recovers(model, tmp_path):
    with serving(model, tmp_path, files=24) as served:
        with ExitStack() as crowd:
            for _ in range(60):
                crowd.enter_context(closing(served.connect(b"GET /")))
            assert served.ask().startswith(b"HTTP/1.1 200")
        served.wait_until_all_are_closed()
        assert served.ask().startswith(b"HTTP/1.1 200")
    assert re.fullmatch(
        r"(warning: new connections have to wait \(Too many open files\); [^\n]*\.\n)?",
        served.errors.read_text(),
    )


@pytest.fixture(scope="module")
def hurried(model, tmp_path_factory):
    """A server on which requests must arrive within a fraction of a second."""
    with serving(model, tmp_path_factory.mktemp("hurried"), seconds=0.5) as served:
        yield served
    assert served.errors.read_text() == ""


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET /api/hea", b"GET / HTTP/1.1\r\nContent-Length: 9\r\n" + HOST],
    ids=["nothing", "part of a request", "headers without an end"],
)
@pytest.mark.parametrize("number", ["first", "second"])
def test_a_request_that_does_not_arrive_is_not_waited_for(hurried, number, begun):
    with closing(hurried.connect(WHOLE if number == "second" else b"")) as line:
        if number == "second":
            answer = b""
            while not answer.endswith(b"}"):
                answer += line.recv(1 << 16)
        line.sendall(begun)
        assert everything(line) == b""


def test_single_bytes_do_not_keep_a_connection_open(hurried):
    with closing(hurried.connect(b"GET /?")) as line, pytest.raises(OSError, match=r"pipe|reset"):
        for _ in range(1000):
            line.sendall(b"x")
            time.sleep(0.05)


def test_a_body_that_does_not_arrive_is_not_waited_for(hurried):
    request = b"GET /api/health HTTP/1.1\r\nContent-Length: 90\r\n" + HOST + b"\r\nabc"
    with closing(hurried.connect(request)) as line:
        assert everything(line).startswith(b"HTTP/1.1 200")


MANY = 400
STYLE = b"GET /static/style.css HTTP/1.1\r\n" + HOST + b"\r\n"


def test_an_answer_that_nobody_reads_is_given_up(hurried):
    hurried.wait_until_all_are_closed()
    with closing(hurried.connect(STYLE * MANY)) as line:
        line.recv(1)  # it was accepted
        hurried.wait_until_all_are_closed()


def test_a_slow_reader_gets_everything(hurried):
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
    line.settimeout(30)
    with closing(line):
        line.connect(("127.0.0.1", hurried.port))
        line.sendall(STYLE * MANY)
        found = begun = 0
        start, mark, rest = time.monotonic(), b"HTTP/1.1 200", b""
        while found < MANY:
            part = line.recv(1 << 17)
            assert part
            found += (rest + part).count(mark)
            # A mark may lie across two parts.
            rest = (rest + part)[1 - len(mark) :]
            # Slowly for several times the limit, then to the end.
            if time.monotonic() < start + 2.0:
                time.sleep(0.05)
                begun = found
    assert 0 < begun < found == MANY


BOTH = b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"


@pytest.mark.parametrize("method", [b"GET", b"POST"])
@pytest.mark.parametrize("body", [b"hello", b"hello\r\n", b"0\r\n\r\n"])
def test_two_lengths_are_refused_without_a_traceback(hurried, method, body):
    head = method + b" /api/health HTTP/1.1\r\n" + HOST + BOTH
    answer = hurried.ask(head + body)
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"connection: close" in answer.lower()
    # The module's server is asked for its errors when all is done; here for its health.
    assert hurried.ask().startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("pause", [0.0, 0.2], ids=["at once", "after the answer"])
@pytest.mark.parametrize("path", [b"/api/health", b"/api/image?word=sea"])
def test_a_broken_body_is_no_reason_for_a_traceback(hurried, path, pause):
    head = b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    with closing(hurried.connect(head)) as line:
        time.sleep(pause)
        line.sendall(b"hello\r\n")
        assert everything(line).count(b"HTTP/1.1") == 1
    assert hurried.errors.read_text() == ""


def test_where_all_connections_work_the_next_gets_retry_after(imager, monkeypatch):
    work, real = Blocked(), Answers.image
    monkeypatch.setattr(Answers, "image", lambda self, query: work() and real(self, query))
    limits = Limits(connections=2, workers=2)
    with running(create_app(imager, limits=limits), http=connection_class(limits)) as address:
        port = httpx.URL(address).port

        def connect(request):
            line = socket.create_connection(("127.0.0.1", port), timeout=30)
            line.sendall(request)
            return line

        image = LAST.replace(b"health", b"image?word=sea")
        with closing(connect(image)) as one, closing(connect(image)) as other:
            while work.running < 2:
                time.sleep(0.01)
            with closing(connect(WHOLE)) as third:
                refused = everything(third)
            work.free.set()
            answers = [everything(one), everything(other)]
        with closing(connect(LAST)) as fourth:
            answers.append(everything(fourth))
    assert refused.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 1\r\n" in refused
    assert b"too many connections" in refused
    assert b"x-content-type-options: nosniff" in refused
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers)


@contextmanager
def crowded(imager, monkeypatch, limits, number):
    """Serve with so many queries that do not end; yields the address and their work."""
    work, real = Blocked(), Answers.image
    monkeypatch.setattr(Answers, "image", lambda self, query: work() and real(self, query))
    image = LAST.replace(b"health", b"image?word=sea")
    with running(create_app(imager, limits=limits), http=connection_class(limits)) as address:
        port = httpx.URL(address).port
        with ExitStack() as crowd:
            lines = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(number)]
            for line in lines:
                crowd.enter_context(closing(line)).sendall(image)
            while work.running < number:
                time.sleep(0.01)
            try:
                yield address, lines, work
            finally:
                work.free.set()


# Every request is late by the first limit, and none by the second.
ALWAYS, NEVER = 1e-9, 1e9


def test_a_late_request_beside_many_others_is_refused_before_any_work(imager, monkeypatch):
    limits = Limits(workers=FEW, late_seconds=ALWAYS)
    with crowded(imager, monkeypatch, limits, FEW) as (address, lines, work):
        with httpx.Client(base_url=address) as client:
            refused = [client.get(path) for path in ("/api/image?word=sea", "/", "/api/health")]
            headless = client.head("/")
        assert work.running == FEW
        work.free.set()
        assert all(everything(line).startswith(b"HTTP/1.1 200") for line in lines)
        # With few others it is answered, however late.
        assert httpx.get(f"{address}/api/health").json() == {"status": "ok", "inside": 0}
    for answer in refused:
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert answer.content == LATE.body
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "connection" not in answer.headers
    assert (headless.status_code, headless.content) == (503, b"")


@pytest.mark.parametrize(("late", "number"), [(NEVER, FEW), (ALWAYS, FEW - 1)])
def test_a_request_in_time_or_beside_few_others_is_answered(imager, monkeypatch, late, number):
    limits = Limits(workers=FEW, late_seconds=late)
    with crowded(imager, monkeypatch, limits, number) as (address, _, _):
        assert httpx.get(f"{address}/api/health").json() == {"status": "ok", "inside": number}
