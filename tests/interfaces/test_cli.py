"""The command line in real processes: pipes, terminals and Ctrl-C."""

import json
import os
import pty
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


def test_version_and_help(call):
    fresh = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert fresh.stdout.strip()[0].isdigit()
    assert "demo" in call("--help").stdout


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


def test_a_reader_that_leaves_early(files):
    line = (
        " ".join(COMMAND)
        + f" path {files}/houses.csv --target price --json --alphas 2000 | head -1"
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("{\n", "", 0)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("line", ["--help", "fit {files}/houses.csv --target price"])
def test_a_full_disk_is_one_sentence(files, line):
    command = f"{' '.join(COMMAND)} {line.format(files=files)} > /dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 3
    assert "No space left on device" in done.stderr and done.stderr.count("\n") == 1


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
    _, answer = process.communicate(timeout=60)
    assert process.returncode == 130
    assert answer == "sketchlasso: interrupted before the end.\n"
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


def test_every_command_has_help_with_examples(call):
    from sketchlasso.interfaces.app import COMMANDS, TOPICS

    page = call("-h").stdout
    assert "Exit codes:" in page and "130" in page
    for prefix, entries in (("", COMMANDS), ("topics ", TOPICS)):
        for name, (_, summary, *_) in entries.items():
            page = " ".join(call(f"{prefix}{name} --help").stdout.split())
            assert f"sketchlasso {prefix}{name}" in page and "--json" in page
            assert summary in page


def test_help_loads_no_numerical_library():
    program = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from sketchlasso.interfaces.app import app\n"
        "for line in ('--help', '--version', 'topics --help'):\n"
        "    assert CliRunner().invoke(app, line.split()).exit_code == 0\n"
        "assert not {'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_doctor_checks_the_installation(call):
    said = call("doctor").stdout
    for word in ("python", "threads", "numpy", "small solve"):
        assert word in said
    assert json.loads(call("doctor --json").stdout)["self_test"]["solved"] is True


def test_a_shell_can_complete_commands_and_options():
    environment = {
        **os.environ,
        "_SKETCHLASSO_COMPLETE": "complete_bash",
        "COMP_WORDS": "sketchlasso fit --tar",
        "COMP_CWORD": "2",
    }
    program = (
        "import sys; sys.argv[0] = 'sketchlasso'\n"
        "from sketchlasso.interfaces import cli; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert "--target" in done.stdout, done.stderr
