"""Proximal maps of the loss and of the l2 term, as factors of a vector's length."""

from __future__ import annotations

from sketchlasso.kernels.compiling import kernel


@kernel(inner=True)
def loss_prox_length(size: float, s: float, tau: float, squared: bool) -> float:
    """Rho with prox_{tau h}(x) = x rho / (rho + tau) for ||x|| = size.

    For the square-root loss rho solves 1 = s^2/rho^2 + size^2/(rho + tau)^2, a convex
    decreasing function, by Newton from the left; for the squared loss rho is 1.
    """
    if squared:
        return 1.0
    if s == 0.0:
        return size - tau if size > tau else 0.0
    rho = size - tau if size - tau > s else s
    for _ in range(60):
        from_s = s / rho
        from_x = size / (rho + tau)
        value = from_s * from_s + from_x * from_x - 1.0
        fall = 2.0 * (from_s * from_s / rho + from_x * from_x / (rho + tau))
        step = value / fall
        rho += step
        if abs(step) <= 1e-15 * rho:
            break
    return rho


@kernel(inner=True)
def group_shrinkage(norm: float, sigma: float, radius: float, squared: bool) -> float:
    """Factor by which the prox of the l2 term shrinks a vector of length `norm`."""
    if squared:
        return 1.0 / (1.0 + sigma * radius * radius)
    if norm <= sigma * radius:
        return 0.0
    return 1.0 - sigma * radius / norm
