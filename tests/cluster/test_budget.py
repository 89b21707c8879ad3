"""The budget of read_shards is kept: what NumPy allocates, counted while the work is done."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import sketchlasso as sl
from sketchlasso.io import read_shards
from sketchlasso.io.shards import COPIES, PRODUCTS

ROWS, SHARDS, N, EACH, RANK = 4000, 8, 300, 10, 10
M = ROWS * SHARDS


@pytest.fixture(scope="module", params=["npz", "npy"])
def shards(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("budget")
    rng = np.random.default_rng(0)
    for number in range(SHARDS):
        columns = rng.integers(0, N, (ROWS, EACH))
        X = sparse.csr_array(
            (rng.random(ROWS * EACH), columns.ravel(), np.arange(0, ROWS * EACH + 1, EACH)),
            shape=(ROWS, N),
        )
        if request.param == "npz":
            sparse.save_npz(folder / f"{number}.npz", X)
        else:
            np.save(folder / f"{number}.npy", X.toarray())
    row = 12 * EACH + 5 if request.param == "npz" else 8 * N
    memory = COPIES * (ROWS if request.param == "npz" else ROWS // 4) * (row + PRODUCTS)
    return read_shards(folder, memory=memory), memory


def work(X, y):
    found = sl.sketch(X, rank=RANK, method="krylov", n_iter=1, center=True, random_state=0)
    return sl.cross_validate(
        found, X, y, cv=3, alphas=60, alpha_min_ratio=0.05, radii=["realised", 0.5]
    )


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.EmptyGridWarning")
def test_no_more_is_allocated_than_was_allowed(shards):
    found, memory = shards
    y = np.random.default_rng(1).standard_normal(M)
    work(found.X[:500], y[:500])  # compiles
    tracemalloc.start()
    work(found.X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # What docs/large.md says comes on top: some numbers a sample, thin factors, coefficients.
    beside = 8 * (12 * M + 20 * N * RANK + 4 * 3 * 120 * N)
    assert peak < memory + beside
    # All predictions at once, or X, would have broken it.
    assert memory + beside < 8 * M * 120 < 8 * M * N


@pytest.mark.filterwarnings("ignore::sketchlasso.errors.EmptyGridWarning")
def test_the_budget_is_kept_whatever_the_rank(tmp_path):
    rows, rank = 20_000, 200
    rng = np.random.default_rng(0)
    for number in range(2):
        X = sparse.random_array((rows, N), density=5 / N, rng=rng, format="csr")
        sparse.save_npz(tmp_path / f"{number}.npz", sparse.csr_matrix(X))
    memory = COPIES * rows * (5 * 12 + 5 + PRODUCTS)
    X = read_shards(tmp_path, memory=memory).X
    y = X @ np.ones(N) + rng.standard_normal(2 * rows)
    tracemalloc.start()
    found = sl.sketch(X, rank=rank, method="krylov", n_iter=1, radius=0.0, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    folds = sl.cross_validate(found, X, y, cv=2, alphas=3, radii=[0.5])
    judged = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    beside = 8 * (12 * 2 * rows + 20 * N * rank)
    assert peak < memory + beside
    assert judged < memory + beside
    # Two products of all rows of a block would have broken it.
    assert memory + beside < 2 * 8 * rows * rank
    assert np.isfinite(folds.scores["mse"]).all()
