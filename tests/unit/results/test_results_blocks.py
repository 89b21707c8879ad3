"""Paths, cross-validation and leave-one-out on blocks are those of data in memory."""

import numpy as np
import pytest
from scipy import sparse
from tests.cut import CUTS, close, cut, dask_array
from tests.matrices import sparse_counts
from tests.sentences import refusal
from tests.workers import two_workers

import sketchlasso as sl
from sketchlasso.cluster import cluster
from sketchlasso.errors import InvalidInputError

FINE = sl.Settings(tol=1e-10)


def data(kind, n=25, m=150):
    rng = np.random.default_rng(11)
    if kind == "sparse":
        X = sparse.csr_array(sparse_counts(m, n, rng, density=0.3))
    else:
        X = rng.standard_normal((m, n)) @ np.diag(1.0 / np.sqrt(1.0 + np.arange(n))) + 0.5
    w = np.zeros(n)
    w[:4] = (2.0, -1.0, 1.5, 1.0)
    y = X @ w + 0.1 * rng.standard_normal(m) + 1.0
    return X, np.asarray(y)


def sketches(X, y, rows, method):
    shown = y if method == "response" else None
    call = {"rank": 8, "method": method, "center": True, "random_state": 0}
    blocks = cut(X, rows)
    return blocks, sl.sketch(blocks, shown, **call), sl.sketch(X, shown, **call)


CASES = [
    ("dense", "seven", "randomized"),
    ("sparse", "odd", "randomized"),
    ("dense", "odd", "response"),
    ("sparse", "two", "response"),
    ("dense", "two", "frequent_directions"),
    ("sparse", "one", "krylov"),
]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case), scope="module")
def case(request):
    kind, rows, method = request.param
    X, y = data(kind)
    return X, y, *sketches(X, y, CUTS[rows], method)


@pytest.mark.parametrize("radius", ["spectral", "realised", 0.3])
def test_paths(case, radius):
    X, y, blocks, ours, theirs = case
    call = {"alphas": 6, "radius": radius, "settings": FINE}
    a = sl.sqrt_lasso_path(blocks, y, ours, **call)
    b = sl.sqrt_lasso_path(X, y, theirs, **call)
    assert close(a.alphas, b.alphas)
    assert close(a.radius, b.radius)
    assert close(a.models.coef, b.models.coef)
    assert close(a.models.intercept, b.models.intercept)
    assert close(a.certificate(blocks, y).relative_gap, b.certificate(X, y).relative_gap, 1e-6)


def test_paths_with_weights_and_unpenalised_features(case):
    X, y, blocks, ours, theirs = case
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    factor = np.ones(X.shape[1])
    factor[3] = 0.0
    call = {
        "alphas": [0.5, 0.1],
        "radius": 0.3,
        "sample_weight": weights,
        "penalty_factor": factor,
        "settings": FINE,
    }
    a = sl.sqrt_lasso_path(blocks, y, ours, **call)
    b = sl.sqrt_lasso_path(X, y, theirs, **call)
    assert close(a.models.coef, b.models.coef)
    assert close(a.models.intercept, b.models.intercept)
    gaps = [p.certificate(Z, y, weights).relative_gap for p, Z in ((a, blocks), (b, X))]
    assert close(*gaps, 1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_validation(case, weighted):
    X, y, blocks, ours, theirs = case
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(y)) if weighted else None
    order = np.random.default_rng(4).permutation(len(y))
    folds = [(np.setdiff1d(order, part), part) for part in np.array_split(order, 3)]
    call = {"cv": folds, "alphas": 5, "sample_weight": weights, "settings": FINE}
    a = sl.cross_validate(ours, blocks, y, **call)
    b = sl.cross_validate(theirs, X, y, **call)
    assert close(a.scores["mse"], b.scores["mse"])
    assert close(a.radius, b.radius)
    assert close(a.predictions, b.predictions)
    assert close(a.models.coef, b.models.coef)
    assert a.best().alpha_index == b.best().alpha_index
    assert a.best().radius == b.best().radius


@pytest.mark.parametrize("rows", [None, np.array([149, 3, 60])], ids=["all", "some"])
def test_leave_one_out(case, rows):
    X, y, blocks, ours, theirs = case
    rows = np.arange(0, 150, 5) if rows is None else rows
    call = {"alpha": 0.3, "rows": rows}
    a = sl.leave_one_out(ours, blocks, y, **call)
    b = sl.leave_one_out(theirs, X, y, **call)
    assert close(a.predictions, b.predictions)
    assert close(a.radius, b.radius)
    np.testing.assert_array_equal(a.features_gained, b.features_gained)


def test_the_exact_problem_is_refused():
    X, y = data("dense")
    blocks = cut(X, CUTS["two"])
    assert "collect" in refusal(InvalidInputError, sl.sqrt_lasso_path, blocks, y)


@pytest.fixture(scope="module")
def client():
    with two_workers() as connected:
        yield connected


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_dask_arrays_with_everything_on_workers(client, kind):
    X, y = data(kind)
    array = dask_array(X, CUTS["odd"])
    theirs = sl.sketch(X, rank=8, random_state=0)
    wanted = sl.cross_validate(theirs, X, y, cv=3, alphas=10, settings=FINE)
    left = sl.leave_one_out(theirs, X, y, alpha=0.3)
    with cluster(client):
        ours = sl.sketch(array, rank=8, random_state=0)
        found = sl.cross_validate(ours, array, y, cv=3, alphas=10, settings=FINE)
        assert close(found.scores["mse"], wanted.scores["mse"])
        assert close(found.models.predict(array), wanted.models.predict(X))
        assert close(sl.leave_one_out(ours, array, y, alpha=0.3).predictions, left.predictions)
