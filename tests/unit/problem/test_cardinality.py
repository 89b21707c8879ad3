"""The theorem on the non-robust model: as many non-zeros as the rank, and nothing lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.regimes import make_problem

from sketchlasso.errors import InvalidInputError
from sketchlasso.problem import Batch, primal_value, sparsify
from sketchlasso.solvers import solve


def random_case(seed, n, k, spread=3.0):
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n, k))
    w = rng.normal(size=n) * 10.0 ** rng.uniform(-spread, 0.0, size=n)
    return P, w, rng.uniform(0.1, 2.0, size=n)


def assert_theorem(P, w, factor, sparse, rank=None):
    rank = np.linalg.matrix_rank(P) if rank is None else rank
    assert np.count_nonzero(sparse) <= rank
    fit = np.linalg.norm(P.T @ w)
    np.testing.assert_allclose(P.T @ sparse, P.T @ w, atol=1e-10 * max(fit, 1e-10))
    assert factor @ np.abs(sparse) <= factor @ np.abs(w) * (1 + 1e-10)
    # No coefficient changes its sign, none appears.
    assert (sparse * w >= 0).all() and not sparse[w == 0].any()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 80), st.integers(1, 25), st.booleans())
def test_equal_fit_no_larger_penalty_few_features(seed, n, k, weighted):
    P, w, factor = random_case(seed, n, k)
    factor = factor if weighted else np.ones(n)
    before = w.copy()
    sparse = sparsify(P, w, factor if weighted else None)
    assert_theorem(P, w, factor, sparse)
    np.testing.assert_array_equal(w, before)


@pytest.mark.parametrize("seed", range(3))
def test_repeated_and_empty_rows_low_ranks_and_free_features(seed):
    P, w, factor = random_case(seed, 60, 8)
    P[10:30], P[40:] = P[5], 0.0
    assert_theorem(P, w, factor, sparsify(P, w, factor))
    P = P[:, :3] @ P[:3]
    assert_theorem(P, w, factor, sparsify(P, w, factor), rank=3)
    factor[:20] = 0.0
    assert_theorem(P, w, factor, sparsify(P, w, factor), rank=3)
    sparse = sparsify(P, np.abs(w), factor, positive=True)
    assert (sparse >= 0).all()
    assert_theorem(P, np.abs(w), factor, sparse, rank=3)


def test_independent_rows_are_left_alone():
    P, w, _ = random_case(0, 6, 10)
    np.testing.assert_array_equal(sparsify(P, w), w)
    np.testing.assert_array_equal(sparsify(P, np.zeros(6)), np.zeros(6))


@pytest.mark.parametrize("seed", range(4))
def test_a_vertex_of_the_linear_programme_is_no_sparser_bound(seed):
    """minimise f'|w| subject to P'w = z: sparsify on its optimum keeps the optimal value."""
    P, w, factor = random_case(seed, 40, 6, spread=1.0)
    both = linprog(
        np.concatenate([factor, factor]),
        A_eq=np.hstack([P.T, -P.T]),
        b_eq=P.T @ w,
        method="highs-ipm",
        options={"dual_feasibility_tolerance": 1e-9},
    )
    optimum = both.x[:40] - both.x[40:]
    sparse = sparsify(P, optimum, factor)
    assert np.count_nonzero(sparse) <= 6
    assert factor @ np.abs(sparse) == pytest.approx(both.fun, rel=1e-8)


def test_a_solution_spread_over_copies_is_gathered_and_stays_optimal():
    one = make_problem(p=60, k=6, radius=0.0)
    tripled = Batch.build(np.tile(one.P, (3, 1)), one.c, one.s, alpha=one.alpha)
    # An interior-point solution spreads itself evenly over equal rows.
    found = solve(tripled, "conic")
    w = found.coef.toarray()[0]
    assert np.count_nonzero(w) > 6
    sparse = sparsify(tripled.P, w)
    assert np.count_nonzero(sparse) <= 6
    assert primal_value(tripled, sparse[None])[0] <= found.primal[0] * (1 + 1e-12)


@pytest.mark.parametrize(
    ("P", "coef", "factor", "positive", "message"),
    [
        (np.ones((3, 2)), np.ones(4), None, False, r"pass \(n, k\), \(n,\) and \(n,\)"),
        (np.ones((3, 2)), np.full(3, np.nan), None, False, "must be finite"),
        (np.ones((3, 2)), np.ones(3), np.array([1.0, 1.0, np.inf]), False, "must be zero"),
        (np.ones((3, 2)), -np.ones(3), None, True, "with positive"),
    ],
)
def test_bad_input_is_named(P, coef, factor, positive, message):
    with pytest.raises(InvalidInputError, match=message):
        sparsify(P, coef, factor, positive)
