"""Two independent solvers, one optimum: they agree within the sum of their gaps."""

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from tests.problems import Recipe, recipes

from sketchlasso.solvers import Settings, solve

# Thresholds so far below the rows that single precision rounds correlations by a share of them.
SMALL_THRESHOLDS = Recipe(
    seed=7, n=7, k=7, radius=0.0, s=0.0, duplicated=True, zero_rows=True, factors=True,
    rooted=True, positive=True, dtype="float32",
)  # fmt: skip
# Exactly fitted by as many features as the rank.
NEARLY_EXACT = Recipe(23953, n=129, k=18, radius=0.0, s=0.0, zero_rows=True, factors=True)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recipes(max_n=200, max_k=25))
@example(SMALL_THRESHOLDS)
@example(NEARLY_EXACT)
def test_the_conic_solver_agrees_with_newton_within_the_gaps(recipe: Recipe):
    batch = recipe.batch()
    tol = 1e-7 if recipe.dtype == "float64" else 1e-4
    newton = solve(batch, settings=Settings(tol=tol))
    other = solve(batch, "conic", Settings(tol=tol))
    assert newton.solved.all(), newton.message()
    assert other.solved.all(), other.message()
    # Correlations carry the rounding of P's precision, and so do the bounds.
    rounding = 1e-13 if recipe.dtype == "float64" else 3e-6
    slack = newton.gap + other.gap + rounding * newton.null
    assert (np.abs(newton.primal - other.primal) <= slack).all()
    # Each one's lower bound holds for the other's solution, too.
    assert (newton.dual <= other.primal + slack).all()
    assert (other.dual <= newton.primal + slack).all()
