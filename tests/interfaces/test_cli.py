"""The command line in real processes: pipes, terminals and Ctrl-C."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest

from tests import forked

COMMAND = [sys.executable, "-m", "sketchlasso"]


def run(*arguments, **options) -> subprocess.CompletedProcess:
    return forked.run(["-m", "sketchlasso", *arguments], **options)


def run_on_terminal(*arguments, cwd):
    """What a terminal would show of stdout and stderr, and the exit code."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = forked.Forked(
        ["-m", "sketchlasso", *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=cwd,
        env=environment,
    )
    os.close(follower)
    shown = b""
    while True:
        ready, _, _ = select.select([leader], [], [], 120)
        try:
            part = os.read(leader, 65536) if ready else b""
        except OSError:  # the other end is closed
            part = b""
        if not part:
            break
        shown += part
    os.close(leader)
    return shown.decode(), process.wait(timeout=60)


def test_demo_ends_with_a_result_a_person_can_read(tmp_path):
    done = run("demo", "--alphas", "20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Sparse regressions on tables and text")
    assert "Diabetes, 309 patients x 285 terms" in done.stdout
    for heading in ("test R2", "non-zeros", "seconds"):
        assert heading in done.stdout
    lines = done.stdout.splitlines()
    scores = [
        float(line.split()[2])
        for method in ("sketchlasso SqrtLassoCV", "scikit-learn LassoCV")
        for line in lines
        if line.startswith(method)
    ]
    assert len(scores) == 2 and min(scores) > 0.3
    assert "handwritten 4 or 9: " in done.stdout
    assert "leave-one-out: " in done.stdout
    (warned,) = [line.split() for line in lines if line.startswith("LassoCV warned")]
    assert int(warned[2]) > 0 and float(warned[-1]) <= 1e-6
    for word, named in (("fourier", "transform"), ("cluster", "clustering"), ("file", "directory")):
        (image,) = [line for line in lines if line.startswith(f"{word} ")]
        assert named in image
    assert lines[-1].endswith("sketchlasso topics demo --serve --open")
    assert list(tmp_path.iterdir()) == [], "nobody asked for a file"
    assert "the first run compiles" in done.stderr


def test_version_and_help(call):
    fresh = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert fresh.stdout.strip()[0].isdigit()
    assert "demo" in call("--help").stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "demo --rank 90",
            "--rank must be an integer from 1 to 64 for X of shape (252, 64), not 90.",
        ),
        ("demo --alphas 0", "--alphas must be at least 1, or a list of penalties, not 0."),
        ("demo --tol -1", "--tol must be a positive number such as 1e-6, not -1.0."),
    ],
)
def test_mistakes_end_in_one_sentence_and_exit_code_2(call, line, message):
    assert message in call(line, code=2).stderr


def test_a_mistake_leaves_no_traceback(tmp_path):
    done = run("demo", "--tol", "-1", cwd=tmp_path)
    assert done.returncode == 2
    told = done.stderr.splitlines()[-1]
    assert told.startswith("sketchlasso: --tol must be a positive number")
    assert "Traceback" not in done.stderr


def test_a_pipe_gets_plain_lines(files):
    done = run("path", files / "houses.csv", "--target", "price", "--alphas", "4")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert "4 penalties" in done.stdout.splitlines()


def test_a_terminal_gets_tables_and_a_bar(files, tmp_path):
    shown, code = run_on_terminal(
        "cv", files / "houses.csv", "--target", "price", "--alphas", "40", cwd=tmp_path
    )
    assert code == 0
    assert "5-fold cross-validation" in shown  # the bar
    assert "\x1b[" in shown
    assert "╭" in shown and "on held-out rows" in shown


def test_help_on_a_terminal_keeps_its_examples(tmp_path):
    shown, code = run_on_terminal("fit", "--help", cwd=tmp_path)
    assert code == 0
    page = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "sketchlasso fit houses.csv --target price -o houses.model" in page
    assert "Data" in shown and "╭" in shown


def test_json_on_a_terminal_is_a_document_and_nothing_else(files, tmp_path):
    shown, code = run_on_terminal(
        "fit", files / "houses.csv", "--target", "price", "--json", cwd=tmp_path
    )
    assert code == 0
    # Where colorama is installed it resets the colours of a terminal at exit.
    assert json.loads(shown.removesuffix("\x1b[0m"))["command"] == "fit"


def test_a_reader_that_leaves_early(files):
    line = (
        " ".join(COMMAND)
        + f" path {files}/houses.csv --target price --json --alphas 2000 | head -1"
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("{\n", "", 0)


# A solver that is interrupted returns what it has; the command must not take that for an answer.
SLOW = """
from sketchlasso.interfaces import cli
from sketchlasso.interfaces.commands.screen import Screen
from contextlib import contextmanager
import time

@contextmanager
def watching(self, words):
    def slow(progress):
        print("solving", flush=True)
        time.sleep(60)
    yield slow

Screen.watching = watching
cli.main()
"""
SLOW_OPTIONS = ("--sketch", "exact", "--radius", "0.1", "-o", "never.model")


def test_ctrl_c_ends_the_command_with_130(files, tmp_path):
    process = forked.Forked(
        ["-c", SLOW, "fit", files / "signs.svm.gz", *SLOW_OPTIONS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdout.readline() == "solving\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == "sketchlasso: interrupted before the end.\n"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_says_how_to_install_it(monkeypatch, capsys):
    from sketchlasso.interfaces import cli

    monkeypatch.setitem(sys.modules, "typer", None)
    for name in [name for name in sys.modules if name.startswith("sketchlasso.interfaces.")]:
        if not name.endswith(".cli"):
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 4
    assert "pip install 'sketchlasso[cli]'" in capsys.readouterr().err


def test_the_demos_picture_is_complete_or_not_there(call, tmp_path):
    pytest.importorskip("matplotlib")
    assert "wrote  a.png" in call("demo --alphas 3 --plot a.png").stdout
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]
    said = call("demo --alphas 3 --plot nowhere/a.png", code=3).stderr
    assert "there is no folder nowhere" in said


def test_the_demo_without_matplotlib(monkeypatch, call):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "leave-one-out" in call("demo --alphas 3").stdout
    assert "pip install 'sketchlasso[plot]'" in call("demo --alphas 3 --plot a.png", code=4).stderr
