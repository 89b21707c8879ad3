"""The robust problem of a few rows, given by their Gram matrix, and the search for a size.

With rows A (p, k) of R the instance  minimise rho(w) + radius ||w|| + sum_j t_j |w_j|,
rho(w)^2 = ||c - A'w||^2 + s^2, is given by G = AA', b = Ac and ||c||^2 + s^2. Both norms are
minima of quadratics,

    rho = min over x of (rho^2 / x + x) / 2,      ||w|| = min over v of (||w||^2 / v + v) / 2

so that one coefficient, at the present x = rho and v = ||w||, is best at

    w_j = soft(q_j + G_jj w_j, t_j rho) / (G_jj + radius rho / ||w||),    q = b - G w

Such sweeps find the support. On it the objective is smooth, and Newton's method, of the size of
the support and not of the sketch, solves the problem. A penalty takes a few microseconds, so the
search can walk down the penalties until the requested number of coefficients is non-zero. The
problem on X itself (:mod:`sketchlasso.exact.working_set`) is solved by the same loops.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from sketchlasso.kernels.compiling import Indices, Matrix, RealMatrix, Reals, Vector, kernel
from sketchlasso.kernels.dense import (
    cholesky_in_place,
    cholesky_solve,
    copy_to,
    dot,
    kth_smallest,
    shrink,
)
from sketchlasso.kernels.rows import gather

# Scratch of Newton steps: a matrix (p, p) and four vectors (p,).
Scratch: TypeAlias = tuple[Matrix, Vector, Vector, Vector, Vector]

SWEEPS = 4  # in a round, and the most Newton steps after them
NEWTON_STEPS = 40  # rounds of both, at most
HALVINGS = 12  # of a Newton step that does not descend
RIDGE = 1e-13  # of the Hessian, as a share of its mean diagonal entry: rounding
# Active coefficients from which LAPACK, which works in blocks, is faster than the plain factor.
BLOCKED = 200
# A fit whose rho^2 falls below this share of its start is exact: these loops do not solve it.
EXACT_FIT = 1e-8
# Conditions violated by up to this multiple of the tolerance are good enough to count non-zero
# coefficients: rounding may prevent more.
ENOUGH = 100.0
# Walking down: ratio of two penalties, and how close to the next entry the search ends.
STEP_DOWN = 0.85
CLOSE = 0.99
# Coefficients that enter within this ratio of penalties enter together.
TOGETHER = 0.99999
# Where none is non-zero at one penalty, and too many are at the next, which is this share of the
# largest or more, they enter together too.
ALL_AT_ONCE = 0.98
# The search goes no lower than this share of the largest penalty.
SMALLEST_SHARE = 1e-4
# The search breaks no optimality condition by more than this share of the penalty.
SEARCH_TOL = 1e-8
# Penalties below this share of the largest count as this share of it in that condition.
LITTLE = 1e-6
# Rounds of the search. A row outside joins when it exceeds its threshold by more than this share.
SEARCH_ROUNDS = 8
ENTRY = 1e-7
# Penalty, as a share of the largest, where the search met an exact fit.
SHARE_OF_INTERPOLATION = 0.1


def rows_at_a_time(size: int) -> int:
    """Rows that a search for a size starts with, and how many may join in a round."""
    return max(96, 8 * size)


class GramProblem(NamedTuple):
    """The problem of p rows, given by their Gram matrix."""

    G: Matrix  # (p, p)
    b: Vector  # (p,)
    total: float  # ||c||^2 + s^2
    thresholds: Vector  # (p,)
    radius: float
    nonneg: bool


@kernel(fast=True)
def subtract_multiple(q: Vector, row: Vector, factor: float, count: int) -> None:
    """Subtract factor * row from q, on the first `count` entries."""
    for i in range(count):
        q[i] -= factor * row[i]


@kernel()
def best_step(rest: float, rho: float, norm: float, threshold: float) -> float:
    """Minimiser over w >= 0 of  sqrt(rest - 2 rho w + norm w^2) + threshold w.

    The slope vanishes at z = rho - norm w with z = t sqrt(e + z^2 / norm), e = rest - rho^2 / norm.
    """
    if norm <= threshold * threshold or rho <= threshold * np.sqrt(rest):
        return 0.0
    beyond = max(rest * norm - rho * rho, 0.0)
    return max((rho - threshold * np.sqrt(beyond / (norm - threshold * threshold))) / norm, 0.0)


@kernel(fast=True)
def objective(square: float, w: Vector, thresholds: Vector, radius: float) -> float:
    """Rho + radius ||w|| + sum_j t_j |w_j|."""
    l1 = 0.0
    for j in range(w.shape[0]):
        if w[j] != 0.0:
            l1 += thresholds[j] * abs(w[j])
    return np.sqrt(square) + radius * np.sqrt(dot(w, w)) + l1


@kernel()
def leave_zero(problem: GramProblem, w: Vector) -> float:
    """Best w along the direction in which the objective falls from w = 0, and its rho^2.

    w stays zero, the optimum, where ||S(b / rho)|| <= radius.
    """
    G, b, total, thresholds, radius, nonneg = problem
    p = w.shape[0]
    start = np.sqrt(total)
    square, l1, inner = 0.0, 0.0, 0.0
    for j in range(p):
        w[j] = shrink(b[j] / start, thresholds[j], nonneg)
        if w[j] != 0.0:
            square += w[j] * w[j]
            l1 += thresholds[j] * abs(w[j])
            inner += b[j] * w[j]
    if np.sqrt(square) <= radius * (1.0 + 1e-12):
        w[:] = 0.0
        return total
    norm = 0.0
    for i in range(p):
        if w[i] != 0.0:
            norm += w[i] * dot(G[i], w)
    step = best_step(total, inner, norm, radius * np.sqrt(square) + l1)
    for j in range(p):
        w[j] *= step
    return max(total - 2.0 * step * inner + step * step * norm, 0.0)


@kernel()
def sweep(problem: GramProblem, q: Vector, w: Vector, square: float) -> float:
    """Improve every coefficient once; q and w change in place. Returns rho^2."""
    G, _, _, thresholds, radius, nonneg = problem
    p = w.shape[0]
    length = dot(w, w)
    for j in range(p):
        rho = np.sqrt(square)
        if w[j] == 0.0 and (q[j] if nonneg else abs(q[j])) <= thresholds[j] * rho:
            continue
        norm = G[j, j]
        ridge = radius * rho / np.sqrt(length) if length > 0.0 else 0.0
        new = shrink(q[j] + norm * w[j], thresholds[j] * rho, nonneg) / (norm + ridge)
        moved = new - w[j]
        if moved != 0.0:
            square = max(square - 2.0 * moved * q[j] + moved * moved * norm, 0.0)
            length = max(length + moved * (new + w[j]), 0.0)
            subtract_multiple(q, G[j], moved, p)
            w[j] = new
    return square


@kernel()
def newton_step(
    problem: GramProblem, q: Vector, w: Vector, square: float, active: Indices, work: Scratch
) -> float:
    """Write the Newton step of the active coefficients into work[2]; returns the slope along it.

    H = G / rho - q q' / rho^3 + radius (I / v - w w' / v^3),   v = ||w||
    """
    G, _, _, thresholds, radius, _ = problem
    a = active.shape[0]
    rho, v = np.sqrt(square), np.sqrt(dot(w, w))
    H, slope, d = work[0][:a, :a], work[1][:a], work[2][:a]
    trace = 0.0
    for i in range(a):
        m = active[i]
        slope[i] = q[m] / rho - radius * w[m] / v - np.sign(w[m]) * thresholds[m]
        for h in range(i + 1):
            j = active[h]
            H[i, h] = G[m, j] / rho - q[m] * q[j] / (rho * square)
            H[i, h] -= radius * w[m] * w[j] / (v * v * v)
        H[i, i] += radius / v
        trace += H[i, i]
    for i in range(a):
        H[i, i] += RIDGE * trace / a
    if a >= BLOCKED:
        for i in range(a):
            for h in range(i):
                H[h, i] = H[i, h]
        d[:] = np.linalg.solve(np.ascontiguousarray(H), slope)
    else:
        cholesky_in_place(H)
        cholesky_solve(H, slope, d)
    return dot(slope, d)


@kernel()
def newton_move(
    problem: GramProblem, q: Vector, w: Vector, square: float, active: Indices, work: Scratch
) -> tuple[float, bool, bool]:
    """Take the step as far as it descends; a coefficient that changes sign stops at zero.

    With more coefficients than the rank of G the step is huge: it follows a null vector of G, along
    which the objective falls until a first coefficient is zero. That length is tried last.

    Returns rho^2, whether it moved, and whether all kept their sign.
    """
    G, _, _, thresholds, radius, nonneg = problem
    before = objective(square, w, thresholds, radius)
    # work[1] is free now: it holds what the whole step adds to G w.
    along, step, trial, seen, t = work[1], work[2], work[3], work[4], 1.0
    p, a = w.shape[0], active.shape[0]
    along[:p] = 0.0
    for i in range(a):
        subtract_multiple(along, G[active[i]], -step[i], p)
    for attempt in range(HALVINGS + 1):
        if attempt == HALVINGS:
            for i in range(a):
                j = active[i]
                if w[j] * (w[j] + t * step[i]) < 0.0 and (nonneg or thresholds[j] > 0.0):
                    t = -w[j] / step[i]
        copy_to(w, trial)
        copy_to(q, seen)
        subtract_multiple(seen, along, t, p)
        whole, after = True, square
        for i in range(a):
            j = active[i]
            new = w[j] + t * step[i]
            # The coefficient that reaches zero first must be exactly zero despite rounding.
            if new * w[j] <= 1e-14 * w[j] * w[j] and (nonneg or thresholds[j] > 0.0):
                subtract_multiple(seen, G[j], -new, p)
                new, whole = 0.0, False
            trial[j] = new
        # The fall of rho^2 is (w_new - w)'(q + q_new), by the symmetry of G.
        for i in range(a):
            j = active[i]
            after -= (trial[j] - w[j]) * (q[j] + seen[j])
        after = max(after, 0.0)
        if objective(after, trial[:p], thresholds, radius) < before:
            copy_to(trial[:p], w)
            copy_to(seen[:p], q)
            return after, True, whole
        t *= 0.5
    return square, False, False


@kernel()
def violation(problem: GramProblem, q: Vector, w: Vector, square: float) -> float:
    """Largest violation of the optimality conditions, relative to the threshold."""
    thresholds, radius, nonneg = problem.thresholds, problem.radius, problem.nonneg
    rho, v = np.sqrt(square), np.sqrt(dot(w, w))
    worst, least = 0.0, LITTLE * np.max(thresholds)
    for j in range(w.shape[0]):
        slope = q[j] / rho
        if w[j] != 0.0:
            miss = abs(slope - radius * w[j] / v - np.sign(w[j]) * thresholds[j])
        else:
            miss = max((slope if nonneg else abs(slope)) - thresholds[j], 0.0)
        if miss > 0.0:
            worst = max(worst, miss / max(thresholds[j], least))
    return worst


@kernel()
def solve_on_gram(
    problem: GramProblem, q: Vector, w: Vector, square: float, tol: float, work: Scratch
) -> float:
    """Solve the problem of these rows; q = b - G w and w (p,) change in place.

    `square` is rho^2 at w; from w = 0 it first moves along the steepest direction. Ends when no
    optimality condition is violated by more than `tol` of its threshold. Returns rho^2, or NaN
    if the fit becomes exact or the steps do not suffice.
    """
    p = w.shape[0]
    active = np.empty(p, dtype=np.intp)
    if not (w != 0.0).any():
        square = leave_zero(problem, w)
        copy_to(problem.b, q)
        for j in range(p):
            if w[j] != 0.0:
                subtract_multiple(q, problem.G[j], w[j], p)
        if not (w != 0.0).any():
            return square
    miss = np.inf
    for _ in range(NEWTON_STEPS):
        for _ in range(SWEEPS):
            square = sweep(problem, q, w, square)
        for _ in range(SWEEPS):
            if not square > EXACT_FIT * problem.total:
                return np.nan
            count = 0
            for j in range(p):
                if w[j] != 0.0:
                    active[count] = j
                    count += 1
            if count == 0:
                return square
            slope = newton_step(problem, q, w, square, active[:count], work)
            square, moved, whole = newton_move(problem, q, w, square, active[:count], work)
            if not moved or (whole and slope <= tol * tol * np.sqrt(square)):
                break
        miss = violation(problem, q, w, square)
        if miss <= tol:
            return square
    return square if miss <= ENOUGH * tol else np.nan


@kernel()
def search_size(
    A: Matrix,
    c: Vector,
    s: float,
    factor: Vector,
    largest: float,
    radius: float,
    nonneg: bool,
    size: int,
    w: Vector,
) -> tuple[float, int]:
    """Walk down from the penalty `largest` to the last one with at most `size` non-zeros.

    A (p, k) are the rows, w (p,) receives the coefficients. The penalty is within one part in a
    hundred of the one at which another coefficient enters. If several enter at once and exceed
    the size, it is the next one, which has more non-zeros, and w is a point to start from. A
    penalty at which the fit becomes exact, or that cannot be solved here, ends the walk at the
    last one before it. Returns the penalty, NaN if there is none before it, and the number of
    non-zero coefficients of its solution.
    """
    p = A.shape[0]
    G = np.dot(A, A.T)
    b = np.dot(A, c)
    total = dot(c, c) + s * s
    work = np.empty((p, p)), np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    here, q = np.zeros(p), b.copy()
    low, high, beyond, found, exact = 0.0, largest, 0, 0, False
    w[:] = 0.0
    best_q, square, best_square = b.copy(), total, total
    alpha = largest
    while True:
        alpha = np.sqrt(low * high) if low > 0.0 else alpha * STEP_DOWN
        if alpha < SMALLEST_SHARE * largest:
            return high, found
        problem = GramProblem(G, b, total, alpha * factor, radius, nonneg)
        square = solve_on_gram(problem, q, here, square, SEARCH_TOL, work)
        count = 0
        for j in range(p):
            count += here[j] != 0.0
        vanished = not np.isfinite(square)
        if vanished or count > size:
            low, beyond, exact = alpha, count, vanished
            square = best_square
            copy_to(w, here)
            copy_to(best_q, q)
        else:
            high, found = alpha, count
            best_square = square
            copy_to(here, w)
            copy_to(q, best_q)
        if found == size and low > CLOSE * high:
            return high, found
        if exact and (low > CLOSE * high or (found == 0 and low > ALL_AT_ONCE * largest)):
            return (high, found) if found > 0 else (np.nan, 0)
        if low > TOGETHER * high:
            return low, beyond
        if found == 0 and low > ALL_AT_ONCE * largest:
            # More than requested enter together: return a penalty where they have weight.
            return STEP_DOWN * largest, beyond


@kernel()
def strongest_rows(
    correlation: Reals, factor: Vector, nonneg: bool, floor: float, known: Indices, count: int
) -> Indices:
    """The `known` rows and up to `count` others of largest |correlation| / f, above `floor`.

    Sorted. Excluded rows (f = inf) are never among them.
    """
    n = correlation.shape[0]
    strength = np.full(n, -1.0)
    candidates = 0
    for j in range(n):
        x = float(correlation[j])
        level = (x if nonneg else abs(x)) / factor[j]
        if level > floor:
            strength[j] = level
            candidates += 1
    for j in known:
        candidates -= strength[j] >= 0.0
        strength[j] = -1.0
    if candidates > count:
        cut = kth_smallest(strength.copy(), n - count)
        for j in range(n):
            if strength[j] < cut:
                strength[j] = -1.0
    for j in known:
        strength[j] = np.inf
    return np.flatnonzero(strength >= 0.0)


@kernel()
def search_instance(
    P: RealMatrix,
    root: Matrix,
    rows: Indices,
    c: Vector,
    s: float,
    factor: Vector,
    largest: float,
    radius: float,
    nonneg: bool,
    size: int,
    u: Vector,
    w: Vector,
) -> tuple[float, int]:
    """Search on the rows P[rows] of one instance; returns the penalty and its non-zeros.

    u (k,) receives the dual point and w (p,) the coefficients.
    """
    A = np.empty((rows.shape[0], P.shape[1]))
    gather(P, rows, A)
    if root.shape[0] > 0:
        A = np.dot(A, root)
    alpha, count = search_size(A, c, s, factor[rows], largest, radius, nonneg, size, w)
    rest = c - np.dot(w, A)
    rho = np.sqrt(dot(rest, rest) + s * s)
    for i in range(u.shape[0]):
        u[i] = rest[i] / rho
    return alpha, count
