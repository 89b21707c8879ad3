"""Soft thresholds, proximal maps and the dual scaling, one instance at a time.

Thresholds are `alpha` times a factor per feature. An excluded feature has the factor inf;
alpha = 0 then gives NaN, and every comparison below treats NaN as "never active".
"""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.compiling import Matrix, Reals, Vector, kernel

# Steps of a search for a feasible scale are no smaller than this share of the scale.
LEAST_STEP = 2.0**-51


@kernel()
def shrink(x: float, threshold: float, positive: bool) -> float:
    """Soft threshold of one number; one-sided where coefficients may not be negative."""
    if x > threshold:
        return x - threshold
    if not positive and x < -threshold:
        return x + threshold
    return 0.0


@kernel()
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


@kernel()
def group_shrinkage(norm: float, sigma: float, radius: float, squared: bool) -> float:
    """Factor by which the prox of the l2 term shrinks a vector of length `norm`."""
    if squared:
        return 1.0 / (1.0 + sigma * radius * radius)
    if norm <= sigma * radius:
        return 0.0
    return 1.0 - sigma * radius / norm


@kernel()
def best_on_ray(inner: float, length: float, s: float, squared: bool) -> float:
    """Scaling a of u that maximises the dual objective without its constraint.

    With inner = c'u and length = ||u||: a inner + s sqrt(1 - a^2 length^2) is largest at
    a = (inner/length) / sqrt((inner/length)^2 + s^2) / length; for the squared loss
    a inner - a^2 length^2/2 is largest at a = inner / length^2.
    """
    if length <= 0.0 or inner <= 0.0:
        return 0.0
    if squared:
        return inner / (length * length)
    along = inner / length
    return along / np.sqrt(along * along + s * s) / length


@kernel(fast=True)
def excess_norm(scale: float, size: Vector, threshold: Vector, count: int) -> tuple[float, float]:
    """Norm of (scale * size - threshold)_+ over the first `count` entries, and its slope."""
    square = 0.0
    cross = 0.0
    for i in range(count):
        over = scale * size[i] - threshold[i]
        if over > 0.0:
            square += over * over
            cross += over * size[i]
    norm = np.sqrt(square)
    slope = cross / norm if norm > 0.0 else 0.0
    return norm, slope


@kernel(fast=True)
def feasible_scale(
    correlation: Reals,
    factor: Vector,
    alpha: float,
    radius: float,
    positive: bool,
    largest: float,
    cleared: bool,
    buffer: Matrix,
) -> float:
    """Largest a in [0, `largest`] with ||S(a * correlation)||_2 <= radius.

    ||S(a x)|| is convex and increasing in a, so Newton's method from the right descends
    monotonically to the root. If rounding hides the last steps, a shrinks by a few units in the
    last place, then by more, until the norm is small enough. Features of threshold zero do not
    count if u is `cleared` of them. `buffer` is scratch of shape (2, n).
    """
    count = np.int64(0)  # Numba would compile the callee for a plain constant as well
    size, threshold = buffer[0], buffer[1]
    for j in range(correlation.shape[0]):
        x = float(correlation[j])
        if not positive:
            x = abs(x)
        if largest * x > alpha * factor[j] and not (cleared and alpha * factor[j] == 0.0):
            size[count] = x
            threshold[count] = alpha * factor[j]
            count += 1
    scale = largest
    if radius <= 0.0:
        for i in range(count):
            if threshold[i] / size[i] < scale:
                scale = threshold[i] / size[i]
        return scale
    for i in range(count):  # at the root no single term exceeds the radius
        if (threshold[i] + radius) / size[i] < scale:
            scale = (threshold[i] + radius) / size[i]
    least = LEAST_STEP
    for _ in range(100):
        norm, slope = excess_norm(scale, size, threshold, count)
        if norm <= radius * (1.0 + 1e-13):
            return scale
        step = (norm - radius) / slope
        if not step > least * scale:  # also where it is NaN because the norm overflows
            step = least * scale
            least *= 2.0
        scale -= step
        if scale <= 0.0:
            break
    # No scale was shown to be feasible: zero always is.
    return 0.0


@kernel(fast=True)
def smallest_penalty(
    correlation: Reals, factor: Vector, positive: bool, radius: float, buffer: Matrix
) -> float:
    """Smallest alpha >= 0 with ||(|correlation| - alpha f)_+||_2 <= radius over penalised features.

    The norm is convex and decreasing in alpha: Newton from the left never overshoots.
    `buffer` is scratch of shape (2, n).
    """
    count = 0
    size, weight = buffer[0], buffer[1]
    largest = 0.0
    for j in range(correlation.shape[0]):
        x = float(correlation[j])
        if not positive:
            x = abs(x)
        if x > 0.0 and 0.0 < factor[j] < np.inf:
            size[count] = x
            weight[count] = factor[j]
            if x / factor[j] > largest:
                largest = x / factor[j]
            count += 1
    if radius <= 0.0:
        return largest
    alpha = 0.0
    for i in range(count):  # at the root no single term exceeds the radius
        if (size[i] - radius) / weight[i] > alpha:
            alpha = (size[i] - radius) / weight[i]
    for _ in range(200):
        square = 0.0
        slope = 0.0
        for i in range(count):
            over = size[i] - alpha * weight[i]
            if over > 0.0:
                square += over * over
                slope += over * weight[i]
        norm = np.sqrt(square)
        if norm <= radius * (1.0 + 1e-14):
            break
        step = (norm - radius) * norm / slope
        if alpha + step == alpha:
            break
        alpha = alpha + step if alpha + step < largest else largest
    return alpha
