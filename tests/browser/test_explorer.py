"""The explorer in chromium.

Its policy forbids strings as code, so that what waits for a condition gives a function.
"""

import re

import pytest
from tests.browser.pages import wait_for_title, words_of
from tests.explored import SUBJECTS, small_imager, small_images

from sketchlasso.topics import find_topics

pytestmark = pytest.mark.usefixtures("browser")


def test_a_walk_from_word_to_word_and_back(opened):
    page = opened()
    # Type, and take the second offer of the list, which a browser reports as a replacement.
    page.locator("#word").press_sequentially("s")
    page.locator("#word-list option").first.wait_for(state="attached")
    offers = page.locator("#word-list option").evaluate_all("all => all.map((one) => one.value)")
    offered = small_imager().complete("s", 8)
    assert offers == offered
    page.locator("#word").evaluate(
        """(field, word) => {
            field.value = word;
            field.dispatchEvent(new InputEvent("input", { inputType: "insertReplacementText" }));
        }""",
        offered[1],
    )
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

    link = page.url
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
    page.keyboard.type("violin")
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
