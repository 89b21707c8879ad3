"""Builders: the right problems, in the right order, from the right rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from sketchlasso import Settings, build_problems, feature_problems, sketch, solve, splitter_rows
from sketchlasso.engine import (
    bootstrap_rows,
    complementary_pairs,
    leave_one_out_rows,
    weighted_rows,
)
from sketchlasso.errors import EmptyGridWarning, InvalidInputError
from sketchlasso.instances.statistics import reduce_row_sets, row_statistics
from sketchlasso.problem import reduce_statistics

M, N, K = 40, 25, 8


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(M, N)) @ np.diag(np.linspace(3, 0.3, N)) + 1.0
    Y = X[:, :2] @ rng.normal(size=(2, 3)) + rng.normal(size=(M, 3))
    return X, Y, sketch(X, rank=K, random_state=0)


def rebuilt(found, Y, row_set, fit_intercept):
    """(K, g, yy) of a row set straight from its rows and weights."""
    weights = np.ones(M) if row_set.weights is None else row_set.weights.copy()
    weights[row_set.removed] = 0.0
    Q, Z = found.Q.copy(), Y.copy()
    if fit_intercept:
        Q -= np.average(Q, axis=0, weights=weights)
        Z -= np.average(Z, axis=0, weights=weights)
    W = np.diag(weights)
    return Q.T @ W @ Q, Q.T @ W @ Z, np.diag(Z.T @ W @ Z)


SETS = {
    "kfold": lambda: splitter_rows(5, M),
    "stratified": lambda: splitter_rows(StratifiedKFold(4), M, np.arange(M) % 2),
    "groups": lambda: splitter_rows(GroupKFold(4), M, None, np.arange(M) // 5),
    "time": lambda: splitter_rows(TimeSeriesSplit(3), M),
    "repeated": lambda: splitter_rows(RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), M),
    "pairs": lambda: splitter_rows([(np.arange(30), np.arange(30, 40))], M),
    "loo": lambda: leave_one_out_rows(M),
    "weights": lambda: weighted_rows(np.linspace(0, 2, M)),
    "bootstrap": lambda: bootstrap_rows(M, 4, random_state=0),
    "complementary": lambda: complementary_pairs(M, 3, random_state=0),
}


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", SETS)
def test_reduced_sets_equal_a_rebuild_from_the_remaining_rows(data, name, fit_intercept):
    _, Y, found = data
    rows = SETS[name]()
    reduced = reduce_row_sets(found.Q, Y, rows, fit_intercept)
    for number, row_set in enumerate(rows):
        K_, g, yy = rebuilt(found, Y, row_set, fit_intercept)
        root = reduced.roots[number]
        np.testing.assert_allclose(root @ root.T, K_, atol=1e-10)
        np.testing.assert_allclose(root @ reduced.c[number].T, g, atol=1e-10 * np.abs(Y).sum())
        energy = np.sum(reduced.c[number] ** 2, axis=1) + reduced.s[number] ** 2
        np.testing.assert_allclose(energy, yy, rtol=1e-10)


def test_complementary_pairs_partition_the_rows():
    pairs = SETS["complementary"]()
    first, second = (row_set.train(M) for row_set in pairs.sets[:2])
    assert len(first) == len(second) == M // 2
    assert not set(first) & set(second)


def test_a_row_that_holds_a_direction_alone_is_rebuilt_not_downdated():
    rng = np.random.default_rng(1)
    Q = rng.normal(size=(M, 3))
    Q[:, 2] = 1e-9 * rng.normal(size=M)
    Q[7, 2] = 1e3
    Y = rng.normal(size=(M, 1))
    # The same among folds of several rows.
    folds = splitter_rows([(np.arange(10, M), np.arange(10)), (np.arange(M - 10), [M - 1])], M)
    for rows, number in ((leave_one_out_rows(M), 7), (folds, 0)):
        reduced = reduce_row_sets(Q, Y, rows, fit_intercept=False)
        train = rows[number].train(M)
        found = row_statistics(Q[train], Y[train], np.ones(len(train)))
        roots, _, s = reduce_statistics(found.K[None], found.g[None], found.yy[None])
        np.testing.assert_allclose(reduced.s[number], s[0], rtol=1e-12)
        np.testing.assert_allclose(reduced.roots[number], roots[0], rtol=1e-12, atol=1e-300)


def test_the_product_is_laid_out_row_sets_responses_radii_alphas(data):
    _, Y, found = data
    problems = build_problems(found, Y, alphas=4, radii=[0.1, 1.0], rows=splitter_rows(5, M))
    assert problems.shape == (5, 3, 2, 4)
    batch = problems.batch
    assert batch.n_instances == 120
    grid = problems.fold_out(batch.alpha)
    assert grid.shape == (5, 3, 2, 4)
    assert (np.diff(grid, axis=3) < 0).all()
    assert (grid == grid[:1]).all(), "all folds share the grid of the whole data"
    assert (problems.fold_out(batch.radius)[:, :, 1] == 1.0).all()
    assert (problems.fold_out(problems.row_set)[3] == 3).all()
    assert (np.bincount(problems.chain) == 4).all()


def test_given_alphas_are_sorted_from_the_largest_down(data):
    _, Y, found = data
    assert build_problems(found, Y[:, 0], alphas=[0.1, 3.0, 1.0]).batch.alpha.tolist() == [
        3.0,
        1.0,
        0.1,
    ]


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_weights_equal_repetition_and_weight_zero_equals_deletion(data, fit_intercept):
    X, Y, _ = data
    counts = np.arange(M) % 3
    found = sketch(X, method="exact", radius=0.5)
    one = build_problems(
        found, Y[:, 0], alphas=[2.0], rows=weighted_rows(counts), fit_intercept=fit_intercept
    )
    repeated = np.repeat(np.arange(M), counts)
    again = sketch(X[repeated], method="exact", radius=0.5)
    other = build_problems(again, Y[repeated, 0], alphas=[2.0], fit_intercept=fit_intercept)
    tight = Settings(tol=1e-9)
    np.testing.assert_allclose(
        solve(one.batch, settings=tight).primal,
        solve(other.batch, settings=tight).primal,
        rtol=1e-7,
    )


def test_each_feature_is_regressed_on_the_others(data):
    X, _, _ = data
    centred = X - X.mean(axis=0)
    found = sketch(X, method="exact", center=True, radius=0.2)
    energies = np.sum(centred**2, axis=0)
    problems = feature_problems(found, energies, np.array([3, 11]), alphas=3, alpha_min_ratio=0.2)
    assert problems.left_out.tolist() == [3, 3, 3, 11, 11, 11]
    solution = solve(problems.batch, settings=Settings(tol=1e-9))
    assert (solution.coef.toarray()[np.arange(6), problems.left_out] == 0).all()
    for row, feature in enumerate(problems.left_out):
        others = np.delete(np.arange(N), feature)
        alone = build_problems(
            sketch(centred[:, others], method="exact", radius=0.2),
            centred[:, feature],
            alphas=[problems.batch.alpha[row]],
            fit_intercept=False,
        )
        expected = solve(alone.batch, settings=Settings(tol=1e-9)).primal[0]
        assert solution.primal[row] == pytest.approx(expected, rel=1e-6)
    largest = solution.n_nonzero[[0, 3]]
    assert largest.tolist() == [0, 0]


def test_data_in_place_of_energies_are_refused(data):
    X, _, found = data
    with pytest.raises(InvalidInputError, match=r"energies must have shape \(\d+,\)"):
        feature_problems(found, X)


def test_feature_problems_need_an_orthonormal_basis(data):
    from sketchlasso.engine import sketch_from_factors

    _, _, found = data
    skewed = sketch_from_factors(found.P, 2 * found.Q, radius=0.1)
    with pytest.raises(InvalidInputError, match="Q is not orthonormal"):
        feature_problems(skewed, np.ones(N))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f, y: build_problems(f, y[:-1]), r"y has shape \(39,\), but X has 40 rows"),
        (lambda f, y: build_problems(f, np.ones(M)), "y is constant, so there is nothing"),
        (
            lambda f, y: build_problems(f, np.eye(M)[0], rows=splitter_rows(KFold(5), M)),
            "y is constant on the training rows of row set 0",
        ),
        (lambda f, y: build_problems(f, y, alphas=[np.nan]), "alphas must hold finite numbers > 0"),
        (lambda f, y: build_problems(f, y, radii=[-1.0]), "radii must be finite numbers >= 0"),
        (lambda f, y: build_problems(f, y, rows=leave_one_out_rows(7)), "are for 7 rows but"),
        (lambda f, y: feature_problems(f, np.ones(N), np.array([99])), "indices between 0 and 24"),
        (lambda f, y: splitter_rows([([], np.arange(M))], M), "fold 0 leaves no training row"),
        (lambda f, y: splitter_rows([([50], [1])], M), "fold 0 names row 50, but"),
        (lambda f, y: splitter_rows([], M), "the splitter yields no fold"),
        (lambda f, y: splitter_rows("a", M), "cv must be a splitter"),
        (lambda f, y: weighted_rows(-np.ones(M)), "weights must hold finite numbers >= 0, not -1"),
        (lambda f, y: leave_one_out_rows(7, [1.5]), "rows must hold numbers of rows"),
    ],
)
def test_bad_input_is_one_sentence_before_any_work(data, make, message):
    _, Y, found = data
    with pytest.raises(InvalidInputError, match=message):
        make(found, Y[:, 0])


def test_a_radius_that_leaves_no_grid_is_refused_or_warned_of(data):
    _, Y, found = data
    with pytest.raises(InvalidInputError, match=r"radius 1e\+06 makes w = 0 optimal"):
        build_problems(found, Y, alphas=5, radii=1e6)
    with pytest.warns(EmptyGridWarning, match="use a smaller radius"):
        build_problems(found, Y, alphas=5, radii=[0.1, 1e6])


def test_sparse_data_make_the_same_problems():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(M, N)) * (rng.random((M, N)) < 0.3)
    y = rng.normal(size=M)
    dense = build_problems(sketch(X, rank=6, random_state=1), y, alphas=5, radii=0.3)
    thin = build_problems(
        sketch(sparse.csr_array(X), rank=6, random_state=1), y, alphas=5, radii=0.3
    )
    np.testing.assert_allclose(dense.batch.alpha, thin.batch.alpha, rtol=1e-8)
