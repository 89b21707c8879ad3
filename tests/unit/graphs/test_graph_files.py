"""Graphs into files and back."""

import json

import numpy as np
import pytest
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.graphs import Graph, read_graph, write_graph

GRAPH = Graph(
    ("a <b>", "b&c", "é", "alone"),
    np.array([[0, 1], [0, 2], [1, 2]]),
    np.array([0.5, -0.25, 1.5]),
    "and",
    {"stability": np.array([1.0, 0.5, 0.75]), "p_value": np.array([1e-9, 0.25, 1.0])},
)


def written(path):
    """Write GRAPH in the format of an ending, with an attribute of the nodes where it has room."""
    more = None if ".csv" in path.name else {"community": [0, 0, 1, -1]}
    write_graph(path, GRAPH, more)
    return path


@pytest.mark.parametrize("name", ["g.graphml", "g.gexf.xz", "g.json", "g.csv", "g.csv.gz"])
def test_what_is_written_is_read(tmp_path, name):
    if name.startswith(("g.graphml", "g.gexf")):
        pytest.importorskip("networkx")
    read = read_graph(written(tmp_path / name))
    whole = not name.startswith("g.csv")
    assert read.names == (GRAPH.names if whole else GRAPH.names[:3])
    assert read.edges.tolist() == GRAPH.edges.tolist()
    assert read.weights.tolist() == GRAPH.weights.tolist()
    assert set(read.edge_attributes) == {"stability", "p_value"}
    for attribute, values in GRAPH.edge_attributes.items():
        assert read.edge_attributes[attribute].tolist() == values.tolist()
    # A list of links and GEXF have no place for the rule.
    assert read.rule == ("and" if name in ("g.graphml", "g.json") else "or")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_gexf_is_what_networkx_has(tmp_path):
    networkx = pytest.importorskip("networkx")
    read = networkx.read_gexf(written(tmp_path / "g.gexf"))
    assert read.nodes["é"] == {"community": 1, "label": "é"}
    assert read.edges["b&c", "é"]["weight"] == 1.5
    assert read.edges["a <b>", "é"]["sign"] == -1
    assert read.edges["a <b>", "b&c"]["stability"] == 1.0


def test_gexf_refuses_what_xml_cannot_hold(tmp_path):
    pytest.importorskip("networkx")
    graph = Graph(("bell\x07", "b"), np.array([[0, 1]]), np.array([1.0]), "or")
    assert "rename it" in refusal(InvalidInputError, write_graph, tmp_path / "g.gexf", graph)
    assert list(tmp_path.iterdir()) == []


def test_what_an_ending_cannot_hold_is_refused(tmp_path):
    more = {"community": [0, 0, 1, -1]}
    text = refusal(InvalidInputError, write_graph, tmp_path / "g.csv", GRAPH, more)
    assert "attributes of the nodes were given" in text
    for name in ("g", "g.png", "g.gz"):
        text = refusal(InvalidInputError, write_graph, tmp_path / name, GRAPH)
        assert "end it in .graphml, .gexf, .json or .csv" in text
    assert list(tmp_path.iterdir()) == []


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
    path.write_text(json.dumps({"nodes": [{"id": n} for n in (1, 2, 3)], "edges": links}))
    read = read_graph(path)
    assert read.names == ("1", "2", "3")
    assert read.edges.tolist() == [[0, 1], [0, 2]]
    assert read.weights.tolist() == [-2.0, 1.0]
    assert read.edge_attributes == {}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("g.png", "", "rename it by its format"),
        ("g.json", "{", "holds no graph"),
        ("g.json", "[1]", "holds no graph"),
        ("g.json", '{"nodes": [], "links": [{"source": 1, "target": 2}]}', "which is not a node"),
        ("g.csv", "a,b\n1,2\n", "'source'"),
        ("g.csv", "", "it has no nodes"),
        ("g.json", '{"nodes": [], "links": []}', "it has no nodes"),
        ("g.csv", "source,target,weight\na,b,nan\n", "the weight 'nan'"),
        ("g.csv.gz", "source,target\n", "its gzip data are broken"),
        ("g.graphml", "<graphml", "holds no graph"),
        ("g.graphml", "<html></html>", "holds no graph"),
        ("g.gexf", "<gexf></gexf>", "holds no graph"),
    ],
)
def test_what_is_no_graph_is_one_sentence(tmp_path, name, content, says):
    pytest.importorskip("networkx")
    path = tmp_path / name
    path.write_text(content)
    assert says in refusal(StoredFileError, read_graph, path)


def test_a_file_that_is_not_there(tmp_path):
    text = refusal(StoredFileError, read_graph, tmp_path / "no.json")
    assert "could not be read (No such file or directory)" in text
