"""The gap is that of the coefficients the user holds, on the user's data, in any precision."""

import mpmath
import numpy as np
import pytest

import sketchlasso as sl

mpmath.mp.dps = 40


def exact_objective(X, y, coef, alpha, factor):
    """||y - Xw - b|| + alpha sum_j f_j |w_j| with the best b, in 40 digits."""
    w = [mpmath.mpf(float(value)) for value in coef]
    residual = [
        mpmath.mpf(float(target))
        - sum(mpmath.mpf(float(x)) * v for x, v in zip(row, w, strict=True) if v)
        for row, target in zip(X, y, strict=True)
    ]
    mean = sum(residual) / len(residual)
    penalty = sum(mpmath.mpf(float(f)) * abs(v) for f, v in zip(factor, w, strict=True))
    return mpmath.sqrt(sum((r - mean) ** 2 for r in residual)) + mpmath.mpf(alpha) * penalty


def exact_bound(X, y, coef, alpha, factor):
    """A feasible dual value in 40 digits, from the residual and the signs of the coefficients."""
    m = len(y)
    Z = mpmath.matrix([[mpmath.mpf(float(x)) for x in row] for row in X])
    target = mpmath.matrix([mpmath.mpf(float(value)) for value in y])
    for j in range(Z.cols):
        mean = sum(Z[i, j] for i in range(m)) / m
        for i in range(m):
            Z[i, j] -= mean
    mean = sum(target) / m
    for i in range(m):
        target[i] -= mean
    support = [j for j in range(Z.cols) if coef[j] != 0]
    A = mpmath.matrix(m, len(support))
    for place, j in enumerate(support):
        for i in range(m):
            A[i, place] = Z[i, j]
    signs = mpmath.matrix(
        [
            mpmath.mpf(alpha) * mpmath.mpf(float(factor[j])) * np.sign(float(coef[j]))
            for j in support
        ]
    )
    gram = A.T * A
    p = A * mpmath.lu_solve(gram, signs)
    outside = target - A * mpmath.lu_solve(gram, A.T * target)
    room, length = 1 - mpmath.norm(p) ** 2, mpmath.norm(outside)
    t = p + (mpmath.sqrt(max(room, 0)) / length) * outside if length > 1e-20 else p
    seen = Z.T * t
    worst = max(
        abs(seen[j]) / (mpmath.mpf(alpha) * mpmath.mpf(float(factor[j]))) for j in range(Z.cols)
    )
    scale = 1 / max(worst, mpmath.norm(t), 1)
    return scale * sum(target[i] * t[i] for i in range(m))


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


@pytest.mark.parametrize("kind", KINDS)
def test_a_sketched_fit_claims_the_gap_of_its_own_coefficients(kind):
    X, y = far_from_zero(kind)
    rank = min(X.shape) - 1
    options = {"sketch": "exact", "rank": rank, "radius": 0.0, "random_state": 0}
    model = sl.SqrtLasso(0.05, **options).fit(X, y)
    found = sl.certify(X, y, model.coef_, 0.05, penalty_factor=model.scale_)
    primal = float(exact_objective(X, y, model.coef_, 0.05, model.scale_))
    best = sl.SqrtLasso(0.05, sketch=None, tol=1e-9).fit(X, y)
    least = float(exact_objective(X, y, best.coef_, 0.05, best.scale_))
    assert model.full_gap_ == pytest.approx(found.relative_gap[0], rel=0.3, abs=1e-9)
    assert (primal - least) / primal <= model.full_gap_ + 1e-9


@pytest.mark.parametrize("kind", KINDS[:1])
def test_predictions_in_single_precision_lose_nothing(kind):
    X, y = far_from_zero(kind)
    for model in (sl.SqrtLasso(0.02), sl.SqrtLassoCV(alphas=[0.05, 0.02], cv=3)):
        model.fit(X, y)
        assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) <= 0.01
    label = sl.SqrtLassoClassifier(alpha=0.1).fit(X, y > np.median(y))
    assert label.score(X, y > np.median(y)) >= 0.9
