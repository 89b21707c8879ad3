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

from typing import NamedTuple

import numpy as np

from sketchlasso.kernels.compiling import IndexMatrix, Indices, Matrix, Vector, kernel
from sketchlasso.types import FloatArray, IntArray

# A column does not enter if at most this share of its squared length lies outside the span of the
# active columns.
DEPENDENT = 1e-9
# Where C is this share of ||y||^2 or less, it is rounding: the active columns explain all of y.
VANISHED = 1e-9
# Correlations below this share of ||x_j|| ||y|| are rounding: the column never enters.
BLIND = 1e-12
# A start is on the path where it violates no threshold by more than this share.
ON_PATH = 1e-6


# Rows of the arrays of columns: v_j = x_j'y, the penalty factor, the correlation below which only
# rounding is left (inf for a column that cannot enter), the correlation at lambda = 0, and its
# change with lambda.
V, FACTOR, BLIND_AT, AT_ZERO, PER_LAMBDA = range(5)
# Rows of the arrays of active columns: f_j sign_j, b and z.
SLOPE, FIT, MOVE = range(3)


class GramPath(NamedTuple):
    """The problem of a walk, and its face. Each array adds compile time, so there are few.

    G (c, c) is the Gram matrix, of which the leading (p, p) part is used; `columns` (5, p) has the
    rows named above. The face has L (most, most), the Cholesky factor of the Gram matrix of the
    active columns, `active` (most,) and `parts` (3, most), whose rows are named above; the first
    entries of them are in use. `total` is ||y||^2. With `squared` penalties are lambdas.
    """

    G: Matrix
    columns: Matrix
    L: Matrix
    active: Indices
    parts: Matrix
    total: float
    positive: bool
    squared: bool


class Solutions(NamedTuple):
    """Arrays for solutions: that of penalty i is in ``indices[i, :counts[i]]`` and ``values``.

    Shapes are (a, most), (a, most), (a,) and (a, 5). ``facts[i]`` holds lambda, ||r||^2, y'r, the
    largest |x_j'r| / f_j and sum_j f_j |w_j|, unless a walk says otherwise.
    """

    indices: IndexMatrix
    values: Matrix
    counts: Indices
    facts: Matrix


def blank_solutions(count: int, most: int, facts: int = 5) -> Solutions:
    """Space for the solutions of `count` penalties with at most `most` active columns."""
    return Solutions(
        np.empty((count, most), dtype=np.int64),
        np.empty((count, most)),
        np.zeros(count, dtype=np.int64),
        np.empty((count, facts)),
    )


def blank_face(most: int) -> tuple[FloatArray, IntArray, FloatArray]:
    """Space for a face of at most `most` columns: L, `active` and `parts` of a path."""
    return np.zeros((most, most)), np.zeros(most, dtype=np.int64), np.zeros((3, most))


def column_rows(v: FloatArray, factor: FloatArray) -> FloatArray:
    """The `columns` (5, p) of a path with v = X'y (p,) and penalty factors (p,) > 0."""
    columns = np.empty((5, len(v)))
    columns[V], columns[FACTOR] = v, factor
    return columns


@kernel(fast=True)
def append_column(G: Matrix, L: Matrix, active: Indices, count: int, j: int) -> bool:
    """Extend the Cholesky factor by column j; False if it depends on the others."""
    entries, line = G[j], L[count]
    square = entries[j]
    left = square
    for i in range(count):
        value, row = entries[active[i]], L[i]
        for k in range(i):
            value -= row[k] * line[k]
        value /= row[i]
        line[i] = value
        left -= value * value
    if not left > DEPENDENT * square:
        return False
    line[count] = np.sqrt(left)
    return True


@kernel()
def remove_column(L: Matrix, active: Indices, slopes: Vector, count: int, position: int) -> None:
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
            row = L[r]
            a = row[i]
            b = row[i + 1]
            row[i] = cosine * a + sine * b
            row[i + 1] = cosine * b - sine * a


@kernel(fast=True)
def solve_face(
    G: Matrix, columns: Matrix, L: Matrix, active: Indices, parts: Matrix, count: int
) -> tuple[float, float]:
    """Write b, z, v - G_A b and G_A z of a face; returns v_A'b and E."""
    v, at_zero, per_lambda = columns[V], columns[AT_ZERO], columns[PER_LAMBDA]
    slopes, b, z = parts[SLOPE], parts[FIT], parts[MOVE]
    explained = 0.0
    E = 0.0
    for i in range(count):
        fit, move, row = v[active[i]], slopes[i], L[i]
        for j in range(i):
            fit -= row[j] * b[j]
            move -= row[j] * z[j]
        fit /= row[i]
        move /= row[i]
        b[i] = fit
        z[i] = move
        explained += fit * fit
        E += move * move
    for i in range(count - 1, -1, -1):
        row = L[i]
        fit = b[i] / row[i]
        move = z[i] / row[i]
        b[i] = fit
        z[i] = move
        for j in range(i):
            b[j] -= row[j] * fit
            z[j] -= row[j] * move
    for j in range(len(v)):
        at_zero[j] = v[j]
        per_lambda[j] = 0.0
    # Two lines of G at a time: half as many passes over the sums.
    for i in range(0, count, 2):
        row, fit, move = G[active[i]], b[i], z[i]
        other, fit_other, move_other = row, 0.0, 0.0
        if i + 1 < count:
            other, fit_other, move_other = G[active[i + 1]], b[i + 1], z[i + 1]
        for j in range(len(v)):
            at_zero[j] -= fit * row[j] + fit_other * other[j]
            per_lambda[j] += move * row[j] + move_other * other[j]
    return explained, E


@kernel()
def entering(
    at_zero: Vector,
    per_lambda: Vector,
    factor: Vector,
    blind: Vector,
    positive: bool,
    left: int,
    left_sign: float,
) -> tuple[float, int, float]:
    """Largest lambda at which an inactive column reaches its threshold; the column, its sign.

    Column j reaches it where |at_zero_j + lambda per_lambda_j| = lambda f_j. `left` (-1: none) has
    just left with `left_sign`: it is at its threshold and moves away from it.
    """
    best = 0.0
    column = -1
    sign = 1.0
    for j in range(len(factor)):
        rest = at_zero[j]
        slope = per_lambda[j]
        side = 1.0
        if rest < 0.0 and not positive:
            rest = -rest
            slope = -slope
            side = -1.0
        room = factor[j] - slope
        if rest <= blind[j] or (j == left and side == left_sign):
            continue
        if room > 0.0 and rest > best * room:
            best = rest / room
            column = j
            sign = side
    return best, column, sign


@kernel()
def leaving(
    active: Indices,
    slopes: Vector,
    fit: Vector,
    moves: Vector,
    count: int,
    now: float,
    entered: int,
) -> tuple[float, int]:
    """Largest lambda below `now` at which an active coefficient reaches zero; its position.

    Columns without a penalty have slope 0 and stay. Returns a position of -2 where the column that
    has just entered would move to the wrong side.
    """
    best = 0.0
    position = -1
    for i in range(count):
        move = moves[i]
        outward = move * slopes[i]  # > 0: |w_i| grows as lambda falls
        if active[i] == entered:
            if not outward > 0.0:
                return now, -2
        elif outward < 0.0:
            reached = fit[i] / move
            if reached > now:
                reached = now
            if reached > best:
                best = reached
                position = i
    return best, position


@kernel()
def smallest_alpha(low: float, C: float, E: float, squared: bool) -> float:
    """The penalty whose solution lies at the lower end of a segment."""
    if squared:
        return low
    if low == 0.0:
        return 0.0
    rho = np.sqrt(C + low * low * E)
    return low / rho if rho > 0.0 else np.inf


@kernel()
def lambda_of(low: float, high: float, C: float, E: float, alpha: float, squared: bool) -> float:
    """The lambda of a penalty whose solution lies on a segment."""
    lam = alpha
    if not squared:
        bend = 1.0 - alpha * alpha * E
        lam = alpha * np.sqrt(C / bend) if bend > 0.0 else high
    if lam < low:
        lam = low
    return lam if lam < high else high


@kernel(fast=True)
def worst_correlation(columns: Matrix, lam: float, positive: bool) -> float:
    """Largest |x_j'r| / f_j over the columns, one-sided where coefficients are >= 0."""
    factor, at_zero, per_lambda = columns[FACTOR], columns[AT_ZERO], columns[PER_LAMBDA]
    worst = 0.0
    for j in range(len(factor)):
        size = at_zero[j] + lam * per_lambda[j]
        if size < 0.0 and not positive:
            size = -size
        if size > worst * factor[j]:
            worst = size / factor[j]
    return worst


@kernel()
def write_solution(
    v: Vector,
    active: Indices,
    parts: Matrix,
    count: int,
    lam: float,
    indices: Indices,
    values: Vector,
) -> tuple[float, float]:
    """Write the solution of one lambda; returns y'(Xw) and sum_j f_j |w_j|."""
    fitted = 0.0
    l1 = 0.0
    for i in range(count):
        slope, column = parts[SLOPE, i], active[i]
        w = parts[FIT, i] - lam * parts[MOVE, i]
        # Rounding at a knot may leave a coefficient on the wrong side of zero.
        if not w * slope > 0.0:
            w = 0.0
        indices[i] = column
        values[i] = w
        fitted += w * v[column]
        l1 += w * slope
    return fitted, l1


@kernel()
def walk_gram(
    path: GramPath, count: int, level: float, alphas: Vector, out: Solutions
) -> tuple[np.int64, int, int, bool]:
    """Solutions at decreasing penalties from a point of the path.

    Returns the number of solutions, of knots and of active columns (-1 if the face is unusable),
    and whether the path ends in an exact fit: the coefficients of every smaller penalty are then b.

    The walk starts at the solution of lambda = `level` (inf: none), whose face holds `count`
    columns, with the columns that cannot enter barred. `alphas` (a,) decrease. Fewer than a
    solutions are found where the walk has to end.
    """
    G, columns, L, active, parts, total, positive, squared = path
    indices, values, counts, facts = out
    v, factor, blind = columns[V], columns[FACTOR], columns[BLIND_AT]
    at_zero, per_lambda = columns[AT_ZERO], columns[PER_LAMBDA]
    slopes, fit, moves = parts[SLOPE], parts[FIT], parts[MOVE]
    # With plain constants, Numba would compile every callee for the constants as well.
    done, left, entered = np.int64(0), np.int64(-1), np.int64(-1)
    knots, high, left_sign, exact = 0, level, 0.0, False
    while count >= 0:
        explained, E = solve_face(G, columns, L, active, parts, count)
        C = total - explained
        if knots == 0 and level < np.inf:
            worst = worst_correlation(columns, level, positive)
            if not worst <= (1.0 + ON_PATH) * level:
                count = -1
                break
        enter, column, sign = entering(
            at_zero, per_lambda, factor, blind, positive, left, left_sign
        )
        leave, position = leaving(active, slopes, fit, moves, count, high, entered)
        low = max(min(enter, high), leave)
        # Where the active columns explain all of y, ||r|| = lambda sqrt(E): the whole face belongs
        # to one alpha, and the path goes on with smaller ones where a column leaves.
        saturated = not VANISHED * total < C
        if position == -2 or (saturated and (squared or low == 0.0)):
            exact = saturated and position == -1
            break
        least = np.inf if saturated else smallest_alpha(low, C, E, squared)
        while done < len(alphas) and alphas[done] >= least:
            lam = lambda_of(low, high, C, E, alphas[done], squared)
            fitted, l1 = write_solution(v, active, parts, count, lam, indices[done], values[done])
            counts[done] = count
            fact = facts[done]
            fact[0] = lam
            fact[1] = C + lam * lam * E
            fact[2] = total - fitted
            fact[3] = worst_correlation(columns, lam, positive)
            fact[4] = l1
            done += 1
        knots += 1
        if done == len(alphas) or low == 0.0 or (enter >= low and count == L.shape[0]):
            break
        high, left, entered = low, np.int64(-1), np.int64(-1)
        if enter >= low:
            blind[column] = np.inf
            if append_column(G, L, active, count, column):
                active[count] = column
                slopes[count] = sign * factor[column]
                entered = column
                count += 1
        else:
            left = active[position]
            left_sign = np.sign(slopes[position])
            blind[left] = BLIND * np.sqrt(G[left, left] * total)
            remove_column(L, active, slopes, count, position)
            count -= 1
    return done, knots, count, exact
