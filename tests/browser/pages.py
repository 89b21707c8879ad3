"""Helpers of the browser tests: what they read from the explorer's page."""


def words_of(page):
    page.wait_for_selector("ol.bars .row")
    return page.locator("ol.bars .row .word").all_inner_texts()


def wait_for_title(page, text):
    page.wait_for_function(
        "text => document.getElementById('title').textContent === text", arg=text
    )
