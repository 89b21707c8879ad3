"""What a sketch is, its radius and rank, the pair that a user brings, and its file."""

import numpy as np
import pytest
from scipy import sparse
from tests.matrices import decaying, sparse_counts, spectral_error
from tests.sentences import refusal

from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.sketches import Sketch, load_sketch, sketch, sketch_from_factors
from sketchlasso.sketches.api import METHODS
from sketchlasso.storage import write_stored

ARRAYS = ("P", "Q", "singular_values", "column_means", "column_scales")


@pytest.fixture
def X():
    return decaying(80, 100, 0.1, np.random.default_rng(0))


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    return rng.standard_normal((70, 3)), rng.standard_normal((90, 3)) * [1.0, 5.0, 0.1]


def test_a_sketch_says_what_it_is_and_cannot_be_changed(X):
    found = sketch(X, rank=4, center=True, scale=True, random_state=7)
    assert (found.rank, found.shape, found.seed) == (4, (80, 100), 7)
    assert (found.radius_kind, found.radius_failure_probability) == ("spectral", 1e-6)
    assert found.cost.products > found.cost.passes > 0
    assert found.matches(sparse.csc_array(X)) and not found.matches(X + 1)
    assert repr(found).startswith("Sketch(80 x 100, rank=4, method='randomized', radius=")
    assert "at least the spectral norm of X - QP', with probability 1 - 1e-06" in found.summary()
    assert "columns centred and scaled" in found.summary()
    with pytest.raises(AttributeError):
        found.radius = 1.0
    for name in ARRAYS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(found, name)[0] = 0.0
    P = np.ones((3, 1))
    assert not Sketch(P, np.ones((2, 1)), 0.0, np.array([1.0]), "user").P.flags.writeable
    assert P.flags.writeable


@pytest.mark.parametrize("method", ["randomized", "sampling", "projection", "exact"])
def test_the_recorded_seed_repeats_the_sketch(X, method):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for state in (None, 5, np.random.default_rng(1), np.random.RandomState(2)):
        first = sketch(X, rank=4, method=method, random_state=state)
        again = sketch(X, rank=4, method=method, random_state=first.seed)
        assert np.array_equal(first.P, again.P) and first.radius == again.radius
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_signs_do_not_depend_on_the_seed(X):
    made = [sketch(X, rank=4, random_state=seed) for seed in range(4)]
    made.append(sketch(X, rank=4, method="exact"))
    for other in made[1:]:
        np.testing.assert_allclose(other.P, made[0].P, atol=1e-5)


def test_radii_of_every_kind(X):
    given = sketch(X, rank=4, radius=0.25)
    assert (given.radius, given.radius_kind, given.radius_failure_probability) == (
        0.25, "given", None
    )  # fmt: skip
    assert sketch(X, rank=4, radius=0).radius == 0.0
    frobenius = sketch(X, rank=4, radius="frobenius", random_state=0)
    residual = np.linalg.norm(X - frobenius.Q @ frobenius.P.T)
    assert residual <= frobenius.radius <= residual * (1 + 1e-12) + 1e-12
    assert frobenius.radius_failure_probability == 0.0
    changed = frobenius.with_radius(0.5)
    assert (changed.radius, changed.radius_kind) == (0.5, "given")
    refusal(InvalidInputError, frobenius.with_radius, -1)


def test_a_rank_that_is_not_given_fits_small_data():
    X = np.random.default_rng(0).standard_normal((8, 5))
    assert sketch(X).rank == 5
    assert spectral_error(X, sketch(X)) <= sketch(X).radius < 1e-13 * np.linalg.norm(X)
    assert sketch(np.zeros((30, 30)), rank=20, tol=0.1, random_state=0).rank == 1


@pytest.mark.parametrize("method", [name for name in METHODS if name != "response"])
@pytest.mark.parametrize("tol", [0.5, 0.03])
def test_a_tolerance_is_met_with_a_rank_near_the_smallest(method, tol):
    X = decaying(110, 90, 0.1, np.random.default_rng(0))
    found = sketch(X, rank=80, tol=tol, method=method, random_state=0)
    assert spectral_error(X, found) <= found.radius <= tol * np.linalg.norm(X, 2)
    # exp(-0.1 k) <= tol is what any sketch needs; the radius may be 10 % above the error.
    least = np.log(1 / tol) / 0.1
    most = least + (3 if method in ("power", "randomized", "krylov", "exact") else 20)
    assert least - 1e-9 <= found.rank <= most
    counts = sparse_counts(150, 120, np.random.default_rng(2))
    assert sketch(counts, tol=0.3, random_state=0).radius_failure_probability in (0.0, 1e-6)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_radius_bounds_the_error_of_any_pair(pair, make, center, noise):
    P, Q = pair
    X = make(Q @ P.T + noise * np.random.default_rng(1).standard_normal((90, 70)))
    found = sketch_from_factors(P, Q, X=X, center=center, random_state=0)
    error = spectral_error(X, found)
    assert error <= found.radius <= 1.1 * error + 1e-11
    assert error <= sketch_from_factors(P, Q, X=X, center=center, radius="frobenius").radius
    assert found.method == "user" and found.matches(X)
    assert np.allclose(found.singular_values, np.linalg.svd(Q @ P.T, compute_uv=False)[:3])


def test_factors_are_copied_and_keep_their_type(pair, tmp_path):
    P, Q = (factor.astype(np.float32) for factor in pair)
    found = sketch_from_factors(P, Q, radius=0.5)
    P[:] = 0.0
    assert found.dtype == np.float32 and found.P.any()
    assert (found.radius, found.radius_kind, found.seed) == (0.5, "given", None)
    assert not found.matches(np.ones((90, 70)))
    found.save(tmp_path / "pair")
    assert load_sketch(tmp_path / "pair").fingerprint is None
    wide = sketch_from_factors(np.ones((2, 5)), np.eye(4, 5), radius=0)
    assert wide.rank == 5 and np.allclose(wide.singular_values[2:], 0.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"P": np.ones((70, 2))}, "P has 2 columns and Q has 3"),
        ({"Q": np.full((90, 3), np.nan)}, "Q contains NaN or infinity"),
        ({"X": np.ones((70, 90))}, "X has shape (70, 90), but Q P' has shape (90, 70)"),
        ({"radius": "spectral"}, "radius='spectral', center=False and scale=False were given"),
    ],
)
def test_pairs_that_do_not_fit_are_refused(pair, change, words):
    arguments = {"P": pair[0], "Q": pair[1], "radius": 1.0, **change}
    assert words in refusal(InvalidInputError, sketch_from_factors, **arguments)


def test_a_file_gives_everything_back(tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 9)).astype(np.float32)
    made = sketch(X, rank=3, center=True, scale=True, random_state=2**63)
    made.save(tmp_path / "a.sketch")
    loaded = load_sketch(tmp_path / "a.sketch")
    for name in ARRAYS:
        array = getattr(loaded, name)
        assert np.array_equal(array, getattr(made, name))
        assert array.dtype == getattr(made, name).dtype and not array.flags.writeable
    for name in ("radius", "radius_kind", "radius_failure_probability", "method", "seed", "cost",
                 "fingerprint", "response_rank"):  # fmt: skip
        assert getattr(loaded, name) == getattr(made, name)
    sketch(np.eye(4), rank=2, radius=0.0).save(tmp_path / "plain")
    assert load_sketch(tmp_path / "plain").column_means is None


@pytest.mark.parametrize(
    ("facts", "arrays"),
    [
        ({"radius": -1.0}, {}),
        ({}, {"P": np.ones((9, 2))}),
        ({}, {"Q": np.full((12, 3), np.nan)}),
    ],
)
def test_parts_that_do_not_fit_are_refused(tmp_path, facts, arrays):
    whole = sketch(np.random.default_rng(0).standard_normal((12, 9)), rank=3).packed()
    write_stored(tmp_path / "a", "sketch", whole[0] | facts, whole[1] | arrays)
    assert "is damaged or incomplete (" in refusal(StoredFileError, load_sketch, tmp_path / "a")
