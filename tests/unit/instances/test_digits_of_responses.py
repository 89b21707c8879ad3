"""A large mean of the responses, or a near fit, costs no digits of what varies."""

import numpy as np
import pytest

import sketchlasso as sl
from sketchlasso import SqrtLasso, build_problems, certify, sketch, splitter_rows
from sketchlasso.engine import bootstrap_rows, leave_one_out_rows, weighted_rows
from sketchlasso.errors import InvalidInputError
from sketchlasso.instances.statistics import reduce_row_sets
from sketchlasso.io import BlockMatrix
from sketchlasso.linalg.rows import centre

M = 40
# Added to numbers of 20 binary places, it loses none of them.
LARGE = 2.0**31


def made(seed=0, t=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, 12))
    return X, np.round(rng.standard_normal((M, t)) * 2**20) / 2**20


ROWS = {
    "folds": lambda: splitter_rows(4, M),
    "loo": lambda: leave_one_out_rows(M),
    "weights": lambda: weighted_rows(np.linspace(0, 2, M)),
    "bootstrap": lambda: bootstrap_rows(M, 3, random_state=0),
}


@pytest.mark.parametrize("in_blocks", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_a_large_mean_leaves_the_reduced_problems_alone(name, in_blocks):
    X, Y = made()
    data = BlockMatrix.from_arrays([X[:15], X[15:]]) if in_blocks else X
    Q = sketch(data, method="exact" if not in_blocks else "randomized", rank=8, random_state=0).Q
    rows = ROWS[name]()
    plain = reduce_row_sets(Q, Y, rows, True)
    shifted = reduce_row_sets(Q, Y + LARGE, rows, True)
    np.testing.assert_allclose(shifted.c, plain.c, rtol=0, atol=1e-12)
    np.testing.assert_allclose(shifted.s, plain.s, rtol=1e-11)
    np.testing.assert_allclose(shifted.y_mean - LARGE, plain.y_mean, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", ["folds", "loo"])
def test_a_huge_response_does_not_drown_those_of_the_sets_without_it(name, fit_intercept):
    X, Y = made(t=1)
    Q = sketch(X, method="exact").Q
    rows = ROWS[name]()
    outlying = Y.copy()
    outlying[3] = LARGE**2
    clean = reduce_row_sets(Q, Y, rows, fit_intercept)
    found = reduce_row_sets(Q, outlying, rows, fit_intercept)
    without = [i for i, row_set in enumerate(rows) if 3 in row_set.removed]
    assert len(without) == 1
    np.testing.assert_allclose(found.c[without], clean.c[without], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.s[without], clean.s[without], rtol=1e-11)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e9 + 0.1])
def test_a_response_that_is_constant_in_training_is_refused_whatever_its_digits(value):
    X, Y = made(t=1)
    y = np.full(M, value)
    y[:10] += Y[:10, 0]
    with pytest.raises(InvalidInputError, match="y is constant on the training rows of row set 0"):
        build_problems(sketch(X, method="exact"), y, rows=splitter_rows(4, M))


@pytest.mark.parametrize("how", ["array", "blocks", "realised"])
def test_a_fit_far_from_zero_is_as_good_as_one_near_it(how):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 30))
    y = X[:, :5] @ [3, -2, 2, 1, -1] + rng.standard_normal(80)
    y = np.round(y * 2**20) / 2**20
    data = BlockMatrix.from_arrays([X[:30], X[30:]]) if how == "blocks" else X
    radius = "realised" if how == "realised" else 0.0
    # All directions of X, so that the sketch is exact.
    options = {"sketch": "randomized", "rank": 30, "random_state": 0, "tol": 1e-10}
    if how == "array":
        options = {"sketch": "exact", "tol": 1e-10}
    near, far = (
        SqrtLasso(alpha=5.0, radius=radius, **options).fit(data, y + mean) for mean in (0.0, LARGE)
    )
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-7)
    assert far.intercept_ - LARGE == pytest.approx(near.intercept_, abs=1e-5)
    values = [certify(X, y, model.coef_, 5.0).primal[0] for model in (near, far)]
    assert values[1] == pytest.approx(values[0], rel=1e-9)


def test_centring_knows_constants_and_takes_weights_of_any_size():
    values = np.column_stack([np.full(M, 0.1), np.arange(M) + 1e12])
    for weights in (None, np.ones(M), np.full(M, 1e-310), np.full(M, 1e308)):
        centred, means = centre(values, weights)
        assert (centred[:, 0] == 0).all()
        np.testing.assert_allclose(centred[:, 1], np.arange(M) - (M - 1) / 2, rtol=1e-12)
        np.testing.assert_allclose(means, [0.1, 1e12 + (M - 1) / 2], rtol=1e-15)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noise", [1e-3, 1e-7])
def test_the_objective_is_that_of_the_rows(noise, weighted, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 40)) + 3.0
    y = X[:, :5].sum(axis=1) + 100.0 * fit_intercept + noise * rng.standard_normal(150)
    weights = rng.uniform(0.5, 2.0, 150) if weighted else None
    sketch = sl.sketch(X, method="exact", rank=40, center=fit_intercept).with_radius(0.0)
    alphas = np.array([1e-2, 1e-4, 1e-6])
    options = {"sample_weight": weights, "fit_intercept": fit_intercept}
    path = sl.sqrt_lasso_path(X, y, sketch, alphas=alphas, **options)
    coef = path.models.coef.toarray()
    shares = np.ones(150) if weights is None else weights
    residual = y[:, None] - X @ coef.T
    residual -= (shares @ residual / shares.sum()) if fit_intercept else 0.0
    objective = np.sqrt(shares @ residual**2) + alphas * np.abs(coef).sum(axis=1)
    assert path.primal == pytest.approx(objective, rel=1e-7)
    exact = sl.certify(X, y, coef, alphas, **options)
    assert (path.dual <= exact.primal * (1 + 1e-8)).all()


def test_the_objective_of_every_fold_is_that_of_its_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 40))
    y = X[:, :5].sum(axis=1) + 1e-6 * rng.standard_normal(150)
    sketch = sl.sketch(X, method="exact", rank=40, center=True).with_radius(0.0)
    rows = sl.splitter_rows(3, 150)
    problems = sl.build_problems(sketch, y, alphas=[1e-4], radii=[0.0], rows=rows)
    found = sl.solve(problems.batch, settings=sl.Settings(tol=1e-8))
    for row_set, w, primal in zip(rows, found.coef.toarray(), found.primal, strict=True):
        train = row_set.train(150)
        residual = y[train] - X[train] @ w
        expected = np.linalg.norm(residual - residual.mean()) + 1e-4 * np.abs(w).sum()
        assert primal == pytest.approx(expected, rel=1e-7)
