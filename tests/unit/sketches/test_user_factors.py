import re

import numpy as np
import pytest
from scipy import sparse
from tests.matrices import spectral_error

from sketchlasso.errors import InvalidInputError
from sketchlasso.sketches import load_sketch, sketch_from_factors


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def pair(rng):
    return rng.standard_normal((70, 3)), rng.standard_normal((90, 3)) * [1.0, 5.0, 0.1]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 1.0])
def test_radius_bounds_the_error_of_any_pair(pair, rng, make, center, noise):
    P, Q = pair
    X = make(Q @ P.T + noise * rng.standard_normal((90, 70)))
    found = sketch_from_factors(P, Q, X=X, center=center, random_state=0)
    error = spectral_error(X, found)
    assert error <= found.radius <= 1.1 * error + 1e-11
    frobenius = sketch_from_factors(P, Q, X=X, center=center, radius="frobenius")
    assert error <= frobenius.radius
    assert found.method == "user"
    assert found.fingerprint == frobenius.fingerprint
    assert np.allclose(found.singular_values, np.linalg.svd(Q @ P.T, compute_uv=False)[:3])


def test_factors_are_copied_and_keep_their_type(pair):
    P, Q = (factor.astype(np.float32) for factor in pair)
    found = sketch_from_factors(P, Q, radius=0.5)
    P[:] = 0.0
    assert found.dtype == np.float32
    assert found.P.any()
    assert (found.radius, found.radius_kind, found.seed) == (0.5, "given", None)
    assert not found.matches(np.ones((90, 70)))
    assert sketch_from_factors(P, pair[1], radius=0).dtype == np.float64


def test_more_columns_than_features(rng):
    P, Q = rng.standard_normal((2, 5)), rng.standard_normal((4, 5))
    found = sketch_from_factors(P, Q, X=Q @ P.T)
    assert found.rank == 5
    assert np.allclose(found.singular_values[2:], 0.0)


def test_it_can_be_saved(pair, tmp_path):
    sketch_from_factors(*pair, radius=1).save(tmp_path / "pair")
    assert load_sketch(tmp_path / "pair").fingerprint is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"P": np.ones((70, 2))},
            "P has 2 columns and Q has 3, but X ~ Q P' needs the same number in both; pass P of "
            "shape (n_features, rank) and Q of shape (n_samples, rank).",
        ),
        (
            {"P": np.ones(70)},
            "P has shape (70,), but a matrix of shape (rows, rank) is needed; reshape it to two "
            "dimensions, and check the order of the arguments.",
        ),
        (
            {"Q": np.full((90, 3), np.nan)},
            "Q contains NaN or infinity in columns 0, 1, 2, but every entry must be finite; fill "
            "such entries in, for example with sklearn.impute.SimpleImputer, or drop them.",
        ),
        (
            {"X": np.ones((70, 90))},
            "X has shape (70, 90), but Q P' has shape (90, 70); pass P of shape (n_features, "
            "rank) and Q of shape (n_samples, rank).",
        ),
        (
            {"radius": "spectral"},
            "radius='spectral', center=False and scale=False were given without X, but only a "
            "number is accepted as radius then; pass X as well, or a number.",
        ),
        (
            {"radius": None},
            "radius must be 'spectral', 'frobenius', 'realised' or a finite number >= 0, not None.",
        ),
    ],
)
def test_bad_pairs(pair, change, sentence):
    arguments = {"P": pair[0], "Q": pair[1], "radius": 1.0, **change}
    with pytest.raises(InvalidInputError) as caught:
        sketch_from_factors(arguments.pop("P"), arguments.pop("Q"), **arguments)
    assert str(caught.value) == sentence
    assert not re.search(r"[.!?]\s+[A-Z]", sentence)
