"""A first-order method, the future work of the paper: primal-dual splitting.

The saddle problem behind every instance is

    min over w  max over u    g(w) + u'(c - R'w) - f*(u)

with g(w) = radius ||w||_2 + lam ||w||_1 and f*(u) = -s sqrt(1 - ||u||^2). Chambolle and Pock's
iteration, with step tau on w and the metric tau R'R on u, reads

    w+ = prox of tau g at  w + tau R u
    u+ = argmax  u'(c - R'(2w+ - w)) - f*(u) - (tau/2) ||R(u - u_old)||^2

The metric removes the conditioning of R'R; it costs nothing once R is rotated to orthogonal
columns of squared lengths e_i, for then, with a = c - R'(2w+ - w) + tau e u_old,

    u+_i = a_i / (tau e_i + rho),    rho >= 0 the root of  ||u+||^2 + s^2/rho^2 = 1

and the prox of g is a soft threshold followed by a shrinkage of the whole vector. Two products
with R make one iteration. tau = ||w|| / ||R u|| lets both variables travel equally fast.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from reproduction.barrier import Proof, Run
from sketchlasso.engine import Batch
from sketchlasso.problem.formulas import soft_threshold

ITERATIONS_PER_CERTIFICATE = 100
MOST_ITERATIONS = 100_000
# tau is balanced where it is off by more than this factor.
BALANCE_FACTOR = 3.0


def solve_first_order(batch: Batch, tol: float = 1e-6) -> Run:
    """Solve a batch of one square-root problem whose R has full column rank."""
    start = perf_counter()
    length = float(np.hypot(np.linalg.norm(batch.c[0]), batch.s[0]))
    R = batch.rows(0, np.arange(batch.n_features))
    V = np.linalg.svd(np.linalg.qr(R, mode="r"))[2].T
    R, c, s = np.ascontiguousarray(R @ V), V.T @ batch.c[0] / length, float(batch.s[0]) / length
    energies = np.einsum("ij,ij->j", R, R)
    lam, radius = batch.thresholds(0), float(batch.radius[0])
    proof, iterations = Proof(batch), 0
    w, u = np.zeros(len(R)), c / float(np.hypot(np.linalg.norm(c), s))
    tau = float(1.0 / np.sqrt(energies.max()))
    while proof.gap > tol and iterations < MOST_ITERATIONS:
        for _ in range(ITERATIONS_PER_CERTIFICATE):
            y = soft_threshold(w + tau * (R @ u), tau * lam, False)
            size = float(np.linalg.norm(y))
            following = y * max(1.0 - tau * radius / size, 0.0) if size > 0 else y
            a = c - R.T @ (2.0 * following - w) + tau * energies * u
            w, u = following, _dual_step(tau * energies, a, s)
        iterations += ITERATIONS_PER_CERTIFICATE
        r = c - R.T @ w
        for candidate in (u, r / max(float(np.hypot(np.linalg.norm(r), s)), 1e-300)):
            proof.offer(length * w, V @ candidate)
        pull, size = float(np.sqrt(energies @ u**2)), float(np.linalg.norm(w))
        if pull > 0 and size > 0:
            ratio = size / (pull * tau)
            # The geometric mean with the old step damps swings while the iterate is still rough.
            tau *= np.sqrt(ratio) if max(ratio, 1.0 / ratio) > BALANCE_FACTOR else 1.0
    return Run(perf_counter() - start, iterations, proof.gap, proof.coef)


def _dual_step(metric: np.ndarray, a: np.ndarray, s: float) -> np.ndarray:
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
