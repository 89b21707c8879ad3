"""From script to page; `make docs`, a part of `make test`, runs the gallery's own scripts."""

from pathlib import Path

import pytest
from docs.hooks import gallery as hook

DOCS = Path(__file__).parents[2] / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))


OPENING = '"""\n# Title\n"""\n\n# %%\n# Words.\n'
PRINT = "print(6 * 7)\n"
DRAW = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"


def built(folder, code):
    pytest.importorskip("matplotlib")
    script = folder / "small.py"
    script.write_text(OPENING + code)
    return hook.page("small", hook.run(script))


def test_a_script_becomes_a_page_with_words_output_and_pictures(tmp_path):
    words, pictures = built(tmp_path, PRINT + DRAW)
    assert words.startswith("# Title")
    assert '```text title="Output"\n42\n```' in words
    assert list(pictures) == ["small_1.png"]
    assert pictures["small_1.png"].startswith(b"\x89PNG")
    assert "](small_1.png)" in words


@pytest.mark.parametrize("code", [PRINT, DRAW])
def test_a_script_without_output_or_picture_ends_the_build(tmp_path, code):
    with pytest.raises(ValueError, match=r"small\.py printed nothing or left no figure"):
        built(tmp_path, code)


def test_a_warning_in_a_script_ends_the_build(tmp_path):
    with pytest.raises(UserWarning, match="odd"):
        built(tmp_path, "import warnings\nwarnings.warn('odd')\n" + PRINT + DRAW)


def test_every_script_is_listed_and_in_the_navigation():
    listed = (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")
    navigation = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert f"({script.stem}.md)" in listed
        assert f"gallery/{script.stem}.md" in navigation


def test_cells_keep_words_code_and_line_numbers():
    script = '"""\n# Title\n"""\n\n# %%\n# Words.\n\nx = 1\n\n# %%\n# More.\ny = x\n'
    opening, first, second = hook.cells(script)
    assert opening.words == "# Title"
    assert (first.words, first.code, first.line) == ("Words.", "x = 1", 8)
    assert (second.words, second.code, second.line) == ("More.", "y = x", 12)


def test_an_error_in_a_cell_names_the_line_of_the_script(tmp_path):
    script = tmp_path / "broken.py"
    script.write_text('"""\n# Title\n"""\n\n# %%\n# Words.\n\nx = 1\n1 / 0\n')
    with pytest.raises(ZeroDivisionError) as failure:
        hook.run(script)
    assert failure.traceback[-1].lineno + 1 == 9
