"""Streams that are closed or full, and a folder that is gone, end in one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        ("fit {data} --target price >&-", 3, "standard output is closed"),
        ("--help >&-", 3, "standard output is closed"),
        ("fit - --target price <&-", 3, "standard input is empty"),
        ("fit {data} --target price <&- 2>&-", 0, ""),
        ("fit {data} --target price > /dev/full", 3, "No space left on device"),
        ("--help > /dev/full", 3, "No space left on device"),
        ("--version > /dev/full", 3, "No space left on device"),
        ("fit {data} --target price -o gone.model", 3, "the current folder was deleted"),
    ],
)
def test_one_sentence(files, tmp_path, line, code, message):
    if "/dev/full" in line and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    folder = tmp_path / "here"
    folder.mkdir()
    command = f"{sys.executable} -m sketchlasso {line.format(data=files / 'houses.csv')}"
    away = f"rmdir {folder} &&" if "gone" in line else ""
    done = subprocess.run(
        ["sh", "-c", f"{away} {command}"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == bool(message)
