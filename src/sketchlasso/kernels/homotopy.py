"""The whole path of one instance without a radius, knot by knot.

At radius 0 the optimality condition is  a_j'r = alpha rho f_j sign(w_j)  with r = c - R'w and
rho = sqrt(||r||^2 + s^2): the solution is that of the LASSO with lambda = alpha rho. So it is
piecewise linear in lambda. On a face (active rows A with signs) let R_A = L Q with L lower
triangular and the rows of Q orthonormal, and

    L z = (f sign)_A,    g = Q c,    e = Q'z,    c_perp = c - Q'g

    w_A = L^-T (g - lambda z),    r = c_perp + lambda e,    R r = R c_perp + lambda R e

c_perp and e are orthogonal, so rho^2 = C + lambda^2 ||e||^2 with C = ||c_perp||^2 + s^2 and the
point of a penalty is known in closed form: lambda = alpha sqrt(C / (1 - alpha^2 ||e||^2)).
Where C vanishes the face interpolates: alpha = 1 / ||e|| on all of it. If lambda can go down to
0 there, w stays the same for every smaller penalty, and u = alpha e proves it.

A row that enters appends one row to L and Q; a row that leaves is rotated to the end. Either
changes c_perp and e along one direction q only, so a knot costs one product R q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sketchlasso.kernels.compiling import Indices, Matrix, Vector, kernel
from sketchlasso.kernels.coordinate import subtract_multiple
from sketchlasso.kernels.dense import back_substitute, copy_to, dot
from sketchlasso.kernels.gram_path import Solutions, entering, lambda_of, leaving, smallest_alpha

# A row of which this share or less (of its length) lies outside the span of the active rows
# cannot enter: its coefficient would be rounding.
DEPENDENT = 1e-9
# The orthogonal part of c counts as zero up to this share of ||c||.
VANISHED = 1e-13
# Correlations with c_perp below this share of ||a_j|| ||c|| are rounding: the row never enters.
BLIND = 1e-13
# Knots between two computations of c_perp, e and their correlations from scratch.
REFRESH = 50


class Face(NamedTuple):
    """The active rows and quantities computed from them; the first `count` entries are in use.

    Shapes are (k,) or (k, k) for the first group, (n,) for the second.
    """

    L: Matrix
    Q: Matrix
    g: Vector
    z: Vector
    slopes: Vector  # f_j sign_j of the active rows
    active: Indices
    c_perp: Vector
    e: Vector
    at_zero: Vector  # R c_perp (n,)
    per_lambda: Vector  # R e (n,)
    seen: Vector  # R q (n,)
    blind: Vector  # correlation (n,) below which a row never enters; inf where it cannot


@kernel()
def see_direction(P: Matrix, root: Matrix, q: Vector, out: Vector) -> None:
    """Write R q = P (root q) into out (n,)."""
    if root.shape[0] > 0:
        np.dot(P, np.dot(root, q), out)
    else:
        np.dot(P, q, out)


@kernel()
def row_of(P: Matrix, root: Matrix, j: int) -> Vector:
    """Row j of R = P root, a copy (k,)."""
    if root.shape[0] > 0:
        return np.dot(P[j], root)
    return P[j].copy()


@kernel(fast=True)
def shift_along(face: Face, row: int, sign: float) -> None:
    """Update the face for a basis row that has joined (sign 1) or is about to leave (-1)."""
    q, by_g, by_z = face.Q[row], sign * face.g[row], sign * face.z[row]
    for i in range(q.shape[0]):
        face.c_perp[i] -= by_g * q[i]
        face.e[i] += by_z * q[i]
    for j in range(face.seen.shape[0]):
        face.at_zero[j] -= by_g * face.seen[j]
        face.per_lambda[j] += by_z * face.seen[j]


@kernel()
def append_row(
    face: Face, count: int, P: Matrix, root: Matrix, c: Vector, j: int, slope: float
) -> bool:
    """Make row j active; False (and no change) if it depends on the active rows."""
    if count == face.Q.shape[0]:
        return False
    row = row_of(P, root, j)
    length = np.sqrt(dot(row, row))
    line = np.zeros(count)
    if count > 0:
        for _ in range(2):  # the second pass removes what rounding left of the first
            part = np.dot(face.Q[:count], row)
            subtract_multiple(row, np.dot(part, face.Q[:count]), 1.0, row.shape[0])
            for i in range(count):
                line[i] += part[i]
    left = np.sqrt(dot(row, row))
    if not left > DEPENDENT * length:
        return False
    copy_to(line, face.L[count])
    face.L[count, count] = left
    for i in range(row.shape[0]):
        face.Q[count, i] = row[i] / left
    face.g[count] = dot(face.Q[count], c)
    face.z[count] = (slope - dot(line, face.z[:count])) / left
    face.slopes[count] = slope
    face.active[count] = j
    face.blind[j] = np.inf
    see_direction(P, root, face.Q[count], face.seen)
    shift_along(face, count, 1.0)
    return True


@kernel()
def remove_row(face: Face, count: int, P: Matrix, root: Matrix, position: int) -> None:
    """Remove the active row at a position: rotate its direction to the end of Q."""
    L, Q, g, z, last = face.L, face.Q, face.g, face.z, count - 1
    for i in range(position, last):
        copy_to(L[i + 1, : i + 2], L[i])
        face.slopes[i] = face.slopes[i + 1]
        face.active[i] = face.active[i + 1]
    for i in range(position, last):
        size = np.hypot(L[i, i], L[i, i + 1])
        cosine, sine = L[i, i] / size, L[i, i + 1] / size
        for r in range(i, last):
            a, b = L[r, i], L[r, i + 1]
            L[r, i], L[r, i + 1] = cosine * a + sine * b, cosine * b - sine * a
        L[i, i + 1] = 0.0
        for t in range(Q.shape[1]):
            a, b = Q[i, t], Q[i + 1, t]
            Q[i, t], Q[i + 1, t] = cosine * a + sine * b, cosine * b - sine * a
        g[i], g[i + 1] = cosine * g[i] + sine * g[i + 1], cosine * g[i + 1] - sine * g[i]
        z[i], z[i + 1] = cosine * z[i] + sine * z[i + 1], cosine * z[i + 1] - sine * z[i]
    see_direction(P, root, Q[last], face.seen)
    shift_along(face, last, -1.0)


@kernel()
def refresh(face: Face, count: int, P: Matrix, root: Matrix, c: Vector) -> None:
    """Recompute what knots only update, so that rounding errors do not accumulate."""
    for i in range(count):
        face.g[i] = dot(face.Q[i], c)
        face.z[i] = (face.slopes[i] - dot(face.L[i, :i], face.z[:i])) / face.L[i, i]
    copy_to(c, face.c_perp)
    face.e[:] = 0.0
    if count > 0:
        basis = face.Q[:count]
        np.dot(face.g[:count], basis, face.e)
        subtract_multiple(face.c_perp, face.e, 1.0, c.shape[0])
        np.dot(np.dot(basis, face.c_perp), basis, face.e)
        subtract_multiple(face.c_perp, face.e, 1.0, c.shape[0])
        np.dot(face.z[:count], basis, face.e)
    see_direction(P, root, face.c_perp, face.at_zero)
    see_direction(P, root, face.e, face.per_lambda)


@kernel()
def next_to_leave(face: Face, count: int, now: float, entered: int) -> tuple[float, int]:
    """Largest lambda at which an active coefficient reaches zero, and its position: `leaving`."""
    fit = face.g[:count].copy()
    move = face.z[:count].copy()
    back_substitute(face.L, count, fit)
    back_substitute(face.L, count, move)
    return leaving(face.active, face.slopes, fit, move, count, now, entered)


@kernel()
def write_point(
    face: Face,
    count: int,
    C: float,
    E: float,
    lam: float,
    alpha: float,
    squared: bool,
    indices: Indices,
    values: Vector,
    u: Vector,
) -> None:
    """Write the solution of one penalty, which has this lambda on the present face."""
    for i in range(count):
        indices[i] = face.active[i]
        values[i] = face.g[i] - lam * face.z[i]
    back_substitute(face.L, count, values)
    for i in range(count):
        # Rounding at a knot may leave a coefficient on the wrong side of zero.
        if values[i] * face.slopes[i] < 0.0:
            values[i] = 0.0
    rho = 1.0 if squared else np.sqrt(C + lam * lam * E)
    for i in range(u.shape[0]):
        if squared or C > 0.0:
            u[i] = (face.c_perp[i] + lam * face.e[i]) / rho
        else:
            u[i] = alpha * face.e[i]


@kernel()
def first_face(
    P: Matrix, root: Matrix, c: Vector, factor: Vector, blind: Vector
) -> tuple[Face, np.int64]:
    """The first face of the path, whose active rows are those without a penalty; their number."""
    n, k = P.shape
    face = Face(
        L=np.zeros((k, k)),
        Q=np.zeros((k, k)),
        g=np.zeros(k),
        z=np.zeros(k),
        slopes=np.zeros(k),
        active=np.zeros(k, dtype=np.int64),
        c_perp=c.copy(),
        e=np.zeros(k),
        at_zero=np.zeros(n),
        per_lambda=np.zeros(n),
        seen=np.zeros(n),
        blind=blind.copy(),
    )
    see_direction(P, root, c, face.at_zero)
    count = np.int64(0)
    for j in range(n):
        if factor[j] == 0.0 and append_row(face, count, P, root, c, j, 0.0):
            count += 1
        if not factor[j] < np.inf:
            face.blind[j] = np.inf
    return face, count


@kernel()
def rounding_of_rows(P: Matrix, root: Matrix, size: float) -> Vector:
    """Correlations (n,) of the rows of R with c_perp that are rounding; `size` is ||c||."""
    found = np.empty(P.shape[0])
    for j in range(P.shape[0]):
        row = row_of(P, root, j)
        found[j] = BLIND * np.sqrt(dot(row, row)) * size
    return found


@kernel()
def walk_path(
    P: Matrix,
    root: Matrix,
    c: Vector,
    s: float,
    factor: Vector,
    positive: bool,
    squared: bool,
    alphas: Vector,
    most_knots: int,
    out: Solutions,
) -> tuple[np.int64, int]:
    """Solutions of one instance at decreasing penalties; returns their number and the knots.

    Parameters are the rows P (n, k) in double precision, the root (k, k) or an empty one for the
    identity, c (k,), s, penalty factors (n,), and `alphas` (a,) in decreasing order. The facts
    (a, k) of the solutions are dual candidates. Fewer than a solutions are found if `most_knots`
    is reached or ties end the walk.
    """
    size = np.sqrt(dot(c, c))
    rounding = rounding_of_rows(P, root, size)
    face, count = first_face(P, root, c, factor, rounding)
    knots, high, left_sign = 0, np.inf, 0.0
    # With plain constants, Numba would compile every callee for the constants as well.
    done, left, entered = np.int64(0), np.int64(-1), np.int64(-1)
    while True:
        if np.sqrt(dot(face.c_perp, face.c_perp)) <= VANISHED * size:
            face.c_perp[:] = 0.0
            face.at_zero[:] = 0.0
        enter, row, sign = entering(
            face.at_zero, face.per_lambda, factor, face.blind, positive, left, left_sign
        )
        leave, position = next_to_leave(face, count, high, entered)
        if position == -2:
            return done, knots
        low = max(min(enter, high), leave)
        C, E = s * s + dot(face.c_perp, face.c_perp), dot(face.e, face.e)
        least = smallest_alpha(low, C, E, squared)
        while done < alphas.shape[0] and alphas[done] >= least:
            alpha = alphas[done]
            lam = lambda_of(low, high, C, E, alpha, squared)
            indices, values, u = out.indices[done], out.values[done], out.facts[done]
            write_point(face, count, C, E, lam, alpha, squared, indices, values, u)
            out.counts[done] = count
            done += 1
        knots += 1
        if done == alphas.shape[0] or low == 0.0 or knots > most_knots:
            return done, knots
        high, left, entered = low, np.int64(-1), np.int64(-1)
        if enter >= low:
            if append_row(face, count, P, root, c, row, sign * factor[row]):
                count += 1
                entered = row
            else:
                # Dependent on the active rows up to rounding: it may be at its threshold.
                left, left_sign = row, sign
        else:
            left = face.active[position]
            left_sign = np.sign(face.slopes[position])
            remove_row(face, count, P, root, position)
            face.blind[left] = rounding[left]
            count -= 1
        if knots % REFRESH == 0:
            refresh(face, count, P, root, c)
