"""The map of the explorer, in chromium."""

import re

import pytest
from tests.browser.pages import wait_for_title
from tests.explored import small_imager, small_images

from sketchlasso.interfaces.exports import export_topics
from sketchlasso.topics import find_topics

pytestmark = pytest.mark.usefixtures("browser")


def test_groups_beyond_the_colours_have_other_shapes(opened):
    page = opened("/?view=map")
    page.wait_for_selector(".groups li")
    looks = page.evaluate(
        """async () => {
            const { colourOf, shapeOf } = await import("/static/map-canvas.js");
            return [...Array(40).keys()].map((one) => colourOf(one) + JSON.stringify(shapeOf(one)));
        }"""
    )
    assert len(set(looks)) == 40
    assert "helps to predict" in page.locator(".map-info").inner_text()


def test_the_map_is_drawn_and_its_words_can_be_clicked(opened):
    page = opened("/?view=map")
    page.wait_for_selector(".groups li")
    assert page.locator("#facts").inner_text().startswith(f"{len(small_imager().words_)} words")
    colours = """() => {
        const canvas = document.querySelector(".map canvas");
        const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
    }"""
    page.wait_for_function(f"() => ({colours})() > 20")
    # A word that is asked for is shown with its links; Enter selects the word in the middle.
    page.locator("#word").fill("piano")
    page.locator("#word").press("Enter")
    page.locator(".map-info strong", has_text="piano").wait_for()
    page.locator(".map canvas").focus()
    page.keyboard.press("Enter")
    page.locator(".map-info strong").wait_for()
    page.go_back()
    page.locator(".map-info strong", has_text="piano").wait_for()
    assert "view=map" in page.url
    assert "word=piano" in page.url
    page.get_by_role("link", name="see its image").click()
    wait_for_title(page, "piano")


def test_a_topic_is_marked_on_the_map_and_opened(opened):
    page = opened("/?view=map")
    page.wait_for_selector(".groups li")
    mark = page.locator(".groups button").first
    pixels = "() => document.querySelector('.map canvas').toDataURL()"
    before = page.evaluate(pixels)
    mark.click()
    assert mark.get_attribute("aria-pressed") == "true"
    page.wait_for_function(f"before => ({pixels})() !== before", arg=before)
    mark.click()
    assert mark.get_attribute("aria-pressed") == "false"
    page.locator(".groups .open").first.click()
    page.wait_for_url(re.compile("view=topic&topic=0"))


def test_the_map_is_moved_by_wheel_drag_and_keys(opened):
    page = opened("/?view=map")
    page.wait_for_selector(".groups li")
    box = page.locator(".map canvas").bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -400)
    page.wait_for_url(re.compile(r"at="))
    zoomed = page.url
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 240, steps=4)
    page.mouse.up()
    page.wait_for_function("before => location.href !== before", arg=zoomed)
    assert "word=" not in page.url
    moved = page.url
    page.locator(".map canvas").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    page.wait_for_function("before => location.href !== before", arg=moved)
    page.keyboard.press("Enter")
    page.locator(".map-info strong").wait_for()
    assert "word=" in page.url


def test_without_a_map_the_page_says_how_to_get_one(opened, bare_address):
    page = opened("/?view=map", base=bare_address, expected=["404"])
    page.get_by_text("sketchlasso topics all").wait_for()


def test_an_exported_page_answers_words_and_clicks_without_a_server(browser, tmp_path):
    imager, images = small_imager(), small_images()
    export_topics(tmp_path, imager, images, find_topics(imager, images, stability=False))
    page = browser.new_page()
    page.goto(f"file://{tmp_path}/topics.html")
    page.locator("#word").fill("sea")
    shown = page.locator(".bars a").all_inner_texts()
    assert set(shown) == set(imager.image("sea", 5).words)
    page.locator(".bars a").first.click()
    page.get_by_text(f"{shown[0]}: in").wait_for()
    page.locator("g.dot", has=page.get_by_text("piano")).dispatch_event("click")
    page.get_by_text("piano: in").wait_for()
    page.close()
