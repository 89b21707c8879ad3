"""Every address answers with what the model returns."""

import re
import sys
import time
from importlib.resources import files

import numpy as np
import pytest
from tests.explored import PATIENCE, small_imager, small_images

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, MissingExtraError
from sketchlasso.interfaces.web import create_app, serve
from sketchlasso.interfaces.web.mapping import graph_map
from sketchlasso.interfaces.web.topics import excerpt
from sketchlasso.topics import TopicImager, find_topics, load_topics, word_graph


def same_image(body, image):
    assert body["query"] == list(image.query)
    assert [one["word"] for one in body["words"]] == list(image.words)
    np.testing.assert_allclose([one["weight"] for one in body["words"]], image.weights, rtol=1e-6)
    assert body["n_nonzero"] == image.n_nonzero
    for name in ("alpha", "radius", "explained"):
        assert body[name] == pytest.approx(getattr(image, name))
    assert body["gap"] <= 1e-6
    assert body["excluded"] == list(image.excluded)


def test_about_names_the_model_and_its_limits(ask, imager):
    about = ask("/api/about")
    assert about["version"] == sl.__version__
    assert (about["n_documents"], about["n_words"]) == imager.corpus_.shape
    assert about["rank"] == 12
    assert about["has_map"]
    assert about["has_texts"]
    assert not about["has_phrases"]
    assert about["limits"]["n_words"] == 50


def test_the_page_names_the_file_and_not_its_folder(made, asking):
    with asking(create_app(load_topics(made / "posts.topics"))) as client:
        assert client.get("/api/about").json()["source"] == "posts.jsonl"


def test_words_complete_a_prefix_with_the_most_frequent_first(ask, imager):
    found = ask("/api/words", prefix="s", count=5)["words"]
    assert [one["word"] for one in found] == imager.complete("s", 5)
    counts = [one["documents"] for one in found]
    assert counts == sorted(counts, reverse=True)
    assert ask("/api/words", prefix="S", count=5)["words"] == found
    assert ask("/api/words", prefix="zzz")["words"] == []


def test_words_without_a_prefix_are_the_most_frequent_of_all(ask, imager):
    first = ask("/api/words", count=1)["words"][0]
    assert first["documents"] == imager.document_frequency_.max()


@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        ({}, {}),
        ({"n_words": 3}, {"n_words": 3}),
        ({"alpha": "0.3", "radius": "0.2"}, {"alpha": 0.3, "radius": 0.2}),
        ({"radius": "0"}, {"radius": 0.0}),
        ({"radius": "0.1*spectral"}, {"radius": "0.1*spectral"}),
        ({"radius": "realised"}, {"radius": "realised"}),
        ({"positive": "true"}, {"positive": True}),
        ({"exclude": ["tide", "ship"]}, {"exclude": ("tide", "ship")}),
    ],
)
def test_an_image_is_the_imagers(ask, imager, parameters, options):
    same_image(ask("/api/image", word="sea", **parameters), imager.image("sea", **options))


def test_words_are_asked_for_together(ask, imager):
    same_image(ask("/api/image", word=["sea", "bread"]), imager.image(["sea", "bread"]))


def test_multiples_of_the_automatic_choice(ask, imager):
    usual = imager.image("sea")
    wide = imager.image("sea", radius=2 * usual.radius)
    same_image(ask("/api/image", word="sea", alpha="0.5*auto"),
               imager.image("sea", alpha=0.5 * usual.alpha))  # fmt: skip
    same_image(ask("/api/image", word="sea", radius="2*auto"), wide)
    same_image(ask("/api/image", word="sea", radius="2*auto", alpha="0.5*auto"),
               imager.image("sea", radius=2 * usual.radius, alpha=0.5 * wide.alpha))  # fmt: skip
    same_image(ask("/api/image", word="sea", radius="auto", alpha="auto"), usual)


def test_case_and_surrounding_blanks_do_not_matter(ask):
    assert ask("/api/image", word=" Sea ")["query"] == ["sea"]


def test_images_are_those_of_each_word(ask, imager):
    found = ask("/api/images", word=["sea", "bread"], n_words=3)["images"]
    for body, image in zip(found, imager.images(["sea", "bread"], 3), strict=True):
        same_image(body, image)


def test_unknown_words_are_named_and_the_others_answered(client, imager):
    answer = client.get("/api/images", params={"word": ["sea", "breed", "eight", "bread"]})
    assert answer.status_code == 200
    body = answer.json()
    assert [image["query"] for image in body["images"]] == [["sea"], ["bread"]]
    breed, eight = body["unknown"]
    assert (breed["word"], breed["stop_word"]) == ("breed", False)
    assert "bread" in breed["suggestions"] and "did you mean" in breed["message"]
    assert (eight["word"], eight["stop_word"]) == ("eight", True)
    assert client.get("/api/images", params={"word": ["breed", "eight"]}).status_code == 404


def test_documents_behind_an_image(ask, imager):
    body = ask("/api/documents", word="sea", count=3)
    image = imager.image("sea")
    same_image(body["image"], image)
    matches = imager.documents(image, 3)
    assert [one["title"] for one in body["documents"]] == [match.title for match in matches]
    assert [one["number"] for one in body["documents"]] == [match.number for match in matches]
    for one in body["documents"]:
        assert any(word in one["excerpt"] for word in ("sea", *image.words))


def test_compare_stands_two_images_side_by_side(ask, imager):
    body = ask("/api/compare", first="garden", second="bread", n_words=12)
    one, other = imager.image("garden", 12), imager.image("bread", 12)
    same_image(body["first"], one)
    same_image(body["second"], other)
    assert set(body["shared"]) == set(one.words) & set(other.words)
    union = set(one.words) | set(other.words)
    assert body["overlap"] == pytest.approx(len(body["shared"]) / len(union))


def test_the_map_is_the_graph_of_all_images(client, images):
    body = client.get("/api/map").json()
    graph = word_graph(images.weights, images.words)
    linked = [word for word, degree in graph.degree if degree]
    assert [node["word"] for node in body["nodes"]] == linked
    assert body["n_edges"] == len(body["edges"]) == len(graph.edges)
    assert all(abs(node["x"]) <= 1 and abs(node["y"]) <= 1 for node in body["nodes"])
    word = {place: node["word"] for place, node in enumerate(body["nodes"])}
    source, target, weight = body["edges"][0]
    facts = graph.edges[word[source], word[target]]
    assert weight == pytest.approx(facts["sign"] * facts["weight"], rel=1e-2)


def test_openapi_describes_every_address(ask):
    described = ask("/openapi.json")
    assert set(described["paths"]) == {
        f"/api/{name}"
        for name in (
            "about",
            "topics",
            "topics/{number}",
            "map",
            "words",
            "image",
            "images",
            "documents",
            "compare",
        )
    }
    parameters = {one["name"]: one for one in described["paths"]["/api/image"]["get"]["parameters"]}
    assert set(parameters) == {"word", "n_words", "alpha", "radius", "positive", "exclude"}
    assert parameters["n_words"]["schema"]["maximum"] == 50


def test_an_excerpt_is_where_the_words_are():
    text = "blah " * 500 + "a sea of ships " + "blah " * 500
    found = excerpt(text, ("sea", "ship"), 100)
    assert "sea of ships" in found
    assert len(found) <= 100
    assert found[0] == found[-1] == "…"
    assert excerpt("short\n  text", (), 100) == "short text"
    assert excerpt("Title\n-----\ntext", (), 100) == "Title text"
    assert excerpt(None, (), 100) is None
    assert len(excerpt("x" * 5000, ("y",), 100)) <= 100
    assert excerpt("one two " * 50, (), 20) == "one two one two…"


def test_the_map_keeps_the_strongest_links_and_is_reproducible(images, imager, monkeypatch):
    monkeypatch.setattr("sketchlasso.interfaces.web.mapping.MAP_WORDS", 10)
    monkeypatch.setattr("sketchlasso.interfaces.web.mapping.MAP_LINKS", 5)
    frequency = dict(zip(imager.words_, imager.document_frequency_, strict=True))
    topics = find_topics(imager, images, stability=False)
    graph = word_graph(images.weights, images.words)
    first, second = (graph_map(graph, topics.of_word(images.words), frequency) for _ in range(2))
    assert first == second
    assert len(first["nodes"]) == 10
    assert len(first["edges"]) == 5 < first["n_edges"]


def test_topics_to_begin_with(images, imager, asking):
    with asking(create_app(imager, images)) as client:
        found = client.get("/api/topics").json()["topics"]
        nodes = client.get("/api/map").json()
        end = time.monotonic() + PATIENCE
        while found[0]["stability"] is None and time.monotonic() < end:
            time.sleep(0.05)
            found = client.get("/api/topics").json()["topics"]
        first = client.get("/api/topics/0").json()
        assert client.get(f"/api/topics/{len(found)}").status_code == 404
    topics = find_topics(imager, images, stability=False)
    assert tuple(word["word"] for word in first["words"]) == topics.topics[0].words
    assert len(first["documents"]) == first["n_documents"] == int((topics.main == 0).sum())
    assert all(topics.main[document["number"]] == 0 for document in first["documents"])
    assert [one["n_documents"] for one in found] == sorted(
        (one["n_documents"] for one in found), reverse=True
    )
    assert [words[:5] for words in nodes["labels"]] == [one["label"] for one in found]
    assert all(0 <= one["stability"] <= 1 for one in found)
    assert {"sea", "concert"} <= {word["word"] for one in found for word in one["words"]}
    community = {node["word"]: node["community"] for node in nodes["nodes"]}
    assert all(community[one["label"][0]] == number for number, one in enumerate(found))
    with asking(create_app(imager)) as client:
        assert client.get("/api/topics").status_code == 404


def test_images_say_how_far_to_trust_them(imager, asking):
    with asking(create_app(imager)) as client:
        shown = client.get("/api/image", params={"word": "Sea"}).json()
        stopped = client.get("/api/image", params={"word": "eight"})
    wanted = imager.image("sea")
    assert shown["query"] == ["sea"]
    assert (shown["quality"], shown["held_out"]) == (wanted.quality, pytest.approx(wanted.held_out))
    assert shown["advice"] == wanted.advice
    assert stopped.status_code == 404
    assert stopped.json()["stop_word"] is True
    assert "is a stop word" in stopped.json()["message"]


def test_excluded_words_do_not_return_in_the_images_of_neighbours(ask, imager):
    usual = ask("/api/images", word=["ship", "bread"], n_words=5)["images"]
    left_out = usual[0]["words"][0]["word"]
    found = ask("/api/images", word=["ship", "bread"], n_words=5, exclude=left_out)["images"]
    assert all(left_out not in [one["word"] for one in image["words"]] for image in found)


def test_every_answer_is_protected(client):
    for path in ("/", "/static/app.js", "/openapi.json", "/nowhere", "/api/image?word=voilin"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("LOCALHOST:1", 200),
        ("[::1]:8000", 200),
        ("evil.example", 400),
        ("127.0.0.1.evil.example", 400),
        ("127.0.0.2", 400),
    ],
)
def test_only_requests_to_this_machine_are_answered(client, host, status):
    assert client.get("/api/about", headers={"host": host}).status_code == status


def test_any_name_where_that_was_asked_for(imager, asking):
    with asking(create_app(imager, hosts=["*"])) as client:
        assert client.get("/api/about", headers={"host": "any.example"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "parameters", "status", "says"),
    [
        ("/api/image", {"word": "voilin"}, 404, "did you mean violin?"),
        ("/api/image", {"word": "../../etc/passwd"}, 404, "not in the vocabulary"),
        ("/api/image", {}, 422, "word is missing"),
        ("/api/image", {"word": "x" * 201}, 422, "at most 200 characters"),
        ("/api/image", {"word": "sea", "n_words": 51}, 422, "less than or equal to 50"),
        ("/api/image", {"word": "sea", "alpha": "nan"}, 422, "alpha must be a number"),
        ("/api/image", {"word": "sea", "alpha": "2*spectral"}, 422, "alpha must be"),
        ("/api/compare", {"first": "sea", "second": "shipp"}, 404, "did you mean ship"),
        ("/static/../server.py", {}, 404, "nothing at this address"),
        ("/nowhere", {}, 404, "nothing at this address"),
    ],
)
def test_refusals_are_one_sentence(client, path, parameters, status, says):
    response = client.get(path, params=parameters)
    assert response.status_code == status, response.text
    message = response.json()["message"]
    assert says in message
    assert "\n" not in message and len(message) < 300


def test_a_browser_gets_a_page_where_there_is_nothing(client):
    response = client.get("/nowhere", headers={"accept": "text/html,*/*"})
    assert response.status_code == 404
    assert "<h1>There is nothing at this address</h1>" in response.text


def test_a_map_that_was_not_made_says_how_to_make_it(imager, asking):
    with asking(create_app(imager)) as client:
        answer = client.get("/api/map")
        assert answer.status_code == 404
        assert "sketchlasso topics all" in answer.json()["message"]
        assert not client.get("/api/about").json()["has_map"]


def test_the_page_needs_nothing_from_elsewhere_and_keeps_to_its_policy():
    static = files("sketchlasso.interfaces.web").joinpath("static")
    for file in static.iterdir():
        text = file.read_text(encoding="utf-8")
        for link in re.findall(r"""(?:src|href)=["']([^"'$]+)""", text):
            assert link.startswith(("/", "#")), (file.name, link)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), file.name
        # Data must become text, never markup or code.
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text)
        if file.name.endswith(".html"):
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text)


def test_what_cannot_be_explored_is_one_sentence():
    fewer = TopicImager(rank=4, random_state=0).fit(["red green blue", "red blue", "green"] * 9)
    with pytest.raises(InvalidInputError, match="same vocabulary"):
        create_app(fewer, small_images())
    with pytest.raises(InvalidInputError, match="a str was given"):
        create_app("genes.graphml")


def test_without_the_extra_the_sentence_says_how_to_install_it(monkeypatch):
    for name in [one for one in sys.modules if one.startswith("sketchlasso.interfaces.web.")]:
        if not name.endswith("server"):
            monkeypatch.delitem(sys.modules, name)
    for name in ("fastapi", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (create_app, serve):
        with pytest.raises(MissingExtraError, match=r"pip install 'sketchlasso\[web\]'"):
            call(small_imager())
