"""The command line under bad conditions: early Ctrl-C, hostile words, links, a second writer."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sketchlasso.io import Table, write_table
from sketchlasso.topics import TopicImager, load_topics
from tests.forked import Forked, run
from tests.interfaces.parts import wait_for_a_part

COMMAND = [sys.executable, "-m", "sketchlasso"]
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
# Clears the terminal, and rings, and goes back; as one byte; and turns the direction.
HOSTILE = "a\x1b[2J\x07\r\x9b2J\u202eb"
ESCAPED = r"a\x1b[2J\x07\r\x9b2J\u202eb"


# An interrupt in a finaliser, which Python drops, and one that a library takes for an error.


def test_words_titles_and_columns_of_files(call, tmp_path):
    rng = np.random.default_rng(0)
    names = (HOSTILE, "two\nlines", "plain")
    X = rng.standard_normal((40, 3))
    write_table("named.parquet", Table(X, X @ [3.0, 2.0, 1.0], names, "y"))
    said = call("fit named.parquet --target y --alpha 1")
    assert ESCAPED in said.stdout and r"two\nlines" in said.stdout
    assert "\x1b" not in said.output
    answer = call("fit named.parquet --target \x1b[2Jy --alpha 1", code=2)
    assert r"\x1b[2Jy" in answer.stderr and "\x1b" not in answer.stderr
    counts = rng.poisson(1.0, (30, 6)).astype(float)
    words = [HOSTILE, *"bcdef"]
    TopicImager(rank=3, random_state=0, stop_words=None).fit(
        counts, vocabulary=words, titles=[f"{HOSTILE}{i}" for i in range(30)]
    ).save("hostile.topics")
    said = call("topics image hostile.topics b c --documents 2 --n-words 5").output
    assert ESCAPED in said and "\x1b" not in said


@posix
class TestLinks:
    @pytest.mark.parametrize(
        ("line", "name"),
        [
            ("fit {data}/houses.csv --target price -o", "h.model"),
            ("sketch {data}/houses.csv --target price --rank 3 -o", "h.sketch"),
            ("path {data}/houses.csv --target price --alphas 3 -o", "path.csv"),
            ("infer {data}/houses.csv --target price --plot", "a.png"),
        ],
    )
    def test_an_output_that_is_a_link_is_written_through(self, call, tmp_path, line, name):
        if name.endswith("png"):
            pytest.importorskip("matplotlib")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / name).write_text("old")
        Path(name).symlink_to(elsewhere / name)
        call(f"{line} {name} --force")
        assert Path(name).is_symlink()
        assert (elsewhere / name).read_bytes()[:3] != b"old"
        assert [entry.name for entry in elsewhere.iterdir()] == [name]
        Path("new.csv").symlink_to(elsewhere / "new.csv")
        call("path {data}/houses.csv --target price --alphas 3 -o new.csv")
        assert Path("new.csv").is_symlink() and (elsewhere / "new.csv").is_file()

    @pytest.fixture
    def folder(self, tmp_path):
        texts = {
            "texts/a.txt": "sea wave ship",
            "texts/b.txt": "sea sand wave",
            "texts/c.txt": "ship sea sand",
            "outside/secret.txt": "password sea wave",
            "outside/more/deep.txt": "password ship sand",
        }
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "texts/link.txt").symlink_to(tmp_path / "outside/secret.txt")
        (tmp_path / "texts/more").symlink_to(tmp_path / "outside/more")
        (tmp_path / "texts/within.txt").symlink_to("a.txt")
        (tmp_path / "outside/more/back").symlink_to(tmp_path / "texts")
        return tmp_path / "texts"

    def test_from_the_command_line(self, call, folder):
        line = "topics fit texts -o t.topics --rank 2 --min-documents 1"
        said = call(line).stdout
        assert "2 out of the folder, not followed" in said
        assert "password" not in load_topics("t.topics").words_
        said = call(f"{line} --follow-links").stdout
        assert "not followed" not in said
        assert "password" in load_topics("t.topics").words_


@posix
def test_a_second_writer_of_all_images_is_refused(made, tmp_path):
    line = ["-m", "sketchlasso", "topics", "all", made / "many.topics", "-o", "many.images"]
    first = Forked(line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for_a_part(first, tmp_path / "many.images.parts")
        first.send_signal(signal.SIGSTOP)
        second = run(line, cwd=tmp_path)
        first.send_signal(signal.SIGCONT)
        first.communicate(timeout=120)
    finally:
        first.kill()
    assert (second.returncode, second.stdout) == (3, "")
    assert second.stderr == (
        "sketchlasso: many.images is being written by another process; wait until it ends, or "
        "choose another path.\n"
    )
    assert first.returncode == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["many.images"]
