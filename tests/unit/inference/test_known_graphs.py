"""Graphs against reference results, where the folder of oracles is there."""

import numpy as np
import pytest

from sketchlasso.graphs import links_of
from sketchlasso.inference import SparsePrecision, nodewise


@pytest.fixture(scope="module")
def hub_400(real_file):
    """Rows (100, 400) and adjacency (400, 400) of huge's hub graph."""
    tables = []
    for name in ("hub_400.csv", "hub_400_truth.csv"):
        lines = real_file(f"../oracles/{name}").read_text(encoding="utf-8").splitlines()
        first = lines[0].split(",")[0].strip('"').lstrip("-")
        skipped = 0 if first.replace(".", "").replace("e-", "").isdigit() else 1
        tables.append(np.loadtxt(lines[skipped:], delimiter=","))
    X, truth = tables
    return X, truth != 0


def f1(truth, graph):
    graph = links_of(graph)
    found = np.zeros_like(truth)
    found[graph.edges[:, 0], graph.edges[:, 1]] = True
    hits = np.count_nonzero(truth & found)
    return 2 * hits / (len(graph.edges) + np.count_nonzero(np.triu(truth, 1)))


def test_every_penalty_of_the_range_of_huge_is_solved(hub_400):
    X, _ = hub_400
    # 8,000 regressions; those at the smallest penalties fit exactly.
    found = nodewise(X, np.geomspace(0.642, 0.0642, 20) * 10.0)
    assert found.solved.all()
    assert found.relative_gap.max() <= 1e-6
    exact = found.residual_norm <= 1e-6 * X.std(axis=0)[found.targets]
    assert exact.any()
    assert (np.diff(found.coef.indptr) <= 99).all()


def test_edges_of_the_hubs(hub_400):
    X, truth = hub_400
    assert X.shape == (100, 400)
    assert np.count_nonzero(np.triu(truth, 1)) == 380
    found = SparsePrecision().fit(X)
    graph = links_of(found.graph())
    inside = truth[graph.edges[:, 0], graph.edges[:, 1]]
    assert inside.mean() > 0.9  # the pivotal penalty is cautious
    chosen = SparsePrecision("ebic").fit(X)
    assert f1(truth, chosen.graph()) > 0.55
    assert found.score(X) > -np.inf
