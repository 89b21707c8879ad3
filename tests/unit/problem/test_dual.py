"""Certificates of a batch: no candidate may prove more than the optimum."""

import numpy as np

from sketchlasso.problem import Batch, certify_batch


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
