"""The penalty that leaves a given number of coefficients, found by walking down the path."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import twins

from sketchlasso.errors import InvalidInputError
from sketchlasso.problem import Batch, alpha_max
from sketchlasso.solvers import Settings, solve, solve_for_size

TOL = 1e-7


def make_batch(seed, n, k, radius, *, positive=False, rooted=False, factors=False, s=0.7):
    """Three instances over correlated rows; the radius is a share of the largest possible one."""
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n, k)) * np.geomspace(2.0, 0.2, k)
    C = rng.normal(size=(3, k))
    options = {"positive": positive}
    if rooted:
        options["roots"] = np.linalg.cholesky(np.cov(rng.normal(size=(k, 3 * k))))
    if factors:
        factor = rng.uniform(0.5, 2.0, size=n)
        factor[rng.integers(0, n, size=2)] = np.inf
        options["penalty_factor"] = factor
    seen = Batch.build(P, C, s, alpha=1.0, radius=0.0, **options)
    return replace(seen, radius=radius * alpha_max(seen))


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(3, 160),
    k=st.integers(2, 24),
    radius=st.sampled_from([0.0, 0.01, 0.1, 0.4]),
    size=st.integers(1, 12),
    positive=st.booleans(),
    rooted=st.booleans(),
    factors=st.booleans(),
)
def test_the_answer_is_optimal_and_has_the_size_asked_for(
    seed, n, k, radius, size, positive, rooted, factors
):
    batch = make_batch(seed, n, k, radius, positive=positive, rooted=rooted, factors=factors)
    found = solve_for_size(batch, size, Settings(tol=TOL))
    posed = replace(batch, alpha=np.where(found.alpha > 0, found.alpha, 1.0))
    for b in range(batch.n_instances):
        w = found.solution.coef[[b]].toarray().ravel()
        primal = twins.primal(posed, b, w)
        proved = twins.dual(posed, b, found.solution.dual_point[b])
        assert twins.violation(posed, b, found.solution.dual_point[b]) <= 1e-9
        assert primal - proved <= TOL * primal * 1.001
        if found.solution.n_nonzero[b] > size:
            # Only where several enter at one penalty: a little above it there are too few.
            above = replace(batch.take([b]), alpha=found.alpha[[b]] / 0.84)
            assert solve(above, settings=Settings(tol=1e-10)).n_nonzero[0] < size


@pytest.mark.parametrize("seed", range(5))
def test_the_next_coefficient_is_near(seed):
    batch = make_batch(seed, 200, 20, 0.05)
    found = solve_for_size(batch, 5, Settings(tol=1e-10))
    assert (found.solution.n_nonzero == 5).all()
    below = solve(replace(batch, alpha=0.985 * found.alpha), settings=Settings(tol=1e-10))
    assert (below.n_nonzero != 5).all()


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_a_batch_answers_as_its_instances_do(radius):
    batch = make_batch(3, 300, 15, radius)
    together = solve_for_size(batch, 7)
    for b in range(batch.n_instances):
        alone = solve_for_size(batch.take([b]), 7)
        np.testing.assert_allclose(alone.alpha, together.alpha[[b]], rtol=1e-6)
        np.testing.assert_allclose(
            alone.solution.coef.toarray()[0], together.solution.coef[[b]].toarray()[0], atol=1e-7
        )


def test_memory_and_threads_do_not_change_the_answer():
    batch = make_batch(4, 250, 12, 0.02)
    whole = solve_for_size(batch, 6, Settings(n_threads=2))
    apart = solve_for_size(batch, 6, Settings(n_threads=1, memory_budget=250 * 24))
    np.testing.assert_allclose(whole.alpha, apart.alpha, rtol=1e-9)


def test_words_that_enter_together_are_all_kept():
    rng = np.random.default_rng(0)
    row = rng.normal(size=8)
    P = np.vstack([np.tile(row, (4, 1)), 0.3 * rng.normal(size=(20, 8))])
    batch = Batch.build(P, row, 0.5, alpha=1.0, radius=0.1)
    found = solve_for_size(batch, 2)
    assert found.solution.n_nonzero[0] == 4  # four equal rows share their weight
    np.testing.assert_allclose(np.ptp(found.solution.coef.data), 0.0, atol=1e-6)


def test_more_than_there_are_gives_all_that_enter():
    batch = make_batch(1, 4, 3, 0.0)
    found = solve_for_size(batch, 50)
    assert found.solution.solved.all()
    assert (found.solution.n_nonzero <= 4).all() and (found.solution.n_nonzero >= 1).all()


def test_a_radius_that_leaves_nothing_is_no_error():
    batch = make_batch(2, 50, 6, 1e6)
    found = solve_for_size(batch, 3)
    assert (found.alpha == 0).all() and (found.solution.n_nonzero == 0).all()


def test_a_response_in_reach_is_left_to_the_solver():
    rng = np.random.default_rng(5)
    batch = Batch.build(rng.normal(size=(40, 4)), rng.normal(size=4), 0.0, alpha=1.0, radius=0.0)
    found = solve_for_size(batch, 30)  # the residual is zero before so many are in
    assert found.solution.solved.all() and found.alpha[0] > 0


@pytest.mark.parametrize(
    ("options", "size", "said"),
    [
        ({}, 0, "size=0 must be at least 1"),
        ({"loss": "squared"}, 3, "square-root loss"),
        ({"penalty_factor": np.zeros(10)}, 3, "positive penalty factors"),
    ],
)
def test_bad_input_is_one_sentence(options, size, said):
    batch = Batch.build(np.eye(10)[:, :4], np.ones(4), 0.5, alpha=1.0, **options)
    with pytest.raises(InvalidInputError, match=said):
        solve_for_size(batch, size)
