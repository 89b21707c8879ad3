"""The graph of words: links, groups, places and files."""

import csv
import gzip
import json
import sys

import numpy as np
import pytest
from scipy import sparse
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, MissingExtraError, StoredFileError
from sketchlasso.graphs import write_graph
from sketchlasso.topics import word_graph

WORDS = ["sea", "wave", "desert", "owl"]
#          sea  wave desert owl
IMAGES = [
    [9.0, 0.5, -0.3, 0.0],
    [0.2, 0.0, 0.4, 0.0],
    [-0.1, -0.6, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0],
]


def planted(groups=4, size=30, inside=8, outside=1, seed=0):
    """Images whose words lie in groups: most links inside, few out."""
    generator = np.random.default_rng(seed)
    n = groups * size
    W = np.zeros((n, n))
    for i in range(n):
        own = np.arange(n)[np.arange(n) // size == i // size]
        W[i, generator.choice(own, inside, replace=False)] = generator.uniform(0.5, 1, inside)
        W[i, generator.integers(0, n, outside)] = generator.uniform(-0.3, 0.3, outside)
    np.fill_diagonal(W, 0)
    return word_graph(sparse.csr_array(W), [f"w{i}" for i in range(n)]), np.arange(n) // size


@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.coo_array])
def test_or_takes_the_larger_and_and_the_smaller(form):
    either = word_graph(form(np.array(IMAGES)), WORDS)
    assert either.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert either.weights.tolist() == [0.5, -0.3, -0.6]
    assert either.signs.tolist() == [1, -1, -1]
    assert either.words == tuple(WORDS)
    assert repr(either) == "<WordGraph of 4 words, 3 edges ('or')>"
    both = word_graph(form(np.array(IMAGES)), WORDS, "and")
    assert both.edges.tolist() == [[0, 1], [0, 2]]  # wave and desert contradict each other
    assert both.weights.tolist() == [0.2, -0.1]


def test_neighbours_come_by_strength():
    graph = word_graph(IMAGES, WORDS)
    assert graph.neighbours("desert") == [("wave", -0.6), ("sea", -0.3)]
    assert graph.neighbours("owl") == []
    assert "nearest: 'desert'" in refusal(InvalidInputError, graph.neighbours, "dessert")


def test_words_without_links_stay_or_go():
    kept = word_graph(IMAGES, WORDS)
    assert kept.degrees.tolist() == [2, 2, 2, 0]
    graph = word_graph(np.array(IMAGES)[::-1, ::-1], WORDS[::-1], drop_isolated=True)
    assert graph.words == ("desert", "wave", "sea")
    assert graph.neighbours("desert") == kept.neighbours("desert")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((np.ones((2, 3)), ["a", "b"]), "shape (2, 3)"),
        ((np.eye(2), ["a"]), "1 words"),
        ((np.eye(2), ["a", "a"]), "'a' was given twice"),
        (([[0, np.nan], [0, 0]], ["a", "b"]), "the image of 'a' holds nan"),
        ((np.eye(2), ["a", "b"], "xor"), "rule must be 'or' or 'and', not 'xor'."),
        (([["x"]], ["a"]), "type <U1"),
    ],
)
def test_what_is_no_set_of_images_is_refused(arguments, says):
    assert says in refusal(InvalidInputError, word_graph, *arguments)


def test_planted_groups_are_found():
    pytest.importorskip("networkx", reason="the extra 'graph' is not installed")
    graph, truth = planted()
    found = graph.communities(random_state=3)
    assert len(np.unique(found)) == 4
    assert len(np.unique(found * 10 + truth)) == 4  # the same parts under other names
    assert np.array_equal(found, graph.communities(random_state=3))
    few = word_graph(IMAGES, WORDS).communities()
    assert few[3] == -1
    assert (few[:3] >= 0).all()
    assert word_graph(np.zeros((2, 2)), ["a", "b"]).communities().tolist() == [-1, -1]


def test_groups_lie_together_on_the_map():
    graph, truth = planted(groups=5, size=40)
    places = graph.layout(random_state=1)
    assert np.array_equal(places, graph.layout(random_state=1))
    assert not np.array_equal(places, graph.layout(random_state=2))
    assert np.linalg.norm(places, axis=1).max() <= 1 + 1e-12
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    same = truth[:, None] == truth[None]
    assert np.median(apart[same]) < np.median(apart[~same]) / 4
    assert len(np.unique(places, axis=0)) == len(places)


@pytest.mark.parametrize("edges", [0, 1, 2, 12, 40])
def test_maps_of_small_and_broken_graphs(edges):
    n = 45
    W = np.zeros((n, n))
    for i in range(edges):  # a path, or parts of one, and words without links
        W[i, i + 1] = 1 if i % 7 else 0
    W[0, 1] = edges > 0
    graph = word_graph(W, [str(i) for i in range(n)])
    places = graph.layout()
    assert np.isfinite(places).all()
    assert np.linalg.norm(places, axis=1).max() <= 1 + 1e-12
    radius = np.linalg.norm(places, axis=1)
    linked = graph.degrees > 0
    if linked.any():
        assert radius[~linked].min() > radius[linked].max()


def test_a_hub_does_not_throw_the_others_about():
    n = 2000
    generator = np.random.default_rng(0)
    W = sparse.lil_array((n, n))
    W[1:, 0] = 1
    for i in range(n):
        W[i, (i + 1) % n] = 1 + generator.random()
    radius = np.linalg.norm(word_graph(W, [str(i) for i in range(n)]).layout(), axis=1)
    assert np.median(radius) > 0.2


def test_files_hold_what_the_graph_holds(tmp_path):
    networkx = pytest.importorskip("networkx", reason="the extra 'graph' is not installed")
    graph = word_graph(IMAGES, WORDS)
    more = {
        "community": np.array([0, 0, 1, -1]),
        "x": [0.5, 1.0, -2.0, 0.0],
        "note": ["a<b", "&", "", '"'],
        "known": [True, False, True, True],
    }
    whole = graph.to_networkx(more)
    assert whole.nodes["sea"] == {"community": 0, "x": 0.5, "note": "a<b", "known": True}
    assert whole.edges["wave", "desert"] == {"weight": 0.6, "sign": -1}
    write_graph(tmp_path / "g.json", graph, more)
    stored = json.loads((tmp_path / "g.json").read_text())
    assert stored["links"][0] == {"source": "sea", "target": "wave", "weight": 0.5, "sign": 1}
    again = networkx.node_link_graph(stored, edges="links")
    assert networkx.utils.graphs_equal(again, whole)
    write_graph(tmp_path / "g.graphml", graph, more)
    read = networkx.read_graphml(tmp_path / "g.graphml")
    for word, values in read.nodes.items():
        assert values.pop("label") == word
        values["note"] = values["note"] or ""  # networkx reads empty text as None
    assert dict(read.nodes) == dict(whole.nodes)
    assert {frozenset(e): read.edges[e] for e in read.edges} == {
        frozenset(e): whole.edges[e] for e in whole.edges
    }
    write_graph(tmp_path / "g.csv.gz", graph)
    lines = gzip.decompress((tmp_path / "g.csv.gz").read_bytes()).decode().splitlines()
    rows = list(csv.DictReader(lines))
    assert rows[2] == {"source": "wave", "target": "desert", "weight": "0.6", "sign": "-1"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["g.csv.gz", "g.graphml", "g.json"]


def test_characters_that_xml_cannot_hold_are_refused_and_nothing_is_left(tmp_path):
    graph = word_graph([[0, 1], [0, 0]], ["bell\x07", "sea"])
    refusal(InvalidInputError, write_graph, tmp_path / "g.graphml", graph)
    assert list(tmp_path.iterdir()) == []
    write_graph(tmp_path / "g.json", graph)
    write_graph(tmp_path / "g.csv", graph)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"x": [1.0]}, "shape (1,)"),
        ({"x": [1.0, np.nan]}, "not finite"),
        ({"id": [1, 2]}, "another name"),
        ({"x": [{}, {}]}, "type object"),
    ],
)
def test_attributes_that_do_not_fit(tmp_path, more, says):
    graph = word_graph([[0, 1], [0, 0]], ["a", "b"])
    for name in ("g.json", "g.graphml"):
        assert says in refusal(InvalidInputError, write_graph, tmp_path / name, graph, more)


def test_a_folder_that_is_not_there(tmp_path):
    graph = word_graph([[0, 1], [0, 0]], ["a", "b"])
    for name in ("g.json", "g.graphml", "g.csv"):
        path = tmp_path / "no" / name
        assert "choose a path" in refusal(StoredFileError, write_graph, path, graph)


def test_without_networkx_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    graph = word_graph(IMAGES, WORDS)
    for call in (graph.communities, graph.to_networkx):
        with pytest.raises(MissingExtraError, match=r"pip install 'sketchlasso\[graph\]'"):
            call()
    assert graph.layout().shape == (4, 2)
