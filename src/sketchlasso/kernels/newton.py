"""Proximal-point semismooth Newton on the k-dimensional dual of one instance.

The instance, on its working rows A (n, k) of R, is  minimise h(c - A'w) + p(w)  with

    h(x) = sqrt(||x||^2 + s^2)      p(w) = radius ||w||_2 + sum_j t_j |w_j|   (+ w >= 0)

Each outer step adds ||w - w0||^2 / (2 sigma) + ||A'(w - w0)||^2 / (2 tau), which moves
neither the optimum nor the cost but makes the dual of the step smooth on all of R^k, for
radius = 0 and for an exact interpolation (residual 0) too. Its gradient in u is

    A'w(u) + x(u) - c,   w(u) = prox_{sigma p}(w0 + sigma A u),   x(u) = prox_{tau h}(x0 + tau u)

and its generalised Hessian  tau Dx + sigma A' Dw A  is a multiple of the Gram matrix of the
active rows, plus two dyads, plus a multiple of the identity. Newton with an exact line
search solves the step; sigma grows while that is easy and shrinks when it is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sketchlasso.kernels.compiling import Mask, Matrix, Vector, kernel
from sketchlasso.kernels.dense import (
    best_on_ray,
    cholesky_in_place,
    cholesky_solve,
    copy_to,
    dot,
    feasible_scale,
    group_shrinkage,
    loss_prox_length,
    shrink,
)

# A root without entries means the identity.
NO_ROOT = np.empty((0, 0))
# An objective below this share of its value at w = 0 is zero up to rounding.
NEGLIGIBLE = 1e-6
# Chosen by trial over random problems of every regime: see docs/maths/newton.md.
FIRST_SIGMA = 10.0  # times a gradient step's length
FIRST_TAU = 10.0  # times the length of the response
GROWTH = 2.0  # of sigma after an outer step that took at most EASY_STEPS Newton steps
SETBACK = 5.0  # divides sigma after one that was not done in HARD_STEPS
EASY_STEPS = 3
HARD_STEPS = 8
# A step along a direction without curvature (an interpolating step has them) is bounded by
# this share of the gradient, which vanishes at the solution.
DAMPING = 1e-3
# A full step is too long where the slope is this multiple of its start.
TOO_STEEP = 10.0
GRAM_UPDATES = 30  # before the sum is made anew: rounding adds up


class Rows(NamedTuple):
    """One instance on its working rows: A (n, k), root (k, k), c (k,), thresholds (n,).

    The rows of R are A root; they are never computed. `NO_ROOT` means the identity.
    """

    A: Matrix
    root: Matrix
    c: Vector
    s: float
    thresholds: Vector
    radius: float
    positive: bool
    squared: bool


class Work(NamedTuple):
    """Scratch of one solve; vectors are (n,) or (k,), `rows` (n, k), `gram` and `H` (k, k).

    Kernels write all their products into it: a product that allocates its result takes twice as
    long to compile.
    """

    v: Vector  # w0 + sigma A u
    step: Vector  # sigma A d
    y: Vector  # soft threshold of v; w = keep y
    seen: Vector  # A u
    scaled: Vector  # sigma thresholds
    member: Mask  # rows now in the Gram matrix
    rows: Matrix
    buffer: Matrix
    gram: Matrix
    H: Matrix
    grad: Vector  # minus the gradient of the step
    d: Vector  # Newton direction
    x: Vector  # proximal residual
    x0: Vector  # residual of the centre w0
    xhat: Vector  # x0 + tau u
    fit: Vector  # A'y
    turned: Vector  # products with the root (k,)
    square: Matrix  # products with the root (k, k)


class Point(NamedTuple):
    """Scalars of the step function at u."""

    norm: float  # ||y||
    keep: float  # w = keep y
    rho: float  # length of the proximal residual, with s
    moved_w: float  # ||w - w0||^2
    moved_x: float  # ||x - x0||^2


def scratch_for(space: Matrix) -> Work:
    """Scratch for one instance; `space` (n, k) is to hold copies of rows."""
    n, k = space.shape
    return Work(
        v=np.empty(n),
        step=np.empty(n),
        y=np.zeros(n),
        seen=np.empty(n),
        scaled=np.empty(n),
        member=np.zeros(n, dtype=np.bool_),
        rows=space,
        buffer=np.empty((2, n)),
        gram=np.zeros((k, k)),
        H=np.empty((k, k)),
        grad=np.empty(k),
        d=np.empty(k),
        x=np.empty(k),
        x0=np.empty(k),
        xhat=np.empty(k),
        fit=np.empty(k),
        turned=np.empty(k),
        square=np.empty((k, k)),
    )


@kernel()
def see(rows: Rows, u: Vector, turned: Vector, out: Vector) -> None:
    """Write R u = A (root u) into out (n,); `turned` is scratch (k,)."""
    if rows.root.shape[0] > 0:
        np.dot(rows.root, u, turned)
        np.dot(rows.A, turned, out)
    else:
        np.dot(rows.A, u, out)


@kernel()
def combine(rows: Rows, w: Vector, turned: Vector, out: Vector) -> None:
    """Write R'w = root'(A'w) into out (k,); `turned` is scratch (k,)."""
    if rows.root.shape[0] > 0:
        np.dot(w, rows.A, turned)
        np.dot(turned, rows.root, out)
    else:
        np.dot(w, rows.A, out)


@kernel(fast=True)
def forbidden_part(rows: Rows, work: Work, keep: float) -> float:
    """Rough cost of making u orthogonal to the unpenalised rows, as radius = 0 requires.

    A violation v of such a constraint costs v times its multiplier, the coefficient. That is not
    known yet; the largest coefficient plus the row's own fit of c replaces it.
    """
    largest = 0.0
    for j in range(work.y.shape[0]):
        size = keep * abs(work.y[j])
        if size > largest:
            largest = size
    cost = 0.0
    for j in range(work.y.shape[0]):
        if rows.thresholds[j] == 0.0:
            row = rows.A[j]
            if rows.root.shape[0] > 0:
                np.dot(rows.A[j], rows.root, work.turned)
                row = work.turned
            square = dot(row, row)
            alone = abs(dot(rows.c, row)) / square if square > 0.0 else 0.0
            cost += abs(shrink(work.seen[j], 0.0, rows.positive)) * (largest + alone)
    return cost


@kernel(fast=True)
def restricted_gap(rows: Rows, work: Work, at: Point, u: Vector) -> tuple[float, float]:
    """Primal value and gap, on the working rows alone, of w = keep y and u."""
    radius, thresholds = rows.radius, rows.thresholds
    l1 = 0.0
    for j in range(work.y.shape[0]):
        l1 += thresholds[j] * abs(work.y[j])
    square = rows.s * rows.s
    for i in range(u.shape[0]):
        rest = rows.c[i] - at.keep * work.fit[i]
        square += rest * rest
    inner = dot(rows.c, u)
    length = np.sqrt(dot(u, u))
    scale, over = 1.0, 0.0
    if rows.squared and radius > 0.0:
        for j in range(work.y.shape[0]):
            beyond = shrink(work.seen[j], thresholds[j], rows.positive)
            over += beyond * beyond
        over *= 0.5 / (radius * radius)
    else:
        largest = best_on_ray(inner, length, rows.s, rows.squared)
        scale = feasible_scale(
            work.seen,
            thresholds,
            1.0,
            radius,
            rows.positive,
            largest,
            radius == 0.0,
            work.buffer,
        )
    size = radius * at.keep * at.norm
    length *= scale
    if rows.squared:
        primal = 0.5 * (square + size * size) + at.keep * l1
        dual = scale * inner - 0.5 * length * length + 0.5 * rows.s * rows.s - over
    else:
        primal = np.sqrt(square) + size + at.keep * l1
        dual = scale * inner
        if length < 1.0:
            dual += rows.s * np.sqrt(1.0 - length * length)
    if radius == 0.0:
        dual -= forbidden_part(rows, work, at.keep)
    return primal, primal - dual


@kernel()
def gather_changed(A: Matrix, y: Vector, member: Mask, sign: float, rows: Matrix) -> int:
    """Copy the rows of A that join the members (sign 1) or leave them (-1) to the front of `rows`.

    Returns their number.
    """
    count = 0
    for j in range(A.shape[0]):
        now = y[j] != 0.0
        if now != member[j] and now == (sign > 0.0):
            copy_to(A[j], rows[count])
            count += 1
    return count


@kernel()
def update_gram(
    A: Matrix, y: Vector, member: Mask, gram: Matrix, rows: Matrix, square: Matrix, updates: int
) -> int:
    """Bring gram = sum of a_j a_j' over the rows with y_j != 0 up to date.

    If few rows entered or left, only these are added or subtracted. `rows` (n, k) and `square`
    (k, k) are scratch. Returns the number of updates since the sum was made anew.
    """
    n = A.shape[0]
    changed = 0
    active = 0
    for j in range(n):
        now = y[j] != 0.0
        active += now
        changed += now != member[j]
    if changed == 0 and updates <= GRAM_UPDATES:
        return updates
    if updates >= GRAM_UPDATES or 2 * changed >= active:
        updates = -1
        for j in range(n):
            member[j] = False
        for i in range(gram.shape[0]):
            for j in range(gram.shape[0]):
                gram[i, j] = 0.0
    for sign in (1.0, -1.0):
        count = gather_changed(A, y, member, sign, rows)
        if count > 0:
            np.dot(rows[:count].T, rows[:count], square)
            for i in range(gram.shape[0]):
                for j in range(gram.shape[0]):
                    gram[i, j] += sign * square[i, j]
    for j in range(n):
        member[j] = y[j] != 0.0
    return updates + 1


@kernel()
def begin(rows: Rows, work: Work, u: Vector, w: Vector) -> None:
    """Compute A u and the residual of w. Sets: seen, fit, x0."""
    see(rows, u, work.turned, work.seen)
    combine(rows, w, work.turned, work.fit)
    for i in range(u.shape[0]):
        work.x0[i] = rows.c[i] - work.fit[i]


@kernel(fast=True)
def evaluate(rows: Rows, work: Work, sigma: float, tau: float, u: Vector, w0: Vector) -> Point:
    """Evaluate the step function and its gradient at u. Sets: y, fit, xhat, x, grad."""
    y, fit, x = work.y, work.fit, work.x
    square = 0.0
    for j in range(y.shape[0]):
        y[j] = shrink(work.v[j], work.scaled[j], rows.positive)
        square += y[j] * y[j]
    norm = np.sqrt(square)
    keep = group_shrinkage(norm, sigma, rows.radius, rows.squared)
    combine(rows, y, work.turned, fit)
    size = 0.0
    for i in range(u.shape[0]):
        work.xhat[i] = work.x0[i] + tau * u[i]
        size += work.xhat[i] * work.xhat[i]
    rho = loss_prox_length(np.sqrt(size), rows.s, tau, rows.squared)
    moved_x = 0.0
    for i in range(u.shape[0]):
        x[i] = rho / (rho + tau) * work.xhat[i]
        work.grad[i] = rows.c[i] - x[i] - keep * fit[i]
        moved = x[i] - work.x0[i]
        moved_x += moved * moved
    moved_w = 0.0
    for j in range(y.shape[0]):
        moved = keep * y[j] - w0[j]
        moved_w += moved * moved
    return Point(norm, keep, rho, moved_w, moved_x)


@kernel(fast=True)
def newton_direction(rows: Rows, work: Work, at: Point, sigma: float, tau: float) -> None:
    """Solve H d = grad. Sets: H (its Cholesky factor), d, step.

    H = sigma keep R_S'R_S + (dyad of the group shrinkage) + (dyad of the loss) + multiple of I
    """
    H, x, fit, rho = work.H, work.x, work.fit, at.rho
    on_x = 0.0
    on_fit = 0.0
    if not rows.squared:
        if rho > 0.0:
            bend = 1.0 - dot(x, x) * tau / ((rho + tau) * rho * rho)
            bend = bend if bend > 1e-300 else 1e-300
            on_x = tau * tau / ((rho + tau) * (rho + tau) * rho * bend)
        if at.keep > 0.0 and at.norm > 0.0:
            on_fit = sigma * (1.0 - at.keep) / (at.norm * at.norm)
    on_identity = tau * rho / (rho + tau) + DAMPING * np.sqrt(dot(work.grad, work.grad))
    gram = work.gram
    if rows.root.shape[0] > 0:
        np.dot(gram.T, rows.root, work.square)  # gram is symmetric
        np.dot(rows.root.T, work.square, H)
        gram = H
    # Coordinates of very different size keep their digits where the diagonal is one.
    unit, scaled_grad = work.square[0], work.turned
    for i in range(H.shape[0]):
        for j in range(i + 1):
            H[i, j] = sigma * at.keep * gram[i, j] + on_fit * fit[i] * fit[j] + on_x * x[i] * x[j]
        H[i, i] += on_identity
        unit[i] = 1.0 / np.sqrt(H[i, i]) if H[i, i] > 0.0 else 1.0
        scaled_grad[i] = unit[i] * work.grad[i]
    for i in range(H.shape[0]):
        for j in range(i):
            H[i, j] *= unit[i] * unit[j]
        H[i, i] = 1.0 + 1e-14  # rounding
    cholesky_in_place(H)
    cholesky_solve(H, scaled_grad, work.d)
    for i in range(H.shape[0]):
        work.d[i] *= unit[i]
    see(rows, work.d, work.turned, work.step)
    for j in range(work.step.shape[0]):
        work.step[j] *= sigma


@kernel(fast=True)
def slope_along(rows: Rows, work: Work, sigma: float, tau: float, t: float) -> float:
    """Slope in t of the convex step function at u + t d."""
    square = 0.0
    cross = 0.0
    for j in range(work.v.shape[0]):
        y = shrink(work.v[j] + t * work.step[j], work.scaled[j], rows.positive)
        square += y * y
        cross += y * work.step[j]
    keep = group_shrinkage(np.sqrt(square), sigma, rows.radius, rows.squared)
    size = 0.0
    along = 0.0
    for i in range(work.d.shape[0]):
        x = work.xhat[i] + t * tau * work.d[i]
        size += x * x
        along += x * work.d[i]
    rho = loss_prox_length(np.sqrt(size), rows.s, tau, rows.squared)
    return keep * cross / sigma + rho / (rho + tau) * along - dot(rows.c, work.d)


@kernel()
def line_search(rows: Rows, work: Work, sigma: float, tau: float) -> float:
    """Step length: 1, unless the step function rises there far more steeply than it fell.

    In that case a length at which the slope is at most 0.3 times that of the start.
    """
    start = dot(work.grad, work.d)
    t = 1.0
    slope = slope_along(rows, work, sigma, tau, t)
    if slope <= TOO_STEEP * start:
        return t
    low, high, at_low, at_high = 0.0, t, -start, slope
    for _ in range(20):
        width = high - low
        t = low - at_low * width / (at_high - at_low)
        if t < low + 0.1 * width:
            t = low + 0.1 * width
        elif t > high - 0.1 * width:
            t = high - 0.1 * width
        slope = slope_along(rows, work, sigma, tau, t)
        if abs(slope) <= 0.3 * start:
            break
        if slope < 0.0:
            low, at_low = t, slope
        else:
            high, at_high = t, slope
    return t


@kernel()
def first_step_length(rows: Rows, work: Work, size: float) -> float:
    """Sigma of the first outer step: a multiple of the length of an exact gradient step.

    `size` is the length of the response, or 1 for the squared loss. Sets: v, grad, as scratch.
    """
    n, k = rows.A.shape
    over, back = work.v, work.grad
    for j in range(n):
        over[j] = shrink(work.seen[j], rows.thresholds[j], rows.positive)
    combine(rows, over, work.turned, back)
    curvature = dot(back, back)
    if curvature > 0.0:
        return FIRST_SIGMA * size * dot(over, over) / curvature
    # No row is active yet: a step that fits the mean row instead.
    total = 0.0
    for j in range(n):
        total += dot(rows.A[j], rows.A[j])
    if rows.root.shape[0] > 0:
        square = 0.0
        for i in range(k):
            square += dot(rows.root[i], rows.root[i])
        total *= square / k
    return FIRST_SIGMA * size * n / (total if total > 1e-300 else 1e-300)


@kernel(fast=True)
def step_is_good(at: Point, work: Work, sigma: float, tau: float, floor: float) -> bool:
    """Whether the error of an unfinished step is no larger than the progress it made."""
    miss = dot(work.grad, work.grad)
    error = 2.0 * np.sqrt(miss)
    if miss < 2.0 * at.rho * error:
        error = miss / (2.0 * at.rho)
    error += miss / (2.0 * tau)
    progress = at.moved_x / (2.0 * tau) + at.moved_w / (2.0 * sigma)
    return error <= progress or error <= floor


@kernel()
def minimise_step(
    rows: Rows,
    work: Work,
    sigma: float,
    tau: float,
    tol: float,
    floor: float,
    patience: int,
    u: Vector,
    w0: Vector,
    updates: int,
) -> tuple[Point, float, int, int, int]:
    """Newton on one proximal step; moves u. Returns the point, gap, steps, end and updates.

    The end is 0 when the step is good, 1 when the whole instance is solved, 2 at the step limit.
    It is solved where the gap is `tol` of its objective, or of `floor` if that is larger.
    """
    for j in range(work.v.shape[0]):
        work.v[j] = w0[j] + sigma * work.seen[j]
        work.scaled[j] = sigma * rows.thresholds[j]
    steps = 0
    while True:
        at = evaluate(rows, work, sigma, tau, u, w0)
        primal, gap = restricted_gap(rows, work, at, u)
        target = tol * (primal if primal > floor else floor)
        if gap <= target or not np.isfinite(gap):
            return at, gap, steps, 1, updates
        if steps > 0 and step_is_good(at, work, sigma, tau, 0.01 * target):
            return at, gap, steps, 0, updates
        if steps >= patience:
            return at, gap, steps, 2, updates
        updates = update_gram(
            rows.A, work.y, work.member, work.gram, work.rows, work.square, updates
        )
        newton_direction(rows, work, at, sigma, tau)
        t = line_search(rows, work, sigma, tau)
        for i in range(u.shape[0]):
            u[i] += t * work.d[i]
        for j in range(work.v.shape[0]):
            work.v[j] += t * work.step[j]
            work.seen[j] += t * work.step[j] / sigma
        steps += 1


@kernel()
def solve_instance(
    rows: Rows, work: Work, tol: float, max_steps: int, u: Vector, w: Vector
) -> tuple[float, int]:
    """Solve one instance on its working rows; u (k,) and w (n,) change in place.

    Stops at a restricted relative gap of `tol`, or after about `max_steps` Newton steps.
    `work` comes from :func:`scratch_for`. Returns the gap and the steps spent.
    """
    begin(rows, work, u, w)
    square = dot(rows.c, rows.c) + rows.s * rows.s
    size = 1.0 if rows.squared else np.sqrt(square)
    floor = NEGLIGIBLE * (0.5 * square if rows.squared else size)
    sigma = first_step_length(rows, work, size)
    tau = FIRST_TAU * size
    # With plain constants, Numba would compile the whole step a second time for them.
    updates, patience = np.int64(GRAM_UPDATES + 1), np.int64(HARD_STEPS)
    steps, gap_before = 0, np.inf
    while True:
        at, gap, spent, end, updates = minimise_step(
            rows, work, sigma, tau, tol, floor, patience, u, w, updates
        )
        steps += spent
        done = end == 1 or steps >= max_steps
        if end == 2 and not done and gap > 0.3 * gap_before:
            # The step is too hard: try a shorter one, with a higher limit.
            sigma /= SETBACK
            patience *= 2
            continue
        for j in range(w.shape[0]):
            w[j] = at.keep * work.y[j]
        if done:
            return gap, steps
        for i in range(u.shape[0]):
            work.x0[i] = rows.c[i] - at.keep * work.fit[i]
        gap_before, patience = gap, np.int64(HARD_STEPS)
        if spent <= EASY_STEPS:
            sigma *= GROWTH
        elif spent >= HARD_STEPS - 2:
            sigma /= 1.5
