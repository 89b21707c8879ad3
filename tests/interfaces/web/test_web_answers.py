"""Every address answers with what the model returns."""

import gzip
import json
import time

import numpy as np
import pytest
from tests.explored import PATIENCE

import sketchlasso as sl
from sketchlasso.interfaces.web import Limits, create_app
from sketchlasso.interfaces.web.answers import Answers, excerpt
from sketchlasso.topics import Corpus, find_topics, load_topics, word_graph


def same_image(body, image):
    assert body["query"] == list(image.query)
    assert [one["word"] for one in body["words"]] == list(image.words)
    np.testing.assert_allclose([one["weight"] for one in body["words"]], image.weights, rtol=1e-6)
    assert body["n_nonzero"] == image.n_nonzero
    for name in ("alpha", "radius", "explained"):
        assert body[name] == pytest.approx(getattr(image, name))
    assert body["gap"] <= 1e-6
    assert body["excluded"] == list(image.excluded)


def made(client, address):
    """The answer of an address once the topics and the map are made."""
    end = time.monotonic() + PATIENCE
    while (answer := client.get(address)).status_code == 503 and time.monotonic() < end:
        time.sleep(0.05)
    return answer.json()


def test_about_names_the_model_and_its_limits(ask, imager):
    about = ask("/api/about")
    assert about["version"] == sl.__version__
    assert (about["n_documents"], about["n_words"]) == imager.corpus_.shape
    assert about["settings"]["rank"] == 12
    assert about["has_map"]
    assert about["has_texts"]
    assert not about["has_phrases"]
    assert about["limits"]["words"] == 8


def test_the_page_names_the_file_and_not_its_folder(made):
    about = Answers(load_topics(made / "posts.topics"), None, Limits()).about()
    assert about.source == "posts.jsonl"
    assert Corpus(np.ones((1, 1)), ("sea",), ("one",)).name == "a corpus"


def test_health(ask):
    assert ask("/api/health") == {"status": "ok", "inside": 0}


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
    body = made(client, "/api/map")
    graph = word_graph(images.weights, images.words)
    linked = [word for word, degree in graph.degree if degree]
    assert [node["word"] for node in body["nodes"]] == linked
    assert body["n_edges"] == len(body["edges"]) == len(graph.edges)
    assert all(abs(node["x"]) <= 1 and abs(node["y"]) <= 1 for node in body["nodes"])
    word = {place: node["word"] for place, node in enumerate(body["nodes"])}
    source, target, weight = body["edges"][0]
    facts = graph.edges[word[source], word[target]]
    assert weight == pytest.approx(facts["sign"] * facts["weight"], rel=1e-2)


def test_the_map_is_sent_once_and_small(client):
    made(client, "/api/map")
    plain = client.get("/api/map", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    zipped = client.get("/api/map", headers={"accept-encoding": "gzip"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert zipped.json() == plain.json()
    assert int(zipped.headers["content-length"]) < len(plain.content)
    again = client.get("/api/map", headers={"if-none-match": plain.headers["etag"]})
    assert again.status_code == 304
    assert again.content == b""


def test_openapi_describes_every_address(ask):
    described = ask("/openapi.json")
    assert set(described["paths"]) == {
        f"/api/{name}"
        for name in (
            "about",
            "health",
            "topics",
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


def test_gzip_of_the_map_is_reproducible(images, imager):
    from sketchlasso.interfaces.web.limits import Limits
    from sketchlasso.interfaces.web.mapping import whole_map

    frequency = dict(zip(imager.words_, imager.document_frequency_, strict=True))
    small = Limits(map_words=10, map_edges=5)
    topics = find_topics(imager, images, stability=False)
    first, second = (
        whole_map(images, topics, frequency, small).model_dump_json() for _ in range(2)
    )
    assert gzip.compress(first.encode(), mtime=0) == gzip.compress(second.encode(), mtime=0)
    body = json.loads(first)
    assert len(body["nodes"]) == 10
    assert len(body["edges"]) == 5 < body["n_edges"]


def test_topics_to_begin_with(images, imager, asking):
    with asking(create_app(imager, images)) as client:
        found = made(client, "/api/topics")["topics"]
        nodes = made(client, "/api/map")
        end = time.monotonic() + PATIENCE
        while found[0]["stability"] is None and time.monotonic() < end:
            time.sleep(0.05)
            found = client.get("/api/topics").json()["topics"]
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


def test_words_that_cannot_be_asked_are_marked_and_not_offered(imager, asking):
    with asking(create_app(imager, limits=Limits(word_length=4))) as client:
        words = client.get("/api/image", params={"word": "sea"}).json()["words"]
        offered = client.get("/api/words", params={"count": 50}).json()["words"]
    assert {one["askable"] for one in words} == {True, False}
    assert all(one["askable"] == (len(one["word"]) <= 4) for one in words)
    assert offered
    assert all(len(one["word"]) <= 4 for one in offered)
