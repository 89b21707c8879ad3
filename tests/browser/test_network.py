"""The page of a network in chromium."""

import numpy as np
import pytest
from tests.explored import running

from sketchlasso.graphs import graph_of

pytestmark = pytest.mark.usefixtures("browser")
# What would run or break a page that took it for markup, and what a list would split.
HOSTILE = "<img src=x onerror=alert(1)>, or so"
GRAPH = graph_of(
    ("hub", "left", "right", HOSTILE, "far", "lone"),
    np.array([[0, 1], [0, 2], [0, 3], [2, 4]]),
    np.array([0.5, -2.0, 1.0, 0.25]),
    "and",
    {"stability": np.array([0.5, 1.0, 0.75, 0.25]), "p_value": np.array([0.5, 1e-9, 0.1, 1.0])},
)


@pytest.fixture(scope="module")
def network(browser):
    pytest.importorskip("fastapi", reason="needs the extra web")
    from sketchlasso.interfaces.web import create_app

    with running(create_app(GRAPH, source="genes.graphml")) as address:
        yield address


def _plain(cell):
    """A text with a plain space and a plain minus."""
    return cell.strip().replace("\u202f", " ").replace("\u2212", "-")


def rows_of(page):
    """The table of links, a list of texts for each."""
    page.locator("#links tbody tr").first.wait_for()
    return [
        [_plain(cell) for cell in row.split("\t")]
        for row in page.locator("#links tbody tr").all_inner_texts()
    ]


def test_a_walk_through_a_network(opened, network):
    page = opened(base=network)
    page.locator("#map canvas").wait_for()
    assert "genes.graphml · 6 nodes · 4 links" in page.locator("#source").inner_text()
    facts = page.locator("#facts")
    page.wait_for_function("() => document.getElementById('facts').textContent.includes('4 links')")
    assert "1 node not on the map" in facts.inner_text()
    assert page.locator("#node").is_hidden()
    # Search by name, and see its links with all that is known of them.
    page.locator("#name").press_sequentially("hu")
    option = page.locator("#name-list option").first
    option.wait_for(state="attached")
    assert (option.get_attribute("value"), option.text_content()) == ("hub", "3 links")
    page.locator("#name").fill("hub")
    page.keyboard.press("Enter")
    assert rows_of(page) == [
        ["right", "-2.000", "100 %", "1.0e-9"],
        [HOSTILE, "1.000", "75 %", "0.100"],
        ["left", "0.500", "50 %", "0.500"],
    ]
    assert page.locator("#title").inner_text() == "hub"
    # The neighbours of the node, and theirs, are the same drawing as an image of a word.
    assert page.locator("svg.graph .ring1").count() == 3
    assert page.locator("svg.graph .ring2").first.get_attribute("data-word") == "far"
    assert page.locator("svg.graph .link.negative").count() == 1
    # Walk on in the picture, in the table, and back.
    page.locator("svg.graph a.ring1[data-word=right]").click()
    page.wait_for_function("() => document.getElementById('title').textContent === 'right'")
    page.locator("#links a:text-is('far')").click()
    page.wait_for_function("() => document.getElementById('title').textContent === 'far'")
    assert [row[0] for row in rows_of(page)] == ["right"]
    page.go_back()
    page.wait_for_function("() => document.getElementById('title').textContent === 'right'")


def test_names_that_are_hostile_unknown_or_without_links(opened, network):
    page = opened(base=network, expected=("404",))
    page.locator("#name").fill(HOSTILE)
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#links tbody tr').length === 1")
    assert page.locator("#title").inner_text() == HOSTILE
    assert page.locator("img").count() == 0
    page.locator("#name").fill("lone")
    page.keyboard.press("Enter")
    page.get_by_text("It has no links, so it is not on the map.").wait_for()
    page.locator("#name").fill("righ")
    page.keyboard.press("Enter")
    page.get_by_text("did you mean right?").wait_for()
    assert page.locator("#node").is_hidden()


def test_an_unknown_node_brings_chips(opened, network):
    page = opened("/?word=hubb", base=network, expected=["404"])
    page.locator("#problem .chip", has_text="hub").click()
    page.wait_for_function("() => document.getElementById('title').textContent === 'hub'")
