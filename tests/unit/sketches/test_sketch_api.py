import inspect
from importlib import import_module

import numpy as np
import pytest
from tests.matrices import decaying, spectral_error

from sketchlasso.errors import InvalidInputError
from sketchlasso.sketches import Sketch, sketch


@pytest.fixture
def X():
    return decaying(80, 100, 0.1, np.random.default_rng(0))


def test_signature_is_the_documented_one():
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(sketch).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    assert list(defaults)[:8] == [
        "y", "rank", "tol", "method", "center", "scale", "radius", "random_state"
    ]  # fmt: skip
    assert defaults["rank"] is None
    assert defaults["method"] == "randomized"
    assert defaults["radius"] is None


def test_a_sketch_is_immutable(X):
    found = sketch(X, rank=4, center=True, scale=True)
    with pytest.raises(AttributeError):
        found.radius = 1.0
    for array in (
        found.P, found.Q, found.singular_values, found.column_means, found.column_scales
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_attributes(X):
    found = sketch(X, rank=4, random_state=7)
    assert found.rank == 4
    assert found.shape == (found.n_samples, found.n_features) == (80, 100)
    assert found.method == "randomized"
    assert found.seed == 7
    assert found.radius_kind == "spectral"
    assert found.radius_failure_probability == 1e-6
    assert found.cost.passes > 0
    assert found.cost.products > found.cost.passes
    assert found.cost.seconds > 0
    assert found.matches(X)
    assert not found.matches(X + 1)
    assert (
        repr(found) == f"Sketch(80 x 100, rank=4, method='randomized', radius={found.radius:.4g})"
    )
    assert "at least the spectral norm of X - QP', with probability 1 - 1e-06" in found.summary()
    assert "columns centred and scaled" in sketch(X, rank=4, center=True, scale=True).summary()


@pytest.mark.parametrize("method", ["randomized", "sampling", "projection", "exact"])
def test_the_recorded_seed_repeats_the_sketch(X, method):
    states = (None, 5, np.random.default_rng(1), np.random.RandomState(2))
    for state in states:
        first = sketch(X, rank=4, method=method, random_state=state)
        again = sketch(X, rank=4, method=method, random_state=first.seed)
        assert np.array_equal(first.P, again.P)
        assert first.radius == again.radius


def test_unset_seeds_differ_and_global_state_is_untouched(X):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert sketch(X, rank=4).seed != sketch(X, rank=4).seed
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_unset_rank_fits_small_data():
    X = np.random.default_rng(0).standard_normal((8, 5))
    found = sketch(X)
    assert found.rank == 5
    assert spectral_error(X, found) <= found.radius < 1e-13 * np.linalg.norm(X)


def test_radius_of_every_kind(X):
    given = sketch(X, rank=4, radius=0.25)
    assert (given.radius, given.radius_kind, given.radius_failure_probability) == (
        0.25, "given", None
    )  # fmt: skip
    assert "given" in given.summary()
    assert sketch(X, rank=4, radius=0).radius == 0.0
    frobenius = sketch(X, rank=4, radius="frobenius", random_state=0)
    residual = np.linalg.norm(X - frobenius.Q @ frobenius.P.T)
    assert residual <= frobenius.radius <= residual * (1 + 1e-12) + 1e-12
    assert frobenius.radius_failure_probability == 0.0
    changed = frobenius.with_radius(0.5)
    assert changed.radius == 0.5
    assert changed.radius_kind == "given"
    assert np.array_equal(changed.P, frobenius.P)
    with pytest.raises(
        InvalidInputError, match=r"radius must be .* or a finite number >= 0, not -1"
    ):
        frobenius.with_radius(-1)


def test_a_sketch_built_by_hand_leaves_the_arrays_writeable():
    P, Q = np.ones((3, 1)), np.ones((2, 1))
    made = Sketch(P, Q, 0.0, np.array([1.0]), "user")
    assert P.flags.writeable
    assert not made.P.flags.writeable


def test_exports():
    assert set(import_module("sketchlasso.sketches").__all__) == {
        "Sketch", "SketchCost", "SketchMethod", "extend_sketch", "load_sketch", "sketch",
        "sketch_from_factors",
    }  # fmt: skip
