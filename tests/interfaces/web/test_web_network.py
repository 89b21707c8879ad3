"""The explorer of a network: what its API answers."""

import numpy as np
import pytest

from sketchlasso.graphs import graph_of
from sketchlasso.interfaces.web import create_app

GRAPH = graph_of(
    ("Hub", "ab", "abc", "cab", "lone"),
    np.array([[0, 1], [0, 2], [0, 3], [1, 2]]),
    np.array([0.5, -2.0, 1.0, 0.25]),
    "and",
    {"stability": np.array([0.5, 1.0, 0.75, 0.25]), "p_value": np.array([0.5, 1e-9, np.nan, 1.0])},
)


@pytest.fixture(scope="module")
def get(asking):
    pytest.importorskip("networkx")
    with asking(create_app(GRAPH, source="genes.graphml")) as client:

        def answer(path, status=200, **parameters):
            response = client.get(path, params=parameters)
            assert response.status_code == status, response.text
            return response.json()

        yield answer


def test_about(get):
    answer = get("/api/about")
    assert (answer["source"], answer["n_nodes"], answer["n_links"]) == ("genes.graphml", 5, 4)
    assert answer["attributes"] == ["stability", "p_value"]


def test_neighbours_come_with_all_that_is_known_of_the_links(get):
    answer = get("/api/neighbours", name="Hub")
    assert answer["n_links"] == 3
    assert answer["neighbours"] == [
        {"name": "abc", "weight": -2.0, "attributes": {"stability": 1.0, "p_value": 1e-9}},
        {"name": "cab", "weight": 1.0, "attributes": {"stability": 0.75}},
        {"name": "ab", "weight": 0.5, "attributes": {"stability": 0.5, "p_value": 0.5}},
    ]
    few = get("/api/neighbours", name="Hub", count=1)
    assert (few["n_links"], [one["name"] for one in few["neighbours"]]) == (3, ["abc"])
    assert get("/api/neighbours", name="lone")["neighbours"] == []


def test_nodes_are_found_by_the_beginning_of_their_names_and_then_by_the_rest(get):
    found = get("/api/nodes", prefix="AB")["nodes"]
    assert [(one["name"], one["links"]) for one in found] == [("ab", 2), ("abc", 2), ("cab", 1)]
    assert get("/api/nodes", count=1)["nodes"] == [{"name": "Hub", "links": 3}]
    assert get("/api/nodes", prefix="nothing")["nodes"] == []


def test_the_map_has_every_linked_node(get):
    answer = get("/api/map")
    assert [node["word"] for node in answer["nodes"]] == ["Hub", "ab", "abc", "cab"]
    assert [node["size"] for node in answer["nodes"]] == [3, 2, 2, 1]
    assert answer["edges"] == [[0, 1, 0.5], [0, 2, -2.0], [0, 3, 1.0], [1, 2, 0.25]]
    assert (answer["n_words"], answer["n_edges"]) == (5, 4)


@pytest.mark.parametrize(
    ("path", "parameters", "status", "says"),
    [
        (
            "/api/neighbours",
            {"name": "hub"},
            404,
            "'hub' is not a node of the network; did you mean",
        ),
        ("/api/neighbours", {}, 422, "name is missing"),
        ("/api/nodes", {"count": 0}, 422, "count should be greater"),
    ],
)
def test_refusals_are_one_sentence(get, path, parameters, status, says):
    assert says in get(path, status, **parameters)["message"]


def test_an_unknown_node_brings_suggestions(get):
    assert get("/api/neighbours", 404, name="hub")["suggestions"] == ["Hub"]


def test_a_network_without_links_has_an_empty_map(asking):
    pytest.importorskip("networkx")
    lonely = graph_of(("a", "b"), np.zeros((0, 2), dtype=np.intp), np.zeros(0), "or")
    with asking(create_app(lonely)) as client:
        answer = client.get("/api/map").json()
    assert (answer["nodes"], answer["edges"], answer["n_words"]) == ([], [], 2)


def test_each_explorer_has_its_own_first_page(asking, client):
    with asking(create_app(GRAPH)) as network:
        assert "/static/network.js" in network.get("/").text
    assert "/static/app.js" in client.get("/").text
