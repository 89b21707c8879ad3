"""The Gram matrix of the active rows, kept up to date between Newton steps."""

from __future__ import annotations

import numpy as np

from sketchlasso.kernels.compiling import Mask, Matrix, Vector, kernel
from sketchlasso.kernels.dense import copy_to

GRAM_UPDATES = 30  # before the sum is made anew: rounding adds up


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

    If few rows entered or left, only these are added or subtracted; after GRAM_UPDATES such updates
    the sum is recomputed, so that rounding errors do not accumulate. `rows` (n, k) and `square`
    (k, k) are scratch. Returns the number of updates since then.
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
