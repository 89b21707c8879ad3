"""The paper's log-barrier second-order method (section 5), in primal-dual form.

With w = p - q and heights sigma, t for the two norms the paper follows, for mu -> 0,

    minimise  sigma + radius t + lam sum_j (p_j + q_j)
              - mu [ log(sigma^2 - ||c - R'w||^2 - s^2) + log(t^2 - ||w||^2) + sum_j log p_j q_j ]

All three kinds of term are one cone barrier with a weight g, because p_j q_j = (h^2 - w_j^2)/4 for
h = p_j + q_j:

    B(x) = min over h > ||x||  of   g h - mu log(h^2 - ||x||^2)

The best height is h = (mu + T)/g with T = sqrt(mu^2 + g^2 ||x||^2), so that any w is strictly
feasible, and

    grad B = y = g x/h,       hess B = (g/h) (I - x y'/T)

(the paper prints 2/(-log f) where 2/f belongs). Summed up, the Hessian in w is a diagonal plus a
(k+2)-dyad,

    H = Delta + R M R' - e (d w' + w d'),    Delta_j = (lam - v_j lam w_j/T_j)/h_j + radius/t

with M = (I - (u r' + r u')/(2 T))/sigma, e = radius/(2 t T_t) and multipliers u, d, v of the
loss, the robust term and the absolute values, which have Newton steps of their own. Systems cost
O(p k^2 + k^3) by the matrix inversion lemma, against the O(k p^2) that the paper states.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy import linalg

from sketchlasso.engine import Batch
from sketchlasso.problem import certify_batch

# mu at the start, for a response of length one, its factor per centring, and its last value.
FIRST_MU, MU_REDUCTION, LAST_MU = 0.1, 0.05, 1e-14
CENTRINGS, NEWTON_STEPS_PER_CENTRING = 60, 8  # at most
# Multipliers keep this share of their distance to a bound of |w_j|, and stay inside their balls by
# the other, which keeps the Hessian positive.
KEPT_DISTANCE, BALL_MARGIN = 0.01, 1e-10
REFINEMENTS = 2  # of the solution of a Newton system


@dataclass(frozen=True, eq=False)
class Run:
    """One solve: its steps and seconds, the relative gap proved, the coefficients (n,)."""

    seconds: float
    steps: int
    relative_gap: float
    coef: np.ndarray


class Proof:
    """The best primal and the best dual value that points of a batch of one have proved."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.primal, self.dual, self.coef = np.inf, -np.inf, np.zeros(batch.n_features)

    def offer(self, w: np.ndarray, u: np.ndarray) -> None:
        """Certify coefficients (n,) with a dual candidate (k,)."""
        if not (np.isfinite(w).all() and np.isfinite(u).all()):
            return
        found = certify_batch(self.batch, w[None], u[None])
        if found.primal[0] < self.primal:
            self.primal, self.coef = float(found.primal[0]), w.copy()
        self.dual = max(self.dual, float(found.dual[0]))

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return np.inf if np.isinf(self.primal) else max(self.primal - self.dual, 0.0) / self.primal


class Multipliers(NamedTuple):
    """Multipliers u (k,) of the loss, d (p,) of the robust term, v (p,) of the |w_j|."""

    u: np.ndarray
    d: np.ndarray
    v: np.ndarray


class Cones(NamedTuple):
    """Optimal heights h and roots T of the cones at one point, and y = g x/h as multipliers.

    The gradient in w is v + d - R u of these multipliers.
    """

    loss: tuple[float, float]
    ridge: tuple[float, float]  # 1 without a radius
    heights: np.ndarray  # (p,), of the |w_j|
    roots: np.ndarray  # (p,)
    central: Multipliers


class _Instance(NamedTuple):
    R: np.ndarray  # (p, k)
    c: np.ndarray  # (k,)
    s: float
    radius: float
    lam: np.ndarray  # (p,), all positive

    def cones(self, mu: float, w: np.ndarray, r: np.ndarray) -> Cones:
        """The cones at w (p,) with residual r (k,)."""
        loss_root = float(np.sqrt(mu**2 + r @ r + self.s**2))
        loss = mu + loss_root, loss_root
        ridge, d = (1.0, 1.0), np.zeros_like(w)
        if self.radius > 0:
            root = float(np.sqrt(mu**2 + self.radius**2 * (w @ w)))
            ridge = (mu + root) / self.radius, root
            d = self.radius * w / ridge[0]
        roots = np.sqrt(mu**2 + (self.lam * w) ** 2)
        heights = (mu + roots) / self.lam
        return Cones(
            loss, ridge, heights, roots, Multipliers(r / loss[0], d, self.lam * w / heights)
        )


def solve_barrier(batch: Batch, tol: float = 1e-6) -> Run:
    """Solve a batch of one square-root problem whose features are all penalised."""
    start = perf_counter()
    length = float(np.hypot(np.linalg.norm(batch.c[0]), batch.s[0]))
    instance = _Instance(
        batch.rows(0, np.arange(batch.n_features)),
        batch.c[0] / length,
        float(batch.s[0]) / length,
        float(batch.radius[0]),
        batch.thresholds(0),
    )
    proof, mu, steps = Proof(batch), FIRST_MU, 0
    w = np.zeros(batch.n_features)
    multipliers = instance.cones(mu, w, instance.c).central
    for _ in range(CENTRINGS):
        centred = False
        for _ in range(NEWTON_STEPS_PER_CENTRING):
            w, multipliers, step, decrement = _newton_step(instance, mu, w, multipliers)
            steps += 1
            centred = step > 0.5 and decrement <= mu * len(w)
            if centred:
                break
        central = instance.cones(mu, w, instance.c - instance.R.T @ w).central
        for u in (central.u, multipliers.u):
            proof.offer(length * w, u)
        if proof.gap <= tol:
            break
        if centred:
            mu = max(MU_REDUCTION * mu, LAST_MU * proof.primal / length)
    return Run(perf_counter() - start, steps, proof.gap, proof.coef)


def _newton_step(
    instance: _Instance, mu: float, w: np.ndarray, old: Multipliers
) -> tuple[np.ndarray, Multipliers, float, float]:
    """One damped Newton step: new w and multipliers, the step's length, the Newton decrement."""
    R, lam, radius = instance.R, instance.lam, instance.radius
    r = instance.c - R.T @ w
    cones = instance.cones(mu, w, r)
    central = cones.central
    gradient = central.v + central.d - R @ central.u
    k = len(r)
    bend = (np.outer(old.u, r) + np.outer(r, old.u)) / (2.0 * cones.loss[1])
    inverse = cones.loss[0] * linalg.inv(np.eye(k) - bend)
    absolute = (lam - old.v * lam * w / cones.roots) / cones.heights
    delta, X = absolute, R
    if radius > 0:
        delta = absolute + radius / cones.ridge[0]
        e = radius / (2.0 * cones.ridge[0] * cones.ridge[1])
        # The core of -e (d w' + w d') is -e [[0, 1], [1, 0]].
        inverse = linalg.block_diag(inverse, np.array([[0.0, -1.0 / e], [-1.0 / e, 0.0]]))
        X = np.column_stack([R, old.d, w])
    dw, y = _solve_dyadic(delta, X, inverse, -gradient)
    slope = float(gradient @ dw)
    if not np.isfinite(slope) or slope >= 0.0:
        # Rounding dominates: fall back on the primal multipliers and do not move.
        return w, central, 1.0, 0.0
    # The function is convex, so its slope suffices; function values would be lost in rounding.
    dr, step = -(R.T @ dw), 1.0
    for _ in range(60):
        there = instance.cones(mu, w + step * dw, r + step * dr).central
        slope_there = float(there.u @ dr + (there.v + there.d) @ dw)
        if slope_there <= 0.5 * abs(slope):
            break
        step *= max(-slope / (slope_there - slope), 0.1)
    # y = M R'dw is the accurate form of the change of u; computed from dw it would cancel.
    u = _into_ball(central.u - y[:k], 1.0)
    d = central.d
    if radius > 0:
        d = _into_ball(d + radius / cones.ridge[0] * dw + X[:, k:] @ y[k:], radius)
    room = KEPT_DISTANCE * (lam - np.abs(old.v))
    v = np.clip(central.v + absolute * dw, room - lam, lam - room)
    return w + step * dw, Multipliers(u, d, v), step, -slope


def _solve_dyadic(
    delta: np.ndarray, X: np.ndarray, core_inverse: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve (diag(delta) + X M X') dw = b in the augmented form with y = M X'dw.

        [ delta   X    ] [ dw ]   [ b ]
        [ X'     -M^-1 ] [ y  ] = [ 0 ]

    Both unknowns are refined: M grows like 1/mu where the optimum interpolates, and X'dw then
    needs more digits than one elimination leaves.
    """
    capacitance = core_inverse + (X.T / delta) @ X
    # Rows of unit size before factoring: the dyads differ by many orders of magnitude.
    scale = 1.0 / np.sqrt(np.abs(capacitance).max(axis=1))
    factor = linalg.lu_factor(capacitance * scale[:, None] * scale, check_finite=False)
    dw, y = np.zeros(len(delta)), np.zeros(len(scale))
    for _ in range(1 + REFINEMENTS):
        upper, lower = b - delta * dw - X @ y, core_inverse @ y - X.T @ dw
        right = X.T @ (upper / delta) - lower
        more = scale * linalg.lu_solve(factor, scale * right, check_finite=False)
        dw, y = dw + (upper - X @ more) / delta, y + more
    return dw, y


def _into_ball(x: np.ndarray, radius: float) -> np.ndarray:
    """The point itself, or its multiple just inside the ball of that radius."""
    allowed = (1.0 - BALL_MARGIN) * radius
    length = float(np.linalg.norm(x))
    return x if length <= allowed else x * (allowed / length)
