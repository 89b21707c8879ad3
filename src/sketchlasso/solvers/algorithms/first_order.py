"""A first-order method, the future work of the paper: primal-dual splitting, accelerated.

The saddle problem behind every instance is

    min over w  max over u    g(w) + u'(c - R'w) - f*(u)

with g(w) = radius ||w||_2 + sum_j thresholds_j |w_j| and f*(u) = -s sqrt(1 - ||u||^2) (squared
loss: g with radius^2 ||w||^2/2 and f*(u) = ||u||^2/2). Chambolle and Pock's iteration, with
step tau on w and the metric tau R'R on u, reads

    w+ = prox of tau g at  w + tau R u
    u+ = argmax  u'(c - R'(2w+ - w)) - f*(u) - (tau/2) ||R(u - u_old)||^2

The metric removes the conditioning of R'R; it costs nothing once R is rotated to orthogonal
columns of squared lengths e_i, for then, with a = c - R'(2w+ - w) + tau e u_old,

    u+_i = a_i / (tau e_i + rho),    rho >= 0 the root of  ||u+||^2 + s^2/rho^2 = 1

(rho = 1 for the squared loss), and the prox of g is a soft threshold followed by a shrinkage of
the whole vector. Two products with R make one iteration.

Two measures make it fast. Balance: tau = ||w|| / ||R u|| lets both variables travel equally
fast. Anderson's extrapolation over the last iterations: once the support has settled the
iteration is nearly affine, and extrapolation then acts like a Krylov method. A plain step never
increases the residual of the fixed-point equation, so an extrapolated step that does is undone;
this replaces averaging and restarts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sketchlasso.problem.formulas import soft_threshold
from sketchlasso.solvers.algorithms.protocol import Best, Instance
from sketchlasso.types import FloatArray

ITERATIONS_PER_CALL = 200  # between two certificates
# Iterations after which the first call balances its step.
FIRST_BALANCES = (20, 40, 60, 80)
# Later calls balance only when the step is off by more than this factor.
BALANCE_FACTOR = 3.0
MEMORY = 20  # iterates that the extrapolation combines
# Of the extrapolation's normal equations, relative to their trace.
REGULARISATION = 1e-10
# Extrapolation goes at most this many plain steps ahead, and never so far backwards.
LONGEST_EXTRAPOLATION = 300.0
WORST_COSINE = -0.5
# An extrapolated step is undone when it lets the residual grow by more than this.
RESIDUAL_GROWTH = 2.0
# Singular values below this fraction of the largest count as zero.
RANK_TOLERANCE = 1e-12
# A part of the unit response this short is rounding.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False, kw_only=True)
class _Rotated(Instance):
    """The instance with a response of length one and orthogonal columns of R.

    Its R (p, r) is R V, with r the rank of R, and its s includes the part of c that R cannot reach.
    """

    energies: FloatArray  # (r,): squared lengths e of the columns
    basis: FloatArray  # (k, r): V
    beyond: FloatArray  # (k,): the part of c outside the span of V

    @classmethod
    def of(cls, instance: Instance) -> _Rotated:
        scaled = instance.with_unit_response()
        _, values, rows = np.linalg.svd(np.linalg.qr(instance.R, mode="r"), full_matrices=False)
        basis = rows[values > RANK_TOLERANCE * values.max(initial=0.0)].T
        c = basis.T @ scaled.c
        beyond = scaled.c - basis @ c
        if np.linalg.norm(beyond) <= ROUNDING:
            beyond = np.zeros_like(beyond)
        R = np.ascontiguousarray(instance.R @ basis)
        s = float(np.sqrt(scaled.s**2 + beyond @ beyond))
        energies = np.einsum("ij,ij->j", R, R)
        rotated = replace(scaled, R=R, c=c, s=s)
        return cls(**vars(rotated), energies=energies, basis=basis, beyond=beyond)

    def recover(self, w: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (p,) and dual point (k,) of the instance from rotated w (p,), u (r,)."""
        share = 1.0
        if not self.squared:
            share = np.sqrt(max(1.0 - float(u @ u), 0.0)) / self.s if self.s > 0 else 0.0
        return self.restored(w, self.basis @ u + share * self.beyond)

    def residual_dual(self, w: FloatArray) -> FloatArray:
        """The dual point (r,) that the residual of w (p,) suggests."""
        r = self.c - self.R.T @ w
        if self.squared:
            return r
        length = float(np.sqrt(r @ r + self.s**2))
        return r / length if length > 0 else r


class _Anderson:
    """Extrapolation of a fixed-point iteration in R^size from its last differences."""

    def __init__(self, size: int) -> None:
        self._values = np.zeros((MEMORY, size))
        self._residuals = np.zeros((MEMORY, size))
        self._gram = np.zeros((MEMORY, MEMORY))
        self._last: tuple[FloatArray, FloatArray] | None = None
        self._count = 0

    def clear(self) -> None:
        """Forget the past: the map has changed or the last step was bad."""
        self._last, self._count = None, 0

    def extrapolate(self, value: FloatArray, residual: FloatArray) -> FloatArray:
        """Next point, from the map's value at the current point and value - point."""
        if self._last is not None:
            slot = self._count % MEMORY
            self._values[slot] = value - self._last[0]
            self._residuals[slot] = residual - self._last[1]
            self._gram[slot] = self._gram[:, slot] = self._residuals @ self._residuals[slot]
            self._count += 1
        self._last = value, residual
        used = min(self._count, MEMORY)
        if used < 2:
            return value
        gram = self._gram[:used, :used].copy()
        gram[np.diag_indices(used)] += REGULARISATION * np.trace(gram) + 1e-300
        weights = np.linalg.solve(gram, self._residuals[:used] @ residual)
        move = residual - weights @ self._values[:used]
        # While w drifts along a straight line the residual stays the same, and its differences
        # are rounding: the move would then be endless and might point backwards.
        length = max(float(np.linalg.norm(move)), 1e-300)
        size = float(np.linalg.norm(residual))
        if float(move @ residual) < WORST_COSINE * length * size:
            return value
        return value - residual + move * min(1.0, LONGEST_EXTRAPOLATION * size / length)


class FirstOrder:
    """Primal-dual splitting with extrapolation; one call of `improve` is 200 iterations.

    It starts at the given point, or at the dual point of w = 0 where none is given.
    """

    def __init__(self, instance: Instance, w: FloatArray, u: FloatArray) -> None:
        self.problem = problem = _Rotated.of(instance)
        self.w = w / problem.length
        self.u = problem.basis.T @ u / (problem.length if problem.squared else 1.0)
        if not self.u.any():
            self.u = problem.residual_dual(self.w)
        # The step length.
        self.tau = float(1.0 / np.sqrt(max(float(problem.energies.max(initial=0.0)), 1e-300)))
        self.iterations = 0
        self.best = Best(instance)
        self.memory = _Anderson(len(self.w) + len(self.u))
        self._balance(tolerance=1.0)

    def improve(self) -> tuple[FloatArray, FloatArray, int]:
        """Iterate, then offer the iterate with both of its dual candidates."""
        stops = FIRST_BALANCES if self.iterations == 0 else ()
        for stop in (*stops, ITERATIONS_PER_CALL):
            self._iterate(stop - self.iterations % ITERATIONS_PER_CALL)
            if stop != ITERATIONS_PER_CALL:
                self._balance(tolerance=1.0)
        for u in (self.u, self.problem.residual_dual(self.w)):
            self.best.offer(*self.problem.recover(self.w, u))
        self._balance(tolerance=BALANCE_FACTOR)
        return self.best.w.copy(), self.best.u.copy(), ITERATIONS_PER_CALL

    def _balance(self, tolerance: float) -> None:
        """Set tau to ||w|| / ||R u|| when it is off by more than the tolerance."""
        pull = float(np.sqrt(self.problem.energies @ self.u**2))
        length = float(np.linalg.norm(self.w))
        if pull == 0.0 or length == 0.0:
            return
        # The geometric mean with the old step damps swings while the iterate is still rough.
        tau = float(np.sqrt(self.tau * length / pull))
        if max(tau / self.tau, self.tau / tau) ** 2 > tolerance:
            self.tau = tau
            self.memory.clear()

    def _iterate(self, count: int) -> None:
        """Run `count` iterations; ends at a plain, not an extrapolated, step."""
        problem, tau, p = self.problem, self.tau, len(self.w)
        # In these units the map is firmly non-expansive.
        weight = np.concatenate([np.full(p, tau**-0.5), np.sqrt(tau * problem.energies)])
        point = weight * np.concatenate([self.w, self.u])
        plain, last = point, np.inf
        for _ in range(count):
            w, u = _plain_step(problem, tau, point[:p] / weight[:p], point[p:] / weight[p:])
            value = weight * np.concatenate([w, u])
            residual = value - point
            size = float(np.linalg.norm(residual))
            if size > RESIDUAL_GROWTH * last:
                self.memory.clear()
                point, last = plain, np.inf
                continue
            point, plain, last = self.memory.extrapolate(value, residual), value, size
        self.w, self.u = plain[:p] / weight[:p], plain[p:] / weight[p:]
        self.iterations += count


def _plain_step(
    problem: _Rotated, tau: float, w: FloatArray, u: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """One iteration of Chambolle and Pock: new w (p,) and u (r,)."""
    next_w = _shrink(problem, tau, w + tau * (problem.R @ u))
    a = problem.c - problem.R.T @ (2.0 * next_w - w) + tau * problem.energies * u
    metric = tau * problem.energies
    return next_w, a / (metric + 1.0) if problem.squared else _dual_step(metric, a, problem.s)


def _shrink(problem: _Rotated, tau: float, x: FloatArray) -> FloatArray:
    """Prox of tau g at x (p,): soft threshold, then the whole vector towards zero."""
    y = soft_threshold(x, tau * problem.thresholds, problem.positive)
    if problem.squared:
        return y / (1.0 + tau * problem.radius**2)
    length = float(np.linalg.norm(y))
    return y * max(1.0 - tau * problem.radius / length, 0.0) if length > 0 else y


def _dual_step(metric: FloatArray, a: FloatArray, s: float) -> FloatArray:
    """Return u = a/(metric + rho), where rho is the root of ||u||^2 + s^2/rho^2 = 1.

    The left side to the power -1/2 is nearly linear in rho, and Newton's method on it
    approaches the root from the left. With s = 0 the root is 0 where the ball does not bind.
    """
    if s == 0.0 and np.sum((a / metric) ** 2) <= 1.0:
        return a / metric
    rho = max(s, float(np.max(np.abs(a) - metric, initial=0.0)), 1e-150)
    for _ in range(60):
        u = a / (metric + rho)
        square = float(u @ u) + (s / rho) ** 2
        slope = 2.0 * (float(u @ (u / (metric + rho))) + (s / rho) ** 2 / rho)
        step = 2.0 * square * (np.sqrt(square) - 1.0) / slope
        if step <= 1e-15 * rho:
            break
        rho += step
    return a / (metric + rho)
