"""Graphs: groups, maps, and files, also those of other programs and those that are broken."""

import gzip
import json

import networkx
import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.graphs import communities, force_layout, graph_of, read_graph, write_graph
from sketchlasso.topics import word_graph

LINKS = [
    ("a <b>", "b&c", {"weight": 0.5, "sign": 1, "stability": 1.0, "p_value": 1e-9}),
    ("a <b>", "é", {"weight": 0.25, "sign": -1, "stability": 0.5}),
    ("b&c", "é", {"weight": 1.5, "sign": 1, "stability": 0.75, "p_value": 1.0}),
]
NODES = ["a <b>", "b&c", "é", "alone"]
JSON_LINK = b'{"nodes":[{"id":1},{"id":2}],"links":[{"source":1,"target":2,"weight":%s}]}'
# Files that end the parsers of XML, CSV and JSON in errors of several kinds.
CRAFTED = {
    "infinite.json": JSON_LINK % b"1e999",
    "html.graphml": b"<html></html>",
    "empty.json": b'{"nodes": [], "links": []}',
    "plain.csv": b"not,a,graph\n1,2,3\n",
    "cut.csv.gz": gzip.compress(b"source,target\n")[:-4],
}


def example():
    graph = networkx.Graph(rule="and")
    graph.add_nodes_from((name, {"community": number}) for number, name in enumerate(NODES))
    graph.add_edges_from(LINKS)
    return graph


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


def places_of(graph, **options):
    return np.array(list(force_layout(graph, **options).values()))


@pytest.mark.parametrize("name", ["g.graphml", "g.gexf.bz2", "g.json", "g.json.gz", "g.csv"])
def test_what_is_written_is_read(tmp_path, name):
    write_graph(tmp_path / name, example())
    read = read_graph(tmp_path / name)
    assert networkx.utils.edges_equal(read.edges(data=True), LINKS)
    if name != "g.csv":
        assert dict(read.nodes(data="community")) == dict(zip(NODES, range(4), strict=True))
    # A list of links and GEXF have no place for the rule.
    assert read.graph["rule"] == ("or" if name in ("g.csv", "g.gexf.bz2") else "and")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_graph_of_another_program(tmp_path):
    """Directions become one link, the stronger; loops and zeros are no links."""
    links = [
        {"source": 1, "target": 2, "weight": 0.5, "colour": "red"},
        {"source": 2, "target": 1, "weight": -2},
        {"source": 2, "target": 2},
        {"source": 2, "target": 3, "weight": 0},
        {"source": 3, "target": 1},
    ]
    path = tmp_path / "other.json"
    content = {"directed": True, "nodes": [{"id": n} for n in (1, 2, 3)], "edges": links}
    path.write_text(json.dumps(content))
    read = read_graph(path)
    assert list(read) == ["1", "2", "3"]
    expected = [("1", "2", {"weight": 2.0, "sign": -1}), ("1", "3", {"weight": 1.0, "sign": 1})]
    assert networkx.utils.edges_equal(read.edges(data=True), expected)


@pytest.mark.parametrize("name", CRAFTED)
def test_what_is_no_graph_is_one_sentence(tmp_path, name):
    (tmp_path / name).write_bytes(CRAFTED[name])
    with pytest.raises(StoredFileError, match="holds no graph"):
        read_graph(tmp_path / name)


def test_what_a_file_cannot_hold_is_refused_and_nothing_is_left(tmp_path):
    graph = example()
    graph.nodes["é"]["x"] = np.nan
    with pytest.raises(InvalidInputError, match="finite numbers or texts"):
        write_graph(tmp_path / "g.json", graph)
    with pytest.raises(InvalidInputError, match="end it in"):
        write_graph(tmp_path / "g.png", graph)
    with pytest.raises(StoredFileError):
        read_graph(tmp_path / "no.json")
    assert list(tmp_path.iterdir()) == []


def test_planted_groups_are_found():
    graph, truth = planted()
    found = communities(graph, random_state=3)
    labels = np.array(list(found.values()))
    assert len(np.unique(labels)) == 4
    assert len(np.unique(labels * 10 + truth)) == 4  # the same parts under other names
    assert found == communities(graph, random_state=3)
    lonely = word_graph([[0, 1, 0], [0, 0, 0], [0, 0, 0]], ["a", "b", "c"])
    assert communities(lonely) == {"a": 0, "b": 0, "c": -1}
    assert communities(word_graph(np.zeros((2, 2)), ["a", "b"])) == {"a": -1, "b": -1}


def test_groups_lie_together_on_the_map():
    graph, truth = planted(groups=5, size=40)
    places = places_of(graph, random_state=1)
    assert np.array_equal(places, places_of(graph, random_state=1))
    assert not np.array_equal(places, places_of(graph, random_state=2))
    assert np.linalg.norm(places, axis=1).max() <= 1 + 1e-12
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    same = truth[:, None] == truth[None]
    assert np.median(apart[same]) < np.median(apart[~same]) / 4
    assert len(np.unique(places, axis=0)) == len(places)


def test_leaves_of_a_hub_do_not_lie_on_each_other():
    leaves = 40
    edges = np.array([[0, leaf] for leaf in range(1, leaves + 1)])
    graph = graph_of(list(map(str, range(leaves + 1))), edges, np.ones(leaves), "or")
    places = places_of(graph)
    assert pdist(places).min() >= 0.8 * min(0.08, 0.3 / np.sqrt(leaves + 1))
