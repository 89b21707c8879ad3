"""full_gap_ is the solver's certificate, also with constant columns and unpenalised features."""

import numpy as np
import pytest

from sketchlasso import SqrtLasso, SqrtLassoCV, certify


def made(m, n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, X[:, :3] @ [3.0, -2.0, 2.0] + rng.standard_normal(m)


@pytest.mark.parametrize("shape", [(80, 30), (30, 80)])
@pytest.mark.parametrize("little", [1.0, 1e-3, 0.0])
@pytest.mark.parametrize("alpha", [3.0, 0.05])
def test_the_full_gap_of_an_exact_fit_is_its_dual_gap(shape, little, alpha):
    X, y = made(*shape)
    factor = np.ones(shape[1])
    factor[:2] = little
    model = SqrtLasso(alpha, standardize=False, sketch=None, penalty_factor=factor, tol=1e-6)
    model.fit(X, y)
    primal = certify(X, y, model.coef_, alpha, penalty_factor=factor).primal[0]
    assert model.full_gap_ * primal == pytest.approx(model.dual_gap_, rel=0.1, abs=1e-11 * primal)


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 1e9 + 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_response_has_no_gap(value, weighted):
    for m in (7, 15, 80):
        X, _ = made(m, 5)
        weights = np.linspace(0.1, 2.0, m) if weighted else None
        y = np.full(m, value)
        model = SqrtLasso(alpha=0.1, sketch=None).fit(X, y, sample_weight=weights)
        assert model.full_gap_ == 0.0
        found = certify(X, y, np.zeros(5), 0.1, sample_weight=weights)
        assert found.primal[0] == 0.0
        assert found.relative_gap[0] == 0.0


@pytest.mark.parametrize("standardize", ["auto", False])
def test_columns_far_from_zero_lose_no_digits(standardize):
    X, y = made(80, 30)
    far = X + 1e9
    near = far - 1e9
    models = [SqrtLassoCV(standardize=standardize, tol=1e-10).fit(Z, y) for Z in (near, far)]
    assert max(model.full_gap_ for model in models) <= 1e-10
    assert models[0].coef_ == pytest.approx(models[1].coef_, abs=1e-6)
    assert models[0].predict(near) == pytest.approx(models[1].predict(far), abs=1e-5)
    model = SqrtLasso(2.0, standardize=False, tol=1e-12).fit(far, y)
    found, same = certify(far, y, model.coef_, 2.0), certify(near, y, model.coef_, 2.0)
    assert found.primal[0] == pytest.approx(same.primal[0], rel=1e-13)
    assert found.dual[0] == pytest.approx(same.dual[0], rel=1e-13)
    assert found.relative_gap[0] <= 1e-11


@pytest.mark.parametrize("sketch", ["auto", "exact", "randomized"])
@pytest.mark.parametrize("kind", [SqrtLasso, SqrtLassoCV])
def test_a_response_of_zeros_needs_no_intercept(kind, sketch):
    X, y = made(40, 6)
    model = kind(sketch=sketch, rank=5, fit_intercept=False).fit(X, np.zeros(40))
    assert not model.coef_.any() and model.full_gap_ == 0.0
    both = kind(sketch=sketch, rank=5, fit_intercept=False, radius=None, random_state=0)
    both.fit(X, np.column_stack([np.zeros(40), y]))
    assert not both.coef_[0].any() and both.coef_[1].any()
