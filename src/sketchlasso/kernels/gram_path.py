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
from scipy import linalg

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
# Rows of the arrays of active columns: f_j sign_j, b, z, L^-1 v_A, L^-1 (f sign)_A, and the cosines
# and sines of the rotations that remove a column.
SLOPE, FIT, MOVE, HALF_FIT, HALF_MOVE, COSINE, SINE = range(7)
# Rows of the numbers of active columns: the column, and its line in `lines`. Of watched columns:
# the column, and of each of all columns its place among those watched (-1: none).
COLUMN, LINE = range(2)
WATCH, PLACE = range(2)
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
    watch: IndexMatrix
    L: Matrix
    lines: Matrix
    active: IndexMatrix
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
        np.empty((2, p), dtype=np.int64),
        np.empty((most, most)),
        np.empty((most, p)),
        np.tile(np.arange(most), (2, 1)),
        np.empty((7, most)),
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
    if count > len(path.L):
        return -1
    part = path.G[np.ix_(support, support)]
    try:
        factor = np.linalg.cholesky(part)
    except np.linalg.LinAlgError:
        return -1
    if not (np.diagonal(factor) ** 2 > DEPENDENT * np.diagonal(part)).all():
        return -1
    slopes = signs * path.columns[FACTOR, support]
    halves = linalg.solve_triangular(
        factor, np.stack([path.columns[V, support], slopes], axis=1), lower=True, check_finite=False
    )
    path.L[:count, :count], path.active[COLUMN, :count] = factor, support
    path.parts[SLOPE, :count], path.parts[HALF_FIT : HALF_MOVE + 1, :count] = slopes, halves.T
    path.columns[BLIND_AT, support] = np.inf
    path.place[:] = level, -1.0, 0.0, -1.0
    return count


@kernel(fast=True)
def append_column(path: GramPath, count: int, j: int, sign: float) -> bool:
    """Let column j enter the face; False, and no change, if it depends on the others."""
    G, columns, L, active, parts = path.G, path.columns, path.L, path.active[COLUMN], path.parts
    half_fit, half_move = parts[HALF_FIT], parts[HALF_MOVE]
    entries, line = G[j], L[count]
    fit, move = columns[V, j], sign * columns[FACTOR, j]
    square = entries[j]
    left = square
    for i in range(count):
        value, row = entries[active[i]], L[i]
        for k in range(i):
            value -= row[k] * line[k]
        value /= row[i]
        line[i] = value
        left -= value * value
        fit -= value * half_fit[i]
        move -= value * half_move[i]
    if not left > DEPENDENT * square:
        return False
    pivot = np.sqrt(left)
    line[count] = pivot
    active[count] = j
    parts[SLOPE, count] = sign * columns[FACTOR, j]
    half_fit[count] = fit / pivot
    half_move[count] = move / pivot
    return True


@kernel(fast=True)
def rotated(vector: Vector, parts: Matrix, first: int, last: int, out: Vector) -> float:
    """Write entries [first, last) of a rotated vector; returns the one beyond them."""
    cosine, sine = parts[COSINE], parts[SINE]
    carried = vector[first]
    for i in range(first, last):
        following = vector[i + 1]
        out[i] = cosine[i] * carried + sine[i] * following
        carried = cosine[i] * following - sine[i] * carried
    return carried


@kernel()
def remove_column(path: GramPath, count: int, position: int) -> None:
    """Remove the active column at a position from the face; the last row of L becomes free."""
    L, active, parts = path.L, path.active, path.parts
    last, free = count - 1, active[LINE, position]
    for r in range(position, last):
        for row in range(2):
            active[row, r] = active[row, r + 1]
        parts[SLOPE, r] = parts[SLOPE, r + 1]
        for i in range(position):
            L[r, i] = L[r + 1, i]
        corner = L[r + 1, r + 1]
        carried = rotated(L[r + 1], parts, position, r, L[r])
        size = np.sqrt(carried * carried + corner * corner)
        parts[COSINE, r] = carried / size
        parts[SINE, r] = corner / size
        L[r, r] = size
    active[LINE, last] = free
    for row in (HALF_FIT, HALF_MOVE):
        rotated(parts[row], parts, position, last, parts[row])


@kernel(fast=True)
def solve_face(L: Matrix, parts: Matrix, count: int) -> tuple[float, float]:
    """Write b and z of a face; returns v_A'b and E."""
    half_fit, half_move, b, z = parts[HALF_FIT], parts[HALF_MOVE], parts[FIT], parts[MOVE]
    explained = 0.0
    E = 0.0
    for i in range(count):
        b[i] = half_fit[i]
        z[i] = half_move[i]
        explained += b[i] * b[i]
        E += z[i] * z[i]
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
def watch_column(path: GramPath, count: int, watched: int, j: int) -> None:
    """Watch column j, as the last one."""
    path.watch[WATCH, watched] = j
    path.watch[PLACE, j] = watched
    for row in range(5):
        path.near[row, watched] = path.columns[row, j]
    for i in range(count):
        path.lines[path.active[LINE, i], watched] = path.G[path.active[COLUMN, i], j]


@kernel()
def choose_watched(path: GramPath, count: int, lam: float) -> int:
    """Watch the inactive columns near their thresholds at a lambda; returns how many.

    All where lambda is inf. Their correlations on the face must be known.
    """
    columns, near, watch, active = path.columns, path.near, path.watch, path.active
    watched = 0
    for j in range(columns.shape[1]):
        size = columns[AT_ZERO, j] + lam * columns[PER_LAMBDA, j] if lam < np.inf else np.inf
        if size < 0.0 and not path.positive:
            size = -size
        watch[PLACE, j] = -1
        if size >= WATCHED * lam * columns[FACTOR, j] and columns[BLIND_AT, j] < np.inf:
            watch[WATCH, watched] = j
            watch[PLACE, j] = watched
            for row in range(5):
                near[row, watched] = columns[row, j]
            watched += 1
    for i in range(count):
        line, entries = path.lines[active[LINE, i]], path.G[active[COLUMN, i]]
        for k in range(watched):
            line[k] = entries[watch[WATCH, k]]
    return watched


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
    high, left, left_sign = place[LEVEL], np.int64(place[LEFT]), place[LEFT_SIGN]
    entered = np.int64(place[ENTERED])
    knots, why, refreshed, fresh = 0, ENDED, np.inf, True
    watched = np.int64(0)
    while True:
        explained, E = solve_face(L, parts, count)
        C = total - explained
        known = fresh or high < REFRESHED * refreshed
        if known:
            correlate(columns, columns.shape[1], G, active[COLUMN], parts, count)
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
            correlate(near, watched, lines, active[LINE], parts, count)
        enter, spot, sign = entering(
            near[AT_ZERO, :watched],
            near[PER_LAMBDA, :watched],
            near[FACTOR, :watched],
            near[BLIND_AT, :watched],
            positive,
            watch[PLACE, left] if left >= 0 else left,
            left_sign,
        )
        leave, position = leaving(
            active[COLUMN], parts[SLOPE], parts[FIT], parts[MOVE], count, high, entered
        )
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
                correlate(columns, columns.shape[1], G, active[COLUMN], parts, count)
                known = True
            worst = worst_correlation(columns, lam, positive)
            missed = narrow and not worst <= (1.0 + ON_PATH) * lam
            if missed:
                break
            fitted, l1 = write_solution(
                columns[V], active[COLUMN], parts, count, lam, indices[done], values[done]
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
            column = watch[WATCH, spot]
            columns[BLIND_AT, column] = np.inf
            near[BLIND_AT, spot] = np.inf
            if append_column(path, count, column, sign):
                line = lines[active[LINE, count]]
                for k in range(watched):
                    line[k] = G[column, watch[WATCH, k]]
                entered = column
                count += 1
        else:
            left = active[COLUMN, position]
            left_sign = np.sign(parts[SLOPE, position])
            columns[BLIND_AT, left] = BLIND * np.sqrt(G[left, left] * total)
            remove_column(path, count, position)
            count -= 1
            if watch[PLACE, left] < 0:
                watch_column(path, count, watched, left)
                watched += 1
            near[BLIND_AT, watch[PLACE, left]] = columns[BLIND_AT, left]
        if knots >= most_knots:
            why = MORE
            break
    place[LEVEL], place[LEFT], place[LEFT_SIGN], place[ENTERED] = high, left, left_sign, entered
    return done, knots, count, why
