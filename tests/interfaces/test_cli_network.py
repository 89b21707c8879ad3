"""`sketchlasso network`: the graph of a table's columns, for people and for machines."""

import csv
import json
import re
import signal
import subprocess
import sys
import urllib.request
from itertools import pairwise

import numpy as np
import pytest

from sketchlasso.inference import SparsePrecision, neighbourhoods
from sketchlasso.io import Table, read_table, write_table
from tests.forked import Forked

NAMES = tuple(f"gene{letter}" for letter in "abcdefgh")


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    """A table whose columns form a chain."""
    folder = tmp_path_factory.mktemp("genes")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 8))
    for j in range(1, 8):
        X[:, j] += 0.8 * X[:, j - 1]
    write_table(folder / "genes.csv", Table(X, None, NAMES))
    (folder / "regulators.txt").write_text("geneb\n\n gened \n")
    return folder


@pytest.fixture
def ask(call, genes):
    return lambda line, code=0: call(line.replace("{genes}", str(genes)), code)


def test_the_graph_is_that_of_python(ask, genes):
    said = ask("network {genes}/genes.csv -o g.csv").stdout
    table = read_table(genes / "genes.csv")
    found = neighbourhoods(table.X, names=NAMES)
    graph = found.graph("and")
    assert re.search(rf"links +{len(graph.edges)}\n", said)
    with open("g.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pairs = [(row["source"], row["target"]) for row in rows]
    assert pairs == list(graph.edges)
    assert set(pairwise(NAMES)) <= set(pairs)
    assert [float(row["weight"]) for row in rows] == [w for *_, w in graph.edges(data="weight")]


def test_the_document_for_machines(ask):
    line = "network {genes}/genes.csv -o g.json --rule or --half-samples 4 --p-values --json"
    result = ask(line)
    assert result.stderr == ""
    answer = json.loads(result.stdout)
    assert (answer["command"], answer["rule"], answer["n_nodes"]) == ("network", "or", 8)
    assert answer["worst_gap"] <= 1e-6
    assert answer["n_half_samples"] == 4
    with open("g.json", encoding="utf-8") as file:
        links = json.load(file)["links"]
    assert len(links) == answer["n_links"] >= 7
    assert all(0 <= link["stability"] <= 1 and 0 < link["p_value"] <= 1 for link in links)
    stable = json.loads(ask(f"{line} --min-stability 0.9").stdout)
    assert 7 <= stable["n_links"] <= answer["n_links"]


def test_targets_and_predictors_by_name_or_file(ask):
    line = "network {genes}/genes.csv --targets genea,genec --predictors {genes}/regulators.txt"
    answer = json.loads(ask(f"{line} -o g.graphml --json").stdout)
    assert (answer["n_targets"], answer["n_predictors"], answer["n_nodes"]) == (2, 2, 4)
    networkx = pytest.importorskip("networkx")
    graph = networkx.read_graphml("g.graphml")
    assert {frozenset(edge) for edge in graph.edges} >= {
        frozenset(("genea", "geneb")),
        frozenset(("genec", "gened")),
    }


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.GridEdgeWarning")
@pytest.mark.parametrize("choice", ["ebic", "stars", "4.5"])
def test_the_penalty_is_chosen_or_given(ask, genes, choice):
    answer = json.loads(ask(f"network {{genes}}/genes.csv --alpha {choice} -o g.csv --json").stdout)
    if choice == "4.5":
        assert answer["alpha"] == 4.5
        return
    X = read_table(genes / "genes.csv").X
    chosen = SparsePrecision(choice, rule="and", random_state=0).fit(X)
    assert answer["alpha"] == pytest.approx(chosen.alpha_)
    # The weights differ (here in deviations, there partial correlations), the edges do not.
    assert answer["n_links"] == len(chosen.graph().edges)


def test_communities_are_written_too(ask):
    pytest.importorskip("networkx")
    said = ask("network {genes}/genes.csv -o g.json --communities --drop-isolated").stdout
    assert "communities, the most linked nodes" in said
    with open("g.json", encoding="utf-8") as file:
        assert all("community" in node for node in json.load(file)["nodes"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_a_network_is_explored_until_ctrl_c(ask):
    pytest.importorskip("fastapi", reason="needs the extra web")
    pytest.importorskip("networkx")
    said = ask("network {genes}/genes.csv -o genes.gexf --half-samples 2").stdout
    assert "explore genes.gexf --open" in said
    process = Forked(
        ["-m", "sketchlasso", "explore", "genes.gexf", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
        with urllib.request.urlopen(f"{address}api/neighbours?name=geneb", timeout=20) as answer:
            answer = json.load(answer)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert {one["name"] for one in answer["neighbours"]} >= {"genea", "genec"}
    assert all(set(one["attributes"]) == {"stability"} for one in answer["neighbours"])
    assert (process.returncode, out, err) == (0, "the explorer ended\n", "")
