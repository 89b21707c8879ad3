"""Graphs whose edges are known: hubs with many leaves."""

import numpy as np
import pytest

from sketchlasso.graphs import links_of
from sketchlasso.inference import SparsePrecision, nodewise


@pytest.fixture(scope="module")
def hubs():
    """Rows (100, 200) in which nine groups of 20 columns hang on one column each, and the truth."""
    rng = np.random.default_rng(0)
    truth = np.zeros((200, 200), dtype=bool)
    truth[np.arange(200) // 20 * 20, np.arange(200)] = True
    truth = (truth | truth.T) & ~np.eye(200, dtype=bool)
    precision = np.eye(200) + 0.21 * truth
    X = rng.standard_normal((100, 200)) @ np.linalg.cholesky(np.linalg.inv(precision)).T
    return X, truth


def test_every_penalty_down_to_exact_fits_is_solved(hubs):
    X, _ = hubs
    found = nodewise(X, np.geomspace(6.0, 0.3, 12))
    assert found.solved.all() and found.relative_gap.max() <= 1e-6
    assert found.fits_exactly(X.std(axis=0) * 10.0).any()
    assert (np.diff(found.coef.indptr) <= 99).all()


def test_edges_of_the_hubs(hubs):
    X, truth = hubs
    cautious = links_of(SparsePrecision().fit(X).graph())
    assert truth[tuple(cautious.edges.T)].mean() > 0.9
    chosen = links_of(SparsePrecision("ebic").fit(X).graph())
    hits = np.count_nonzero(truth[tuple(chosen.edges.T)])
    assert 2 * hits / (len(chosen.edges) + 190) > 0.5
