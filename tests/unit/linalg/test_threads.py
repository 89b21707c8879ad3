"""Threads over rows and over columns of products."""

import numpy as np
import pytest
from joblib import cpu_count, parallel_config
from scipy import sparse
from tests.sentences import refusal

from sketchlasso import Settings, SqrtLasso, SqrtLassoCV
from sketchlasso.data.entries import THREADED_WORK, product
from sketchlasso.errors import InvalidInputError
from sketchlasso.inference import SparsePrecision, StabilitySelection
from sketchlasso.linalg.threads import blas_threads, map_rows, single_blas_thread, thread_count


def test_work_may_map_rows_itself():
    found = map_rows(lambda row: map_rows(lambda other: row * other, 8, 2), 8, 2)
    np.testing.assert_array_equal(found, np.outer(np.arange(8), np.arange(8)))


def test_the_limit_of_blas_is_no_limit_of_our_own_threads():
    free = blas_threads()
    with single_blas_thread():
        assert blas_threads() == free
    # A thread of a pool has no threads of its own.
    assert map_rows(lambda _: blas_threads(), 8, 2) == [1] * 8


def test_a_sparse_product_has_the_same_digits_on_several_threads(monkeypatch):
    X = sparse.random_array((400, 300), density=0.2, format="csr", rng=np.random.default_rng(0))
    V = np.random.default_rng(1).standard_normal((300, 200))
    assert X.nnz * V.shape[1] > THREADED_WORK
    monkeypatch.setattr("sketchlasso.data.entries.blas_threads", lambda: 3)
    products = product(X, V), product(X.T, X @ V)
    monkeypatch.setattr("sketchlasso.data.entries.blas_threads", lambda: 1)
    alone = product(X, V), product(X.T, X @ V)
    np.testing.assert_array_equal(products[0], alone[0])
    np.testing.assert_array_equal(products[1], alone[1])


def test_jobs_are_counted_as_scikit_learn_counts_them():
    cores = cpu_count()
    counted = [thread_count(n_jobs) for n_jobs in (-1, -2, -cores - 5, None, 1, 3, np.int64(2))]
    assert counted == [cores, max(1, cores - 1), 1, 1, 1, 3, 2]
    assert Settings().n_threads == Settings(n_threads=-1).n_threads == cores
    with parallel_config("threading", n_jobs=2):
        assert thread_count(None) == 2


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_no_number_of_jobs_is_refused_alike_everywhere(n_jobs):
    X, y = np.random.default_rng(0).standard_normal((12, 3)), np.arange(12.0)
    said = {refusal(InvalidInputError, thread_count, n_jobs)}
    for estimator in (
        SqrtLasso(n_jobs=n_jobs),
        SqrtLassoCV(n_jobs=n_jobs),
        StabilitySelection(n_jobs=n_jobs),
        SparsePrecision(n_jobs=n_jobs),
    ):
        said.add(refusal(InvalidInputError, estimator.fit, X, y))
    (sentence,) = said
    assert sentence.startswith(
        f"n_jobs must be a number of threads, or -1 for all cores, not {n_jobs!r}"
    )
    other = refusal(InvalidInputError, Settings, n_threads=n_jobs)
    assert other == sentence.replace("n_jobs", "n_threads")
