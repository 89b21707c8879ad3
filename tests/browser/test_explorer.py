"""The explorer in chromium.

Its policy forbids strings as code, so that what waits for a condition gives a function.
"""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.browser.pages import wait_for_title, words_of
from tests.explored import SUBJECTS, small_imager, small_images

from sketchlasso.topics import find_topics

pytestmark = pytest.mark.usefixtures("browser")


def test_a_walk_from_word_to_word_and_back(opened):
    page = opened()
    # Type, take the second offer with the arrow keys, see the bars.
    page.locator("#word").press_sequentially("s")
    options = page.get_by_role("option")
    options.first.wait_for()
    offered = small_imager().complete("s", 8)
    assert [text.split("\n")[0].strip() for text in options.all_inner_texts()] == offered
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#word").get_attribute("aria-activedescendant") == "word-list-1"
    page.keyboard.press("Enter")
    wait_for_title(page, offered[1])
    assert words_of(page) == list(small_imager().image(offered[1]).words)
    # Click a neighbour in the bars, then one in the graph.
    neighbour = words_of(page)[0]
    page.locator("ol.bars .row a").first.click()
    wait_for_title(page, neighbour)
    assert f"word={neighbour}" in page.url
    next_word = page.locator("svg.graph a.ring1").nth(1).get_attribute("data-word")
    # Not at a place of the screen: the graph is drawn again when more is known, and nodes move.
    page.locator(f'svg.graph a[data-word="{next_word}"]').dispatch_event("click")
    wait_for_title(page, next_word)
    assert words_of(page) == list(small_imager().image(next_word).words)
    page.go_back()
    wait_for_title(page, neighbour)
    page.go_back()
    wait_for_title(page, offered[1])
    page.go_forward()
    wait_for_title(page, neighbour)


def signed_word():
    """Return the word whose image has most words against it."""
    images = small_imager().images([str(word) for word in small_imager().words_])
    best = max(images, key=lambda image: int((image.weights < 0).sum()))
    assert (best.weights < 0).any()
    assert (best.weights > 0).any()
    return best.query[0]


def test_signs_and_facts(opened):
    word = signed_word()
    page = opened(f"/?word={word}")
    image = small_imager().image(word)
    assert words_of(page) == list(image.words)
    track = page.locator("ol.bars .track").first.bounding_box()
    zero = track["x"] + track["width"] * float(
        page.locator("ol.bars .axis").first.evaluate("axis => parseFloat(axis.style.left) / 100")
    )
    page.wait_for_timeout(300)  # bars grow for a moment
    for number, weight in enumerate(image.weights):
        box = page.locator("ol.bars .bar").nth(number).bounding_box()
        if weight > 0:
            assert box["x"] == pytest.approx(zero, abs=1.5)
        else:
            assert box["x"] + box["width"] == pytest.approx(zero, abs=2.5)
    trust = page.locator("#facts").inner_text()
    assert page.locator("#facts [data-quality]").get_attribute("data-quality") == image.quality
    assert re.search(r"these 10 words explain [\d.]+.% of its variance, in held-out", trust)
    assert "gap" not in trust
    assert not page.locator("#solved").is_visible()
    page.get_by_text("Details", exact=True).click()
    facts = page.locator("#solved").inner_text()
    assert "10 words" in facts
    assert re.search(r"gap \S+", facts)
    assert re.search(r"[\d.]+ ms", facts)


def test_a_weak_image_says_what_would_help(opened):
    left_out = SUBJECTS["sea"].split()
    weak = small_imager().image("sea", exclude=left_out, positive=True)
    assert weak.quality == "weak"
    page = opened(f"/?word=sea&positive=1&exclude={'&exclude='.join(left_out)}")
    page.locator("[data-quality=weak]").wait_for()
    assert weak.advice in page.locator("[data-fact=advice]").inner_text()


def test_a_stop_word_is_named_as_such(opened):
    page = opened("/?word=Eight", expected=["404"])
    page.get_by_role("heading", name="“Eight” is a stop word").wait_for()
    assert page.locator("#problem .chip").count() == 0


def test_the_landing_page_shows_topics(opened):
    page = opened("/")
    page.locator(".topics li").first.wait_for()
    topics = find_topics(small_imager(), small_images())
    assert page.locator("#starts-title").inner_text() == f"{len(topics)} topics"
    first = page.locator(".topics li").first
    assert ", ".join(topics.topics[0].label[:3]) in first.inner_text()
    assert f"{topics.topics[0].n_documents} documents" in first.inner_text()
    # The title opens the topic with all its words and documents; a word opens its image.
    first.locator("h3 a").click()
    wait_for_title(page, ", ".join(topics.topics[0].label[:3]))
    words = page.locator("section[aria-label=Words] .chip").all_inner_texts()
    assert tuple(words) == topics.topics[0].words
    listed = page.locator("section[aria-label=Documents] li").count()
    assert listed == topics.topics[0].n_documents
    page.locator("section[aria-label=Words] .chip").first.click()
    wait_for_title(page, words[0])


def test_fifty_words_fill_the_card_of_the_graph(opened):
    page = opened("/?word=sea&n=50")
    page.locator("svg.graph a.ring1").first.wait_for()
    assert page.locator("svg.graph a.ring1").count() > 40
    # In one step: the graph is drawn again when the neighbours of its words arrive.
    card, graph = page.evaluate(
        "['section[aria-label=Graph]', 'svg.graph']"
        ".map((part) => document.querySelector(part).getBoundingClientRect().height)"
    )
    assert graph > 0.5 * card


def test_sliders_solve_again_and_the_link_keeps_the_view(opened):
    page = opened("/?word=sea")
    assert len(words_of(page)) == 10
    page.locator("#n").fill("4")
    page.wait_for_function("() => document.querySelectorAll('ol.bars .row').length === 4")
    page.get_by_text("Details", exact=True).click()
    page.locator("#penalty").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    alpha = small_imager().image("sea", 4).alpha
    wanted = small_imager().image("sea", 4, alpha=0.5 * alpha)
    page.wait_for_function(
        "text => document.querySelector('[data-fact=nonzero]')?.textContent === text",
        arg=f"4 of {wanted.n_nonzero} words",
    )
    assert page.locator("#penalty-said").inner_text().endswith("0.5")
    assert words_of(page) == list(wanted.words)

    page.locator("#copy").click()
    page.get_by_text("Copied.").wait_for()
    link = page.locator("#link").input_value()
    assert link == page.url
    assert "penalty=0.5" in link
    other = opened(link)
    assert words_of(other) == words_of(page)
    assert other.locator("#title").inner_text() == "sea"
    assert other.locator("#penalty").input_value() == "-1"
    assert other.locator("#n").input_value() == "4"

    page.get_by_role("button", name="automatic").click()
    page.wait_for_function(
        "() => document.querySelector('[data-fact=nonzero]').textContent === '4 words'"
    )
    assert "penalty" not in page.url


def test_the_link_can_be_copied_where_the_clipboard_is_forbidden(opened):
    page = opened("/?word=sea")
    words_of(page)
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.evaluate("document.execCommand = () => false")
    page.locator("#copy").click()
    page.get_by_text("to copy it").wait_for()
    assert page.evaluate("document.activeElement.id") == "link"
    selected = "[link.selectionStart, link.selectionEnd, link.value.length]"
    start, end, length = page.evaluate(selected)
    assert (start, end) == (0, length)


def test_leaving_words_out_and_positive_words_only(opened):
    page = opened("/?word=sea")
    first = words_of(page)[0]
    page.locator("ol.bars .row").first.hover()
    page.get_by_role("button", name=f"Leave out {first}").click()
    page.locator("#excluded").get_by_text(first).wait_for()
    wanted = list(small_imager().image("sea", exclude=[first]).words)
    page.wait_for_function(
        "word => !document.querySelector(`ol.bars [data-word=${word}]`)", arg=first
    )
    assert words_of(page) == wanted
    page.get_by_role("button", name=f"Take {first} back in").click()
    page.wait_for_selector(f"ol.bars [data-word={first}]")
    word = signed_word()
    page.goto(f"/?word={word}")
    page.wait_for_selector(".bar.negative")
    page.get_by_label("Positive weights only").check()
    page.wait_for_function("() => !document.querySelector('.bar.negative')")
    assert words_of(page) == list(small_imager().image(word, positive=True).words)


def test_documents_are_text_and_never_markup(opened):
    page = opened("/?word=sea")
    page.wait_for_selector(".documents li")
    titles = page.locator(".documents h3").all_inner_texts()
    image = small_imager().image("sea")
    assert titles == [match.title for match in small_imager().documents(image, 6)]
    assert all("<b>of the book</b>" in title for title in titles)
    assert page.locator(".documents b, .documents img, .documents script").count() == 0
    marked = set(page.locator(".documents p mark").all_inner_texts())
    assert marked
    assert {word.lower().rstrip("s") for word in marked} <= {
        word.rstrip("s") for word in ("sea", *image.words)
    }
    page.get_by_role("button", name="More documents").click()
    page.wait_for_function("() => document.querySelectorAll('.documents li').length === 12")
    assert page.title() == "sea · Topic explorer"


def test_several_words_together(opened):
    page = opened()
    page.locator("#word").fill("sea, bread")
    page.locator("#word").press("Enter")
    wait_for_title(page, "sea + bread")
    assert words_of(page) == list(small_imager().image(["sea", "bread"]).words)


def test_two_words_side_by_side(opened):
    page = opened("/?word=garden&n=12")
    words_of(page)
    page.locator("#other").fill("bread")
    page.get_by_role("button", name="Ask").click()
    wait_for_title(page, "garden and bread")
    page.wait_for_selector("ol.bars")
    columns = page.locator("ol.bars")
    assert columns.count() == 2
    one, other = (small_imager().image(word, 12).words for word in ("garden", "bread"))
    assert columns.nth(0).locator(".word").all_inner_texts() == list(one)
    assert columns.nth(1).locator(".word").all_inner_texts() == list(other)
    shared = set(one) & set(other)
    assert shared
    assert set(columns.nth(0).locator(".shared .word").all_inner_texts()) == shared
    link = opened(page.url)
    wait_for_title(link, "garden and bread")
    page.go_back()
    wait_for_title(page, "garden")


def test_a_page_that_gets_ready_leaves_what_is_typed(opened):
    page, held = opened(), []
    page.wait_for_selector("#starts li")
    page.route("**/api/about", lambda route: held.append(route))
    page.reload()
    page.locator("#word").fill("violin")
    page.wait_for_function("() => true")  # lets the route be heard
    held[0].continue_()
    page.wait_for_selector("#starts li")
    assert page.locator("#word").input_value() == "violin"
    page.locator("#word").press("Enter")
    wait_for_title(page, "violin")


def test_unknown_words_lead_to_known_ones(opened):
    page = opened(expected=["404"])
    page.locator("#word").fill("voilin")
    page.locator("#word").press("Enter")
    page.get_by_role("heading", name="“voilin” is not in the vocabulary").wait_for()
    page.get_by_role("link", name="violin", exact=True).click()
    wait_for_title(page, "violin")
    assert words_of(page) == list(small_imager().image("violin").words)


def test_one_unknown_word_does_not_block_the_others(opened):
    page = opened("/?word=sea&word=eight", expected=["404"])
    page.get_by_role("heading", name="“eight” is a stop word").wait_for()
    page.get_by_role("link", name="Ask for sea without it").click()
    wait_for_title(page, "sea")
    page.goto("/?word=eight")
    page.get_by_role("heading", name="“eight” is a stop word").wait_for()
    assert page.get_by_role("link", name="without it").count() == 0


def test_a_graph_that_grows_leaves_the_focus_where_it_is(opened):
    page, held = opened(), []
    page.wait_for_selector("#starts li")
    page.route("**/api/images?**", lambda route: held.append(route))
    page.goto("/?word=sea")
    node = page.locator("svg.graph a.ring1").first
    node.wait_for()
    word = node.get_attribute("data-word")
    node.focus()
    page.wait_for_timeout(300)  # the question for the outer ring is on its way
    held[0].continue_()
    page.wait_for_selector("svg.graph a.ring2")
    assert page.evaluate("document.activeElement.dataset.word") == word


def test_the_keyboard_is_enough(opened):
    page = opened("/?word=sea")
    words_of(page)
    page.locator("body").press("/")
    assert page.evaluate("document.activeElement.id") == "word"
    page.keyboard.press("Escape")
    assert page.locator("#word").input_value() == ""
    page.keyboard.type("vio")
    page.get_by_role("option").first.wait_for()
    assert page.locator("#word").get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert page.locator("#word-list").is_hidden()
    page.keyboard.type("lin")
    page.keyboard.press("Enter")
    wait_for_title(page, "violin")
    first = words_of(page)[0]
    page.locator("ol.bars a").first.focus()
    page.keyboard.press("Enter")
    wait_for_title(page, first)
    node = page.locator("svg.graph a.ring1").first
    node.wait_for()
    word = node.get_attribute("data-word")
    node.focus()
    page.keyboard.press("Enter")
    wait_for_title(page, word)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    ["/", "/?word=sea&word=bread&n=30", "/?word=voilin", "/?view=compare&word=sea&with=bread",
     "/?view=map", "/?view=topic&topic=0", "/nowhere"],
)  # fmt: skip
def test_a_phone_scrolls_down_only(opened, path, scheme):
    page = opened(path, viewport={"width": 360, "height": 740}, color_scheme=scheme, has_touch=True,
                  expected=["404"])  # fmt: skip
    page.wait_for_load_state("networkidle")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 360
    assert contrast(page, "body") > 7
    assert contrast(page, "p:not(:empty)") > 4.5


def contrast(page, selector):
    """Contrast of text and the page behind it, after WCAG 2."""
    ink, paper = page.evaluate(
        """selector => {
            const seen = [...document.querySelectorAll(selector)].find((one) => one.offsetHeight);
            return [getComputedStyle(seen).color, getComputedStyle(document.body).backgroundColor];
        }""",
        selector,
    )

    def light(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    high, low = sorted((light(ink), light(paper)), reverse=True)
    return high / low


def test_the_theme_follows_the_system_until_it_is_chosen(opened):
    paper = "getComputedStyle(document.body).backgroundColor"
    page = opened("/?word=sea", color_scheme="dark")
    dark = page.evaluate(paper)
    page.emulate_media(color_scheme="light")
    page.get_by_role("button", name="Change to the dark theme").wait_for()
    assert page.evaluate(paper) != dark
    page.emulate_media(color_scheme="dark")
    page.get_by_role("button", name="Change to the light theme").click()
    light = page.evaluate(paper)
    assert light != dark
    page.reload()
    assert page.evaluate(paper) == light
    assert opened("/?word=sea", color_scheme="light").evaluate(paper) == light


def test_a_server_that_goes_away_and_comes_back(opened):
    page = opened("/?word=sea", expected=["Failed to load", "net::"])
    words_of(page)
    page.context.set_offline(True)
    page.locator("#n").fill("3")
    page.get_by_role("alert").wait_for()
    assert page.locator("#gone").is_visible()
    page.context.set_offline(False)
    page.get_by_role("button", name="Try now").click()
    page.locator("#gone").wait_for(state="hidden")
    page.wait_for_function("() => document.querySelectorAll('ol.bars .row').length === 3")


def test_less_motion_where_it_is_wanted(opened):
    page = opened("/?word=sea", reduced_motion="reduce")
    words_of(page)
    duration = page.locator(".bar").first.evaluate(
        "bar => getComputedStyle(bar).transitionDuration"
    )
    assert duration == "0s"


def test_pictures_are_saved_as_files_that_need_no_page(opened):
    read = pytest.importorskip("matplotlib.image").imread
    page = opened("/?word=piano")
    page.wait_for_selector("svg.graph .ring2")
    drawn = page.locator("svg.graph text").all_text_contents()
    with page.expect_download() as svg:
        page.get_by_role("button", name="Save the picture as SVG").click()
    root = ElementTree.parse(svg.value.path()).getroot()
    assert svg.value.suggested_filename == "piano.svg"
    space = {"svg": "http://www.w3.org/2000/svg"}
    assert [text.text for text in root.findall(".//svg:text", space)] == drawn
    lines = root.findall(".//svg:line", space)
    assert lines and all(line.get("stroke", "").startswith("rgb") for line in lines)
    assert not any(node.get("href") or node.get("class") for node in root.iter())
    width, height = int(root.get("width")), int(root.get("height"))
    saved = [("piano.png", (2 * width, 2 * height))]
    with page.expect_download() as png:
        page.get_by_role("button", name="Save the picture as PNG").click()
    files = [png.value]
    page.goto("/?view=map")
    page.wait_for_selector(".groups li")
    size = page.locator(".map canvas").bounding_box()
    saved.append(("map.png", (round(size["width"]), round(size["height"]))))
    with page.expect_download() as png:
        page.get_by_role("button", name="Save the picture as PNG").click()
    files.append(png.value)
    for (name, shape), file in zip(saved, files, strict=True):
        pixels = read(file.path(), format="png")
        assert (file.suggested_filename, pixels.shape[1::-1]) == (name, shape)
        # One number per pixel: rows would be sorted for seconds.
        colours = np.round(255 * pixels).astype(np.int64) @ (256 ** np.arange(4))
        assert len(np.unique(colours)) > 20
