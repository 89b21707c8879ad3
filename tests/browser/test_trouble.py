"""What the page shows when the server is gone, and when a neighbour cannot be queried."""

import pytest
from tests.browser.pages import words_of
from tests.explored import running, small_imager, small_images

pytestmark = pytest.mark.usefixtures("browser")

LOST = ["Failed to load", "net::"]


def ask(page, word):
    page.locator("#word").fill(word)
    page.locator("#word").press("Enter")


@pytest.fixture
def served():
    """Return an address and what ends the server behind it."""
    from sketchlasso.interfaces.web import create_app

    server = running(create_app(small_imager(), small_images()))
    address, ended = server.__enter__(), []

    def end():
        if not ended:
            ended.append(True)
            server.__exit__(None, None, None)

    yield address, end
    end()


def test_heading_and_bars_stay_together_when_the_server_is_gone(opened, served):
    address, end = served
    page = opened("/?word=sea", base=address, expected=LOST)
    bars = words_of(page)
    page.wait_for_selector(".documents li")
    end()
    ask(page, "violin")
    page.get_by_text("“violin” was not answered").wait_for()
    assert page.get_by_role("alert").is_visible()
    assert "still “sea”" in page.locator("#gone").inner_text()
    assert page.locator("#title").inner_text() == "sea"
    assert page.title().startswith("sea")
    assert words_of(page) == bars
    assert page.locator(".stale").count() == 0
    # A view of which nothing is there yet has nothing to keep.
    page.get_by_role("link", name="Map", exact=True).click()
    page.get_by_role("heading", name="No answer to “the map”").wait_for()
    assert page.locator("#view").is_hidden()


def test_two_columns_stay_with_their_heading_when_the_server_is_gone(opened):
    page = opened("/?view=compare&word=sea&with=bread", expected=LOST)
    bars = words_of(page)
    page.context.set_offline(True)
    page.locator("#other").fill("violin")
    page.locator("#other").press("Enter")
    page.get_by_text("“sea and violin” was not answered").wait_for()
    assert page.locator("#title").inner_text() == "sea and bread"
    assert words_of(page) == bars
    page.context.set_offline(False)
    page.get_by_role("button", name="Try now").click()
    page.locator("#gone").wait_for(state="hidden")
    page.get_by_role("heading", name="sea and violin").wait_for()


def test_a_first_question_without_an_answer_is_named(opened):
    page = opened(expected=LOST)
    page.wait_for_selector("#starts li")
    page.context.set_offline(True)
    ask(page, "violin")
    page.get_by_role("heading", name="No answer to “violin”").wait_for()
    assert "its last answer" not in page.locator("#gone").inner_text()
    page.context.set_offline(False)
    page.get_by_role("button", name="Try now").click()
    page.get_by_role("heading", name="violin", exact=True).wait_for()
    assert words_of(page) == list(small_imager().image("violin").words)


def test_documents_of_another_word_do_not_stay(opened):
    page = opened("/?word=sea", expected=LOST)
    page.wait_for_selector(".documents li")
    page.route("**/api/documents?**", lambda route: route.abort())
    ask(page, "violin")
    page.get_by_role("heading", name="Behind it: no answer").wait_for()
    assert page.locator(".documents").count() == 0
    assert page.locator("#title").inner_text() == "violin"
    assert words_of(page) == list(small_imager().image("violin").words)


def test_an_answer_that_breaks_off_is_not_kept(opened):
    page = opened("/?word=sea", expected=LOST)
    words_of(page)
    broken = '{"query": ["violin"], "words'
    page.route("**/api/image?**", lambda route: route.fulfill(body=broken))
    ask(page, "violin")
    page.get_by_text("“violin” was not answered").wait_for()
    page.unroute("**/api/image?**")
    page.get_by_role("button", name="Try now").click()
    page.get_by_role("heading", name="violin", exact=True).wait_for()
    assert words_of(page) == list(small_imager().image("violin").words)


def test_images_of_neighbours_may_fail_alone(opened):
    page = opened(expected=["422"])
    page.wait_for_selector("#starts li")
    refused = {"status": 422, "body": '{"message": "no."}', "content_type": "application/json"}
    page.route("**/api/images?**", lambda route: route.fulfill(**refused))
    ask(page, "sea")
    page.get_by_role("heading", name="Its neighbours (the server did not send theirs)").wait_for()
    assert words_of(page) == list(small_imager().image("sea").words)
    page.wait_for_selector(".documents li")
    page.wait_for_selector("svg.graph a.ring1")


# Holds answers back until `release` is called.
HOLD = """(held) => {
    const fetched = window.fetch;
    window.fetch = async (address, options) => {
        if (address.startsWith(held)) await new Promise((go) => { window.release = go; });
        return fetched(address, options);
    };
}"""


@pytest.mark.parametrize(("view", "held"), [("Map", "/api/map"), ("Compare", "/api/image?")])
def test_a_late_answer_does_not_replace_the_next_view(opened, view, held):
    page = opened("/?word=sea")
    bars = words_of(page)
    page.wait_for_selector("svg.graph .ring2")
    page.evaluate(HOLD, held)
    page.get_by_role("link", name=view, exact=True).click()
    page.wait_for_function("() => window.release")
    page.get_by_role("link", name="Image", exact=True).click()
    assert words_of(page) == bars
    page.evaluate("() => window.release()")
    page.wait_for_timeout(300)
    assert words_of(page) == bars
