"""Maps of small graphs: every node can be seen and clicked."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from sketchlasso.graphs import Graph


@pytest.mark.parametrize("leaves", [2, 5, 40])
def test_leaves_of_a_hub_do_not_lie_on_each_other(leaves):
    edges = np.array([[0, leaf] for leaf in range(1, leaves + 1)])
    graph = Graph(tuple(map(str, range(leaves + 1))), edges, np.ones(leaves), "or")
    places = graph.layout()
    assert pdist(places).min() >= 0.8 * min(0.08, 0.3 / np.sqrt(leaves + 1))
    assert np.linalg.norm(places, axis=1).max() <= 1 + 1e-12
