"""Sketches of blocks are those of the matrix in one piece, for the same seed."""

import numpy as np
import pytest
from scipy import sparse
from tests.cut import CUTS, close, cut, dask_array, product
from tests.matrices import decaying, sparse_counts, spectral_error, with_singular_values
from tests.workers import two_workers

import sketchlasso as sl
from sketchlasso.cluster import cluster
from sketchlasso.data import ImplicitRows
from sketchlasso.sketches.api import METHODS

SHAPES = {"tall": (150, 80), "small": (150, 20), "wide": (150, 200)}


def data(shape, kind, seed=0):
    rng = np.random.default_rng(seed)
    m, n = SHAPES[shape]
    if kind == "sparse":
        return sparse.csr_array(sparse_counts(m, n, rng, density=0.15))
    return decaying(m, n, 0.05, rng) * 10 + 0.1


def response_of(X, seed=1):
    rng = np.random.default_rng(seed)
    return np.asarray(X[:, [0]].todense() if sparse.issparse(X) else X[:, [0]])[:, 0] + (
        0.1 * rng.standard_normal(X.shape[0])
    )


def both(X, rows, method, **options):
    y = response_of(X) if method == "response" else None
    call = {"rank": 8, "method": method, "random_state": 3, **options}
    return sl.sketch(cut(X, rows), y, **call), sl.sketch(X, y, **call)


def assert_same(ours, theirs):
    assert close(product(ours), product(theirs))
    assert close(ours.P @ ours.P.T, theirs.P @ theirs.P.T)
    assert close(ours.singular_values, theirs.singular_values)
    assert np.isclose(ours.radius, theirs.radius, rtol=1e-8, atol=1e-12)
    assert ours.radius_kind == theirs.radius_kind
    assert ours.shape == theirs.shape
    for name in ("column_means", "column_scales"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert (a is None) == (b is None)
        assert a is None or close(a, b)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_on_seven_blocks(method, shape, kind):
    assert_same(*both(data(shape, kind), CUTS["seven"], method))


@pytest.mark.parametrize("rows", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("method", ["randomized", "frequent_directions", "response", "exact"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_every_cut(method, kind, rows):
    assert_same(*both(data("tall", kind), rows, method, center=True, scale=True))


@pytest.mark.parametrize("radius", ["spectral", "frobenius", "realised", 0.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_radius(shape, radius):
    assert_same(*both(data(shape, "dense"), CUTS["two"], "randomized", radius=radius))


@pytest.mark.parametrize("shape", SHAPES)
def test_rank_by_tolerance(shape):
    X = data(shape, "dense")
    ours, theirs = both(X, CUTS["seven"], "randomized", rank=20, tol=0.5)
    assert ours.rank == theirs.rank
    assert_same(ours, theirs)
    assert spectral_error(X, theirs) <= ours.radius


def test_float32():
    X = data("tall", "dense").astype(np.float32)
    ours, theirs = both(X, CUTS["seven"], "randomized")
    assert ours.P.dtype == np.float32
    assert close(product(ours), product(theirs), 1e-3)
    assert np.isclose(ours.radius, theirs.radius, rtol=1e-2)


@pytest.mark.parametrize(
    "method", ["randomized", "krylov", "power", "projection", "frequent_directions", "exact"]
)
def test_rows_of_tall_data_stay_where_they_are(method):
    X = data("small" if method == "exact" else "tall", "dense")
    found = sl.sketch(cut(X, CUTS["seven"]), rank=8, method=method, random_state=0)
    assert isinstance(found.Q, ImplicitRows)
    Q = np.asarray(found.Q)
    assert Q.shape == found.Q.shape == (150, 8)
    assert len(found.Q) == found.n_samples
    np.testing.assert_allclose(Q.T @ Q, np.eye(8), atol=1e-10)
    assert close(found.Q[[149, 3, 3]], Q[[149, 3, 3]])
    assert close(np.asarray(found.Q[:, 2:5]), Q[:, 2:5])
    assert close(found.Q[np.arange(5), :2], Q[:5, :2])
    wide = sl.sketch(cut(data("wide", "dense"), CUTS["seven"]), rank=8, random_state=0)
    assert isinstance(wide.Q, np.ndarray)


@pytest.mark.parametrize(
    ("method", "passes"),
    [("projection", 2), ("power", 10), ("frequent_directions", 3), ("randomized", 13)],
)
def test_passes_over_tall_blocks(method, passes):
    # One for sums, squares and digest; projection: one more. power: eight steps and the last.
    # frequent_directions: the walk and Q. randomized: the start, ten steps and Q.
    X = data("tall", "dense")
    found = sl.sketch(cut(X, CUTS["seven"]), rank=8, method=method, radius=1.0, random_state=0)
    assert found.cost.passes == passes


def test_badly_conditioned_data_keep_an_orthonormal_basis():
    values = 10.0 ** -np.arange(0, 10, 0.5)
    X = with_singular_values(150, 40, values, np.random.default_rng(7))
    found = sl.sketch(cut(X, CUTS["two"]), rank=15, random_state=0)
    Q = np.asarray(found.Q)
    np.testing.assert_allclose(Q.T @ Q, np.eye(15), atol=1e-9)
    assert spectral_error(X, sl.Sketch(found.P, Q, 0.0, found.singular_values, "")) <= found.radius


def test_saved_and_loaded(tmp_path):
    X = data("tall", "dense")
    found = sl.sketch(cut(X, CUTS["two"]), rank=8, random_state=0)
    found.save(tmp_path / "a.sketch")
    loaded = sl.load_sketch(tmp_path / "a.sketch")
    assert isinstance(loaded.Q, np.ndarray)
    assert close(product(loaded), product(found))
    assert loaded.matches(cut(X, CUTS["seven"]))
    assert not loaded.matches(cut(X + 1, CUTS["two"]))


def test_extended_by_a_response():
    X = data("tall", "dense")
    y = response_of(X)
    ours, theirs = both(X, CUTS["seven"], "randomized")
    ours = sl.extend_sketch(ours, cut(X, CUTS["seven"]), y, directions=3, random_state=0)
    theirs = sl.extend_sketch(theirs, X, y, directions=3, random_state=0)
    assert_same(ours, theirs)


def test_radius_and_rows_asked_for_later():
    X = data("tall", "sparse")
    ours, theirs = both(X, CUTS["seven"], "randomized", radius="frobenius")
    blocks = cut(X, CUTS["seven"])
    assert np.isclose(
        ours.with_spectral_radius(blocks).radius, theirs.with_spectral_radius(X).radius, rtol=1e-8
    )
    new = data("tall", "sparse", seed=9)
    assert close(np.abs(ours.embed(cut(new, CUTS["two"]))), np.abs(theirs.embed(new)))


@pytest.fixture(scope="module")
def client():
    with two_workers() as connected:
        yield connected


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("method", ["randomized", "krylov", "response", "frequent_directions"])
def test_dask_arrays_on_workers(client, method, kind):
    X = data("tall", kind)
    y = response_of(X) if method == "response" else None
    call = {"rank": 8, "method": method, "random_state": 3, "center": True}
    with cluster(client):
        ours = sl.sketch(dask_array(X, CUTS["odd"]), y, **call)
        assert_same(ours, sl.sketch(X, y, **call))
