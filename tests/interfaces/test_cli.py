"""The command line as a person meets it."""

import subprocess
import sys

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "sketchlasso", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_demo_ends_with_a_result_a_person_can_read():
    done = run("demo", "--alphas", "5")
    assert done.returncode == 0, done.stderr
    assert "Sketch of 361 samples x 64 features" in done.stdout
    for heading in ("lambda", "non-zeros", "objective", "relative gap", "milliseconds"):
        assert heading in done.stdout
    assert "5 of 5 problems solved" in done.stdout


def test_version_and_help():
    assert run("--version").stdout.strip()[0].isdigit()
    assert "demo" in run("--help").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("demo", "--rank", "90"), "rank=90 was given for X of shape (361, 64)"),
        (("demo", "--alphas", "0"), "alphas=0 must be at least 1"),
        (("demo", "--tol", "-1"), "tol=-1.0 must be a positive number"),
    ],
)
def test_mistakes_end_in_one_sentence_and_exit_code_1(arguments, message):
    done = run(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_extra_says_how_to_install_it(monkeypatch, capsys):
    from sketchlasso.interfaces import cli

    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "sketchlasso.interfaces.app", raising=False)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 1
    assert "pip install 'sketchlasso[cli]'" in capsys.readouterr().err
