"""Threads over rows and over columns of products."""

import numpy as np
from scipy import sparse

from sketchlasso.data.compressed import THREADED_WORK, SparseStorage
from sketchlasso.linalg import threads
from sketchlasso.linalg.threads import blas_threads, map_rows, single_blas_thread


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
    V = np.random.default_rng(1).standard_normal((300, 50))
    assert X.nnz * V.shape[1] > THREADED_WORK
    monkeypatch.setattr(threads._BlasLimit, "threads", 3)
    products = SparseStorage(X).matmat(V), SparseStorage(X).rmatmat(X @ V)
    monkeypatch.setattr(threads._BlasLimit, "threads", 1)
    alone = SparseStorage(X).matmat(V), SparseStorage(X).rmatmat(X @ V)
    np.testing.assert_array_equal(products[0], alone[0])
    np.testing.assert_array_equal(products[1], alone[1])
