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
from sketchlasso.data import DataMatrix
from sketchlasso.data.entries import dense_product, image_sums
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


def test_shape_products_and_sums(X, blocks):
    assert blocks.shape == X.shape
    assert blocks.sparse == sparse.issparse(X)
    assert sum(blocks.rows_per_block) == len(blocks) == 150
    assert min(blocks.rows_per_block) > 0
    assert "150 x 12" in repr(blocks)
    rng = np.random.default_rng(0)
    V, u = rng.standard_normal((12, 3)), rng.standard_normal(150)
    assert close(blocks @ V, X @ V)
    assert close(blocks @ V[:, 0], X @ V[:, 0])
    assert close(blocks @ sparse.csc_array(V), X @ V)
    assert close(blocks.T @ u, X.T @ u)
    assert close(blocks.T @ np.outer(u, [1.0, 2.0]), np.outer(X.T @ u, [1.0, 2.0]))
    assert close(blocks.T @ sparse.csr_array(np.diag(u)[:, :4]), dense(X).T @ np.diag(u)[:, :4])
    assert close(blocks.sum(axis=0), dense(X).sum(axis=0))


@pytest.mark.parametrize(
    "rows",
    [np.arange(0, 150, 7), np.arange(150) % 3 == 0, slice(40, 90), [69, 70, 149], [], [-1]],
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
    B = sparse.random_array((5, 12), density=0.5, format="csr", rng=np.random.default_rng(2))
    assert close(blocks.row_products(rows, B), (dense(X)[rows] * B.toarray()).sum(axis=1))


def test_several_products_open_only_the_blocks_that_they_need(X):
    rng = np.random.default_rng(1)
    A, B = rng.standard_normal((12, 2)), sparse.csr_array(rng.standard_normal((12, 4)))
    some, opened = np.array([149, 2, 3]), []
    with cluster("sequential", on_progress=lambda done, total, what: opened.append(total)):
        blocks = cut(X, CUTS["seven"])
        first, nothing = blocks.products([(some, A), (some[:0], A)])
        assert opened == [2, 2]
        second, third = blocks.products([(None, B), (some, A)])
        assert opened == [2, 2, *[7] * 7]
    assert close(first, (dense(X) @ A)[some]) and close(third, first)
    assert close(second, X @ B.toarray())
    assert nothing.shape == (0, 2)


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
    assert close(ours.column_lengths(), theirs.column_lengths())
    assert close(ours.row_lengths(), theirs.row_lengths())
    assert np.isclose(ours.squared_norm(), theirs.squared_norm(), rtol=1e-12)
    product, R = ours.orthogonal_image(V)
    assert close(product, theirs.gram_matmat(V))
    assert close(R.T @ R, V.T @ product)
    assert ours.fingerprint() == theirs.fingerprint()


def test_far_from_zero_the_spread_keeps_its_digits():
    rng = np.random.default_rng(8)
    X = 1e6 + rng.standard_normal((150, 4))
    ours = DataMatrix.of(cut(X, CUTS["seven"]), center=True, scale=True)
    np.testing.assert_allclose(ours.transform.scales, X.std(axis=0), rtol=1e-9)
    V = rng.standard_normal((4, 2))
    theirs = DataMatrix.of(X, center=True, scale=True)
    assert close(ours.gram_matmat(V), theirs.rmatmat(theirs.matmat(V)))


def test_sums_squares_and_digest_are_one_pass(X):
    A = DataMatrix.of(cut(X, CUTS["seven"]), center=True, scale=True)
    A.column_lengths()
    A.squared_norm()
    A.fingerprint()
    assert A.meter.passes == 1
    A.gram_matmat(np.ones((12, 2)))
    assert A.meter.passes == 2
    assert A.meter.products == 4


def test_a_digest_tells_entries_and_not_how_they_are_stored(X, tmp_path):
    digest = fingerprint(cut(X, CUTS["two"]))
    np.save(tmp_path / "X.npy", dense(X))
    for same in (
        cut(X, CUTS["seven"]),
        dense(X),
        np.asfortranarray(dense(X)),
        dense(X).astype(">f8"),
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        sparse.csc_array(X),
        np.where(dense(X) == 0, -0.0, dense(X)),
    ):
        assert fingerprint(same) == digest
    other, swapped = dense(X).copy(), dense(X)[::-1]
    other[3, 2] += 1e-12
    for different in (other, swapped, dense(X)[:, ::-1], -dense(X), dense(X)[:149]):
        assert fingerprint(different) != digest


def test_float32_stays_and_integers_become_doubles():
    X = np.arange(12).reshape(4, 3)
    assert cut(X.astype(np.float32), (2, 2)).dtype == np.float32
    assert cut(X.astype(np.float32), (2, 2)).in_double().collect().dtype == np.float64
    assert cut(X, (2, 2)).collect().dtype == np.float64
    assert close(BlockMatrix.of(X) @ np.ones(3), X.sum(axis=1))


def test_blocks_can_be_pickled(X):
    assert close(pickle.loads(pickle.dumps(cut(X, CUTS["two"]))).collect(), X)


def test_dask_arrays_of_any_cut_are_blocks(X):
    pytest.importorskip("dask")
    array = dask_array(X, CUTS["odd"])
    blocks = BlockMatrix.from_dask(array)
    assert blocks.sparse == sparse.issparse(X)
    assert blocks.rows_per_block == (60, 1, 89)
    assert close(blocks.collect(), X)
    if not sparse.issparse(X):
        assert close(BlockMatrix.from_dask(array.rechunk((50, 5))).collect(), X)


def test_a_dask_array_starts_no_processes(monkeypatch):
    pytest.importorskip("distributed")
    import distributed

    from sketchlasso.cluster import engine_of

    monkeypatch.setattr(distributed, "LocalCluster", lambda **_: pytest.fail("started workers"))
    X = np.random.default_rng(0).standard_normal((90, 6))
    array = dask_array(X, (40, 50))
    assert type(engine_of(array)) is Engine
    model = sl.SqrtLasso(alpha=0.5, random_state=0).fit(array, X[:, 0])
    np.testing.assert_allclose(model.predict(array), model.predict(X))


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


class Announced:
    """A handle that promises one thing and loads another."""

    sparse = False
    name = "part.npy"

    def __init__(self, entries, rows=3, columns=2, dtype="f8"):
        self.entries, self.rows, self.columns = entries, rows, columns
        self.dtype = np.dtype(dtype)

    def load(self):
        return self.entries


GOOD = np.ones((3, 2))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: BlockMatrix.of(np.ones(3)), "X has shape (3,), but a matrix"),
        (lambda: BlockMatrix.from_arrays([]), "empty"),
        (lambda: BlockMatrix.from_arrays([GOOD, np.ones((3, 4))]), "block 1 of X has 4 columns"),
        (lambda: BlockMatrix.from_arrays([GOOD, GOOD.astype("f4")]), "block 1"),
        (lambda: BlockMatrix.from_arrays([GOOD.astype(complex)]), "block 0"),
        (lambda: np.asarray(cut(GOOD, (2, 1))), "X.collect()"),
        (lambda: cut(GOOD, (2, 1))[[150]], "none beyond 2"),
        (lambda: cut(GOOD, (2, 1)) @ np.ones(13), "2 rows is needed"),
        (
            lambda: BlockMatrix([Announced(GOOD), Announced(np.ones((3, 4)))]).collect(),
            "block 1 (part.npy) of X has shape (3, 4)",
        ),
    ],
)
def test_what_is_no_matrix_is_refused(make, said):
    assert said in refusal(InvalidInputError, make)


@pytest.mark.parametrize("value", [np.nan, -1e260])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_entries_that_cannot_be_squared_are_named(value, form):
    bad = np.eye(4)
    bad[2, 1] = value
    blocks = BlockMatrix.from_arrays([form(np.eye(4)), form(bad)])
    text = refusal(InvalidInputError, sl.sketch, blocks, rank=1)
    assert f"X holds {value:g} in block 1, row 2 of it, column 1" in text


def test_dask_arrays_of_unknown_rows_are_refused():
    da = pytest.importorskip("dask.array")
    X = da.ones((6, 2), chunks=(3, 2))
    text = refusal(InvalidInputError, BlockMatrix.from_dask, X[X[:, 0] > 0])
    assert "compute_chunk_sizes" in text


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_wide_products_are_made_in_strips(kind, monkeypatch):
    monkeypatch.setattr("sketchlasso.data.entries.CHUNK", 10_000)
    rng = np.random.default_rng(7)
    X, V, shift = rng.standard_normal((1000, 70)), rng.standard_normal((70, 200)), np.ones(200)
    B = X @ V - shift
    product, sums, triangle = image_sums(kind(X), V, shift, True, True)
    assert close(product, X.T @ B)
    assert close(sums, B.sum(axis=0))
    assert close(triangle.R.T @ triangle.R, B.T @ B)


def test_row_sums_of_a_wide_factor_do_not_depend_on_strips(monkeypatch):
    monkeypatch.setattr("sketchlasso.data.entries.CHUNK", 100)
    rng = np.random.default_rng(8)
    X, Y = rng.standard_normal((900, 60)), rng.standard_normal((900, 2))
    options = {"rank": 56, "method": "krylov", "center": True, "random_state": 0}
    whole, blocks = sl.sketch(X, **options), cut(X, (800, 100))
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
    V = sparse.random_array((12, columns), density=density, rng=np.random.default_rng(4))
    product = dense_product(X, sparse.csc_array(V))
    assert isinstance(product, np.ndarray)
    assert close(product, dense(X) @ V.toarray())
