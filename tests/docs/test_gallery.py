"""Every gallery script runs without a warning, prints something and leaves a picture."""

from pathlib import Path

import pytest
from docs.hooks import gallery as hook

DOCS = Path(__file__).parents[2] / "docs"
SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_and_becomes_a_page(script):
    pytest.importorskip("matplotlib")
    words, pictures = hook.page(script.stem, hook.run(script))
    assert words.startswith("# ")
    assert 'title="Output"' in words
    assert pictures
    for name, picture in pictures.items():
        assert f"]({name})" in words
        assert picture.startswith(b"\x89PNG")


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
