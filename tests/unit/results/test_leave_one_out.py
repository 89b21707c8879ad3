"""Leaving out one row where the rest is fitted exactly: every problem is solved, and the same."""

import numpy as np
import pytest

from sketchlasso import Status, certify, leave_one_out, sketch
from sketchlasso.exact import solve_exact


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
@pytest.mark.parametrize(("m", "n"), [(12, 12), (9, 25), (20, 40)])
def test_every_row_is_solved_where_the_fit_is_exact(m, n, noise):
    rng = np.random.default_rng(m)
    X = rng.standard_normal((m, n))
    y = X[:, :3] @ [2.0, -1.0, 1.0] + noise * rng.standard_normal(m)
    whole = sketch(X, method="exact", center=True, radius=0)
    for alpha in (1.0, 0.1, 0.01):
        found = leave_one_out(whole, X, y, alpha=alpha, radius=0.0)
        assert (found.status == Status.SOLVED).all()
        assert (found.relative_gap <= 1e-9).all()
        for row in (0, m // 2, m - 1):
            rest = np.delete(np.arange(m), row)
            refit = solve_exact(X[rest], y[rest], np.array([alpha]), tol=1e-9)
            assert refit.relative_gap[0] <= 1e-9
            again = certify(X[rest], y[rest], refit.coef, alpha, fit_intercept=True)
            assert again.dual[0] <= refit.primal[0] * (1 + 1e-12)
            assert again.primal[0] == pytest.approx(refit.primal[0], rel=1e-9)
            expected = X[row] @ refit.coef.toarray()[0] + refit.intercept[0]
            assert found.predictions[row] == pytest.approx(expected, abs=1e-3 * np.abs(y).max())


@pytest.mark.parametrize("scale", [False, True])
def test_scales_of_all_rows_are_named(scale):
    """Without scales the model without a row does not depend on that row; with them it does."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    y = X[:, 0] + 0.3 * rng.standard_normal(40)
    predicted = []
    for times in (1.0, 2.0, 30.0):
        table = X.copy()
        table[7] *= times
        made = sketch(table, method="exact", center=True, scale=scale, radius=0)
        found = leave_one_out(made, table, y, alpha=1.0, radius=0.0, rows=np.array([7]))
        assert found.scales_of_all_rows is scale
        predicted.append(found.predictions[0])
    # The prediction of one model is linear in the row.
    linear = abs((predicted[2] - predicted[0]) / 29 - (predicted[1] - predicted[0])) < 1e-5
    assert bool(linear) is not scale
