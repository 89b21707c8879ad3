"""The full-data certificate against an independent conic optimum."""

import numpy as np
import pytest
from scipy import sparse
from tests.oracles import full_problem_reference

from sketchlasso import Settings, build_problems, certify, sketch, solve
from sketchlasso.errors import InvalidInputError
from sketchlasso.exact import solve_exact
from sketchlasso.instances import weighted_rows
from sketchlasso.problem.terms import Terms


def make(seed, m=50, n=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n)) + 0.5
    return X, X[:, :3].sum(axis=1) + rng.normal(size=m)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(50, 30), (25, 60)])
def test_the_bounds_enclose_the_optimum_of_an_independent_solver(seed, shape):
    X, y = make(seed, *shape)
    rng = np.random.default_rng(seed)
    factor = np.ones(shape[1])
    factor[0], factor[1] = 0.0, 2.0
    alpha = 0.5 + seed
    best, value = full_problem_reference(X, y, alpha, penalty_factor=factor)
    options = {"penalty_factor": factor, "fit_intercept": False}
    tight = certify(X, y, best, alpha, **options)
    assert tight.primal[0] == pytest.approx(value, rel=1e-6)
    # A residual of zero points nowhere, and the conic solver's zeros are not exact, so that
    # its signs do not help: such a solution is bounded, not proved.
    interpolates = np.linalg.norm(X @ best - y) <= 1e-5 * np.linalg.norm(y)
    assert interpolates or tight.relative_gap[0] <= 1e-4
    for _ in range(5):
        loose = certify(X, y, best + 0.1 * rng.normal(size=shape[1]), alpha, **options)
        assert loose.dual[0] <= value * (1 + 1e-7)
        assert loose.primal[0] >= value * (1 - 1e-7)


def test_an_exact_sketch_has_a_full_gap_of_its_own_gap_for_a_whole_path():
    X, y = make(0)
    problems = build_problems(sketch(X, method="exact", radius=0.0), y, alphas=8)
    coef = solve(problems.batch, settings=Settings(tol=1e-9)).coef
    for data in (X, sparse.csr_array(X)):
        found = certify(data, y, coef, problems.batch.alpha)
        assert (found.relative_gap <= 1e-6).all()
        assert (found.gap >= 0).all()


def test_weights_equal_repetition():
    X, y = make(2)
    counts = np.arange(50) % 3
    w = np.random.default_rng(0).normal(size=30) * (np.arange(30) < 4)
    again = np.repeat(np.arange(50), counts)
    one = certify(X, y, w, 2.0, sample_weight=counts)
    other = certify(X[again], y[again], w, 2.0)
    assert one.primal[0] == pytest.approx(other.primal[0])
    assert one.dual[0] == pytest.approx(other.dual[0])


def test_a_full_objective_is_never_above_the_robust_one_of_the_sketch():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 40)) @ np.diag(0.7 ** np.arange(40))
    y = X[:, 0] + 0.3 * rng.normal(size=80)
    found = sketch(X, rank=10, random_state=0)
    problems = build_problems(found, y, alphas=5)
    solution = solve(problems.batch)
    full = certify(X, y, solution.coef, problems.batch.alpha)
    assert (full.primal <= solution.primal * (1 + 1e-12)).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("free", [False, True])
def test_the_bound_knows_of_nonnegative_coefficients(seed, free):
    X, y = make(seed)
    factor = np.ones(30)
    factor[:3] = 0.0 if free else 1.0
    options = {"penalty_factor": factor, "fit_intercept": False}
    best, value = full_problem_reference(X, y, 1.0, penalty_factor=factor, positive=True)
    best[best < 1e-8] = 0.0
    found = certify(X, y, best, 1.0, positive=True, **options)
    assert found.primal[0] == pytest.approx(value, rel=1e-6)
    assert found.relative_gap[0] <= 1e-4
    assert certify(X, y, best, 1.0, **options).dual[0] <= found.dual[0]


def test_each_row_may_have_its_own_response():
    X, y = make(5)
    Y = np.column_stack([y, -2 * y, y**2])
    coef = np.random.default_rng(0).normal(size=(3, 30)) * 0.1
    together = certify(X, Y, coef, [1.0, 2.0, 3.0])
    for b in range(3):
        alone = certify(X, Y[:, b], coef[b], b + 1.0)
        assert together.primal[b] == pytest.approx(alone.primal[0])
        assert together.dual[b] == pytest.approx(alone.dual[0])


def test_a_response_that_unpenalised_features_explain_has_no_gap():
    X, _ = make(0)
    factor = np.ones(30)
    factor[:2] = 0.0
    w = np.zeros(30)
    w[:2] = 3.0, -1.0
    found = certify(X, X @ w + 2.0, w, 1.0, penalty_factor=factor)
    assert found.dual[0] <= found.primal[0] + 1e-12
    assert found.relative_gap[0] <= 1e-6


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [1e3, 1e5, 1e7])
def test_a_residual_that_unpenalised_features_explain_proves_no_false_bound(seed, size):
    rng = np.random.default_rng(seed)
    X, alpha, terms = rng.uniform(0.3, 1.0, (8, 2)), 1e-4, Terms(penalty_factor=[0.0, 1.0])
    y, weights = X[:, 0] + rng.normal(size=8), np.array([1.0] + [1e-8] * 5 + [1.0] * 2)
    rows = weighted_rows(weights)
    best = solve_exact(X, y, [alpha], rows=rows, terms=terms, tol=1e-8)
    w = [size, best.coef.toarray()[0, 1]]
    found = certify(X, y, w, alpha, penalty_factor=[0.0, 1.0], sample_weight=weights)
    assert found.dual[0] <= best.primal[0] * (1 + 1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coef": np.ones(4)}, "coef has 4 columns but X has 30"),
        ({"coef": np.full(30, np.nan)}, "coef holds nan for feature 0"),
        ({"coef": np.full(30, 1e308)}, "the objective of row 0 of coef is not finite"),
        ({"coef": -np.ones(30), "positive": True}, "coef holds -1 for feature 0"),
        ({"coef": np.ones(30), "penalty_factor": np.full(30, np.inf)}, "coef holds 1 for feature"),
        ({"alpha": -1.0}, "alpha contains NaN or a negative value"),
        ({"alpha": [1.0, 2.0]}, "alpha must be one finite number, or 1 of them"),
        ({"sample_weight": np.ones(3)}, r"sample_weight has shape \(3,\) but X has 50 rows"),
        ({"X": np.full((50, 30), np.nan)}, "X contains NaN or infinity in column"),
        ({"y": np.ones((50, 2))}, "y holds 2 responses but coef has 1 rows"),
        ({"positive": "no"}, "positive must be True or False, not 'no'"),
    ],
)
def test_bad_input_is_one_sentence(change, message):
    X, y = make(0)
    parts = {"X": X, "y": y, "coef": np.zeros(30), "alpha": 1.0} | change
    with pytest.raises(InvalidInputError, match=message):
        certify(**parts)
