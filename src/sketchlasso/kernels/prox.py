"""Proximal maps of the loss and of the l2 term, as factors of a vector's length."""

from __future__ import annotations

from typing import Any

from sketchlasso.kernels.compiling import kernel


@kernel()
def loss_prox_length(size: Any, s: Any, tau: Any, squared: Any) -> Any:
    """Rho with prox_{tau h}(x) = x rho / (rho + tau) for ||x|| = size.

    For the square-root loss rho solves 1 = s^2/rho^2 + size^2/(rho + tau)^2, a convex
    decreasing function, by Newton from the left; for the squared loss rho is 1.
    """
    if squared:
        return 1.0
    if s == 0.0:
        return max(size - tau, 0.0)
    rho = max(s, size - tau)
    for _ in range(60):
        value = (s / rho) ** 2 + (size / (rho + tau)) ** 2 - 1.0
        slope = -2.0 * s * s / rho**3 - 2.0 * size * size / (rho + tau) ** 3
        step = -value / slope
        rho += step
        if abs(step) <= 1e-15 * rho:
            break
    return rho


@kernel()
def group_shrinkage(norm: Any, sigma: Any, radius: Any, squared: Any) -> Any:
    """Factor by which the prox of the l2 term shrinks a vector of length `norm`."""
    if squared:
        return 1.0 / (1.0 + sigma * radius * radius)
    if norm <= sigma * radius:
        return 0.0
    return 1.0 - sigma * radius / norm
