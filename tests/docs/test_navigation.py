"""The pages are in four groups, each page in one of them."""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NAVIGATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]


def test_the_pages_are_in_four_groups():
    groups = re.findall(r"^  - (\w+):", NAVIGATION, re.MULTILINE)
    assert groups == ["Home", "Learn", "Do", "Understand", "Reference"]


def test_every_page_is_in_one_place():
    placed = Counter(re.findall(r"(\S+\.md)$", NAVIGATION, re.MULTILINE))
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    made = {f"gallery/{script.stem}.md" for script in (DOCS / "gallery").glob("*.py")}
    assert set(placed) == written | made
    assert max(placed.values()) == 1


def test_the_index_of_the_gallery_shows_every_page():
    index = (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")
    for script in (DOCS / "gallery").glob("*.py"):
        assert re.search(rf"!\[[^\]]+\]\({script.stem}_\d\.png\)", index), script.name
