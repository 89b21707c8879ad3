"""Certificates of a batch, and directions cleared of unpenalised columns."""

import numpy as np

from sketchlasso.problem import Batch, certify_batch
from sketchlasso.problem.full_problem import Unpenalised


def test_unpenalised_features_leave_no_room_to_prove_the_null_model():
    # A share of the radius that only rounding leaves, where there is none, would let w = 0 pass.
    rng = np.random.default_rng(0)
    for _ in range(200):
        k = int(rng.integers(2, 30))
        P, c, s = rng.standard_normal((k, k)), rng.standard_normal(k), float(rng.uniform(0.1, 1))
        batch = Batch.build(P, c, s, alpha=0.0)
        # Least squares through all of c: what is left is s.
        found = certify_batch(batch, np.zeros((1, k)), c[None] / np.hypot(np.linalg.norm(c), s))
        assert found.dual[0] <= s * (1 + 1e-12)
        assert found.gap[0] >= 0.99 * (np.hypot(np.linalg.norm(c), s) - s)


def test_a_direction_that_is_clear_already_stays_as_it_is():
    # SciPy's nnls fits rounding, and its answer may be far off.
    rng = np.random.default_rng(0)
    for _ in range(100):
        columns = rng.normal(size=(100, 2))
        columns -= columns.mean(axis=0)
        free = Unpenalised.of(columns, positive=True)
        clear = rng.normal(size=(100, 20))
        clear -= clear.mean(axis=0)
        clear -= free.basis @ (free.basis.T @ clear)
        clear /= np.linalg.norm(clear, axis=0)
        np.testing.assert_allclose(free.clear(clear), clear, atol=1e-14)
