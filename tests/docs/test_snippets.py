"""Every Python block of the documentation runs and prints what the page shows.

The README has tests of its own.
"""

from pathlib import Path

import pytest

from tests.docs.snippets import blocks, run_block, same

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if any(blocks(path.read_text(encoding="utf-8")))
]

# Pages about something that may not be there.
NEEDS = {"gpu.md": "torch"}
# Pages that start faster with what a fixture prepares.
PREPARED = {"large.md": "forked_workers"}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_pages_python_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch, request):
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason=f"{NEEDS[page.name]} is not installed")
    if page.name in PREPARED:
        request.getfixturevalue(PREPARED[page.name])
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        printed = run_block(block, page.name, namespace)
        assert same(block.shown, printed), (
            f"{page.name}, line {block.line}, prints\n{printed}but shows\n{block.shown}"
        )


def test_pages_without_blocks_are_not_all_of_them():
    names = {page.name for page in PAGES}
    assert {"index.md", "start.md", "choosing.md", "coming-from.md"} <= names


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        ("gap 3e-07, 12 words", "gap 9e-08, 12 words", True),
        ("gap 3e-07", "gap 2e-03", False),
        ("R2 0.41", "R2 0.42", True),
        ("R2 0.41", "R2 0.55", False),
        ("ten words", "two words", False),
        ("1 2", "1", False),
        ("", "something", False),
    ],
)
def test_same_allows_rounding_only(shown, printed, alike):
    assert same(shown, printed) is alike
