"""The gap is that of the coefficients the user holds, on the user's data, in any precision."""

from decimal import Decimal, getcontext

import numpy as np
import pytest

import sketchlasso as sl

getcontext().prec = 40
digits = np.vectorize(lambda value: Decimal(float(value)), otypes=[object])


def exact_objective(X, y, coef, alpha, factor):
    """||y - Xw - b|| + alpha sum_j f_j |w_j| with the best b, in 40 digits."""
    w = digits(coef)
    residual = digits(y) - digits(X) @ w
    residual = residual - residual.sum() / len(residual)
    return (residual @ residual).sqrt() + Decimal(alpha) * (digits(factor) @ np.abs(w))


def solved(gram, right):
    """Solution of a positive definite system, by elimination."""
    gram, right = gram.copy(), right.copy()
    for k in range(len(right)):
        for i in range(k + 1, len(right)):
            share = gram[i, k] / gram[k, k]
            gram[i], right[i] = gram[i] - share * gram[k], right[i] - share * right[k]
    for k in reversed(range(len(right))):
        right[k] = (right[k] - gram[k, k + 1 :] @ right[k + 1 :]) / gram[k, k]
    return right


def exact_bound(X, y, coef, alpha, factor):
    """A feasible dual value in 40 digits, from the residual and the signs of the coefficients."""
    Z, target = digits(X), digits(y)
    Z, target = Z - Z.sum(axis=0) / len(y), target - target.sum() / len(y)
    limit = Decimal(alpha) * digits(factor)
    A = Z[:, coef != 0]
    p = A @ solved(A.T @ A, (limit * digits(np.sign(coef)))[coef != 0])
    outside = target - A @ solved(A.T @ A, A.T @ target)
    room, length = 1 - p @ p, (outside @ outside).sqrt()
    t = p + max(room, Decimal(0)).sqrt() / length * outside if length > 1e-20 else p
    worst = max(np.abs(Z.T @ t) / limit)
    return target @ t / max(worst, (t @ t).sqrt(), Decimal(1))


def far_from_zero(kind):
    rng = np.random.default_rng(0)
    noise = 0.001 * rng.standard_normal(60)
    if kind == "float32 at 1e6":
        X = (1e6 + rng.standard_normal((60, 8))).astype(np.float32)
        return X, (X.astype(float) - 1e6)[:, :3] @ [1.0, -1.0, 0.5] + noise
    if kind == "float32, wide":
        X = rng.standard_normal((20, 60)).astype(np.float32)
        return X, X[:, :3].astype(float).sum(axis=1) + 0.1 * rng.standard_normal(20)
    if kind == "float64 at 1e9":
        X = 1e9 + rng.uniform(-1, 1, (60, 8))
        return X, (X - 1e9)[:, :3] @ [1.0, -1.0, 0.5] + noise
    # Milliseconds since 1970, beside an ordinary column.
    times = 1.7e12 + np.sort(rng.integers(0, 30 * 86_400_000, 60)).astype(float)
    X = np.column_stack([times, rng.standard_normal((60, 3))])
    return X, (times - 1.7e12) / 1e9 + X[:, 1] + noise


KINDS = ["float32 at 1e6", "float32, wide", "float64 at 1e9", "milliseconds"]


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_full_gap_is_that_of_an_exact_computation(kind, standardize):
    X, y = far_from_zero(kind)
    alpha = 0.02 if "wide" not in kind else 0.05
    model = sl.SqrtLasso(alpha, standardize=standardize, tol=1e-9).fit(X, y)
    factor = model.scale_ if standardize else np.ones(X.shape[1])
    primal = exact_objective(X, y, model.coef_, alpha, factor)
    bound = exact_bound(X, y, model.coef_, alpha, factor)
    true_gap = float((primal - bound) / primal)
    assert true_gap <= 2e-9
    assert model.full_gap_ <= 1e-8
    # What the model claims is no less than the exact gap but for the rounding of its coefficients.
    assert true_gap <= model.full_gap_ + 1e-10
    found = sl.certify(X, y, model.coef_, alpha, penalty_factor=factor)
    assert found.primal[0] == pytest.approx(float(primal), rel=1e-9)
    assert found.dual[0] <= float(primal) * (1 + 1e-12)
    predicted = model.predict(X)
    assert predicted.dtype == np.float64
    residual = np.linalg.norm(np.asarray(y, dtype=float) - predicted)
    penalty = alpha * float(factor @ np.abs(model.coef_))
    assert residual == pytest.approx(float(primal) - penalty, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS[:1])
def test_predictions_in_single_precision_lose_nothing(kind):
    X, y = far_from_zero(kind)
    for model in (sl.SqrtLasso(0.02), sl.SqrtLassoCV(alphas=[0.05, 0.02], cv=3)):
        model.fit(X, y)
        assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) <= 0.01
    label = sl.SqrtLassoClassifier(alpha=0.1).fit(X, y > np.median(y))
    assert label.score(X, y > np.median(y)) >= 0.9
