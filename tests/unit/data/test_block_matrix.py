"""Matrices in blocks: rows, products and sums are those of the matrix in one piece."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from tests.cut import CUTS, close, cut, dask_array, pieces
from tests.matrices import sparse_counts
from tests.sentences import refusal

import sketchlasso as sl
from sketchlasso.cluster import Engine, cluster
from sketchlasso.data import DataMatrix, block_work
from sketchlasso.data.block_work import (
    entries_of,
    gram_product,
    orthogonal_product,
    product_triangle,
    strip_edges,
)
from sketchlasso.data.storage import dense_product
from sketchlasso.engine import fingerprint
from sketchlasso.errors import InvalidInputError
from sketchlasso.io import BlockMatrix


@pytest.fixture(params=["dense", "sparse"], scope="module")
def X(request):
    rng = np.random.default_rng(5)
    if request.param == "sparse":
        return sparse.csr_array(sparse_counts(150, 12, rng, density=0.3))
    return rng.standard_normal((150, 12)) + 3.0


@pytest.fixture(params=CUTS.values(), ids=CUTS)
def blocks(request, X):
    return cut(X, request.param)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


class Counting(Engine):
    """Counts how often blocks are opened."""

    def __init__(self):
        super().__init__(self.count)
        self.opened = 0

    def count(self, done, total, what):
        self.opened += 1


def test_an_array_in_memory_is_one_block_that_is_never_copied(X):
    whole = BlockMatrix.of(X)
    assert whole.in_memory
    assert whole.n_blocks == 1
    assert BlockMatrix.of(whole) is whole
    (found,) = whole.run_collect(entries_of, (None,))
    assert found is X
    assert close(whole.sum(axis=0), X.sum(axis=0))
    assert not whole.is_surveyed
    assert close(whole @ np.ones(12), X.sum(axis=1))
    # Types other than float32 and float64 are converted by the products alone.
    small = BlockMatrix.of(dense(X).astype(np.int8))
    assert small.run_collect(entries_of, (None,))[0].dtype == np.int8
    assert not cut(X, (150,)).in_memory
    assert close(BlockMatrix.of([[1.0, 2.0], [3.0, 4.0]]) @ [1.0, 1.0], [3.0, 7.0])
    said = refusal(InvalidInputError, BlockMatrix.of, np.ones(3))
    assert "X has shape (3,), but a matrix" in said


def test_one_block_in_memory_stays_in_this_process(X):
    with cluster("sequential", on_progress=lambda *_: pytest.fail("the engine was asked")):
        BlockMatrix.of(X).sum(axis=0)


def test_shape_and_blocks(X, blocks):
    assert blocks.shape == X.shape
    assert len(blocks) == 150
    assert blocks.ndim == 2
    assert blocks.dtype == np.float64
    assert blocks.sparse == sparse.issparse(X)
    assert sum(blocks.rows_per_block) == 150
    assert min(blocks.rows_per_block) > 0
    assert blocks.n_blocks == len(blocks.rows_per_block)
    assert "150 x 12" in repr(blocks)


def test_products_and_sums(X, blocks):
    rng = np.random.default_rng(0)
    V, u = rng.standard_normal((12, 3)), rng.standard_normal(150)
    assert close(blocks @ V, X @ V)
    assert close(blocks @ V[:, 0], X @ V[:, 0])
    assert close(blocks @ sparse.csc_array(V), X @ V)
    assert close(blocks.T @ u, X.T @ u)
    assert close(blocks.T @ np.outer(u, [1.0, 2.0]), np.outer(X.T @ u, [1.0, 2.0]))
    assert close(blocks.sum(axis=0), dense(X).sum(axis=0))
    assert blocks.T.shape == (12, 150)


@pytest.mark.parametrize(
    "rows",
    [
        np.arange(0, 150, 7),
        np.arange(150) % 3 == 0,
        slice(40, 90),
        [69, 70, 149],
        [],
        [-1],
    ],
    ids=["step", "mask", "slice", "edges", "none", "last"],
)
def test_rows_in_order_move_no_data(X, blocks, rows):
    chosen = blocks[rows]
    assert isinstance(chosen, BlockMatrix)
    wanted = dense(X)[np.asarray(rows, dtype=int) if isinstance(rows, list) else rows]
    assert close(chosen.collect(), wanted)
    assert close(chosen[::2].collect(), wanted[::2])
    assert close(chosen @ np.ones(12), wanted @ np.ones(12))


def test_rows_in_any_order_are_collected_in_that_order(X, blocks):
    rows = np.array([149, 0, 60, 60, 3])
    assert close(blocks[rows], dense(X)[rows])
    assert close(blocks[:, [4, 1]], dense(X)[:, [4, 1]])
    assert close(blocks[rows, 2:4], dense(X)[rows][:, 2:4])


def test_only_blocks_with_wanted_rows_are_opened(X):
    blocks = cut(X, CUTS["seven"])
    engine = Counting()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sketchlasso.data.blocks.current_engine", lambda: engine)
        blocks[[0, 1, 149]].collect()
        assert engine.opened == 2
        blocks.products([(np.array([60, 30]), np.ones((12, 1)))])
        assert engine.opened == 2 + 2


def test_several_products_in_one_pass(X, blocks):
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((12, 2)), sparse.csr_array(rng.standard_normal((12, 4)))
    some = np.array([149, 2, 71])
    first, second, third = blocks.products([(some, A), (None, B), (some[:0], A)])
    assert close(first, (dense(X) @ A)[some])
    assert close(second, X @ B.toarray())
    assert third.shape == (0, 2)


def test_products_of_rows_with_rows(X, blocks):
    rows = np.array([5, 149, 5, 80])
    B = sparse.random_array((4, 12), density=0.5, format="csr", rng=np.random.default_rng(2))
    assert close(blocks.row_products(rows, B), (dense(X)[rows] * B.toarray()).sum(axis=1))


def test_sums_of_chosen_rows(X, blocks):
    rows, weights = np.array([1, 60, 140]), np.array([1.0, 2.0, 0.5])
    sums = blocks.row_sums([(rows, None), (rows, weights)])
    assert close(sums[0], dense(X)[rows].sum(axis=0))
    assert close(sums[1], weights @ dense(X)[rows])


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_the_view_of_the_data_is_the_same(X, blocks, center, scale):
    ours = DataMatrix.of(blocks, center=center, scale=scale)
    theirs = DataMatrix.of(X, center=center, scale=scale)
    rng = np.random.default_rng(3)
    V, U = rng.standard_normal((12, 2)), rng.standard_normal((150, 2))
    assert close(ours.matmat(V), theirs.matmat(V))
    assert close(ours.rmatmat(U), theirs.rmatmat(U))
    assert close(ours.gram_matmat(V), theirs.rmatmat(theirs.matmat(V)))
    assert close(theirs.gram_matmat(V), theirs.rmatmat(theirs.matmat(V)))
    assert close(ours.column_lengths(), theirs.column_lengths())
    assert close(ours.row_lengths(), theirs.row_lengths())
    assert np.isclose(ours.squared_norm(), theirs.squared_norm(), rtol=1e-12)
    assert np.isclose(ours.density, theirs.density)
    R = ours.triangle(V)
    assert close(R.T @ R, V.T @ theirs.gram_matmat(V))


def test_far_from_zero_the_spread_keeps_its_digits():
    rng = np.random.default_rng(8)
    X = 1e6 + rng.standard_normal((150, 4))
    ours = DataMatrix.of(cut(X, CUTS["seven"]), center=True, scale=True)
    np.testing.assert_allclose(ours.transform.scales, X.std(axis=0), rtol=1e-9)
    V = rng.standard_normal((4, 2))
    theirs = DataMatrix.of(X, center=True, scale=True)
    assert close(ours.gram_matmat(V), theirs.rmatmat(theirs.matmat(V)))


def test_sums_squares_and_digest_are_one_pass(X):
    blocks = cut(X, CUTS["seven"])
    A = DataMatrix.of(blocks, center=True, scale=True)
    A.column_lengths()
    A.squared_norm()
    A.fingerprint()
    assert A.meter.passes == 1
    A.gram_matmat(np.ones((12, 2)))
    assert A.meter.passes == 2
    assert A.meter.products == 4


def test_digest_tells_entries_however_they_are_cut(X):
    assert fingerprint(X) == fingerprint(cut(X, CUTS["two"])) == fingerprint(cut(X, CUTS["seven"]))
    assert fingerprint(X) != fingerprint(cut(2 * X, CUTS["two"]))


def test_float32_stays_and_integers_become_doubles():
    X = np.arange(12).reshape(4, 3)
    assert cut(X.astype(np.float32), (2, 2)).dtype == np.float32
    counted = cut(X, (2, 2))
    assert counted.dtype == np.float64
    assert counted.collect().dtype == np.float64


def test_blocks_can_be_pickled(X):
    blocks = pickle.loads(pickle.dumps(cut(X, CUTS["two"])))
    assert close(blocks.collect(), X)


def test_dask_arrays_of_any_cut_are_blocks(X):
    pytest.importorskip("dask")
    array = dask_array(X, CUTS["odd"])
    blocks = BlockMatrix.from_dask(array)
    assert blocks.sparse == sparse.issparse(X)
    assert blocks.rows_per_block == (60, 1, 89)
    assert blocks.dask_value is not None
    assert close(blocks.collect(), X)
    if not sparse.issparse(X):
        assert close(BlockMatrix.from_dask(array.rechunk((50, 5))).collect(), X)


def test_sparse_chunks_that_were_announced_as_dense():
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    X = sparse.csr_array(sparse_counts(150, 12, np.random.default_rng(5), density=0.3))
    parts = [
        da.from_delayed(dask.delayed(part), part.shape, dtype=X.dtype)
        for part in pieces(X, CUTS["two"])
    ]
    blocks = BlockMatrix.from_dask(da.concatenate(parts))
    assert close(blocks @ np.eye(12), X)
    assert sparse.issparse(blocks.collect())
    assert np.isclose(DataMatrix.of(blocks).density, X.nnz / (150 * 12))


def test_refusals_of_arrays(X):
    refuse = InvalidInputError
    make = BlockMatrix.from_arrays
    good = np.ones((3, 2))
    assert "no block" in refusal(refuse, make, [])
    assert "block 1" in refusal(refuse, make, [good, np.ones((3, 4))])
    assert "block 1" in refusal(refuse, make, [good, good.astype(np.float32)])
    assert "block 0" in refusal(refuse, make, [good.astype(complex)])
    assert "block 1" in refusal(refuse, make, [good, np.ones(3)])
    assert "empty" in refusal(refuse, make, [np.ones((0, 2))])
    blocks = cut(X, CUTS["two"])
    assert "collect" in refusal(refuse, np.asarray, blocks)
    assert "beyond" in refusal(refuse, blocks.__getitem__, [150])
    assert "row numbers" in refusal(refuse, blocks.__getitem__, [0.5])
    assert "axis=1" in refusal(refuse, blocks.sum, 1)
    assert "12 rows" in refusal(refuse, blocks.__matmul__, np.ones(13))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_entries_that_are_not_finite_are_named(kind):
    bad = np.ones((4, 3))
    bad[2, 1] = np.nan
    blocks = BlockMatrix.from_arrays([kind(np.ones((2, 3))), kind(bad)])
    text = refusal(InvalidInputError, sl.sketch, blocks, rank=1)
    assert "nan in block 1, row 2 of it, column 1" in text


@pytest.mark.parametrize("value", [-1e260, 1e308])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_entries_whose_squares_overflow_are_refused(value, form):
    bad = np.eye(4)
    bad[2, 1] = value
    blocks = BlockMatrix.from_arrays([form(np.eye(4)), form(bad)])
    text = refusal(InvalidInputError, sl.sketch, blocks, rank=1)
    assert f"X holds {value:g} in block 1, row 2 of it, column 1" in text
    assert "1e+120 at most" in text


class Announced:
    """A handle that promises one thing and loads another."""

    sparse = False
    name = "part.npy"

    def __init__(self, entries, rows=3, columns=2, dtype="f8"):
        self.entries, self.rows, self.columns = entries, rows, columns
        self.dtype = np.dtype(dtype)

    def load(self):
        return self.entries


def test_blocks_that_break_their_promise_are_named():
    good = np.ones((3, 2))
    for entries in (np.ones((3, 4)), np.ones((2, 2)), good.astype(np.float32), good.astype(str)):
        blocks = BlockMatrix([Announced(good), Announced(entries)])
        text = refusal(InvalidInputError, blocks.collect)
        assert "block 1 (part.npy)" in text


def test_refusals_of_dask_arrays():
    da = pytest.importorskip("dask.array")
    make, refuse = BlockMatrix.from_dask, InvalidInputError
    X = da.ones((6, 2), chunks=(3, 2))
    assert "compute_chunk_sizes" in refusal(refuse, make, X[X[:, 0] > 0])
    assert "two dimensions" in refusal(refuse, make, da.ones(4))
    parts = [np.ones((3, 2)), np.ones((3, 2), dtype=np.float32)]
    import dask

    mixed = da.concatenate(
        [da.from_delayed(dask.delayed(p), (3, 2), dtype=np.float64) for p in parts]
    )
    assert "block 1 (chunk 1)" in refusal(refuse, make(mixed).collect)


def test_a_handle_of_pieces_is_enough():
    X = np.arange(12.0).reshape(6, 2)
    handles = [Announced(part) for part in pieces(X, (3, 3))]
    assert close(BlockMatrix(handles).collect(), X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("rows", [0, 3, 1000])
def test_wide_products_are_made_in_strips(kind, rows, monkeypatch):
    assert strip_edges((rows, 70), 200).tolist() == [0, rows]
    monkeypatch.setattr(block_work, "FEW_ENTRIES", 0)
    rng = np.random.default_rng(7)
    X, V, shift = rng.standard_normal((rows, 70)), rng.standard_normal((70, 200)), np.ones(200)
    edges = strip_edges((rows, 70), 200)
    assert edges.tolist() == ([0, 240, 480, 720, 960, 1000] if rows == 1000 else [0, rows])
    B = X @ V - shift
    product, sums, triangle = orthogonal_product(kind(X), V, shift)
    assert close(product, X.T @ B)
    assert close(sums, B.sum(axis=0))
    assert close(triangle.R.T @ triangle.R, B.T @ B)
    assert close(gram_product(kind(X), V, shift)[0], X.T @ B)
    R = product_triangle(kind(X), V, shift).R
    assert close(R.T @ R, B.T @ B)


def test_row_sums_of_a_wide_factor_do_not_depend_on_strips(monkeypatch):
    monkeypatch.setattr(block_work, "FEW_ENTRIES", 0)
    rng = np.random.default_rng(8)
    X, Y = rng.standard_normal((900, 60)), rng.standard_normal((900, 2))
    options = {"rank": 56, "method": "krylov", "center": True, "random_state": 0}
    whole, blocks = sl.sketch(X, **options), cut(X, (800, 100))
    assert len(strip_edges((800, 60), 56)) > 2
    found = sl.sketch(blocks, **options)
    weights = rng.uniform(size=900)
    ours, theirs = (
        sl.cross_validate(s, A, Y, cv=3, alphas=3, radii=[0.5], sample_weight=weights)
        for s, A in ((found, blocks), (whole, X))
    )
    assert close(ours.scores["mse"], theirs.scores["mse"], 1e-6)
    left = [
        sl.leave_one_out(s, A, Y[:, 0], alpha=2.0, radius=0.5).predictions
        for s, A in ((found, blocks), (whole, X))
    ]
    assert close(left[0], left[1], 1e-5)


@pytest.mark.parametrize("density", [0.001, 0.3])
@pytest.mark.parametrize("columns", [1, 40])
def test_products_with_sparse_factors(X, density, columns):
    V = sparse.random_array((12, columns), density=density, rng=np.random.default_rng(1))
    found = dense_product(X, sparse.csc_array(V))
    assert isinstance(found, np.ndarray)
    assert close(found, dense(X) @ V.toarray())
