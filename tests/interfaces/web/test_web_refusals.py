"""Requests that cannot be answered get their status and one sentence."""

import socket
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import quote

import networkx
import pytest
from tests.explored import small_imager, small_images
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, MissingExtraError
from sketchlasso.interfaces.web import Limits, create_app, serve
from sketchlasso.interfaces.web.application import read_pages
from sketchlasso.topics import TopicImager

LONG = "x" * 10_000
ASKING = ("/api/image", "/api/images", "/api/documents")


def message(response, status):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    text = response.json()["message"]
    assert text.endswith((".", "?")), text
    assert "\n" not in text
    assert "Traceback" not in response.text
    assert len(text) < 300
    return text


@pytest.mark.parametrize("path", ASKING)
def test_unknown_words_bring_suggestions(client, path):
    response = client.get(path, params={"word": "voilin"})
    message(response, 404)
    assert response.json()["word"] == "voilin"
    assert "violin" in response.json()["suggestions"]


def test_unknown_words_to_compare_or_to_leave_out(client):
    for parameters in ({"first": "sea", "second": "shipp"}, {"first": "shipp", "second": "sea"}):
        response = client.get("/api/compare", params=parameters)
        message(response, 404)
        assert response.json()["word"] == "shipp"
    response = client.get("/api/image", params={"word": "sea", "exclude": "shipp"})
    assert "ship" in response.json()["suggestions"]


@pytest.mark.parametrize(
    "word",
    ["../../etc/passwd", "..\\..\\windows", "/etc/passwd", "%2e%2e%2f", "file:///etc/passwd",
     "'; DROP TABLE words; --", "<script>alert(1)</script>", "{{7*7}}", "☃", "-1", "null"],
)  # fmt: skip
def test_strange_words_are_only_unknown_words(client, word):
    for path in ASKING:
        message(client.get(path, params={"word": word}), 404)


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/static/../server.py", "/static/",
     "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static//etc/passwd", "/server.py",
     "/static/index.html%00.js", "/api", "/api/", "/api/../api/about/x", "/.git/config"],
)  # fmt: skip
def test_paths_reach_no_file(client, path):
    # Sent as it is: other clients tidy paths up.
    with closing(HTTPConnection(client.base_url.host, client.base_url.port, timeout=10)) as line:
        line.request("GET", path)
        response = line.getresponse()
        body = response.read()
    assert response.status == 404
    assert b"nothing at this address" in body


@pytest.mark.parametrize("path", ASKING)
@pytest.mark.parametrize(
    "word", [LONG, "x" * 65, "a\x00b", "a\nb", "\x1b[2J", "\x7f", "\ud800", "\ue000", "", "   "]
)
def test_words_that_are_no_words(client, path, word):
    value = quote(word.encode("utf-8", "surrogatepass"))
    message(client.get(f"{path}?word={value}"), 422)


def test_bytes_that_are_not_utf_8(client):
    message(client.get("/api/image?word=%ff%fe"), 422)
    message(client.get("/api/words?prefix=%c3%28"), 422)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_words": 0}, {"n_words": -3}, {"n_words": 51}, {"n_words": "ten"}, {"n_words": "1e9"},
        {"n_words": "nan"}, {"n_words": "9" * 400}, {"n_words": ""}, {"n_words": "2.5"},
        {"alpha": "nan"}, {"alpha": "inf"}, {"alpha": "-1"}, {"alpha": "0"}, {"alpha": "1e999"},
        {"alpha": "auto*2"}, {"alpha": "spectral"}, {"alpha": ""}, {"alpha": "1_0"},
        {"alpha": "9" * 5000}, {"alpha": "0x10"}, {"alpha": "-0.5*auto"}, {"alpha": "nan*auto"},
        {"radius": "nan"}, {"radius": "-inf"}, {"radius": "-1"}, {"radius": "wide"},
        {"radius": "-2*auto"}, {"radius": "2**8"}, {"radius": "__import__('os')"},
        {"radius": "\u0663"}, {"positive": "perhaps"}, {"positive": LONG},
        {"exclude": LONG}, {"exclude": "a\x00"}, {"exclude": ["tide"] * 33},
        {"word": ["sea"] * 9}, {"word": []},
    ],
    ids=lambda given: str(given)[:40],
)  # fmt: skip
def test_malformed_questions(client, parameters):
    for path in ("/api/image", "/api/documents"):
        message(client.get(path, params={"word": "sea", **parameters}), 422)


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/api/words", {"prefix": LONG}),
        ("/api/words", {"prefix": "a\x07"}),
        ("/api/words", {"prefix": "a", "count": -1}),
        ("/api/words", {"prefix": "a", "count": 51}),
        ("/api/words", {"prefix": "a", "count": "many"}),
        ("/api/documents", {"word": "sea", "count": 0}),
        ("/api/documents", {"word": "sea", "count": 21}),
        ("/api/documents", {"word": "sea", "count": "nan"}),
        ("/api/compare", {"first": "sea"}),
        ("/api/compare", {"second": "sea"}),
        ("/api/compare", {"first": "sea", "second": LONG}),
        ("/api/images", {"word": "sea", "n_words": 0}),
        ("/api/image", {}),
    ],
)
def test_malformed_questions_elsewhere(client, path, parameters):
    message(client.get(path, params=parameters), 422)


def test_sentences_say_what_came_and_what_is_accepted(client):
    def said(**parameters):
        return message(client.get("/api/image", params={"word": "sea", **parameters}), 422)

    assert said(n_words=-3) == (
        "n_words='-3' was given, but it should be greater than or equal to 1; see /docs."
    )
    assert said(n_words="x" * 99).startswith(f"n_words='{'x' * 40}...' was given")
    assert "a positive number, auto, or a multiple such as 0.5*auto" in said(alpha="nan")
    assert "at most 64 are accepted" in said(exclude=LONG)
    assert message(client.get("/api/image"), 422) == "word is missing, but it is needed; see /docs."


def test_all_words_but_one_left_out(imager, asking):
    most = [str(word) for word in imager.words_ if word != "sea"]
    with asking(create_app(imager, limits=Limits(excluded=len(most)))) as client:
        response = client.get("/api/image", params={"word": "sea", "exclude": most})
    assert response.status_code == 200
    assert response.json()["words"] == []


def test_a_map_that_was_not_made_says_how_to_make_it(imager, asking):
    with asking(create_app(imager)) as client:
        assert "sketchlasso topics all" in message(client.get("/api/map"), 404)
        assert not client.get("/api/about").json()["has_map"]


def test_images_of_another_vocabulary_are_refused():
    fewer = TopicImager(rank=4, random_state=0).fit(["red green blue", "red blue", "green"] * 9)
    assert "same vocabulary" in refusal(InvalidInputError, create_app, fewer, small_images())


def test_limits_must_be_positive():
    assert "n_words=0" in refusal(InvalidInputError, Limits, n_words=0)
    assert "seconds=0" in refusal(InvalidInputError, Limits, seconds=0)
    assert Limits(waiting=0).waiting == 0


def test_a_taken_port_is_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = refusal(InvalidInputError, serve, small_imager(), port=port)
    assert f"port {port} cannot be listened on" in text
    assert "not an address of this machine" in refusal(
        InvalidInputError, serve, small_imager(), host="no.such.host.invalid"
    )
    refusal(InvalidInputError, serve, small_imager(), port=70_000)


def test_what_cannot_be_explored_is_one_sentence():
    graph = networkx.Graph()
    assert "a Graph was given with images" in refusal(InvalidInputError, create_app, graph, "some")
    assert "a str was given" in refusal(InvalidInputError, create_app, "genes.graphml")


def test_without_the_extra_the_sentence_says_how_to_install_it(monkeypatch):
    import sys

    for name in ("fastapi", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (create_app, serve):
        with pytest.raises(MissingExtraError, match=r"pip install 'sketchlasso\[web\]'"):
            call(small_imager())


def test_pages_are_a_fixed_table():
    pages = read_pages()
    assert {"/", "/docs", "/favicon.ico", "/static/app.js", "/static/style.css"} <= set(pages)
    assert not any(address.endswith(".py") for address in pages)
