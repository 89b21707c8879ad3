"""The paper's log-barrier second-order method (section 5), in primal-dual form.

For gamma = 1/mu growing by a constant factor, damped Newton steps minimise the barrier function
of :mod:`~sketchlasso.solvers.algorithms.cone_barrier`, where its derivation stands. An iterate on
the central path has a gap of about mu (2 p + 4). One Newton step costs O(p k^2 + k^3).
"""

from __future__ import annotations

import numpy as np

from sketchlasso.solvers.algorithms.cone_barrier import (
    Cones,
    DyadicHessian,
    Multipliers,
    ScaledInstance,
    barrier_hessian,
    cones_at,
)
from sketchlasso.solvers.algorithms.protocol import Best, Instance
from sketchlasso.types import FloatArray

# mu at the start, for a response of length one, and its factor per centring.
FIRST_MU = 0.1
MU_REDUCTION = 0.05
# Below this fraction of the objective rounding dominates, and mu is not reduced further.
LAST_MU = 1e-14
NEWTON_STEPS_PER_CENTRING = 8  # at most
# Coefficients and multipliers keep this share of their distance to a bound.
KEPT_DISTANCE = 0.01
# Multipliers stay inside their balls by this share, which keeps the Hessian positive.
BALL_MARGIN = 1e-10
# With w >= 0, slack times coefficient stays within this factor of mu.
SLACK_RATIO = 10.0


class Barrier:
    """Primal-dual path following; one call of `improve` is one centring.

    It starts far from every boundary, with the multipliers of the primal method. The given point is
    not used: a warm start lies at the boundary, where Newton's method is slow.
    """

    def __init__(self, instance: Instance, w: FloatArray, u: FloatArray) -> None:
        self.problem = problem = ScaledInstance.of(instance)
        self.mu = FIRST_MU  # 1/gamma of the paper
        self.w = np.zeros(len(w))
        if problem.positive:
            size = np.sqrt(problem.square_norms)
            start = FIRST_MU / (problem.thresholds + np.maximum(size, 1e-3 * size.max(initial=0.0)))
            self.w = start / max(1.0, float(np.linalg.norm(problem.R.T @ start)))
        self.multipliers = self._cones().central
        self.newton_steps = 0
        self.best = Best(instance)

    def improve(self) -> tuple[FloatArray, FloatArray, int]:
        """Centre for the current mu, offer the centre, reduce mu."""
        before = self.newton_steps
        centred = False
        while not centred and self.newton_steps - before < NEWTON_STEPS_PER_CENTRING:
            step, decrement = self._newton_step()
            self.newton_steps += 1
            centred = step > 0.5 and decrement <= self.mu * len(self.w)
        for u in (self._cones().central.u, self.multipliers.u):
            self.best.offer(*self.problem.restored(self.w, u))
        if centred:
            least = LAST_MU * self.best.primal / self.problem.length
            self.mu = max(MU_REDUCTION * self.mu, least)
        return self.best.trimmed(), self.best.u.copy(), self.newton_steps - before

    def _cones(self) -> Cones:
        residual = self.problem.c - self.problem.R.T @ self.w
        return cones_at(self.problem, self.mu, self.w, residual)

    def _newton_step(self) -> tuple[float, float]:
        """One damped primal-dual Newton step; returns its length and the Newton decrement."""
        problem, w = self.problem, self.w
        r = problem.c - problem.R.T @ w
        cones = cones_at(problem, self.mu, w, r)
        gradient = cones.central.v + cones.central.d - problem.R @ cones.central.u
        hessian = barrier_hessian(problem, cones, self.multipliers, w, r)
        dw, y = hessian.solve(-gradient)
        slope = float(gradient @ dw)
        if not np.isfinite(slope) or slope >= 0.0:
            # Rounding dominates: fall back on the primal multipliers and do not move.
            self.multipliers = cones.central
            return 1.0, 0.0
        step = _step_length(problem, self.mu, w, r, dw, slope)
        self.w = w + step * dw
        self.multipliers = self._next_multipliers(cones, hessian, step, dw, y)
        return step, -slope

    def _next_multipliers(
        self, cones: Cones, hessian: DyadicHessian, step: float, dw: FloatArray, y: FloatArray
    ) -> Multipliers:
        """Newton's multipliers for the full step dw, brought back inside their bounds."""
        problem, central, old = self.problem, cones.central, self.multipliers
        k = len(central.u)
        # y = M R'dw is the accurate form of the change of u; computed from dw it would cancel.
        u = central.u - y[:k]
        d = central.d
        v = central.v + hessian.absolute * dw
        if not problem.squared:
            u = _into_ball(u, 1.0)
        if problem.robust_cone:
            change = problem.radius / cones.ridge_height * dw + hessian.X[:, k:] @ y[k:]
            d = _into_ball(d + change, problem.radius)
        lam = problem.thresholds
        if problem.positive:
            # Here w >= 0 may have shortened the step, and the multipliers must not move further.
            slack = lam - old.v - step * (v - old.v)
            slack = np.maximum(slack, KEPT_DISTANCE * (lam - old.v))
            centre = self.mu / self.w
            v = lam - np.clip(slack, centre / SLACK_RATIO, centre * SLACK_RATIO)
        else:
            room = KEPT_DISTANCE * (lam - np.abs(old.v))
            v = np.clip(v, room - lam, lam - room)
        return Multipliers(u, d, v)


def _step_length(
    problem: ScaledInstance, mu: float, w: FloatArray, r: FloatArray, dw: FloatArray, slope: float
) -> float:
    """Step in (0, 1] along dw after which the barrier function hardly rises; O(p) per trial.

    The function is convex, so its slope suffices; function values would be lost in rounding.
    """
    dr = -(problem.R.T @ dw)
    step = 1.0
    if problem.positive:
        towards = dw < 0
        reach = np.min(-w[towards] / dw[towards], initial=np.inf)
        step = min(1.0, (1.0 - KEPT_DISTANCE) * float(reach))
    for _ in range(60):
        there = cones_at(problem, mu, w + step * dw, r + step * dr).central
        slope_there = float(there.u @ dr + (there.v + there.d) @ dw)
        if slope_there <= 0.5 * abs(slope):
            break
        step *= max(-slope / (slope_there - slope), 0.1)
    return step


def _into_ball(x: FloatArray, radius: float) -> FloatArray:
    """The point itself, or its multiple just inside the ball of that radius."""
    allowed = (1.0 - BALL_MARGIN) * radius
    length = float(np.linalg.norm(x))
    return x if length <= allowed else x * (allowed / length)
