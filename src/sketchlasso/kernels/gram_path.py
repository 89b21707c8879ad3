"""The path of one problem known by the Gram matrix of its columns, knot by knot.

Without a radius the solution of a penalty alpha is that of the LASSO with lambda = alpha ||r||,
and piecewise linear in lambda (see :mod:`sketchlasso.kernels.homotopy`, which walks the same
path by an orthonormal basis). On a face, active columns A with signs, let v = X'y and

    G_AA b = v_A,    G_AA z = (f sign)_A

    w_A = b - lambda z,    X'r = (v - G_A b) + lambda G_A z,    ||r||^2 = C + lambda^2 E

with C = ||y||^2 - v_A'b and E = z'(f sign)_A. A knot costs |A| p operations for the correlations
and |A|^2 for the Cholesky factor, which is a fraction of what the basis takes while few columns
are active. Products with G square the condition of the columns, so the walk ends where columns
depend on each other or little is left of y; other solvers go on from there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sketchlasso.kernels.compiling import kernel
from sketchlasso.kernels.dense import back_substitute, copy_to, dot
from sketchlasso.kernels.homotopy import Segment, smallest_alpha

# A column of which this share or less (of its squared length) lies outside the span of the
# active columns is not trusted to enter.
DEPENDENT = 1e-9
# The walk ends where this share or less of ||y||^2 is left.
VANISHED = 1e-9
# Correlations below this share of ||x_j|| ||y|| are rounding: the column never enters.
BLIND = 1e-12
# A start is on the path where it violates no threshold by more than this share.
ON_PATH = 1e-6


class GramProblem(NamedTuple):
    """What the walk knows of its problem.

    G (c, c) is the Gram matrix, of which the leading (p, p) part counts, v = X'y (p,), total =
    ||y||^2, and `factor` (p,) > 0 holds the penalty factors. With `squared` penalties are lambdas.
    """

    G: Any
    v: Any
    total: float
    factor: Any
    positive: bool
    squared: bool


class GramFace(NamedTuple):
    """The active columns, and what follows from them; the first `count` entries are in use.

    L (most, most) is the Cholesky factor of their Gram matrix; `active`, `slopes` (f_j sign_j), b
    and z are (most,). The others are (p,): correlations at lambda = 0, their change with lambda,
    columns that cannot enter, and the correlation below which a column sees only rounding.
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
    """Where solutions go: those of penalty i to ``indices[i, :counts[i]]`` and ``values``.

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
def forward_substitute(L: Any, count: Any, x: Any) -> None:
    """Overwrite x by the solution of L x = x, L (count, count) lower triangular."""
    for i in range(count):
        x[i] = (x[i] - dot(L[i, :i], x[:i])) / L[i, i]


@kernel(inner=True)
def append_column(L: Any, count: Any, G: Any, active: Any, j: Any) -> Any:
    """Extend the Cholesky factor by column j; False (and no change) if it depends on the others."""
    line = np.empty(count)
    for i in range(count):
        line[i] = G[j, active[i]]
    forward_substitute(L, count, line)
    left = G[j, j] - dot(line, line)
    if not left > DEPENDENT * G[j, j]:
        return False
    copy_to(line, L[count])
    L[count, count] = np.sqrt(left)
    return True


@kernel(inner=True)
def remove_column(L: Any, count: Any, position: Any) -> None:
    """Take one column out of the Cholesky factor; the last row becomes free."""
    last = count - 1
    for i in range(position, last):
        copy_to(L[i + 1, : i + 2], L[i])
    for i in range(position, last):
        size = np.hypot(L[i, i], L[i, i + 1])
        cosine, sine = L[i, i] / size, L[i, i + 1] / size
        for r in range(i, last):
            a, b = L[r, i], L[r, i + 1]
            L[r, i], L[r, i + 1] = cosine * a + sine * b, cosine * b - sine * a


@kernel(fast=True, inner=True)
def see_face(
    G: Any, p: Any, v: Any, active: Any, count: Any, b: Any, z: Any, at_zero: Any, per_lambda: Any
) -> None:
    """Write v - G_A b and G_A z (p,)."""
    copy_to(v, at_zero)
    per_lambda[:] = 0.0
    for i in range(count):
        row, fit, move = G[active[i]], b[i], z[i]
        for j in range(p):
            at_zero[j] -= fit * row[j]
            per_lambda[j] += move * row[j]


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
    best, column, sign = 0.0, -1, 1.0
    for j in range(factor.shape[0]):
        if barred[j]:
            continue
        rest, slope, f = at_zero[j], per_lambda[j], factor[j]
        if rest > blind[j]:
            room = f - slope
            if room > 0.0 and rest > best * room and not (j == left and left_sign > 0.0):
                best, column, sign = rest / room, j, 1.0
        elif -rest > blind[j] and not positive:
            room = f + slope
            if room > 0.0 and -rest > best * room and not (j == left and left_sign < 0.0):
                best, column, sign = -rest / room, j, -1.0
    return best, column, sign


@kernel(inner=True)
def leaving(b: Any, z: Any, slopes: Any, active: Any, count: Any, now: Any, entered: Any) -> Any:
    """Largest lambda below `now` at which an active coefficient reaches zero; its position.

    Returns a position of -2 where the column that has just entered would move to the wrong side.
    """
    best, position = 0.0, -1
    for i in range(count):
        outward = z[i] * slopes[i]  # > 0: |w_i| grows as lambda falls
        if active[i] == entered:
            if not outward > 0.0:
                return now, -2
        elif outward < 0.0:
            reached = min(max(b[i] / z[i], 0.0), now)
            if reached > best:
                best, position = reached, i
    return best, position


@kernel(inner=True)
def lambda_of(segment: Any, alpha: Any, squared: Any) -> Any:
    """The lambda of a penalty whose solution lies on a segment."""
    lam = alpha
    if not squared:
        bend = 1.0 - alpha * alpha * segment.E
        lam = alpha * np.sqrt(segment.C / bend) if bend > 0.0 else segment.high
    return min(max(lam, segment.low), segment.high)


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
def begin_face(problem: Any, face: Any, support: Any, signs: Any) -> Any:
    """Factor the face of a support with its signs; how many columns, -1 where they depend."""
    count, G, L = support.shape[0], problem.G, face.L
    for i in range(count):
        face.active[i] = support[i]
        face.slopes[i] = signs[i] * problem.factor[support[i]]
        if not append_column(L, i, G, face.active, support[i]):
            return -1
    return count


@kernel(inner=True)
def bar_columns(problem: Any, face: Any, count: Any) -> None:
    """Bar the active columns and those of length zero from entering."""
    for j in range(problem.factor.shape[0]):
        square = problem.G[j, j]
        face.blind[j] = BLIND * np.sqrt(max(square, 0.0) * problem.total)
        face.barred[j] = not square > 0.0
    for i in range(count):
        face.barred[face.active[i]] = True


@kernel(inner=True)
def solve_face(problem: Any, face: Any, count: Any) -> Any:
    """Write b, z and the correlations of a face; returns C and E."""
    L, b, z = face.L, face.b, face.z
    for i in range(count):
        b[i], z[i] = problem.v[face.active[i]], face.slopes[i]
    forward_substitute(L, count, b)
    forward_substitute(L, count, z)
    C, E = problem.total - dot(b[:count], b[:count]), dot(z[:count], z[:count])
    back_substitute(L, count, b)
    back_substitute(L, count, z)
    p = problem.factor.shape[0]
    see_face(problem.G, p, problem.v, face.active, count, b, z, face.at_zero, face.per_lambda)
    return C, E


@kernel(inner=True)
def write_solution(
    problem: Any, face: Any, count: Any, segment: Any, alpha: Any, number: Any, out: Any
) -> None:
    """Write the solution of one penalty that lies on a segment."""
    lam = lambda_of(segment, alpha, problem.squared)
    inner, l1 = problem.total, 0.0
    for i in range(count):
        w = face.b[i] - lam * face.z[i]
        # Rounding at a knot may leave a coefficient on the wrong side of zero.
        w = w if w * face.slopes[i] > 0.0 else 0.0
        out.indices[number, i], out.values[number, i] = face.active[i], w
        inner -= w * problem.v[face.active[i]]
        l1 += w * face.slopes[i]
    out.counts[number] = count
    facts = out.facts[number]
    facts[0], facts[1], facts[2] = lam, segment.C + lam * lam * segment.E, inner
    facts[3] = worst_correlation(
        face.at_zero, face.per_lambda, problem.factor, lam, problem.positive
    )
    facts[4] = l1


@kernel(inner=True)
def drop_column(face: Any, count: Any, position: Any) -> None:
    """Let the active column at a position leave."""
    face.barred[face.active[position]] = False
    remove_column(face.L, count, position)
    for i in range(position, count - 1):
        face.active[i], face.slopes[i] = face.active[i + 1], face.slopes[i + 1]


@kernel()
def walk_gram(
    problem: Any, face: Any, begun: Any, support: Any, signs: Any, level: Any, alphas: Any, out: Any
) -> Any:
    """Solutions at decreasing penalties from a point of the path; how many, knots, active columns.

    The walk starts at the solution of lambda = `level` (inf: none) with a support and signs (s,);
    where `begun` >= 0 the face already holds its so many columns. `alphas` (a,) decrease. Fewer
    than a solutions are found where the walk has to end.
    """
    count = begun if begun >= 0 else begin_face(problem, face, support, signs)
    if count < 0:
        return 0, 0, -1
    bar_columns(problem, face, count)
    factor, positive = problem.factor, problem.positive
    # As plain constants, these would have every callee compiled for the constants as well.
    done, left, entered = np.int64(0), np.int64(-1), np.int64(-1)
    knots, high, left_sign = 0, level, 0.0
    while True:
        C, E = solve_face(problem, face, count)
        if knots == 0 and level < np.inf:
            worst = worst_correlation(face.at_zero, face.per_lambda, factor, level, positive)
            if not worst <= (1.0 + ON_PATH) * level:
                return 0, 0, -1
        if not VANISHED * problem.total < C:
            return done, knots, count
        enter, column, sign = entering(
            face.at_zero,
            face.per_lambda,
            factor,
            face.barred,
            face.blind,
            positive,
            left,
            left_sign,
        )
        leave, position = leaving(face.b, face.z, face.slopes, face.active, count, high, entered)
        if position == -2:
            return done, knots, count
        low = max(min(enter, high), leave)
        segment = Segment(low, high, C, E)
        while done < len(alphas) and alphas[done] >= smallest_alpha(segment, problem.squared):
            write_solution(problem, face, count, segment, alphas[done], done, out)
            done += 1
        knots += 1
        full = enter >= low and count == face.L.shape[0]
        if done == len(alphas) or low == 0.0 or full:
            return done, knots, count
        high, left, entered = low, np.int64(-1), np.int64(-1)
        if enter >= low:
            face.barred[column] = True
            if append_column(face.L, count, problem.G, face.active, column):
                face.active[count], face.slopes[count] = column, sign * factor[column]
                entered = column
                count += 1
        else:
            left, left_sign = face.active[position], np.sign(face.slopes[position])
            drop_column(face, count, position)
            count -= 1
