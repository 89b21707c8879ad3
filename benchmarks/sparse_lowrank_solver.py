"""Square-root LASSO on exact columns beside a sketch, the robust term on the sketched part only.

    minimise over a, b    || X_S a + Q P'b - y ||_2  +  radius ||b||_2  +  alpha (||a||_1 + ||b||_1)

Only the statistics G = Z'Z, g = Z'y and y'y of Z = [X_S, Q], centred for the intercept, enter.
With G = L L' and c = (L^-1 g, s), s^2 = y'y - ||L^-1 g||^2, the loss is ||c - L'v|| at
v = (a, P'b), a zero column added to L: |S| + k + 1 dimensions. The dual is

    maximise over ||u|| <= 1    c'u     subject to    |L_S u| <= alpha,
                                                      || soft(P L_Q u, alpha) ||_2 <= radius

Proximal-point steps in a, b and the residual r = c - L'v, each solved by a semismooth Newton
method in the multiplier u of that equation; features outside a working set rest during a step.
(The residual needs a proximal term too: a response-aware Q holds y, so s = 0, and the dual
objective has no curvature of its own.) The duality gap over all features is the stopping rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

MOST_OUTER = 60
MOST_NEWTON = 40
# Of all proximal steps of a solve together.
MOST_STEPS = 300
# Proximal step lengths: of coefficients in units of their norm over alpha, of the residual TAU
# times as long in units of its norm.
FIRST_LENGTH = 0.3
LARGEST_LENGTH = 100.0
GROWTH = 3.0
TAU = 10.0
# Features whose correlation is below this share of the penalty rest during a proximal step.
WORKING_SHARE = 0.85
ARMIJO = 1e-4
SMALLEST_STEP = 1e-10
# Added to the diagonal of the Hessian, over its largest entry.
JITTER = 1e-12
# Eigenvalues of G below this share of the largest are rounding.
NEGLIGIBLE = 1e-12
BISECTIONS = 40


@dataclass(frozen=True, eq=False)
class Reduced:
    """The problem in terms of its statistics.

    Attributes
    ----------
    exact : ndarray of shape (p, d)
        Rows of L of the exact columns.
    lift : ndarray of shape (k, d)
        Rows of L of the sketch's basis; P @ lift are the sketched features.
    P : ndarray of shape (n, k)
        Zero in the rows of exact columns.
    c : ndarray of shape (d,)
    """

    exact: np.ndarray
    lift: np.ndarray
    P: np.ndarray
    c: np.ndarray

    @classmethod
    def of(cls, X_exact: np.ndarray, Q: np.ndarray, P: np.ndarray, y: np.ndarray) -> Reduced:
        """From columns X_exact (m, p), factors Q (m, k), P (n, k) and y (m,); centred here."""
        Z = np.hstack([X_exact, Q])
        Z -= Z.mean(axis=0)
        centred = y - y.mean()
        values, vectors = linalg.eigh(Z.T @ Z, check_finite=False, driver="evd")
        kept = values > NEGLIGIBLE * values[-1]
        roots = np.sqrt(values[kept])
        L = np.pad(vectors[:, kept] * roots, ((0, 0), (0, 1)))
        c = (vectors[:, kept].T @ (Z.T @ centred)) / roots
        s = np.sqrt(max(centred @ centred - c @ c, 0.0))
        p = X_exact.shape[1]
        return cls(L[:p], L[p:], P, np.append(c, s))

    @property
    def null(self) -> float:
        """||y||, the objective at zero."""
        return float(np.linalg.norm(self.c))

    def image(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """L'(a, P'b)."""
        used = np.flatnonzero(b)
        return self.exact.T @ a + self.lift.T @ (self.P[used].T @ b[used])


@dataclass(frozen=True, eq=False)
class Point:
    """Coefficients a (p,) and b (n,), the dual point u (d,) they came from, and their gap.

    `steps` are the Newton steps taken.
    """

    a: np.ndarray
    b: np.ndarray
    u: np.ndarray
    gap: float = np.inf
    steps: int = 0


def origin(problem: Reduced) -> Point:
    """The point w = 0."""
    zeros = np.zeros(len(problem.exact)), np.zeros(len(problem.P))
    return Point(*zeros, problem.c / problem.null)


def soft(values: np.ndarray, level: float) -> np.ndarray:
    """Values moved towards zero by `level`."""
    return np.sign(values) * np.maximum(np.abs(values) - level, 0.0)


def solve_point(
    problem: Reduced, alpha: float, radius: float, start: Point, tol: float = 1e-5
) -> Point:
    """Solve for one penalty and radius to a relative duality gap of `tol`.

    Parameters
    ----------
    problem : Reduced
    alpha, radius : float
        alpha > 0, radius >= 0.
    start : Point
        Where to start: :func:`origin`, or the solution of a neighbour.
    tol : float

    Returns
    -------
    Point
        Its `gap`, relative to the objective, says whether the solver reached it.
    """
    a, b, u, steps = start.a, start.b, start.u, 0
    residual = problem.c - problem.image(a, b)
    target, length = 1e-2 * problem.null, FIRST_LENGTH
    for _ in range(MOST_OUTER):
        seen = problem.P @ (problem.lift @ u)
        work = np.flatnonzero((np.abs(seen) > WORKING_SHARE * alpha) | (b != 0))
        size = float(np.hypot(np.linalg.norm(a), np.linalg.norm(b)))
        sigma = length * (size or 0.1 * problem.null / alpha) / alpha
        tau = TAU * length * float(np.linalg.norm(residual))
        center = Center(residual, a, b[work])
        inner = _Inner(problem, problem.P[work], alpha, radius, sigma, tau, center)
        found, taken = inner.maximise(u, target)
        steps += taken
        a, u = found.a, found.u
        b = np.zeros_like(b)
        b[work] = found.b
        residual = problem.c - problem.image(a, b)
        primal, gap = certificate(problem, alpha, radius, a, b, residual, u)
        if gap <= tol * primal or steps >= MOST_STEPS:
            break
        target = max(min(0.1 * gap, 0.3 * target), 1e-3 * tol * primal)
        length *= GROWTH if taken < MOST_NEWTON else 1.0 / GROWTH
        length = min(length, LARGEST_LENGTH)
    return Point(a, b, u, gap / primal, steps)


def certificate(
    problem: Reduced,
    alpha: float,
    radius: float,
    a: np.ndarray,
    b: np.ndarray,
    residual: np.ndarray,
    u: np.ndarray,
) -> tuple[float, float]:
    """Objective at (a, b), and its distance from a feasible dual value.

    Dual points are taken along the residual, and along the multiplier u for where it vanishes.
    """
    rho = float(np.linalg.norm(residual))
    penalty = alpha * (np.abs(a).sum() + np.abs(b).sum()) + radius * np.linalg.norm(b)
    primal = rho + float(penalty)
    dual = 0.0
    for direction in (residual, u):
        length = float(np.linalg.norm(direction))
        if length > 0:
            point = direction / (length if direction is residual else max(length, 1.0))
            scale = _feasible_scale(problem, alpha, radius, point)
            dual = max(dual, scale * float(problem.c @ point))
    return primal, max(primal - dual, 0.0)


def _feasible_scale(problem: Reduced, alpha: float, radius: float, u: np.ndarray) -> float:
    """Largest share of u, at most 1, that satisfies both constraints."""
    largest = float(np.abs(problem.exact @ u).max(initial=0.0))
    share = min(1.0, alpha / largest) if largest > 0 else 1.0
    seen = np.abs(problem.P @ (problem.lift @ u))
    peak = float(seen.max(initial=0.0))
    if share * peak <= alpha:
        return share
    seen = seen[seen * share > alpha]

    def length(scale: float) -> float:
        return float(np.linalg.norm(np.maximum(scale * seen - alpha, 0.0)))

    if length(share) <= radius:
        return share
    low, high = min(share, alpha / peak), share
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if length(middle) <= radius else (low, middle)
    return low


@dataclass(frozen=True, eq=False)
class Center:
    """Where a proximal step starts: residual (d,), a (p,) and b on the working set."""

    residual: np.ndarray
    a: np.ndarray
    b: np.ndarray


@dataclass(frozen=True, eq=False)
class _Trial:
    """A multiplier u, what the features see of it, and the proximal minimisers there."""

    u: np.ndarray
    seen_exact: np.ndarray
    seen_rest: np.ndarray
    residual: np.ndarray
    a: np.ndarray
    b: np.ndarray
    moved: np.ndarray  # the residual before its shrinkage
    shrunk: np.ndarray  # b before the group's own shrinkage
    value: float


def _shrink(values: np.ndarray, level: float) -> np.ndarray:
    """Values (..) moved towards zero by `level` in length: the prox of a norm."""
    length = float(np.linalg.norm(values))
    return values * (1.0 - level / length) if length > level else np.zeros_like(values)


@dataclass(frozen=True, eq=False)
class _Inner:
    """The dual of one proximal step, restricted to rows P of a working set.

    psi(u) = c'u + min over r, a, b of the Lagrangian with its proximal terms: concave, once
    differentiable, with gradient c - r(u) - L'(a(u), P'b(u)).
    """

    problem: Reduced
    P: np.ndarray
    alpha: float
    radius: float
    sigma: float
    tau: float
    center: Center

    def maximise(self, u: np.ndarray, target: float) -> tuple[_Trial, int]:
        """Newton steps from u until the gradient is shorter than `target`."""
        now = self._trial(u, self.problem.exact @ u, self.P @ (self.problem.lift @ u))
        for step in range(MOST_NEWTON):
            gradient = self._gradient(now)
            if np.linalg.norm(gradient) <= target:
                return now, step
            moved = self._search(now, gradient, self._direction(now, gradient))
            if moved is None:
                return now, step
            now = moved
        return now, MOST_NEWTON

    def _trial(self, u: np.ndarray, seen_exact: np.ndarray, seen_rest: np.ndarray) -> _Trial:
        sigma, tau, center = self.sigma, self.tau, self.center
        moved = center.residual + tau * u
        residual = _shrink(moved, tau)
        a = soft(center.a + sigma * seen_exact, sigma * self.alpha)
        shrunk = soft(center.b + sigma * seen_rest, sigma * self.alpha)
        b = _shrink(shrunk, sigma * self.radius)
        value = (
            self.problem.c @ u
            + np.linalg.norm(residual)
            - residual @ u
            + np.sum((residual - center.residual) ** 2) / (2 * tau)
            + self.alpha * (np.abs(a).sum() + np.abs(b).sum())
            + self.radius * np.linalg.norm(b)
            - a @ seen_exact
            - b @ seen_rest
            + (np.sum((a - center.a) ** 2) + np.sum((b - center.b) ** 2)) / (2 * sigma)
        )
        return _Trial(u, seen_exact, seen_rest, residual, a, b, moved, shrunk, float(value))

    def _gradient(self, now: _Trial) -> np.ndarray:
        problem, active = self.problem, np.flatnonzero(now.b)
        image = problem.exact.T @ now.a + problem.lift.T @ (self.P[active].T @ now.b[active])
        return problem.c - now.residual - image

    def _direction(self, now: _Trial, gradient: np.ndarray) -> np.ndarray:
        """Newton direction; H is the (negative) generalised Hessian of psi at u."""
        problem, d = self.problem, len(now.u)
        exact = problem.exact[now.a != 0]
        H = self.sigma * (exact.T @ exact)
        length = float(np.linalg.norm(now.moved))
        if length > self.tau:
            kept = self.tau / length
            H += np.outer(now.moved, now.moved) * (self.tau * kept / length**2)
            H.flat[:: d + 1] += self.tau * (1.0 - kept)
        active = np.flatnonzero(now.b)
        if active.size:
            rows, shrunk = self.P[active], now.shrunk[active]
            squared = float(shrunk @ shrunk)
            kept = self.sigma * self.radius / np.sqrt(squared)
            along = rows.T @ shrunk
            inner = (1.0 - kept) * (rows.T @ rows) + np.outer(along, along) * (kept / squared)
            H += self.sigma * (problem.lift.T @ inner @ problem.lift)
        H.flat[:: d + 1] += JITTER * (H.diagonal().max() + problem.null)
        factor = linalg.cho_factor(H, overwrite_a=True, check_finite=False)
        return linalg.cho_solve(factor, gradient, check_finite=False)

    def _search(self, now: _Trial, gradient: np.ndarray, direction: np.ndarray) -> _Trial | None:
        """Halve the step until psi rises enough; None where rounding hides any rise."""
        slope = float(gradient @ direction)
        exact, rest = self.problem.exact @ direction, self.P @ (self.problem.lift @ direction)
        slack = 1e-14 * abs(now.value)
        size = 1.0
        while size > SMALLEST_STEP:
            trial = self._trial(
                now.u + size * direction,
                now.seen_exact + size * exact,
                now.seen_rest + size * rest,
            )
            if trial.value >= now.value + ARMIJO * size * slope - slack:
                return trial
            size *= 0.5
        return None
