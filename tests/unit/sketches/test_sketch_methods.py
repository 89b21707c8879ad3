import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from tests.matrices import decaying, sparse_counts, spectral_error, with_singular_values

from sketchlasso.sketches import sketch

VARIANTS = [
    {"method": "power"},
    {"method": "randomized"},
    {"method": "randomized", "n_iter": 1, "oversampling": 5},
    {"method": "krylov"},
    {"method": "projection"},
    {"method": "sampling"},
    {"method": "nystrom"},
    {"method": "frequent_directions"},
    {"method": "exact"},
]
every_variant = pytest.mark.parametrize(
    "options", VARIANTS, ids=lambda o: "-".join(map(str, o.values()))
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@every_variant
@pytest.mark.parametrize("shape", [(70, 110), (110, 70)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_singular_form(options, shape, dtype, rng):
    X = decaying(*shape, 0.1, rng).astype(dtype)
    found = sketch(X, rank=6, random_state=0, **options)
    eps = np.finfo(dtype).eps
    assert found.P.dtype == found.Q.dtype == found.singular_values.dtype == dtype
    assert found.P.shape == (shape[1], 6)
    assert found.Q.shape == (shape[0], 6)
    assert np.abs(found.Q.T @ found.Q - np.eye(6)).max() < 100 * eps
    assert np.abs(found.P.T @ found.P - np.diag(found.singular_values**2)).max() < 100 * eps
    assert found.P.flags.c_contiguous
    assert found.Q.flags.c_contiguous
    assert np.abs(found.P - X.T @ found.Q).max() < 100 * eps


@every_variant
def test_low_rank_is_recovered(options, rng):
    X = with_singular_values(80, 90, [5.0, 2.0, 1.0], rng)
    found = sketch(X, rank=3, random_state=1, **options)
    assert spectral_error(X, found) < 1e-7
    assert np.allclose(found.singular_values, [5, 2, 1], atol=1e-7)


@every_variant
def test_rank_beyond_that_of_the_data(options, rng):
    X = with_singular_values(40, 30, [5.0, 2.0, 1.0], rng)
    found = sketch(X, rank=8, random_state=1, **options)
    assert spectral_error(X, found) < 1e-7
    assert np.abs(found.Q.T @ found.Q - np.eye(8)).max() < 1e-12


@every_variant
@pytest.mark.parametrize("X", [np.zeros((12, 9)), sparse.csr_array((12, 9)), np.ones((1, 1))])
def test_degenerate_data(options, X):
    found = sketch(X, rank=1, random_state=0, **options)
    assert spectral_error(X, found) <= found.radius + 1e-15
    assert found.radius < 1e-6


@pytest.mark.parametrize(
    ("options", "slack"),
    [
        ({"method": "power"}, 1.02),
        ({"method": "randomized"}, 1.001),
        ({"method": "krylov"}, 1.01),
        ({"method": "exact"}, 1 + 1e-9),
        ({"method": "projection"}, 1.6),
        ({"method": "nystrom"}, 1.3),
        ({"method": "frequent_directions"}, 1.3),
        ({"method": "sampling"}, 1.6),
    ],
    ids=lambda value: str(value),
)
def test_error_is_near_the_best_possible(options, slack, rng):
    X = decaying(150, 200, 0.05, rng)
    found = sketch(X, rank=15, random_state=0, **options)
    best = np.exp(-0.05 * 15)
    assert best * (1 - 1e-12) <= spectral_error(X, found) <= slack * best


@every_variant
@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_equals_dense(options, kind, rng):
    if options["method"] == "frequent_directions":
        pytest.skip("it takes in sparse rows in larger tiles")
    X = sparse_counts(60, 80, rng, density=0.2, kind=kind)
    settings = {"rank": 5, "random_state": 3, "center": True, "scale": True, **options}
    from_sparse, from_dense = sketch(X, **settings), sketch(X.toarray(), **settings)
    product = from_dense.Q @ from_dense.P.T
    assert np.allclose(from_sparse.Q @ from_sparse.P.T, product, atol=1e-6)
    assert from_sparse.radius == pytest.approx(from_dense.radius, rel=1e-6)


@every_variant
def test_implicit_centring_equals_explicit(options, rng):
    X = rng.standard_normal((50, 70)) + 3.0
    explicit = (X - X.mean(axis=0)) / X.std(axis=0)
    implicit = sketch(X, rank=5, center=True, scale=True, random_state=0, **options)
    plain = sketch(explicit, rank=5, random_state=0, **options)
    assert np.allclose(implicit.Q @ implicit.P.T, plain.Q @ plain.P.T, atol=1e-7)
    assert np.allclose(implicit.column_means, X.mean(axis=0))
    assert np.allclose(implicit.column_scales, X.std(axis=0))
    assert plain.column_means is None
    assert plain.column_scales is None


@every_variant
def test_memory_map_equals_array(options, rng, tmp_path):
    X = decaying(60, 50, 0.1, rng)
    np.save(tmp_path / "X.npy", X)
    on_disk = np.load(tmp_path / "X.npy", mmap_mode="r")
    one = sketch(X, rank=5, center=True, random_state=0, **options)
    other = sketch(on_disk, rank=5, center=True, random_state=0, **options)
    assert np.allclose(one.Q @ one.P.T, other.Q @ other.P.T, atol=1e-12)
    assert one.fingerprint == other.fingerprint


@every_variant
def test_sparse_is_never_made_dense(options, rng, monkeypatch):
    X = sparse_counts(200, 260, rng, density=0.02)

    def refuse(self, *args, **kwargs):
        # Gram matrices of a few rows may be; nothing with all the features may.
        assert self.shape[1] < X.shape[0], "a sparse matrix was made dense"
        return original(self, *args, **kwargs)

    for kind in (sparse.csr_array, sparse.csc_array):
        original = kind.toarray
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    found = sketch(X, rank=5, center=True, scale=True, random_state=0, **options)
    assert found.rank == 5


def test_frequent_directions_keeps_its_guarantee(rng):
    X = sparse_counts(300, 60, rng, density=0.3)
    rank, extra = 6, 6
    found = sketch(X, rank=rank, oversampling=extra, method="frequent_directions")
    values = np.linalg.svd(X.toarray(), compute_uv=False)
    tail = (values[rank:] ** 2).sum()
    # ||A - A V V'||^2 <= sigma_{k+1}^2 + 2 ||A - A_k||_F^2 / (l - k)
    assert spectral_error(X, found) ** 2 <= values[rank] ** 2 + 2 * tail / extra


@pytest.mark.parametrize(
    ("method", "passes"), [("projection", 2), ("nystrom", 3), ("frequent_directions", 3)]
)
def test_passes_are_counted(method, passes, rng):
    found = sketch(rng.standard_normal((40, 30)), rank=4, method=method, radius=0)
    assert found.cost.passes == passes


def test_exact_at_full_rank_has_radius_zero(rng):
    for shape in ((30, 80), (80, 30)):
        X = rng.standard_normal(shape)
        found = sketch(X, method="exact")
        assert found.rank == 30
        assert found.radius == 0.0
        assert spectral_error(X, found) < 1e-13 * np.linalg.norm(X, 2)


@pytest.mark.parametrize("method", ["randomized", "power", "projection", "nystrom", "sampling"])
@pytest.mark.parametrize("shape", [(4000, 9000), (6500, 6500), (9000, 4000)])
@pytest.mark.parametrize("threads", [1, 2])
def test_peak_memory_beyond_the_data(method, shape, threads, rng, monkeypatch):
    # Products on several threads copy what each of them works on.
    monkeypatch.setattr("sketchlasso.data.entries.blas_threads", lambda: threads)
    X = sparse_counts(*shape, rng, density=0.002)
    # Unsorted indices would be sorted in a copy.
    X.sort_indices()
    rank = 50
    tracemalloc.start()
    sketch(X, rank=rank, method=method, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 8 * 3 * sum(shape) * rank
