"""Topics from the shell: documents in, images and graphs out."""

import json
import re

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.graphs import write_graph
from sketchlasso.topics import load_images, load_topics, read_corpus, word_graph
from tests.interfaces.posts import posts


def document(result):
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_fit_writes_a_model_that_python_reads(ask, made):
    said = ask(
        "topics fit {made}/posts.jsonl --column body --title-column name --rank 8 -o p.topics"
    ).stdout
    assert re.search(r"documents +90\n", said) and re.search(r"wrote +p.topics\n", said)
    assert "try: sketchlasso topics list p.topics\n" in said
    loaded, expected = load_topics("p.topics"), load_topics(made / "posts.topics")
    assert loaded.corpus_.titles[0] == "sea 0"
    mine, theirs = loaded.image("sea"), expected.image("sea")
    assert mine.words == theirs.words
    assert np.array_equal(mine.weights, theirs.weights)


def test_options_of_a_fit_arrive(ask, tmp_path):
    (tmp_path / "mine.txt").write_text("day\npeople\n")
    printed = document(
        ask(
            "topics fit {made}/posts.jsonl --column 1 --weighting log --scale --radius 0.5 "
            "--positive --min-documents 3 --max-share 0.9 --stop-words mine.txt --threads 1 "
            "--seed 7 --rank 5 -o p.topics --json"
        )
    )
    assert printed["command"] == "topics fit"
    assert printed["n_documents"] == 90
    kept = load_topics("p.topics").get_params()
    assert (kept["weighting"], kept["scale"], kept["positive"]) == ("log", True, True)
    assert (kept["min_documents"], kept["max_share"], kept["n_jobs"]) == (3, 0.9, 1)
    assert (kept["radius"], kept["rank"], kept["random_state"]) == (0.5, 5, 7)
    assert kept["stop_words"] == ["day", "people"]
    assert not {"day", "people"} & set(load_topics("p.topics").words_)
    ask("topics fit {made}/posts.jsonl --column body --stop-words none -o q.topics")
    assert load_topics("q.topics").stop_words is None


@pytest.mark.parametrize("kind", ["folder", "lines", "csv", "counts"])
def test_other_sources(ask, tmp_path, kind):
    texts = [record["body"] for record in posts(0)]
    if kind == "folder":
        (tmp_path / "source").mkdir()
        for number, text in enumerate(texts):
            (tmp_path / "source" / f"{number}.txt").write_text(text)
        line = "topics fit source"
    elif kind == "lines":
        (tmp_path / "source.txt").write_text("\n".join(texts))
        line = "topics fit source.txt"
    elif kind == "csv":
        rows = (f"{number};{text}\n" for number, text in enumerate(texts))
        (tmp_path / "source.csv").write_text("number;text\n" + "".join(rows))
        line = "topics fit source.csv --separator ;"
    else:
        corpus = read_corpus(texts)
        sparse.save_npz(tmp_path / "counts.npz", sparse.csr_matrix(corpus.counts))
        (tmp_path / "words.txt").write_text("\n".join(corpus.words))
        line = "topics fit counts.npz --vocabulary words.txt"
    printed = document(ask(f"{line} --rank 8 -o m.topics --json"))
    assert printed["n_documents"] == 90
    assert "wave" in load_topics("m.topics").image("sea").words


def test_an_image_for_people(ask, made):
    said = ask("topics image {made}/posts.topics sea music --n-words 4").stdout
    assert said.isascii()
    lines = said.splitlines()
    image = load_topics(made / "posts.topics").image("sea", 4)
    share = f"{100 * image.held_out:.0f} %"
    judged = f"these words explain {share} of its variance in held-out documents"
    assert lines[0] == f"sea: {image.quality}, {judged}"
    word, weight, bar = lines[2].split()
    assert (word, bar) == (image.words[0], "#" * 24)
    assert float(weight) == pytest.approx(image.weights[0], abs=1e-4)
    assert sum(line.startswith("music: ") for line in lines) == 1


def test_an_image_for_machines(ask, made):
    printed = document(
        ask("topics image {made}/posts.topics sea --alpha 0.2 --radius 0.1 --documents 2 --json")
    )
    imager = load_topics(made / "posts.topics")
    image = imager.image("sea", alpha=0.2, radius=0.1)
    (mine,) = printed["images"]
    assert mine["words"] == list(image.words)
    assert np.allclose(mine["weights"], image.weights, rtol=1e-6)
    assert mine["signs"] == image.signs.tolist()
    assert (mine["alpha"], mine["radius"]) == (0.2, 0.1)
    assert mine["explained"] == pytest.approx(image.explained)
    titles = [one.title for one in imager.documents(image, 2)]
    assert [one["title"] for one in mine["documents"]] == titles
    assert printed["warnings"] == []


def test_all_writes_what_python_writes(ask, made):
    result = ask("topics all {made}/posts.topics -o all.images --n-words 5")
    assert result.stderr == ""
    with open("all.images", "rb") as mine:
        assert mine.read() == (made / "posts.images").read_bytes()
    printed = document(ask("topics all {made}/posts.topics -o b.images --positive --json"))
    assert printed["worst_gap"] <= 1e-6
    assert load_images("b.images").weights.data.min() > 0


@pytest.mark.parametrize(("ending", "rule"), [("graphml", "or"), ("csv", "and")])
def test_graphs(ask, made, tmp_path, ending, rule):
    printed = document(
        ask(f"topics graph {{made}}/posts.images -o g.{ending} --rule {rule} --json")
    )
    images = load_images(made / "posts.images")
    graph = word_graph(images.weights, images.words, rule)
    assert printed["n_links"] == len(graph.edges) > 0
    expected = tmp_path / f"expected.{ending}"
    write_graph(expected, graph)
    assert (tmp_path / f"g.{ending}").read_bytes() == expected.read_bytes()


def test_info_knows_topics_and_images(ask):
    said = ask("info {made}/posts.topics --top 2").stdout
    assert "2 words in most documents" in said
    printed = document(ask("info {made}/posts.topics --json"))
    assert (printed["content"], printed["n_documents"], printed["rank"]) == ("topics", 90, 8)
    assert "words in most" not in ask("info {made}/posts.images --top 0").stdout
    printed = document(ask("info {made}/posts.images --json"))
    assert (printed["content"], printed["n_words"]) == ("images", 5)


def test_the_demo_images_words_of_documentation(ask, tmp_path):
    result = ask("topics demo -o docs.topics")
    for word in ("fourier", "matrix", "random", "cluster", "file"):
        assert f"\n{word}: " in result.stdout
    assert "transform" in result.stdout and "directory" in result.stdout
    assert result.stdout.splitlines()[-1] == (
        "continue in the browser: sketchlasso topics demo --serve"
    )
    printed = document(ask("topics demo matrix --json"))
    assert [image["query"] for image in printed["images"]] == [["matrix"]]
    assert printed["n_documents"] > 4000
    assert "sparse" in load_topics("docs.topics").image("matrix").words


def test_images_are_compared_and_drawn(ask, made, tmp_path):
    pytest.importorskip("matplotlib")
    line = "topics image {made}/posts.topics sea --exclude wave"
    said = ask(f"{line} --compare {{made}}/other.topics --plot both.svg --json").stdout
    (pair,) = json.loads(said)["compared"]
    image = load_topics(made / "posts.topics").image("sea", exclude=["wave"])
    assert pair["first"]["words"] == list(image.words) and "wave" not in image.words
    drawn = (tmp_path / "both.svg").read_text()
    assert all(f"<!-- {word} -->" in drawn for word in image.words)
