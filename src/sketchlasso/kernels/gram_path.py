"""The path of one problem, given by the Gram matrix of its columns, knot by knot.

Without a radius the solution of a penalty alpha is that of the LASSO with lambda = alpha ||r||,
and piecewise linear in lambda (see :mod:`sketchlasso.kernels.homotopy`, which walks the same
path by an orthonormal basis). On a face, active columns A with signs, let v = X'y and

    G_AA b = v_A,    G_AA z = (f sign)_A

    w_A = b - lambda z,    X'r = (v - G_A b) + lambda G_A z,    ||r||^2 = C + lambda^2 E

with C = ||y||^2 - v_A'b and E = z'(f sign)_A. A knot costs |A| p operations for the correlations
and |A|^2 for the Cholesky factor, a fraction of the cost of the basis while few columns are
active. Products with G square the condition number of the columns, so the walk ends where columns
depend on each other; other solvers continue from there. It also ends in an exact fit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sketchlasso.kernels.compiling import kernel
from sketchlasso.kernels.dense import back_substitute
from sketchlasso.kernels.homotopy import smallest_alpha

# A column does not enter if at most this share of its squared length lies outside the span of the
# active columns.
DEPENDENT = 1e-9
# Where C is this share of ||y||^2 or less, it is rounding: the active columns explain all of y.
VANISHED = 1e-9
# Correlations below this share of ||x_j|| ||y|| are rounding: the column never enters.
BLIND = 1e-12
# A start is on the path where it violates no threshold by more than this share.
ON_PATH = 1e-6


class GramProblem(NamedTuple):
    """The problem of a walk.

    G (c, c) is the Gram matrix, of which the leading (p, p) part is used, v = X'y (p,), total =
    ||y||^2, and `factor` (p,) > 0 holds the penalty factors. With `squared` penalties are lambdas.
    """

    G: Any
    v: Any
    total: float
    factor: Any
    positive: bool
    squared: bool


class GramFace(NamedTuple):
    """The active columns and quantities computed from them; the first `count` entries are in use.

    L (most, most) is the Cholesky factor of their Gram matrix; `active`, `slopes` (f_j sign_j), b
    and z are (most,). The others are (p,): correlations at lambda = 0, their change with lambda,
    columns that cannot enter, and the correlation below which only rounding is left.
    """

    L: Any
    active: Any
    slopes: Any
    b: Any
    z: Any
    at_zero: Any
    per_lambda: Any
    barred: Any
    blind: Any


class Solutions(NamedTuple):
    """Arrays for solutions: that of penalty i is in ``indices[i, :counts[i]]`` and ``values``.

    Shapes are (a, most), (a, most), (a,) and (a, 5). ``facts[i]`` holds lambda, ||r||^2, y'r, the
    largest |x_j'r| / f_j and sum_j f_j |w_j|.
    """

    indices: Any
    values: Any
    counts: Any
    facts: Any


def blank_solutions(count: int, most: int) -> Solutions:
    """Space for the solutions of `count` penalties with at most `most` active columns."""
    return Solutions(
        np.empty((count, most), dtype=np.int64),
        np.empty((count, most)),
        np.zeros(count, dtype=np.int64),
        np.empty((count, 5)),
    )


@kernel(fast=True, inner=True)
def forward_substitute(L: Any, count: Any, x: Any) -> Any:
    """Overwrite x by the solution of L x = x, with `count` rows and columns; returns ||x||^2."""
    square = 0.0
    for i in range(count):
        value = x[i]
        for j in range(i):
            value -= L[i, j] * x[j]
        value /= L[i, i]
        x[i] = value
        square += value * value
    return square


@kernel(inner=True)
def append_column(L: Any, count: Any, G: Any, active: Any, j: Any) -> Any:
    """Extend the Cholesky factor by column j; False if it depends on the others."""
    line = L[count]
    for i in range(count):
        line[i] = G[j, active[i]]
    left = G[j, j] - forward_substitute(L, count, line)
    if not left > DEPENDENT * G[j, j]:
        return False
    line[count] = np.sqrt(left)
    return True


@kernel(inner=True)
def remove_column(L: Any, count: Any, position: Any, active: Any, slopes: Any) -> None:
    """Remove the active column at a position from the face; the last row of L becomes free."""
    last = count - 1
    for i in range(position, last):
        active[i] = active[i + 1]
        slopes[i] = slopes[i + 1]
        for j in range(i + 2):
            L[i, j] = L[i + 1, j]
    for i in range(position, last):
        cosine = L[i, i]
        sine = L[i, i + 1]
        size = np.sqrt(cosine * cosine + sine * sine)
        cosine /= size
        sine /= size
        for r in range(i, last):
            a = L[r, i]
            b = L[r, i + 1]
            L[r, i] = cosine * a + sine * b
            L[r, i + 1] = cosine * b - sine * a


@kernel(fast=True, inner=True)
def solve_face(
    G: Any,
    v: Any,
    L: Any,
    active: Any,
    slopes: Any,
    count: Any,
    b: Any,
    z: Any,
    at_zero: Any,
    per_lambda: Any,
) -> Any:
    """Write b, z, v - G_A b and G_A z (p,) of a face; returns v_A'b and E."""
    for i in range(count):
        b[i] = v[active[i]]
        z[i] = slopes[i]
    explained = forward_substitute(L, count, b)
    E = forward_substitute(L, count, z)
    back_substitute(L, count, b)
    back_substitute(L, count, z)
    for j in range(v.shape[0]):
        at_zero[j] = v[j]
        per_lambda[j] = 0.0
    for i in range(count):
        row = G[active[i]]
        fit = b[i]
        move = z[i]
        for j in range(v.shape[0]):
            at_zero[j] -= fit * row[j]
            per_lambda[j] += move * row[j]
    return explained, E


@kernel(inner=True)
def entering(
    at_zero: Any,
    per_lambda: Any,
    factor: Any,
    barred: Any,
    blind: Any,
    positive: Any,
    left: Any,
    left_sign: Any,
) -> Any:
    """Largest lambda at which an inactive column reaches its threshold; the column, its sign."""
    best = 0.0
    column = -1
    sign = 1.0
    for j in range(factor.shape[0]):
        rest = at_zero[j]
        slope = per_lambda[j]
        side = 1.0
        if rest < 0.0 and not positive:
            rest = -rest
            slope = -slope
            side = -1.0
        room = factor[j] - slope
        if rest <= blind[j] or barred[j] or (j == left and side == left_sign):
            continue
        if room > 0.0 and rest > best * room:
            best = rest / room
            column = j
            sign = side
    return best, column, sign


@kernel(inner=True)
def leaving(b: Any, z: Any, slopes: Any, active: Any, count: Any, now: Any, entered: Any) -> Any:
    """Largest lambda below `now` at which an active coefficient reaches zero; its position.

    Returns a position of -2 where the column that has just entered would move to the wrong side.
    """
    best = 0.0
    position = -1
    for i in range(count):
        outward = z[i] * slopes[i]  # > 0: |w_i| grows as lambda falls
        if active[i] == entered:
            if not outward > 0.0:
                return now, -2
        elif outward < 0.0:
            reached = b[i] / z[i]
            if reached > now:
                reached = now
            if reached > best:
                best = reached
                position = i
    return best, position


@kernel(inner=True)
def lambda_of(low: Any, high: Any, C: Any, E: Any, alpha: Any, squared: Any) -> Any:
    """The lambda of a penalty whose solution lies on a segment."""
    lam = alpha
    if not squared:
        bend = 1.0 - alpha * alpha * E
        lam = alpha * np.sqrt(C / bend) if bend > 0.0 else high
    if lam < low:
        lam = low
    return lam if lam < high else high


@kernel(fast=True, inner=True)
def worst_correlation(at_zero: Any, per_lambda: Any, factor: Any, lam: Any, positive: Any) -> Any:
    """Largest |x_j'r| / f_j over the columns, one-sided where coefficients are >= 0."""
    worst = 0.0
    for j in range(factor.shape[0]):
        size = at_zero[j] + lam * per_lambda[j]
        if size < 0.0 and not positive:
            size = -size
        if size > worst * factor[j]:
            worst = size / factor[j]
    return worst


@kernel(inner=True)
def begin_face(
    G: Any, factor: Any, L: Any, active: Any, slopes: Any, support: Any, signs: Any
) -> Any:
    """Factor the face of a support with its signs; returns its columns, -1 if they depend."""
    for i in range(support.shape[0]):
        active[i] = support[i]
        slopes[i] = signs[i] * factor[support[i]]
        if not append_column(L, i, G, active, support[i]):
            return -1
    return support.shape[0]


@kernel(inner=True)
def bar_columns(G: Any, total: Any, active: Any, count: Any, barred: Any, blind: Any) -> None:
    """Bar the active columns and those of length zero from entering."""
    for j in range(barred.shape[0]):
        square = G[j, j]
        barred[j] = not square > 0.0
        blind[j] = BLIND * np.sqrt(square * total) if square > 0.0 else 0.0
    for i in range(count):
        barred[active[i]] = True


@kernel(inner=True)
def write_solution(
    b: Any,
    z: Any,
    slopes: Any,
    active: Any,
    count: Any,
    v: Any,
    total: Any,
    lam: Any,
    indices: Any,
    values: Any,
    facts: Any,
) -> None:
    """Write the solution of one lambda, and three of its facts: lambda, y'r, sum_j f_j |w_j|."""
    inner = total
    l1 = 0.0
    for i in range(count):
        w = b[i] - lam * z[i]
        # Rounding at a knot may leave a coefficient on the wrong side of zero.
        if not w * slopes[i] > 0.0:
            w = 0.0
        indices[i] = active[i]
        values[i] = w
        inner -= w * v[active[i]]
        l1 += w * slopes[i]
    facts[0] = lam
    facts[2] = inner
    facts[4] = l1


@kernel()
def walk_gram(
    problem: Any, face: Any, begun: Any, support: Any, signs: Any, level: Any, alphas: Any, out: Any
) -> Any:
    """Solutions at decreasing penalties from a point of the path.

    Returns the number of solutions, of knots and of active columns (-1 if the face is unusable),
    and whether the path ends in an exact fit: the coefficients of every smaller penalty are then b.

    The walk starts at the solution of lambda = `level` (inf: none) with a support and signs (s,);
    if `begun` >= 0 the face already holds that many columns. `alphas` (a,) decrease. Fewer than a
    solutions are found where the walk has to end.
    """
    G, v, total, factor, positive, squared = problem
    L, active, slopes, b, z, at_zero, per_lambda, barred, blind = face
    indices, values, counts, facts = out
    count = begun if begun >= 0 else begin_face(G, factor, L, active, slopes, support, signs)
    bar_columns(G, total, active, count, barred, blind)
    # With plain constants, Numba would compile every callee for the constants as well.
    done, left, entered = np.int64(0), np.int64(-1), np.int64(-1)
    knots, high, left_sign, exact = 0, level, 0.0, False
    while count >= 0:
        explained, E = solve_face(G, v, L, active, slopes, count, b, z, at_zero, per_lambda)
        C = total - explained
        if knots == 0 and level < np.inf:
            worst = worst_correlation(at_zero, per_lambda, factor, level, positive)
            if not worst <= (1.0 + ON_PATH) * level:
                count = -1
                break
        enter, column, sign = entering(
            at_zero, per_lambda, factor, barred, blind, positive, left, left_sign
        )
        leave, position = leaving(b, z, slopes, active, count, high, entered)
        low = enter if enter < high else high
        low = leave if leave > low else low
        # Where the active columns explain all of y, ||r|| = lambda sqrt(E): the whole face belongs
        # to one alpha, and the path goes on with smaller ones where a column leaves.
        saturated = not VANISHED * total < C
        if position == -2 or (saturated and (squared or low == 0.0)):
            exact = saturated and position == -1
            break
        least = np.inf if saturated else smallest_alpha(low, C, E, squared)
        while done < len(alphas) and alphas[done] >= least:
            lam = lambda_of(low, high, C, E, alphas[done], squared)
            write_solution(
                b, z, slopes, active, count, v, total, lam, indices[done], values[done], facts[done]
            )
            counts[done] = count
            facts[done, 1] = C + lam * lam * E
            facts[done, 3] = worst_correlation(at_zero, per_lambda, factor, lam, positive)
            done += 1
        knots += 1
        if done == len(alphas) or low == 0.0 or (enter >= low and count == L.shape[0]):
            break
        high, left, entered = low, np.int64(-1), np.int64(-1)
        if enter >= low:
            barred[column] = True
            if append_column(L, count, G, active, column):
                active[count] = column
                slopes[count] = sign * factor[column]
                entered = column
                count += 1
        else:
            left = active[position]
            left_sign = np.sign(slopes[position])
            barred[left] = False
            remove_column(L, count, position, active, slopes)
            count -= 1
    return done, knots, count, exact
