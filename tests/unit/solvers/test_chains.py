"""Coarse-to-fine order along chains, and what it may and may not change."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sketchlasso import Settings, build_problems, sketch, solve, splitter_rows
from sketchlasso.errors import InvalidInputError


def test_chains_in_any_order_and_length_are_solved():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    Y = X[:, :4] + 0.3 * rng.normal(size=(60, 4))
    problems = build_problems(sketch(X, rank=15, random_state=0), Y, alphas=70)
    lengths = (70, 33, 2, 1)
    kept = np.concatenate([70 * i + rng.permutation(70)[:n] for i, n in enumerate(lengths)])
    kept = rng.permutation(kept)
    batch, chain = problems.batch.take(kept), problems.chain[kept]
    found = solve(batch, chain=chain)
    assert found.solved.all()
    alone = solve(batch)
    assert (np.abs(found.primal - alone.primal) <= found.gap + alone.gap).all()
    with pytest.raises(InvalidInputError, match=r"chain has shape \(2,\) but the batch has 106"):
        solve(batch, chain=np.zeros(2, dtype=int))


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


def test_equal_penalties_in_a_chain_have_equal_solutions():
    X, digit = load_digits(return_X_y=True)
    found = sketch(X, rank=5, random_state=0, radius=0.1)
    for alpha in (3.0, 0.0):
        problems = build_problems(found, digit.astype(float), alphas=[alpha] * 40)
        solution = solve(problems.batch, chain=problems.chain)
        assert solution.solved.all()
        assert np.ptp(solution.primal) <= 2e-6 * solution.primal.max()
