"""Topics from the shell in trouble: mistakes, Ctrl-C, taken ports."""

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.forked import Forked
from tests.interfaces.parts import wait_for_a_part

COMMAND = [sys.executable, "-m", "sketchlasso"]


def test_ctrl_c_says_how_to_continue(made, tmp_path):
    process = Forked(
        ["-m", "sketchlasso", "topics", "all", made / "many.topics", "-o", "many.images"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    try:
        wait_for_a_part(process, tmp_path / "many.images.parts")
        process.send_signal(signal.SIGINT)
        said, answer = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, said) == (130, "")
    assert answer.splitlines()[-1] == (
        "sketchlasso: interrupted; finished parts are kept next to many.images, and the same "
        "command resumes from them."
    )


def test_two_documents_form_no_topics(ask, tmp_path):
    (tmp_path / "two.txt").write_text(
        "The cat sat on the mat. Cats like mats.\nDogs like cats and mats\n"
    )
    said = ask("topics fit two.txt -o two.topics").stdout
    assert "each in 1 document or more" in said
    assert ask("topics list two.topics", 1).stdout.startswith("no topics: ")


class TestExplorer:
    """The page, through the command line; tests of the page itself are elsewhere."""

    @pytest.fixture(autouse=True)
    def web(self):
        pytest.importorskip("fastapi")
        pytest.importorskip("uvicorn")

    def test_it_serves_until_ctrl_c(self, made):
        files = (made / "posts.topics", "--images", made / "posts.images")
        process = Forked(
            ["-m", "sketchlasso", "topics", "serve", *files, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            line = process.stdout.readline()
            assert line.startswith("The explorer is at http://127.0.0.1:"), process.stderr.read()
            address = line.split()[4]
            with urllib.request.urlopen(address, timeout=30) as page:
                assert page.status == 200
            with urllib.request.urlopen(f"{address}openapi.json", timeout=30) as page:
                assert json.load(page)["paths"]
            process.send_signal(signal.SIGINT)
            said, answer = process.communicate(timeout=60)
        finally:
            process.kill()
        assert (process.returncode, answer) == (0, "")
        assert said == "the explorer ended\n"

    def test_without_the_extra(self, ask, monkeypatch):
        monkeypatch.setitem(sys.modules, "uvicorn", None)
        answer = ask("topics serve {made}/posts.topics", 4).stderr
        assert "pip install 'sketchlasso[web]'" in answer
