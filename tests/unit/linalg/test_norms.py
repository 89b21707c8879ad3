from itertools import pairwise

import numpy as np
import pytest
from scipy import special
from tests.matrices import decaying

from sketchlasso.data import DataMatrix
from sketchlasso.linalg import norms
from sketchlasso.linalg.krylov import krylov_space
from sketchlasso.linalg.norms import norm_bound, overestimate


def test_factor_falls_with_steps_and_rises_with_demands():
    factors = [overestimate(5000, 8, steps, 1e-6) for steps in range(1, 30)]
    assert all(later < earlier for earlier, later in pairwise(factors))
    assert factors[-1] < 1.01
    assert overestimate(5000, 8, 9, 1e-9) > overestimate(5000, 8, 9, 1e-3)
    assert overestimate(5, 8, 1, 1e-6) == 1.0


def test_factor_inverts_the_bound_of_the_docstring():
    size, block, steps, failure = 300, 3, 4, 0.01
    angle = np.arccosh(overestimate(size, block, steps, failure))
    share = 1 / np.cosh((2 * steps - 1) * angle) ** 2
    assert special.betainc(block / 2, (size - 1) / 2, share) == pytest.approx(failure)


def test_one_start_vector_is_within_the_published_bound():
    # Kuczynski and Wozniakowski: P(lam < (1-e) sigma^2) <= 1.648 sqrt(N) exp(-sqrt(e)(2q-1)).
    size, steps, failure = 10_000, 12, 1e-3
    published = (np.log(1.648 * np.sqrt(size) / failure) / (2 * steps - 1)) ** 2
    ours = 1 - overestimate(size, 1, steps, failure) ** -2
    assert ours <= published


@pytest.mark.parametrize(("block", "steps"), [(1, 3), (2, 2), (4, 2)])
@pytest.mark.parametrize("failure", [0.05, 0.3])
def test_bound_fails_no_more_often_than_stated(block, steps, failure):
    # The polynomial of the proof is sharp for one large singular value over a spread of others.
    size, trials = 60, 1500
    factor = overestimate(size, block, steps, failure)
    others = np.cos(np.linspace(0, np.pi / 2, size - 1)) / factor
    A = DataMatrix.of(np.diag(np.r_[1.0, others]))
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(trials):
        start = rng.standard_normal((size, block))
        space = krylov_space(A, start, steps * block, rng)
        missed += factor * space.largest_singular_value() < 1.0
    assert missed / trials <= failure + 3 * np.sqrt(failure / trials)
    assert missed > 0


@pytest.mark.parametrize("shape", [(200, 300), (300, 200)])
@pytest.mark.parametrize("rate", [0.0, 0.001, 0.1])
def test_bound_is_tight(shape, rate):
    X = decaying(*shape, rate, np.random.default_rng(1))
    bound = norm_bound(DataMatrix.of(X), np.random.default_rng(2), failure_probability=1e-6)
    assert bound.lower <= 1 + 1e-12
    assert 1 <= bound.upper <= norms.LARGEST_OVERESTIMATE + 1e-12
    assert bound.failure_probability == 1e-6


def test_small_sides_are_computed_exactly():
    X = decaying(40, 400, 0.1, np.random.default_rng(1))
    bound = norm_bound(DataMatrix.of(X), np.random.default_rng(2), failure_probability=1e-6)
    assert bound.lower == bound.upper == pytest.approx(1.0)
    assert bound.failure_probability == 0.0
