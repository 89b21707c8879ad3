"""Properties of the exact solver over random problems of every regime."""

from dataclasses import dataclass

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from sketchlasso import certify
from sketchlasso.engine import weighted_rows
from sketchlasso.exact import exact_alpha_max, solve_exact
from sketchlasso.problem.terms import Terms


@dataclass(frozen=True)
class Recipe:
    seed: int
    m: int
    n: int
    density: float
    noise: float
    weighted: bool
    factors: bool
    duplicated: bool
    fit_intercept: bool
    positive: bool

    def data(self):
        rng = np.random.default_rng(self.seed)
        X = rng.normal(size=(self.m, self.n)) * np.exp(rng.normal(size=self.n))
        X *= rng.random(X.shape) < self.density
        if self.duplicated:
            X[:, rng.integers(0, self.n, self.n // 3 + 1)] = X[:, [0]]
        truth = rng.normal(size=self.n) * (rng.random(self.n) < 0.2)
        y = X @ truth + self.noise * rng.normal(size=self.m)
        options = {"fit_intercept": self.fit_intercept, "positive": self.positive}
        weights = None
        if self.weighted:
            weights = rng.integers(0, 3, self.m) * 1.5
            weights[:2] = 1.0
        if self.factors:
            factor = np.ones(self.n)
            for value in (3.0, 0.5, np.inf, 0.0):
                factor[rng.integers(0, self.n)] = value
            options["penalty_factor"] = factor
        stored = X if self.seed % 2 else sparse.csr_array(X)
        return stored, y, weights, options


@st.composite
def recipes(draw):
    n = draw(st.integers(1, 120))
    return Recipe(
        seed=draw(st.integers(0, 2**31)),
        m=draw(st.integers(3, 60) | st.integers(1, 5).map(lambda more: max(n + more, 3))),
        n=n,
        density=draw(st.sampled_from([0.1, 1.0])),
        noise=draw(st.sampled_from([0.0, 1e-9, 1e-6, 1e-5, 1e-3, 0.1, 3.0])),
        weighted=draw(st.booleans()),
        factors=draw(st.booleans()),
        duplicated=draw(st.booleans()),
        fit_intercept=draw(st.booleans()),
        positive=draw(st.booleans()),
    )


def solved(recipe, shares, **more):
    X, y, weights, options = recipe.data()
    rows = None if weights is None else weighted_rows(weights)
    largest = exact_alpha_max(X, y, rows=rows, terms=Terms(**options))[0]
    alphas = max(largest, 1e-3) * np.array(shares)
    found = solve_exact(X, y, alphas, rows=rows, terms=Terms(**options), **more)
    return found, certify(X, y, found.coef, alphas, sample_weight=weights, **options)


@given(recipes())
# A feature without a penalty, in a problem whose other feature has little.
@example(Recipe(0, 6, 2, 1.0, 3.0, False, True, False, False, False))
# Interpolation by a few columns: the shortest point with their signs violates others.
@example(Recipe(0, 4, 9, 1.0, 0.0, False, False, False, False, False))
# Interpolation, with a coefficient that is rounding.
@example(Recipe(0, 7, 19, 0.1, 0.0, False, False, False, False, False))
# Interpolation, where that of a feature without a penalty is rounding.
@example(Recipe(0, 58, 13, 0.1, 0.0, False, True, False, False, False))
# The same with coefficients >= 0: correlations with that feature may be negative.
@example(Recipe(524287, 44, 18, 0.1, 0.0, False, True, False, True, True))
# Nearly an interpolation, with a few rows more than columns: the residual is far smaller than y.
@example(Recipe(1, 32, 28, 1.0, 1e-6, False, False, False, True, False))
@example(Recipe(3, 32, 28, 1.0, 1e-5, False, False, False, True, False))
# An exact fit whose dual point violates a further constraint whenever it meets the last ones.
@example(Recipe(131927, 101, 98, 0.1, 0.0, False, False, False, True, False))
@settings(max_examples=120)
def test_every_problem_is_solved_and_certify_agrees(recipe):
    found, again = solved(recipe, (1.1, 0.5, 0.1, 0.01), tol=1e-6)
    assert found.solved.all(), found.message()
    np.testing.assert_allclose(found.primal, again.primal, rtol=1e-9, atol=1e-9 * found.null[0])
    assert (found.dual <= found.primal * (1 + 1e-9) + 1e-12).all()
    assert (again.dual <= found.primal * (1 + 1e-9) + 1e-12).all()
    assert (found.gap >= 0).all()
    # The dual point of an exact fit without noise may have to meet constraints beyond the support.
    if recipe.noise >= 0.1:
        assert (again.relative_gap <= 1e-5).all()
