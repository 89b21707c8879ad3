"""Headers, hosts and methods that protect the explorer."""

import re

import pytest

from sketchlasso.interfaces.web import create_app
from sketchlasso.interfaces.web.application import read_pages
from sketchlasso.interfaces.web.server import LOOPBACK

PATHS = [
    "/", "/docs", "/static/app.js", "/static/style.css", "/openapi.json", "/nowhere",
    "/api/about", "/api/image?word=sea", "/api/image?word=voilin", "/api/image", "/api/map",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_protected(client, path):
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] in ("no-store", "no-cache")
    assert "access-control-allow-origin" not in headers


def test_answers_of_the_model_are_not_kept(client):
    assert client.get("/api/image?word=sea").headers["cache-control"] == "no-store"


def test_pages_are_kept_until_they_change(client):
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    again = client.get("/", headers={"if-none-match": page.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000"])
def test_called_by_its_name(client, host):
    assert client.get("/api/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost:80@evil.example", "", "[::1",
     "localhost:", "localhost:x", "evil.example:8000", "127.0.0.2"],
)  # fmt: skip
def test_called_by_another_name(client, host):
    response = client.get("/api/health", headers={"host": host})
    assert response.status_code == 400
    assert "unknown host name" in response.json()["message"]
    assert response.headers["x-content-type-options"] == "nosniff"


def test_any_name_where_that_was_asked_for(imager, asking):
    with asking(create_app(imager, hosts=["*"])) as client:
        response = client.get("/api/health", headers={"host": "anything.example"})
    assert response.status_code == 200
    assert LOOPBACK == ("localhost", "127.0.0.1", "::1")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"])
@pytest.mark.parametrize("path", ["/", "/api/image?word=sea", "/nowhere"])
def test_nothing_can_be_changed(client, method, path):
    response = client.request(method, path, content=b"x" * 100)
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("path", PATHS)
def test_head_is_get_without_a_body(client, path):
    get, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers["content-type"] == get.headers["content-type"]


def test_addresses_and_headers_are_bounded(client):
    long = "x" * 50_000
    assert client.get(f"/?{long}").status_code == 414
    assert client.get("/", headers={"x-long": long}).status_code == 431


def test_options(client):
    response = client.options("/api/image")
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["allow"] == "GET, HEAD, OPTIONS"


def test_the_page_needs_nothing_from_elsewhere():
    for address, page in read_pages().items():
        text = page.content.decode()
        for link in re.findall(r"""(?:src|href)=["']([^"']+)""", text):
            assert link.startswith(("/", "#")), (address, link)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), address


def test_the_page_keeps_to_its_policy():
    for address, page in read_pages().items():
        text = page.content.decode()
        if address.endswith(".js"):
            # Data must become text, never markup or code.
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text)
            assert not re.search(r"\beval\(|new Function", text)
        if page.kind.startswith("text/html"):
            assert not re.search(r"<style|\sstyle=|\son\w+=", text), address
            assert not re.search(r"<script(?![^>]*\ssrc=)", text), address


def test_failures_are_protected_too(imager, asking, monkeypatch):
    from sketchlasso.interfaces.web.answers import Answers

    def broken(self, query):
        raise RuntimeError("secret of the inside")

    monkeypatch.setattr(Answers, "image", broken)
    with asking(create_app(imager)) as client:
        response = client.get("/api/image?word=sea")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert response.headers["x-content-type-options"] == "nosniff"
