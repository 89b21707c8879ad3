"""The README's quick start can be pasted into a fresh interpreter, line by line."""

import code
import contextlib
import io
import re
from pathlib import Path

from tests.docs.snippets import blocks, same

README = Path(__file__).parents[2] / "README.md"
PICTURE = re.compile(r"!\[[^\]]+\]\(([^)]+\.png)\)")


class Console(code.InteractiveConsole):
    """An interpreter that keeps what went wrong."""

    def __init__(self):
        super().__init__()
        self.trouble = ""

    def write(self, data):
        self.trouble += data


def pasted(text):
    console, printed = Console(), io.StringIO()
    with contextlib.redirect_stdout(printed):
        waiting = [console.push(line) for line in text.splitlines()]
    assert not waiting[-1], "the last statement is not finished"
    return console.trouble, printed.getvalue()


def test_the_readme_can_be_pasted_into_a_fresh_interpreter():
    page = list(blocks(README.read_text(encoding="utf-8")))
    assert page
    for block in page:
        trouble, printed = pasted(block.code)
        assert trouble == ""
        assert same(block.shown, printed)


def test_the_console_sees_what_a_paste_would_trip_over():
    trouble, _ = pasted("for x in (1, 2):\n    x += 1\nprint(x)\n")
    assert "SyntaxError" in trouble


def test_the_pictures_of_the_first_pages_are_there_and_small():
    docs = README.parent / "docs"
    for page in (README, docs / "index.md", docs / "start.md", docs / "topics.md"):
        pictures = PICTURE.findall(page.read_text(encoding="utf-8"))
        assert pictures, f"{page.name} shows no picture"
        for picture in pictures:
            assert (page.parent / picture).stat().st_size < 150_000
