"""Small dense linear algebra, soft thresholds and proximal maps that the compiled kernels share.

Thresholds are `alpha` times a factor per feature. An excluded feature has the factor inf;
alpha = 0 then gives NaN, and every comparison below treats NaN as "never active".
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sketchlasso.kernels.compiling import Matrix, Reals, Vector, kernel
from sketchlasso.types import BoolArray, FloatArray

# Steps of a search for a feasible scale are no smaller than this share of the scale.
LEAST_STEP = 2.0**-51


@kernel(fast=True)
def dot(a: Vector, b: Vector) -> float:
    """Inner product of two vectors of one length."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i]
    return total


@kernel()
def copy_to(source: Vector, out: Vector) -> None:
    """Write a vector into the front of `out`.

    Kernels call this instead of assigning an array to a slice: Numba compiles for three seconds on
    the error message of such an assignment.
    """
    for i in range(source.shape[0]):
        out[i] = source[i]


@kernel()
def kth_smallest(values: Vector, k: int) -> float:
    """Entry k of the sorted values (n,); reorders the values.

    np.partition takes eight seconds to compile.
    """
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@kernel(fast=True)
def cholesky_in_place(H: Matrix) -> int:
    """Overwrite the lower triangle of H (k, k) by its Cholesky factor.

    A pivot that rounding made non-positive is lifted to a tiny multiple of the largest
    diagonal entry: the factor then belongs to a slightly larger matrix, which keeps a
    Newton direction a direction of ascent. Returns the number of lifted pivots.
    """
    k = H.shape[0]
    largest = 0.0
    for i in range(k):
        if H[i, i] > largest:
            largest = H[i, i]
    floor = 1e-14 * largest + 1e-300
    lifted = 0
    for j in range(k):
        row = H[j, :j]
        pivot = H[j, j] - dot(row, row)
        if not pivot > floor:
            pivot = floor
            lifted += 1
        root = np.sqrt(pivot)
        H[j, j] = root
        inverse = 1.0 / root
        for i in range(j + 1, k):
            H[i, j] = (H[i, j] - dot(H[i, :j], row)) * inverse
    return lifted


@kernel(fast=True)
def cholesky_solve(factor: Matrix, b: Vector, x: Vector) -> None:
    """Write the solution of factor factor' x = b into x (k,)."""
    k = factor.shape[0]
    for i in range(k):
        x[i] = (b[i] - dot(factor[i, :i], x[:i])) / factor[i, i]
    for i in range(k - 1, -1, -1):
        x[i] /= factor[i, i]
        value = x[i]
        for j in range(i):
            x[j] -= factor[i, j] * value


def reduce_stack(K: FloatArray, g: FloatArray, c: FloatArray, floor: float) -> BoolArray:
    """Overwrite a stack K (G, k, k) by Cholesky factors and solve L c = g.

    g is (G, k, t) and c (G, t, k). Returns which K (G,) have a smallest eigenvalue above `floor`
    times the largest diagonal entry; the factors of the others are unreliable.
    """
    safe = np.zeros(len(K), dtype=bool)
    for b in range(len(K)):
        largest = K[b].diagonal().max(initial=0.0)
        factor, failed = lapack.dpotrf(K[b], lower=1, clean=1)
        inverse, singular = lapack.dtrtri(factor, lower=1)
        if failed or singular:
            continue
        # ||L^-1||_F^2 is at least one over the smallest eigenvalue. The pivots do not bound it.
        safe[b] = np.vdot(inverse, inverse) * floor * largest < 1.0
        K[b], c[b] = factor, lapack.dtrtrs(factor, g[b], lower=1)[0].T
    return safe


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
