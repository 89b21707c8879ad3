"""Topics from the shell in trouble: mistakes, Ctrl-C, taken ports."""

import signal
import subprocess
from pathlib import Path

from sketchlasso.topics import load_images, load_topics
from tests.forked import Forked
from tests.interfaces.parts import wait_for_a_part


def test_the_same_command_resumes_after_ctrl_c(ask, made, tmp_path):
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
    assert "finished parts are kept next to many.images" in answer.splitlines()[-1]
    assert any(Path("many.images.parts").glob("*.part"))
    ask("topics all {made}/many.topics -o many.images")
    assert not Path("many.images.parts").exists()
    assert len(load_images("many.images").words) == len(load_topics(made / "many.topics").words_)


def test_two_documents_form_no_topics(ask, tmp_path):
    (tmp_path / "two.txt").write_text(
        "The cat sat on the mat. Cats like mats.\nDogs like cats and mats\n"
    )
    ask("topics fit two.txt -o two.topics")
    assert ask("topics list two.topics", 1).stdout.startswith("no topics: ")
