"""Models without each row: against problems solved one by one, whatever the proposals are worth."""

import numpy as np
import pytest
from scipy import sparse

import sketchlasso as sl
from sketchlasso.errors import InaccurateWarning
from sketchlasso.exact import solve_exact
from sketchlasso.instances import leave_one_out_rows
from sketchlasso.problem.terms import Terms
from sketchlasso.results.left_out import LeftOut, left_out_models


def made(m=40, n=12, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + 2.0
    return X, X[:, :3] @ [2.0, -1.0, 1.0] + noise * rng.standard_normal(m) + 50.0


def problems(X, y, alpha, factor=None, **options):
    factor = np.ones(X.shape[1]) if factor is None else factor
    return LeftOut(
        X,
        y,
        np.full(len(y), alpha),
        lambda rows: np.broadcast_to(factor, (len(rows), X.shape[1])),
        same=True,
        **options,
    )


@pytest.mark.parametrize(
    ("options", "factor"),
    [
        ({}, None),
        ({"fit_intercept": False}, None),
        ({"positive": True}, None),
        ({}, np.r_[0.0, 0.0, np.linspace(0.5, 2.0, 9), np.inf]),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("hint", ["solution", "zero", "all"])
def test_models_are_the_solutions(options, factor, kind, hint):
    X, y = made()
    alpha = 1.5
    terms = Terms(penalty_factor=factor, **options)
    others = solve_exact(X, y, [alpha], rows=leave_one_out_rows(40), terms=terms, tol=1e-12)
    start = {
        "solution": solve_exact(X, y, [alpha], terms=terms, tol=1e-12).coef.toarray().ravel(),
        "zero": np.zeros(12),
        "all": np.ones(12),
    }[hint]
    found = left_out_models(problems(kind(X), y, alpha, factor, **options), start, 1e-11, 2)
    np.testing.assert_allclose(found.coef.toarray(), others.coef.toarray(), atol=2e-6)
    np.testing.assert_allclose(found.intercept, others.intercept, atol=1e-5)


def test_penalties_of_their_own():
    X, y = made()
    rng = np.random.default_rng(1)
    alpha, factors = rng.uniform(0.8, 2.5, 40), rng.uniform(0.5, 2.0, (40, 12))
    work = LeftOut(X, y, alpha, lambda rows: factors[rows], same=False)
    found = left_out_models(work, np.ones(12), 1e-11, 1)
    for i in (0, 13, 39):
        keep = np.delete(np.arange(40), i)
        own = solve_exact(
            X[keep], y[keep], [alpha[i]], terms=Terms(penalty_factor=factors[i]), tol=1e-12
        )
        np.testing.assert_allclose(found.coef[[i]].toarray(), own.coef.toarray(), atol=2e-6)


def test_interpolating_and_duplicated_columns_are_left_to_the_solver():
    X, y = made(m=15, n=40, noise=0.1)
    X[:, 39] = X[:, 0]
    whole = solve_exact(X, y, [0.3], tol=1e-10).coef.toarray().ravel()
    whole[39] = whole[0] = whole[0] / 2
    found = left_out_models(problems(X, y, 0.3), whole, 1e-7, 1)
    for i in (0, 7, 14):
        keep = np.delete(np.arange(15), i)
        gap = sl.certify(X[keep], y[keep], found.coef[[i]], [0.3]).relative_gap
        assert gap[0] <= 2e-7


def test_models_that_fall_short_warn():
    X, y = made(m=15, n=40, noise=0.0)
    with pytest.warns(InaccurateWarning, match="relative gap"):
        left_out_models(problems(X, y, 0.3), np.zeros(40), 1e-17, 1)
