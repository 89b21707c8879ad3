"""What the page shows when the server is gone, and when a part of an answer is missing or late."""

import pytest
from tests.browser.pages import words_of
from tests.explored import small_imager

pytestmark = pytest.mark.usefixtures("browser")

LOST = ["Failed to load", "net::"]


def ask(page, word):
    page.locator("#word").fill(word)
    page.locator("#word").press("Enter")


def test_a_server_that_is_gone_is_named_and_asked_again(opened):
    page = opened("/?word=sea", expected=LOST)
    words_of(page)
    page.context.set_offline(True)
    ask(page, "violin")
    page.get_by_role("heading", name="No answer to “violin”").wait_for()
    assert "The server does not answer" in page.locator("#problem").inner_text()
    assert page.locator("#view").is_hidden()
    page.context.set_offline(False)
    ask(page, "violin")
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
