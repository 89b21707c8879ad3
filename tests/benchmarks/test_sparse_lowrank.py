"""The experiment's solver against a conic one, and its gap as the judge."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.sparse_lowrank_solver import Reduced, origin, solve_point

M, N, EXACT, RANK = 60, 40, 6, 8


def small(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Exact columns, a basis and its coefficients for the others, and a response."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((M, N)) + 0.3
    y = X[:, 0] - 2 * X[:, 10] + rng.standard_normal(M)
    rest = X.copy()
    rest[:, :EXACT] = 0.0
    Q = np.linalg.svd(rest, full_matrices=False)[0][:, :RANK]
    return X[:, :EXACT], Q, rest.T @ Q, y


def conic_value(parts: tuple[np.ndarray, ...], alpha: float, radius: float) -> float:
    cp = pytest.importorskip("cvxpy")
    exact, Q, P, y = parts
    a, b, shift = cp.Variable(EXACT), cp.Variable(N), cp.Variable()
    loss = cp.norm(exact @ a + Q @ (P.T @ b) + shift - y, 2)
    penalty = alpha * (cp.norm1(a) + cp.norm1(b)) + radius * cp.norm(b, 2)
    return float(cp.Problem(cp.Minimize(loss + penalty)).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [6.0, 2.0, 0.3])
@pytest.mark.parametrize("radius", [0.0, 0.5, 3.0])
def test_agrees_with_a_conic_solver(seed: int, alpha: float, radius: float) -> None:
    parts = small(seed)
    problem = Reduced.of(*parts)
    found = solve_point(problem, alpha, radius, origin(problem), tol=1e-8)
    exact, Q, P, y = parts
    residual = exact @ found.a + Q @ (P.T @ found.b) - y
    value = (
        np.linalg.norm(residual - residual.mean())
        + radius * np.linalg.norm(found.b)
        + alpha * (np.abs(found.a).sum() + np.abs(found.b).sum())
    )
    assert found.gap <= 1e-8
    assert value == pytest.approx(conic_value(parts, alpha, radius), rel=1e-6)


def test_warm_start_finds_the_same_objective() -> None:
    problem = Reduced.of(*small(0))
    neighbour = solve_point(problem, 2.0, 0.5, origin(problem), tol=1e-8)
    warm = solve_point(problem, 1.0, 0.4, neighbour, tol=1e-8)
    cold = solve_point(problem, 1.0, 0.4, origin(problem), tol=1e-8)
    np.testing.assert_allclose(warm.a, cold.a, atol=1e-5)
    np.testing.assert_allclose(warm.b, cold.b, atol=1e-5)
