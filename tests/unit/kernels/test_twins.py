"""Every compiled kernel agrees with its home among the formulas, or with a plain NumPy twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import twins

from sketchlasso.kernels.dense import (
    best_on_ray,
    cholesky_in_place,
    cholesky_solve,
    feasible_scale,
    kth_smallest,
    shrink,
    smallest_penalty,
)
from sketchlasso.kernels.newton import (
    GRAM_UPDATES,
    Rows,
    begin,
    evaluate,
    newton_direction,
    scratch_for,
    update_gram,
)
from sketchlasso.problem import formulas

NO_ROOT = np.empty((0, 0))


@given(st.floats(-5, 5), st.floats(0, 5), st.booleans())
def test_shrink(x, threshold, positive):
    twin = twins.soft(np.array([x]), np.array([threshold]), positive)[0]
    assert shrink(x, threshold, positive) == pytest.approx(twin, abs=1e-15)


@given(st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf]), min_size=1), st.data())
def test_kth_smallest(values, data):
    k = data.draw(st.integers(0, len(values) - 1))
    assert kth_smallest(np.array(values), k) == sorted(values)[k]


@pytest.mark.parametrize("k", [1, 2, 7, 40])
def test_cholesky_solves(k):
    rng = np.random.default_rng(k)
    A = rng.normal(size=(3 * k, k))
    H, b, x = A.T @ A, rng.normal(size=k), np.empty(k)
    factor = H.copy()
    assert cholesky_in_place(factor) == 0
    cholesky_solve(factor, b, x)
    np.testing.assert_allclose(H @ x, b, rtol=1e-8)


def test_cholesky_lifts_the_pivots_of_a_singular_matrix():
    v = np.array([1.0, 2.0, 3.0])
    H = np.outer(v, v)
    assert cholesky_in_place(H) > 0
    assert np.isfinite(H).all()


def scale_of(seen, factor, alpha, radius, positive, largest):
    """The feasible scale of the kernel, which must be that of its home."""
    buffer = np.empty((2, len(seen)))
    found = feasible_scale(seen, factor, alpha, radius, positive, largest, False, buffer)
    size = formulas.magnitude(seen, positive)
    args = size[None], alpha * factor[None], np.array([radius]), np.array([largest])
    assert found == pytest.approx(formulas.feasible_scale(*args, 1e-13)[0], rel=1e-14, abs=0.0)
    return found


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("radius", [0.0, 0.3])
def test_feasible_scale(seed, radius):
    rng = np.random.default_rng(seed)
    seen, factor = rng.normal(size=50), rng.random(50) + 0.1
    factor[3] = np.inf
    found = scale_of(seen, factor, 0.3, radius, seed % 2 == 0, 1.7)
    twin = twins.feasible_scale(seen, 0.3 * factor, radius, seed % 2 == 0, 1.7)
    assert found == pytest.approx(twin, rel=1e-9)


@pytest.mark.parametrize(("cleared", "expected"), [(False, 0.0), (True, 0.5)])
def test_without_a_radius_a_threshold_of_zero_allows_no_scale_unless_it_is_cleared(
    cleared, expected
):
    """Rounding of a point that was cleared of such a feature does not count."""
    seen, factor = np.array([1e-17, 2.0]), np.array([0.0, 1.0])
    buffer = np.empty((2, 2))
    assert feasible_scale(seen, factor, 1.0, 0.0, False, 9.0, cleared, buffer) == expected
    if not cleared:
        assert scale_of(seen, factor, 1.0, 0.0, False, 9.0) == 0.0


@pytest.mark.parametrize("radius", [0.0, 1e-9, 0.4, 2.0, 50.0])
@pytest.mark.parametrize("positive", [False, True])
def test_smallest_penalty(radius, positive):
    rng = np.random.default_rng(5)
    seen, factor = rng.normal(size=60), rng.uniform(0.2, 3.0, 60)
    factor[[3, 8]] = np.inf, 0.0
    found = smallest_penalty(seen, factor, positive, radius, np.empty((2, 60)))
    real = (factor > 0) & np.isfinite(factor)
    over = np.linalg.norm(twins.soft(seen[real], found * factor[real], positive))
    assert over == pytest.approx(radius, rel=1e-6, abs=1e-15) if found else over <= radius


@pytest.mark.parametrize("seed", range(300))
def test_a_feasible_scale_keeps_the_radius_however_small(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 6)
    size, factor = np.abs(rng.normal(size=n)) * 10 ** rng.uniform(-8, 8), rng.uniform(0.1, 2, n)
    alpha, radius, largest = 10 ** rng.uniform([-10, -22, -3], [3, 3, 3])
    found = scale_of(size, factor, alpha, radius, False, largest)
    threshold = alpha * factor
    # Rounding of the threshold, which may be far above the radius, is allowed for.
    over = np.linalg.norm(np.maximum(found * size - threshold, 0.0))
    assert over <= radius * (1 + 1e-12) + 4e-16 * np.linalg.norm(threshold)
    low, high = (min(largest, np.min((threshold + r) / size)) for r in (0.0, radius))
    for _ in range(60):
        middle = 0.5 * (low + high)
        fits = np.linalg.norm(np.maximum(middle * size - threshold, 0.0)) <= radius
        low, high = (middle, high) if fits else (low, middle)
    assert found == pytest.approx(low, rel=1e-12)


@pytest.mark.parametrize(("size", "expected"), [(1e200, 2e-200), (np.inf, 0.0)])
def test_a_feasible_scale_of_numbers_that_overflow(size, expected):
    found = scale_of(np.array([size, 1.0]), np.ones(2), 1.0, 1.0, False, 1.0)
    assert found == pytest.approx(expected, rel=1e-15, abs=0.0)


@pytest.mark.parametrize("squared", [False, True])
def test_best_on_ray_maximises_the_dual(squared):
    rng = np.random.default_rng(0)
    c, u, s = rng.normal(size=5), rng.normal(size=5), 0.7
    u *= np.sign(c @ u)
    length = np.linalg.norm(u)
    best = best_on_ray(c @ u, length, s, squared)
    home = formulas.best_on_ray(np.array([c @ u, -1.0]), np.array([length, 1.0]), s, squared)
    np.testing.assert_allclose(home, [best, 0.0], rtol=1e-15)

    def value(a):
        if squared:
            return a * (c @ u) - a**2 * (u @ u) / 2
        return a * (c @ u) + s * np.sqrt(max(1 - a**2 * (u @ u), 0.0))

    grid = best * np.linspace(0.5, 1.5, 401)
    assert value(best) >= max(value(a) for a in grid) - 1e-12


def gradient_and_step(rows, work, sigma, tau, u, w0):
    begin(rows, work, u, w0)
    for j in range(w0.shape[0]):
        work.v[j] = w0[j] + sigma * work.seen[j]
        work.scaled[j] = sigma * rows.thresholds[j]
    at = evaluate(rows, work, sigma, tau, u, w0)
    updates = np.int64(GRAM_UPDATES + 1)
    update_gram(rows.A, work.y, work.member, work.gram, work.rows, work.square, updates)
    newton_direction(rows, work, at, sigma, tau)


@pytest.mark.parametrize("rooted", [False, True])
@pytest.mark.parametrize("squared", [False, True])
def test_newton_direction_is_the_jacobian_solve(squared, rooted):
    """H d = grad with H the derivative of the step's gradient, by finite differences."""
    rng = np.random.default_rng(1)
    n, k, sigma, tau = 30, 6, 0.7, 2.0
    root = rng.normal(size=(k, k)) if rooted else NO_ROOT
    rows = Rows(
        rng.normal(size=(n, k)), root, rng.normal(size=k), 0.4, np.full(n, 0.3), 0.2, False, squared
    )
    u, w0 = 0.3 * rng.normal(size=k), np.zeros(n)

    def gradient(point):
        work = scratch_for(np.empty((n, k)))
        gradient_and_step(rows, work, sigma, tau, point, w0)
        return work.grad

    jacobian = np.column_stack(
        [(gradient(u - 1e-6 * e) - gradient(u + 1e-6 * e)) / 2e-6 for e in np.eye(k)]
    )
    work = scratch_for(np.empty((n, k)))
    gradient_and_step(rows, work, sigma, tau, u, w0)
    damped = jacobian + 1e-3 * np.linalg.norm(work.grad) * np.eye(k)
    np.testing.assert_allclose(damped @ work.d, work.grad, rtol=1e-5, atol=1e-8)
