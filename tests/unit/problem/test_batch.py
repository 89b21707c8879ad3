import pickle

import numpy as np
import pytest
from scipy import sparse

from sketchlasso.errors import InvalidInputError
from sketchlasso.problem import Batch

P = np.arange(12.0).reshape(4, 3)
C = np.ones(3)


def test_one_response_is_repeated_over_penalties_and_radii():
    batch = Batch.build(P, C, 0.5, alpha=[1.0, 2.0], radius=0.1)
    assert batch.c.shape == (2, 3)
    assert batch.alpha.tolist() == [1.0, 2.0]
    assert batch.radius.tolist() == [0.1, 0.1]
    assert (batch.n_instances, batch.n_features, batch.rank) == (2, 4, 3)
    assert Batch.build(P.astype(np.float32), C, 0.0, alpha=1.0).P.dtype == np.float32


def test_take_keeps_everything_of_the_chosen_instances():
    roots = np.stack([np.eye(3), 2 * np.eye(3)])
    excluded = sparse.csr_array(np.array([[1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 1, 0]]))
    batch = Batch.build(
        P,
        np.tile(C, (3, 1)),
        0.5,
        alpha=[1, 2, 3],
        roots=roots,
        root_of=[0, 1, 0],
        excluded=excluded,
    )
    part = batch.take(np.array([2, 1]))
    assert part.alpha.tolist() == [3.0, 2.0]
    assert part.excluded_features(0).tolist() == [1, 2]
    assert part.root(1)[0, 0] == 2.0
    assert np.isinf(part.thresholds(0)).tolist() == [False, True, True, False]


def test_thresholds_of_excluded_features_are_infinite_even_without_a_penalty():
    batch = Batch.build(P, C, 0.0, alpha=0.0, penalty_factor=[1, 0, np.inf, 2])
    assert batch.thresholds(0).tolist() == [0.0, 0.0, np.inf, 0.0]


def test_lift_and_lower_are_adjoint():
    rng = np.random.default_rng(0)
    batch = Batch.build(P, np.tile(C, (2, 1)), 0.0, alpha=1.0, roots=rng.normal(size=(2, 3, 3)))
    u, z = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    left = np.sum(batch.lift(u) * z, axis=1)
    np.testing.assert_allclose(left, np.sum(u * batch.lower(z), axis=1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P": np.ones(3)}, r"P has shape \(3,\) and c has shape \(1, 3\); pass a non-empty P"),
        ({"P": np.full((4, 3), np.nan)}, "P contains NaN or infinity; clean the data"),
        ({"c": np.full(3, np.inf)}, "c must hold finite numbers"),
        ({"alpha": np.nan}, "alpha must hold numbers >= 0"),
        ({"radius": -2.0}, "radius must hold numbers >= 0"),
        ({"alpha": [1, 2], "s": [1, 2, 3]}, r"alpha has shape \(2,\); pass \(3,\)"),
        ({"penalty_factor": np.ones(5)}, r"penalty_factor has shape \(5,\); pass \(4,\)"),
        ({"loss": "huber"}, "loss must be 'sqrt' or 'squared', not 'huber'"),
        ({"roots": np.ones((2, 3, 3)), "root_of": [5]}, "root_of must be 1 numbers of the 2 roots"),
        ({"excluded": sparse.csr_array((2, 2))}, r"excluded has shape \(2, 2\); pass \(1, 4\)"),
    ],
)
def test_bad_input_is_one_sentence(change, message):
    parts = {"P": P, "c": C, "s": 0.0, "alpha": 1.0} | change
    with pytest.raises(InvalidInputError, match=message):
        Batch.build(parts.pop("P"), parts.pop("c"), parts.pop("s"), **parts)


def test_p_cannot_be_written_to_and_roots_are_stored_by_rows():
    """Numba compiles a kernel again for arrays of another layout or access."""
    P, root = np.ones((3, 2)), np.asfortranarray([[1.0, 2.0], [0.0, 1.0]])
    batch = Batch.build(P, np.ones(2), 0.5, alpha=1.0, roots=root)
    assert P.flags.writeable
    for held in (batch, pickle.loads(pickle.dumps(batch)), batch.take(np.array([0]))):
        assert not held.P.flags.writeable
        assert held.root(0).flags.c_contiguous
        np.testing.assert_array_equal(held.root(0), root)
    # A cluster recognises by its identity what it has sent already.
    assert Batch.build(batch.P, np.ones(2), 0.5, alpha=1.0).P is batch.P
