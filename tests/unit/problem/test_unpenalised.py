"""Directions cleared of unpenalised columns."""

import numpy as np

from sketchlasso.problem.full_problem import Unpenalised


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
