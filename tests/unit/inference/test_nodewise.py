"""One regression per column: agreement with the data, other solvers, and honest bad input."""

import numpy as np
import pytest
from scipy import sparse
from tests.oracles import full_problem_reference

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.inference import SparsePrecision, desparsified, neighbourhoods, nodewise
from sketchlasso.io import BlockMatrix
from sketchlasso.problem.formulas import relative_gap
from sketchlasso.problem.full_problem import dual_of_ratio, full_primal, largest_ratio


def correlated(m, n, seed=0):
    """Rows (m, n) in which neighbouring columns are correlated, with means and scales."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((m, n))
    for j in range(1, n):
        Z[:, j] += 0.7 * Z[:, j - 1]
    return 3.0 * rng.standard_normal(n) + Z * np.exp(rng.uniform(-2, 2, n))


def recomputed_gaps(X, found, predictors=None):
    """Relative gaps (B,) from X itself, by the residual's direction alone."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)
    centred = X - X.mean(axis=0)
    scales = X.std(axis=0) if found.standardized else np.ones(X.shape[1])
    allowed = np.isin(np.arange(X.shape[1]), predictors) if predictors is not None else True
    gaps = []
    for row, j in enumerate(found.targets):
        gamma = found.coef[[row]].toarray()[0]
        r = centred[:, j] - centred @ gamma
        length, alpha = np.array([np.linalg.norm(r)]), found.alpha[[row]]
        factor = np.where((np.arange(X.shape[1]) != j) & allowed, scales, np.inf)
        assert gamma[np.isinf(factor)].max(initial=0) == 0 == gamma[np.isinf(factor)].min(initial=0)
        l1 = np.array([np.abs(gamma) @ np.where(np.isinf(factor), 0.0, factor)])
        inner = np.array([centred[:, j] @ r])
        worst = largest_ratio((centred.T @ r)[:, None], factor)
        dual = dual_of_ratio(worst, length, inner, alpha)
        null = np.array([np.linalg.norm(centred[:, j])])
        gaps.append(relative_gap(full_primal(length, alpha, l1), dual, null)[0])
    return np.array(gaps)


@pytest.mark.parametrize(("m", "n"), [(30, 60), (60, 60), (200, 25)])
@pytest.mark.parametrize("standardize", [True, False])
def test_every_regression_is_solved_on_the_full_data(m, n, standardize):
    X = correlated(m, n)
    found = nodewise(X, standardize=standardize, tol=1e-8)
    assert found.solved.all()
    assert found.relative_gap.max() <= 1e-8
    assert recomputed_gaps(X, found).max() <= 1e-7
    assert found.coef.shape == (n, n)
    assert (found.coef.diagonal() == 0).all()
    assert found.coef.nnz > 0


@pytest.mark.parametrize(("m", "n"), [(15, 25), (80, 12)])
def test_coefficients_are_those_of_an_independent_solver(m, n):
    pytest.importorskip("cvxpy")
    X = correlated(m, n, seed=1)
    alpha = 0.25 * np.sqrt(m)
    found = nodewise(X, alpha, tol=1e-10)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    for j in (0, n // 2, n - 1):
        factor = np.ones(n)
        factor[j] = np.inf
        w, value = full_problem_reference(standard, standard[:, j], alpha, penalty_factor=factor)
        ours = found.coef[[j]].toarray()[0] * X.std(axis=0) / X.std(axis=0)[j]
        np.testing.assert_allclose(ours, w, atol=1e-5)
        objective = found.residual_norm[j] / X.std(axis=0)[j] + alpha * np.abs(ours).sum()
        assert objective == pytest.approx(value, rel=1e-8)


def test_several_penalties_are_the_single_ones_in_the_order_given():
    X = correlated(40, 30, seed=2)
    alphas = np.array([1.0, 3.0, 0.6, 2.0])
    chained = nodewise(X, alphas, tol=1e-10)
    assert chained.n_penalties == 4
    np.testing.assert_array_equal(chained.targets[:8], [0, 0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(chained.alpha[:4], alphas)
    for number, alpha in enumerate(alphas):
        single = nodewise(X, float(alpha), tol=1e-10)
        part = chained.penalty(number)
        np.testing.assert_array_equal(part.targets, single.targets)
        np.testing.assert_allclose(part.coef.toarray(), single.coef.toarray(), atol=1e-6)
        np.testing.assert_allclose(part.residual_norm, single.residual_norm, rtol=1e-8)


def test_targets_and_predictors_can_be_parts_of_the_columns():
    X = correlated(60, 20, seed=4)
    predictors = np.arange(5, 15)
    found = nodewise(X, 0.15 * np.sqrt(60), targets=[2, 7, -1], predictors=predictors, tol=1e-9)
    np.testing.assert_array_equal(found.targets, [2, 7, 19])
    assert np.isin(found.coef.indices, predictors).all()
    assert found.coef[1, 7] == 0
    assert recomputed_gaps(X, found, predictors).max() <= 1e-8
    masks = nodewise(
        X,
        0.15 * np.sqrt(60),
        targets=np.isin(np.arange(20), [2, 7, 19]),
        predictors=np.isin(np.arange(20), predictors),
        tol=1e-9,
    )
    np.testing.assert_array_equal(masks.coef.toarray(), found.coef.toarray())


@pytest.mark.parametrize("first", [3, 150])
@pytest.mark.parametrize(("m", "n"), [(30, 80), (150, 40)])
def test_few_columns_at_a_time_give_the_same(monkeypatch, m, n, first):
    X = correlated(m, n, seed=12)
    X = np.column_stack([X, X[:, 3], np.full(m, 0.1)])
    options = {"targets": np.arange(0, n + 2, 3), "predictors": np.arange(1, n + 2), "tol": 1e-9}
    alphas = np.geomspace(0.6, 0.1, 6) * np.sqrt(m)
    whole = nodewise(X, alphas, **options)
    monkeypatch.setattr("sketchlasso.exact.many.MOST_AT_FIRST", first)
    monkeypatch.setattr("sketchlasso.exact.many.MOST_JOINING", first)
    monkeypatch.setattr("sketchlasso.exact.many.LOOKS", 12)
    few = nodewise(X, alphas, **options)
    assert few.solved.all()
    assert few.relative_gap.max() <= 1e-9
    unique = ~np.isin(few.targets, [3, n])  # copies may share their weight in any way
    np.testing.assert_allclose(
        few.residual_norm[unique], whole.residual_norm[unique], rtol=1e-6, atol=1e-12
    )
    merge = np.eye(n + 2)
    merge[n, 3], merge[n, n] = 1.0, 0.0
    np.testing.assert_allclose(
        few.coef[unique] @ merge, whole.coef[unique] @ merge, atol=1e-5 * np.abs(whole.coef).max()
    )


@pytest.mark.parametrize("m", [20, 100])
def test_residuals_are_those_of_the_full_data(m):
    X = correlated(m, 40, seed=5)
    found = nodewise(X, tol=1e-8)
    by_hand = X - X @ found.coef.toarray().T - found.intercept
    residuals = found.residuals(X)
    np.testing.assert_allclose(residuals, by_hand, atol=1e-10 * np.abs(X).max())
    np.testing.assert_allclose(residuals.mean(axis=0), 0.0, atol=1e-12 * np.abs(X).max())
    np.testing.assert_allclose(np.linalg.norm(residuals, axis=0), found.residual_norm, rtol=1e-9)


@pytest.mark.parametrize("m", [25, 150])
def test_sparse_blocked_and_single_precision_data_give_the_same(m):
    rng = np.random.default_rng(6)
    X = np.where(rng.random((m, 40)) < 0.3, rng.poisson(3.0, (m, 40)), 0).astype(float)
    X[:, 1] += X[:, 0]
    dense = nodewise(X, tol=1e-9)
    assert dense.coef.nnz > 0
    half = m // 2
    for other in (
        sparse.csr_array(X),
        sparse.csc_matrix(X),
        X.astype(np.float32),
        np.asfortranarray(X),
        BlockMatrix.from_arrays([X[:half], X[half:]]),
    ):
        found = nodewise(other, tol=1e-9)
        np.testing.assert_allclose(found.coef.toarray(), dense.coef.toarray(), atol=1e-6)
        np.testing.assert_allclose(found.residuals(other), dense.residuals(X), atol=1e-5)


def test_copies_of_columns_are_solved_too():
    X = correlated(40, 12, seed=7)
    X = np.column_stack([X, X[:, 3], -2.0 * X[:, 5] + 1.0])
    found = nodewise(X, 2.0, tol=1e-7)
    assert found.solved.all()
    # A column is explained by its copy at the price of the penalty alone.
    for j in (3, 12, 5, 13):
        assert found.residual_norm[j] <= 1e-6 * X[:, j].std() * np.sqrt(40)
    assert found.coef[13, 5] == pytest.approx(-2.0)
    assert found.intercept[13] == pytest.approx(1.0)
    others = np.setdiff1d(np.arange(14), [3, 12, 5, 13])
    assert recomputed_gaps(X, found)[others].max() <= 1e-6


@pytest.mark.parametrize("level", [0.1, 1e20 / 3])
def test_constant_columns_explain_nothing_and_are_explained_by_their_mean(level):
    X = correlated(40, 8, seed=8)
    X[:, 2], X[:, 6] = level, 0.0
    found = nodewise(X, tol=1e-8)
    assert found.solved.all()
    assert found.coef[[2, 6]].nnz == 0
    assert not np.isin(found.coef.indices, [2, 6]).any()
    np.testing.assert_allclose(found.intercept[[2, 6]], [level, 0.0])
    assert (found.residual_norm[[2, 6]] == 0).all()
    np.testing.assert_allclose(found.residuals(X)[:, [2, 6]], 0.0, atol=1e-15 * max(level, 1.0))
    without = nodewise(np.delete(X, [2, 6], axis=1), tol=1e-8)
    kept = np.setdiff1d(np.arange(8), [2, 6])
    np.testing.assert_allclose(
        found.coef.toarray()[np.ix_(kept, kept)], without.coef.toarray(), atol=1e-7
    )


@pytest.mark.parametrize(("size", "dtype"), [(1e5, np.float32), (1e-5, np.float32), (1e20, float)])
def test_penalties_of_standardised_columns_have_no_unit(size, dtype):
    X = correlated(40, 10, seed=12)
    rng = np.random.default_rng(0)
    y = X[:, 0] + rng.standard_normal(40)
    scaled = (size * X).astype(dtype)
    plain = nodewise(X, alpha=3.0, tol=1e-9)
    assert 0 < plain.coef.nnz < 90
    found = nodewise(scaled, alpha=3.0, tol=1e-9)
    np.testing.assert_allclose(found.coef.toarray(), plain.coef.toarray(), atol=1e-5)
    own = desparsified(X, y).estimate
    np.testing.assert_allclose(size * desparsified(scaled, y).estimate, own, rtol=1e-4, atol=1e-5)
    edges = [len(neighbourhoods(Z, alpha=3.0).table()["source"]) for Z in (X, scaled)]
    assert edges[0] == edges[1] > 0
    dense = [SparsePrecision(alpha=3.0).fit(Z).precision_ for Z in (X, scaled)]
    np.testing.assert_array_equal(dense[1] != 0, dense[0] != 0)


def test_the_pivotal_penalty_counts_the_other_predictors():
    X = correlated(30, 10, seed=10)
    found = nodewise(X, targets=[0, 1], predictors=np.arange(1, 10))
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    nine, eight = sl.pivotal_alpha(standard[:, :9]), sl.pivotal_alpha(standard[:, :8])
    np.testing.assert_allclose(found.alpha, [nine, eight])
    own = nodewise(X, standardize=False, targets=[0], predictors=np.arange(1, 10))
    assert own.alpha[0] == pytest.approx(sl.pivotal_alpha(X[:, 1:]))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"alpha": "best"}, "alpha must be 'pivotal' or numbers > 0, not 'best'"),
        ({"alpha": -1.0}, "a finite number > 0"),
        ({"alpha": np.ones((3, 2))}, r"of shape \(a,\) or \(5, a\)"),
        ({"targets": [5]}, "a list of column indices from 0 to 4"),
        ({"targets": [1, 1]}, "targets does not name different columns of X"),
        ({"predictors": [True, False]}, r"a mask of shape \(5,\) is accepted"),
        ({"tol": 0.0}, "tol must be a positive number .*, not 0.0"),
    ],
)
def test_bad_options_get_one_sentence(options, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        nodewise(correlated(20, 5), **options)


def test_bad_data_gets_one_sentence():
    with pytest.raises(InvalidInputError, match=r"X has 2 samples, but at least 3 are needed"):
        nodewise(correlated(2, 5))
    found = nodewise(correlated(20, 5))
    with pytest.raises(InvalidInputError, match="X has 4 columns, but the regressions are of 5"):
        found.residuals(np.ones((3, 4)))
