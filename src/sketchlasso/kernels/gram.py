"""The Gram matrix of the active rows, kept up to date between Newton steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from sketchlasso.kernels.compiling import kernel
from sketchlasso.kernels.dense import copy_to

GRAM_UPDATES = 30


@kernel(inner=True)
def gather_rows(A: Any, chosen: Any, rows: Any) -> Any:
    """Copy the chosen rows of A to the front of `rows`; returns how many."""
    count = 0
    for j in range(A.shape[0]):
        if chosen[j]:
            copy_to(A[j], rows[count])
            count += 1
    return count


@kernel()
def update_gram(
    A: Any, y: Any, member: Any, gram: Any, rows: Any, square: Any, updates: Any
) -> Any:
    """Bring gram = sum of a_j a_j' over the rows with y_j != 0 up to date.

    Only rows that entered or left are touched while they are few; after GRAM_UPDATES
    such updates the sum is rebuilt, so that rounding cannot drift. `rows` (n, k) and `square`
    (k, k) are scratch. Returns the count.
    """
    n = A.shape[0]
    entered = np.zeros(n, dtype=np.bool_)
    left = np.zeros(n, dtype=np.bool_)
    changed = 0
    active = 0
    for j in range(n):
        now = y[j] != 0.0
        active += now
        entered[j] = now and not member[j]
        left[j] = member[j] and not now
        changed += entered[j] or left[j]
        member[j] = now
    if changed == 0 and updates <= GRAM_UPDATES:
        return updates
    if updates >= GRAM_UPDATES or 2 * changed >= active:
        count = gather_rows(A, member, rows)
        gram[:] = 0.0
        if count > 0:
            np.dot(rows[:count].T, rows[:count], gram)
        return 0
    for sign, chosen in ((1.0, entered), (-1.0, left)):
        count = gather_rows(A, chosen, rows)
        if count > 0:
            np.dot(rows[:count].T, rows[:count], square)
            for i in range(square.shape[0]):
                for j in range(square.shape[1]):
                    gram[i, j] += sign * square[i, j]
    return updates + 1
