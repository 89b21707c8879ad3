"""Certificates of the full problem hold against independent optima, in any kind of data."""

import itertools
import math
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.oracles import full_problem_reference

import sketchlasso as sl
from sketchlasso.errors import InaccurateWarning, InvalidInputError

KINDS = ["independent", "correlated", "counts", "collinear", "units", "far from zero"]


@dataclass(frozen=True)
class Problem:
    """X, y and everything else that a certificate depends on."""

    X: np.ndarray
    y: np.ndarray
    alpha: float
    options: dict

    @property
    def weights(self):
        given_weights = self.options["sample_weight"]
        return np.ones(len(self.y)) if given_weights is None else given_weights

    def objective(self, coef):
        """The objective in extended precision, with the best intercept."""
        w, weights = coef.astype(np.longdouble), self.weights.astype(np.longdouble)
        residual = self.y.astype(np.longdouble) - self.X.astype(np.longdouble) @ w
        if self.options["fit_intercept"]:
            residual -= weights @ residual / weights.sum()
        l1 = self.options["penalty_factor"] @ np.abs(w)
        return np.sqrt(weights @ residual**2) + self.alpha * l1

    def certificate(self, coef, form=np.asarray):
        return sl.certify(form(self.X), self.y, coef, self.alpha, **self.options)


def random_problem(seed, kind):
    """Tall or wide; weighted, signed, centred or not; with and without unpenalised columns."""
    rng = np.random.default_rng(seed)
    m, n = (int(size) for size in rng.integers(4, 40, 2))
    X = rng.standard_normal((m, n))
    if kind == "correlated":
        X = np.cumsum(X, axis=1)
    elif kind == "counts":
        X = rng.integers(0, 2, (m, n)).astype(float)
    elif kind == "collinear":
        X[:, n // 2] = 3.0 * X[:, 0] + 10.0 ** -rng.integers(1, 6) * X[:, n // 2]
        X[:, -1] = X[:, 0]
    elif kind == "units":
        X *= np.logspace(-4, 4, n)
    elif kind == "far from zero":
        X += 10.0 ** rng.integers(1, 6)
    factor = np.ones(n)
    if rng.random() < 0.5:
        factor[rng.random(n) < 0.3] = 0.0
    weights = rng.uniform(0.1, 3.0, m) if rng.random() < 0.5 else None
    signal = X @ (rng.standard_normal(n) * (rng.random(n) < 0.3)) / np.abs(X).max()
    y = signal + 10.0 ** -rng.integers(0, 5) * rng.standard_normal(m)
    centred = y - y.mean()
    alpha = np.abs(X.T @ centred).max() / np.linalg.norm(centred) * 10.0 ** -rng.uniform(0, 4)
    intercept, positive = (bool(flag) for flag in rng.integers(0, 2, 2))
    options = {
        "penalty_factor": factor,
        "sample_weight": weights,
        "fit_intercept": intercept,
        "positive": positive,
    }
    return Problem(X, y, float(alpha), options)


def coefficients_near(best, rng):
    """Good and bad coefficients, none of them negative where `best` is not."""
    yield best
    yield best * (1.0 + 0.1 * rng.standard_normal(len(best)))
    yield np.where(np.abs(best) > np.median(np.abs(best)), best, 0.0)
    yield np.zeros_like(best)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(KINDS), stored=st.booleans())
def test_no_bound_exceeds_an_objective_that_is_reached(seed, kind, stored):
    problem = random_problem(seed, kind)
    options = dict(problem.options)
    with warnings.catch_warnings():
        # A path that just misses its tolerance is as good an example.
        warnings.simplefilter("ignore", InaccurateWarning)
        path = sl.sqrt_lasso_path(
            problem.X, problem.y, alphas=[problem.alpha], settings=sl.Settings(tol=1e-9), **options
        )
    best = path.models.coef.toarray()[0]
    least = problem.objective(best)
    size = np.linalg.norm(problem.y)
    for coef in coefficients_near(best, np.random.default_rng(seed)):
        found = problem.certificate(coef, sparse.csr_array if stored else np.asarray)
        primal = problem.objective(coef)
        rounding = 1e-13 * (size + np.abs(problem.X).max() * np.abs(coef).sum())
        assert abs(found.primal[0] - primal) <= 1e-12 * primal + rounding
        assert found.dual[0] <= least * (1 + 1e-12) + 1e-13 * size
        assert found.gap[0] >= (primal - least) * (1 - 1e-12) - 2 * rounding


@pytest.mark.parametrize("kind", ["independent", "correlated", "counts"])
@pytest.mark.parametrize("seed", range(4))
def test_the_bounds_enclose_the_optimum_that_clarabel_finds(seed, kind):
    problem = random_problem(seed, kind)
    root = np.sqrt(problem.weights)[:, None]
    if problem.options["fit_intercept"]:
        shares = problem.weights / problem.weights.sum()
        X, y = problem.X - shares @ problem.X, problem.y - shares @ problem.y
    else:
        X, y = problem.X, problem.y
    coef, value = full_problem_reference(
        root * X,
        root[:, 0] * y,
        problem.alpha,
        0.0,
        problem.options["penalty_factor"],
        problem.options["positive"],
    )
    coef = np.maximum(coef, 0.0) if problem.options["positive"] else coef
    found = problem.certificate(coef)
    slack = 1e-6 * np.linalg.norm(root[:, 0] * y)
    assert found.dual[0] <= value + slack
    assert found.primal[0] >= value - slack
    zero = problem.certificate(np.zeros_like(coef))
    assert zero.dual[0] <= value + slack and zero.primal[0] >= value - slack


def test_the_bound_of_a_few_features_is_that_of_a_search_over_all_supports():
    # Every support and all signs: the least of them is the optimum.
    rng = np.random.default_rng(3)
    X, alpha = rng.standard_normal((6, 3)), 0.7
    y = X @ [1.0, -1.0, 0.0] + 0.3 * rng.standard_normal(6)
    least = np.linalg.norm(y)
    for support in itertools.chain(*(itertools.combinations(range(3), k) for k in (1, 2, 3))):
        Z = X[:, support]
        plain = np.linalg.lstsq(Z, y)[0]
        for signs in itertools.product((-1.0, 1.0), repeat=len(support)):
            pull = np.linalg.solve(Z.T @ Z, signs)
            room = 1.0 - alpha**2 * np.dot(signs, pull)
            if room <= 0:
                continue
            w = plain - alpha * np.linalg.norm(y - Z @ plain) / np.sqrt(room) * pull
            if (w * signs > 0).all():
                least = min(least, np.linalg.norm(y - Z @ w) + alpha * np.abs(w).sum())
    path = sl.sqrt_lasso_path(X, y, alphas=[alpha], fit_intercept=False)
    found = sl.certify(X, y, path.models.coef, alpha, fit_intercept=False)
    assert found.primal[0] == pytest.approx(least, rel=1e-12)
    assert least * (1 - 1e-9) <= found.dual[0] <= least * (1 + 1e-14)


def test_an_exact_fit_is_proved_by_its_signs():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 200))
        y = X[:, :5].sum(axis=1) + 0.1 * rng.standard_normal(60)
        path = sl.sqrt_lasso_path(X, y, alphas=[0.1, 0.01], settings=sl.Settings(tol=1e-10))
        found = sl.certify(X, y, path.models.coef, [0.1, 0.01])
        assert (found.relative_gap <= 1e-12).all()


def test_levels_of_a_factor_beside_an_intercept_are_proved():
    rng = np.random.default_rng(0)
    levels = np.eye(4)[rng.integers(0, 4, 80)]
    X = np.hstack([levels, levels[:, :1], rng.standard_normal((80, 20))])
    y = levels @ [1.0, 2.0, -1.0, 0.5] + X[:, 6] + 0.5 * rng.standard_normal(80)
    factor = np.repeat([0.0, 1.0], [5, 20])
    for standardize in (True, False):
        model = sl.SqrtLasso(2.0, penalty_factor=factor, standardize=standardize).fit(X, y)
        scale = model.scale_ if standardize else 1.0
        found = sl.certify(X, y, model.coef_, 2.0, penalty_factor=factor * scale)
        assert found.relative_gap[0] <= 1e-6
        assert model.full_gap_ <= 1e-6


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_small_whole_numbers_against_fractions(data):
    # All sums are exact, so the certificate is compared without any rounding.
    m, n = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    whole = st.integers(-3, 3)
    X = data.draw(st.lists(st.lists(whole, min_size=n, max_size=n), min_size=m, max_size=m))
    y = data.draw(st.lists(whole, min_size=m, max_size=m))
    coef = data.draw(st.lists(whole, min_size=n, max_size=n))
    other = data.draw(st.lists(whole, min_size=n, max_size=n))
    factor = data.draw(st.lists(st.sampled_from([0, 1, 2]), min_size=n, max_size=n))
    alpha = data.draw(st.sampled_from([0.0, 0.125, 0.5, 1.0, 2.0]))
    centred = data.draw(st.booleans())

    def objective(w):
        rest = [
            Fraction(v) - sum(x * c for x, c in zip(row, w, strict=True))
            for row, v in zip(X, y, strict=True)
        ]
        mean = sum(rest) / m if centred else 0
        penalty = Fraction(alpha) * sum(f * abs(c) for f, c in zip(factor, w, strict=True))
        return math.sqrt(sum((r - mean) ** 2 for r in rest)) + float(penalty)

    matrix = np.array(X, dtype=float).reshape(m, n)
    found = sl.certify(
        matrix, np.array(y, float), coef, alpha, penalty_factor=factor, fit_intercept=centred
    )
    assert found.primal[0] == pytest.approx(objective(coef), rel=1e-13, abs=1e-13)
    assert found.dual[0] <= objective(other) + 1e-13


@pytest.mark.parametrize("size", [1e-101, 1e101, 1e160, 1e-200])
@pytest.mark.parametrize("what", ["X", "y"])
def test_numbers_whose_squares_are_lost_are_refused_in_one_sentence(what, size):
    X = np.random.default_rng(0).standard_normal((10, 3))
    scale = {what: size}
    with pytest.raises(InvalidInputError, match=f"{what}.* between 1e-100 and 1e\\+100"):
        sl.certify(X * scale.get("X", 1.0), X[:, 0] * scale.get("y", 1.0), [1.0, 0, 0], 0.1)
    # Estimators bring data to unit scale first.
    model = sl.SqrtLasso(0.5).fit(X * scale.get("X", 1.0), X[:, 0] * scale.get("y", 1.0))
    plain = sl.SqrtLasso(0.5).fit(X, X[:, 0])
    unit = scale.get("y", 1.0) / scale.get("X", 1.0)
    assert model.coef_ / unit == pytest.approx(plain.coef_, abs=1e-6)
    assert model.full_gap_ <= 1e-4
