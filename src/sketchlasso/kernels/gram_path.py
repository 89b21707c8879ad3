"""The path of one problem, given by the Gram matrix of its columns, knot by knot.

Without a radius the solution of a penalty alpha is that of the LASSO with lambda = alpha ||r||,
and piecewise linear in lambda. On a face, active columns A with signs, let v = X'y and

    G_AA b = v_A,    G_AA z = (f sign)_A

    w_A = b - lambda z,    X'r = (v - G_A b) + lambda G_A z,    ||r||^2 = C + lambda^2 E

with C = ||y||^2 - v_A'b and E = z'(f sign)_A. A knot costs |A|^2 operations for the Cholesky factor
and |A| per column for the correlations. Only columns near their threshold are watched at every
knot; at every solution all columns are checked, and those to watch are chosen again. Products with
G square the condition number of the columns, so the walk ends where columns depend on each other;
another solver continues from there. It also ends in an exact fit.
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
# No threshold of a point on the path is violated by more than this share.
ON_PATH = 1e-6
# Columns are watched from this share of their threshold on, and chosen again where lambda has
# fallen by the second share since they were.
WATCHED = 0.7
REFRESHED = 0.85

# Rows of the arrays of columns: v_j = x_j'y, the penalty factor, the correlation below which only
# rounding is left (inf for a column that cannot enter), the correlation at lambda = 0, and its
# change with lambda.
V, FACTOR, BLIND_AT, AT_ZERO, PER_LAMBDA = range(5)
# Rows of the arrays of active columns: f_j sign_j, b and z.
SLOPE, FIT, MOVE = range(3)
# Entries of a place: lambda, the column that has just left (-1: none), its sign, the column that
# has just entered (-1: none).
LEVEL, LEFT, LEFT_SIGN, ENTERED = range(4)
# Why a walk ended: all penalties are solved or it can go no further, the fit is exact and stays the
# same for smaller penalties, knots remain, a column that was not watched is beyond its threshold.
ENDED, EXACT, MORE, MISSED = range(4)


class GramPath(NamedTuple):
    """The problem of a walk, and its face. Each array adds compile time, so there are few.

    G (c, c) is the Gram matrix, of which the leading (p, p) part is used; `columns` (5, p) has the
    rows named above, and `near` (5, p) the same of the watched columns, whose numbers are in
    `watch` (p,). The face has L (most, most), the Cholesky factor of the Gram matrix of the
    active columns, their lines of G at the watched columns (most, p), `active` (most,) and `parts`
    (3, most), whose rows are named above; the first entries of them are in use. `place` (4,) is
    where on the path it is. `total` is ||y||^2. With `squared` penalties are lambdas, with
    `narrow` only columns near their thresholds are watched.
    """

    G: Matrix
    columns: Matrix
    near: Matrix
    watch: Indices
    L: Matrix
    lines: Matrix
    active: Indices
    parts: Matrix
    place: Vector
    total: float
    positive: bool
    squared: bool
    narrow: bool


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


def gram_path(
    G: FloatArray,
    v: FloatArray,
    factor: FloatArray,
    most: int,
    total: float,
    positive: bool,
    squared: bool,
    narrow: bool,
) -> GramPath:
    """A path with v = X'y (p,) and penalty factors (p,) that begins at lambda = inf.

    Columns of length zero and those without a finite factor never enter. At most `most` columns
    are active.
    """
    p = len(v)
    columns = np.zeros((5, p))
    columns[V], columns[FACTOR] = v, factor
    squares = np.diagonal(G)[:p]
    columns[BLIND_AT] = BLIND * np.sqrt(np.maximum(squares, 0.0) * total)
    columns[BLIND_AT, ~((squares > 0.0) & np.isfinite(factor))] = np.inf
    return GramPath(
        G,
        columns,
        np.empty((5, p)),
        np.arange(p),
        np.zeros((most, most)),
        np.zeros((most, p)),
        np.zeros(most, dtype=np.int64),
        np.zeros((3, most)),
        np.array([np.inf, -1.0, 0.0, -1.0]),
        total,
        positive,
        squared,
        narrow,
    )


def begin_at(path: GramPath, level: float, support: IntArray, signs: FloatArray) -> int:
    """Go to the face of a support (s,) with signs (s,), at a lambda.

    Returns s, or -1 where there is no room or the columns depend on each other.
    """
    count = len(support)
    if count > len(path.active):
        return -1
    part = path.G[np.ix_(support, support)]
    try:
        factor = np.linalg.cholesky(part)
    except np.linalg.LinAlgError:
        return -1
    if not (np.diagonal(factor) ** 2 > DEPENDENT * np.diagonal(part)).all():
        return -1
    path.L[:count, :count], path.active[:count] = factor, support
    path.parts[SLOPE, :count] = signs * path.columns[FACTOR, support]
    path.columns[BLIND_AT, support] = np.inf
    path.place[:] = level, -1.0, 0.0, -1.0
    return count


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
    columns: Matrix, L: Matrix, active: Indices, parts: Matrix, count: int
) -> tuple[float, float]:
    """Write b and z of a face; returns v_A'b and E."""
    v = columns[V]
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
    return explained, E


@kernel(fast=True)
def correlate(
    columns: Matrix, p: int, lines: Matrix, rows: Indices, parts: Matrix, count: int
) -> None:
    """Write v - G_A b and G_A z of p columns, for which the lines of A in G are given."""
    v, at_zero, per_lambda = columns[V], columns[AT_ZERO], columns[PER_LAMBDA]
    b, z = parts[FIT], parts[MOVE]
    for j in range(p):
        at_zero[j] = v[j]
        per_lambda[j] = 0.0
    # Two lines of G at a time: half as many passes over the sums.
    for i in range(0, count, 2):
        row, fit, move = lines[rows[i]], b[i], z[i]
        other, fit_other, move_other = row, 0.0, 0.0
        if i + 1 < count:
            other, fit_other, move_other = lines[rows[i + 1]], b[i + 1], z[i + 1]
        for j in range(p):
            at_zero[j] -= fit * row[j] + fit_other * other[j]
            per_lambda[j] += move * row[j] + move_other * other[j]


@kernel()
def choose_watched(path: GramPath, count: int, lam: float) -> int:
    """Copy the columns near their thresholds at a lambda into `near`; returns how many.

    All where lambda is inf. Their correlations on the face must be known.
    """
    G, columns, near, watch, _, lines, active, _, _, _, positive, _, _ = path
    found = 0
    for j in range(columns.shape[1]):
        size = columns[AT_ZERO, j] + lam * columns[PER_LAMBDA, j] if lam < np.inf else np.inf
        if size < 0.0 and not positive:
            size = -size
        # Active columns are at their threshold, but for rounding.
        if size >= WATCHED * lam * columns[FACTOR, j]:
            watch[found] = j
            for row in range(5):
                near[row, found] = columns[row, j]
            found += 1
    for i in range(count):
        for k in range(found):
            lines[i, k] = G[active[i], watch[k]]
    return found


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
    """Largest |x_j'r| / f_j over the penalised columns, one-sided where coefficients are >= 0."""
    factor, at_zero, per_lambda = columns[FACTOR], columns[AT_ZERO], columns[PER_LAMBDA]
    worst = 0.0
    for j in range(len(factor)):
        size = at_zero[j] + lam * per_lambda[j]
        if size < 0.0 and not positive:
            size = -size
        if size > worst * factor[j] and factor[j] > 0.0:
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
        if slope != 0.0 and not w * slope > 0.0:
            w = 0.0
        indices[i] = column
        values[i] = w
        fitted += w * v[column]
        l1 += w * slope
    return fitted, l1


@kernel()
def position_of(watch: Indices, count: int, column: int) -> int:
    """Where a column stands among the watched ones, in order; -1 where it does not."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if watch[middle] < column:
            low = middle + 1
        else:
            high = middle
    return low if low < count and watch[low] == column else -1


@kernel()
def walk_gram(
    path: GramPath, count: int, done: int, alphas: Vector, out: Solutions, most_knots: int
) -> tuple[int, int, int, int]:
    """Solutions at decreasing penalties from a place on the path, after the first `done` of them.

    Returns the number of solutions, of knots and of active columns (-1 if the face is unusable),
    and why the walk ended. In an exact fit the coefficients of every smaller penalty are b.

    `count` columns are active at the start. After `most_knots` knots the walk can be continued.
    """
    G, columns, near, watch, L, lines, active, parts, place, total, positive, squared, narrow = path
    indices, values, counts, facts = out
    slopes, fit, moves = parts[SLOPE], parts[FIT], parts[MOVE]
    order = np.arange(L.shape[0])
    high, left, left_sign = place[LEVEL], np.int64(place[LEFT]), place[LEFT_SIGN]
    entered = np.int64(place[ENTERED])
    knots, why, refreshed, fresh = 0, ENDED, np.inf, True
    watched = np.int64(0)
    while True:
        explained, E = solve_face(columns, L, active, parts, count)
        C = total - explained
        known = fresh or high < REFRESHED * refreshed
        if known:
            correlate(columns, columns.shape[1], G, active, parts, count)
            if (
                high < np.inf
                and not worst_correlation(columns, high, positive) <= (1.0 + ON_PATH) * high
            ):
                if fresh:
                    count = -1
                else:
                    why = MISSED
                break
            refreshed = high if narrow else 0.0
            watched = choose_watched(path, count, high if narrow else np.inf)
            fresh = False
        else:
            correlate(near, watched, lines, order, parts, count)
        enter, spot, sign = entering(
            near[AT_ZERO, :watched],
            near[PER_LAMBDA, :watched],
            near[FACTOR, :watched],
            near[BLIND_AT, :watched],
            positive,
            position_of(watch, watched, left),
            left_sign,
        )
        leave, position = leaving(active, slopes, fit, moves, count, high, entered)
        low = max(min(enter, high), leave)
        # Where the active columns explain all of y, ||r|| = lambda sqrt(E): the whole face belongs
        # to one alpha, and the path goes on with smaller ones where a column leaves.
        saturated = not VANISHED * total < C
        if position == -2 or (saturated and (squared or low == 0.0)):
            why = EXACT if saturated and position == -1 else ENDED
            break
        least = np.inf if saturated else smallest_alpha(low, C, E, squared)
        missed = False
        while done < len(alphas) and alphas[done] >= least:
            lam = lambda_of(low, high, C, E, alphas[done], squared)
            if not known:
                correlate(columns, columns.shape[1], G, active, parts, count)
                known = True
            worst = worst_correlation(columns, lam, positive)
            missed = narrow and not worst <= (1.0 + ON_PATH) * lam
            if missed:
                break
            fitted, l1 = write_solution(
                columns[V], active, parts, count, lam, indices[done], values[done]
            )
            counts[done] = count
            fact = facts[done]
            fact[0] = lam
            fact[1] = C + lam * lam * E
            fact[2] = total - fitted
            fact[3] = worst
            fact[4] = l1
            done += 1
        if missed:
            why = MISSED
            break
        knots += 1
        if done == len(alphas) or low == 0.0 or (enter >= low and count == L.shape[0]):
            break
        high, left, left_sign, entered = low, np.int64(-1), 0.0, np.int64(-1)
        if enter >= low:
            column = watch[spot]
            columns[BLIND_AT, column] = np.inf
            near[BLIND_AT, spot] = np.inf
            if append_column(G, L, active, count, column):
                active[count] = column
                slopes[count] = sign * columns[FACTOR, column]
                for k in range(watched):
                    lines[count, k] = G[column, watch[k]]
                entered = column
                count += 1
        else:
            left = active[position]
            left_sign = np.sign(slopes[position])
            columns[BLIND_AT, left] = BLIND * np.sqrt(G[left, left] * total)
            here = position_of(watch, watched, left)
            if here >= 0:
                near[BLIND_AT, here] = columns[BLIND_AT, left]
            for i in range(position, count - 1):
                for k in range(watched):
                    lines[i, k] = lines[i + 1, k]
            remove_column(L, active, slopes, count, position)
            count -= 1
        if knots >= most_knots:
            why = MORE
            break
    place[LEVEL], place[LEFT], place[LEFT_SIGN], place[ENTERED] = high, left, left_sign, entered
    return done, knots, count, why
