"""Coarse-to-fine order along chains, and what it may and may not change."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sketchlasso import Settings, build_problems, sketch, solve, splitter_rows
from sketchlasso.errors import InvalidInputError
from sketchlasso.solvers.driver import chain_levels


@pytest.mark.parametrize("lengths", [[1], [2], [17], [100, 3, 40], [16, 16]])
def test_levels_cover_every_instance_once_and_start_from_solved_neighbours(lengths):
    rng = np.random.default_rng(0)
    chain = np.repeat(np.arange(len(lengths)), lengths)
    alpha = rng.random(len(chain))
    order = rng.permutation(len(chain))
    chain, alpha = chain[order], alpha[order]
    seen: set[int] = set()
    for level in chain_levels(chain, alpha, np.arange(len(chain))):
        assert not seen & set(level.instances)
        if level.left is not None:
            assert set(level.left) | set(level.right) <= seen
            assert (chain[level.left] == chain[level.instances]).all()
            assert (chain[level.right] == chain[level.instances]).all()
            assert (alpha[level.left] >= alpha[level.instances]).all()
        seen |= set(level.instances)
    assert seen == set(range(len(chain)))


@pytest.mark.parametrize("radius", [None, 0.0])
def test_a_chain_gives_the_values_and_supports_of_single_solves(radius):
    X, digit = load_digits(return_X_y=True)
    found = sketch(X, rank=20, center=True, random_state=0)
    problems = build_problems(
        found, digit.astype(float), alphas=40, radii=radius, rows=splitter_rows(3, len(X))
    )
    tight = Settings(tol=1e-9)
    chained = solve(problems.batch, settings=tight, chain=problems.chain)
    alone = solve(problems.batch, settings=tight)
    assert chained.solved.all()
    slack = 1e-9 * (chained.primal + alone.primal)
    assert (np.abs(chained.primal - alone.primal) <= slack).all()
    # The start between two neighbours has the non-zeros of both; the answer must not.
    assert np.abs(chained.n_nonzero - alone.n_nonzero).max() <= 2
    assert chained.steps.sum() < alone.steps.sum()


def test_chain_numbers_must_fit_the_batch():
    X, digit = load_digits(return_X_y=True)
    problems = build_problems(
        sketch(X, rank=5, random_state=0, radius=0.1), digit.astype(float), alphas=4
    )
    with pytest.raises(InvalidInputError, match=r"chain has shape \(2,\) but the batch has 4"):
        solve(problems.batch, chain=np.zeros(2, dtype=int))
