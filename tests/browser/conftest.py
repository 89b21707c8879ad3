"""A real browser and a real server; without either the tests skip and say why."""

import shutil

import pytest
from tests.explored import PATIENCE, running, small_imager, small_images

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


# Not for the whole session: while the driver runs, no other event loop can.
@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("needs chromium (on Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=SWITCHES)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def address(browser):
    pytest.importorskip("fastapi", reason="needs the extra web")
    from sketchlasso.interfaces.web import create_app

    with running(create_app(small_imager(), small_images())) as address:
        yield address


@pytest.fixture(scope="module")
def bare_address(browser):
    """The same model without the images of all words."""
    from sketchlasso.interfaces.web import create_app

    with running(create_app(small_imager())) as address:
        yield address


@pytest.fixture
def opened(browser, address):
    """Open a page in a browser of its own; errors in its console fail the test."""
    contexts, complaints = [], []

    def open_page(path="/", *, base=address, expected=(), **options):
        options = {"viewport": {"width": 1280, "height": 800}, **options}
        context = browser.new_context(base_url=base, **options)
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: _listen(said, expected, complaints))
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


def _listen(said, expected, complaints):
    if said.type in ("error", "warning") and not any(part in said.text for part in expected):
        complaints.append(said.text)
