"""Topics from the shell in trouble: mistakes, Ctrl-C, taken ports."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import contextmanager

import pytest

from sketchlasso.interfaces.cli import Interrupted
from sketchlasso.interfaces.commands.screen import Screen
from tests.forked import Forked
from tests.interfaces.parts import wait_for_a_part

COMMAND = [sys.executable, "-m", "sketchlasso"]


@pytest.fixture
def refused(ask):
    def run(line, code):
        result = ask(line, code)
        assert result.stdout == ""
        (told,) = result.stderr.splitlines()
        assert told.startswith("sketchlasso: ")
        return told

    return run


def test_an_interrupted_command_continues(ask, made, monkeypatch, tmp_path):
    @contextmanager
    def impatient(self, words, things):
        def count(done, total):
            if done > 600:
                raise Interrupted

        yield count

    with monkeypatch.context() as patch:
        patch.setattr(Screen, "counting", impatient)
        with pytest.raises(Interrupted, match="the same command resumes from them"):
            ask("topics all {made}/many.topics -o many.images")
    assert not (tmp_path / "many.images").exists()
    (kept,) = tmp_path.iterdir()
    assert len(list(kept.glob("*.part"))) == 2
    stamps = {part: part.stat().st_mtime_ns for part in kept.glob("*.part")}
    with monkeypatch.context() as patch:
        patch.setattr(Screen, "counting", impatient)
        with pytest.raises(Interrupted):
            ask("topics all {made}/many.topics -o many.images")
    assert {part: part.stat().st_mtime_ns for part in kept.glob("*.part")} == stamps
    ask("topics all {made}/many.topics -o many.images")
    ask("topics all {made}/many.topics -o again.images")
    assert (tmp_path / "many.images").read_bytes() == (tmp_path / "again.images").read_bytes()
    assert not kept.exists()


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
        said, told = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, said) == (130, "")
    assert told.splitlines()[-1] == (
        "sketchlasso: interrupted; finished parts are kept next to many.images, and the same "
        "command resumes from them."
    )


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("fit none.jsonl -o m", 3, "none.jsonl does not exist"),
        ("fit {made}/posts.jsonl --column bodi -o m", 2, "bodi"),
        ("fit {made}/posts.jsonl --column 9 -o m", 2, "9"),
        ("fit {made}/posts.jsonl --vocabulary w.txt -o m", 2, "--vocabulary was given"),
        ("fit {made}/posts.jsonl --column body --stop-words w.txt -o m", 3, "--stop-words w.txt"),
        ("fit {made}/posts.jsonl --column body --weighting much -o m", 2, "--weighting much"),
        (
            "fit {made}/posts.jsonl --column body --radius wide -o m",
            2,
            "a multiple such as '0.3*spectral', not 'wide'.",
        ),
        (
            "fit {made}/posts.jsonl --column body --max-share 3 -o m",
            2,
            "--max-share must be a share of the documents in (0, 1], not 3.0;",
        ),
        (
            "fit {made}/posts.jsonl --column body --min-documents 0 -o m",
            2,
            "--min-documents must be a positive whole number, not 0;",
        ),
        ("fit {made}/posts.jsonl --column body --min-documents 99 -o m", 2, "no word left"),
        ("fit {made}/posts.jsonl --column body -o no/folder/m", 3, "could not be written"),
        ("image none.topics sea", 3, "none.topics does not exist"),
        ("image {made}/posts.images sea", 3, "holds images, but topics"),
        ("image {made}/posts.topics wawe", 2, "'wawe' is not in the vocabulary; did you mean wave"),
        (
            "image {made}/posts.topics sea --exclude wawe",
            2,
            "--exclude wawe is not in the vocabulary; did you mean wave",
        ),
        (
            "image {made}/posts.topics sea --exclude the",
            2,
            "--exclude the is a stop word, and so not in the vocabulary; leave it out.",
        ),
        (
            "image {made}/posts.topics oven --compare {made}/other.topics",
            2,
            "other.topics the word",
        ),
        (
            "image {made}/posts.topics sea --n-words 0",
            2,
            "--n-words must be a whole number of at least 1, not 0.",
        ),
        (
            "image {made}/posts.topics sea --alpha -1",
            2,
            "--alpha must be a positive number, not -1.0;",
        ),
        (
            "image {made}/posts.topics sea --radius wide",
            2,
            "a multiple such as '0.3*spectral', not 'wide'.",
        ),
        (
            "image {made}/posts.topics sea --documents 2 --compare {made}/other.topics",
            2,
            "leave out one of the two",
        ),
        ("all {made}/posts.topics -o no/folder/i", 3, "there is no folder no/folder"),
        ("graph {made}/posts.images -o graph.png", 2, "end it in .graphml, .gexf, .json or .csv"),
        ("graph {made}/posts.images -o g.csv --communities", 2, "write .graphml, .gexf or .json"),
        ("graph {made}/posts.images -o g.csv --rule xor", 2, "must be 'or' or 'and', not 'xor'."),
        ("graph {made}/posts.topics -o g.csv", 3, "holds topics, but images"),
        ("serve none.topics", 3, "none.topics does not exist"),
    ],
)
def test_mistakes(refused, line, code, words):
    assert words in refused(f"topics {line}", code)


def test_two_documents_form_no_topics(ask, tmp_path):
    (tmp_path / "two.txt").write_text(
        "The cat sat on the mat. Cats like mats.\nDogs like cats and mats\n"
    )
    said = ask("topics fit two.txt -o two.topics").stdout
    assert "each in 1 document or more" in said
    assert ask("topics list two.topics", 1).stdout.startswith("no topics: ")


def test_a_damaged_model(refused, made, tmp_path):
    content = (made / "posts.topics").read_bytes()
    (tmp_path / "cut.topics").write_bytes(content[:-9])
    for line in ("image cut.topics sea", "all cut.topics -o i", "serve cut.topics"):
        assert "cut.topics is damaged or incomplete" in refused(f"topics {line}", 3)


def test_parts_of_other_settings_are_not_mixed(refused, tmp_path):
    folder = tmp_path / "i.parts"
    folder.mkdir()
    (folder / "settings.json").write_text("{}")
    told = refused("topics all {made}/posts.topics -o i", 2)
    assert "parts of another corpus or other settings" in told


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
            said, told = process.communicate(timeout=60)
        finally:
            process.kill()
        assert (process.returncode, told) == (0, "")
        assert said == "the explorer ended\n"

    def test_a_port_in_use(self, refused):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            told = refused(f"topics serve {{made}}/posts.topics --port {port}", 2)
        assert f"port {port} cannot be listened on" in told

    def test_images_of_another_model(self, refused):
        told = refused("topics serve {made}/posts.topics --images {made}/other.images --port 0", 2)
        assert "images" in told

    def test_without_the_extra(self, refused, monkeypatch):
        monkeypatch.setitem(sys.modules, "uvicorn", None)
        told = refused("topics serve {made}/posts.topics", 4)
        assert "pip install 'sketchlasso[web]'" in told
