"""One instance on its working rows: its data, its products, its objective and its gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sketchlasso.kernels.compiling import Mask, Matrix, Vector, kernel
from sketchlasso.kernels.dense import dot
from sketchlasso.kernels.shrink import best_on_ray, feasible_scale, shrink

# A root without entries means the identity.
NO_ROOT = np.empty((0, 0))
# An objective below this share of its value at w = 0 is zero up to rounding.
NEGLIGIBLE = 1e-6


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
